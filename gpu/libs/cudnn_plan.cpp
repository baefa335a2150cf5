// SPDX-License-Identifier: Apache-2.0
#include "gpu/libs/cudnn_plan.h"

#include "core/support/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu::cudnn {

namespace {

constexpr size_t firstWithProperties = 90800;

struct KnobName {
    Knob knob;
    const char* name;
};

constexpr KnobName knobNames[] = {
    {Knob::CUDNN_KNOB_TYPE_TILE_SIZE, "tile"},    {Knob::CUDNN_KNOB_TYPE_TILE_M, "m"},
    {Knob::CUDNN_KNOB_TYPE_TILE_N, "n"},          {Knob::CUDNN_KNOB_TYPE_TILEK, "k"},
    {Knob::CUDNN_KNOB_TYPE_STAGES, "stages"},     {Knob::CUDNN_KNOB_TYPE_SPLIT_K_SLC, "split-k"},
    {Knob::CUDNN_KNOB_TYPE_TILE_CGA_M, "cga-m"},  {Knob::CUDNN_KNOB_TYPE_TILE_CGA_N, "cga-n"},
    {Knob::CUDNN_KNOB_TYPE_STREAM_K, "stream-k"}, {Knob::CUDNN_KNOB_TYPE_KERNEL_CFG, "kernel"},
    {Knob::CUDNN_KNOB_TYPE_SWIZZLE, "swizzle"},
};

std::string knobName(int type) {
    for (const KnobName& row : knobNames)
        if (static_cast<int>(row.knob) == type)
            return row.name;
    return "knob" + std::to_string(type);
}

void readNumericalNotes(const Descriptor& engine, Configuration& out) {
    const auto room = static_cast<size_t>(NumericalNote::CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
    for (int note : engine.read<int>(Attribute::CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                     Type::CUDNN_TYPE_NUMERICAL_NOTE, room)) {
        switch (static_cast<NumericalNote>(note)) {
        case NumericalNote::CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
            out.tensorCore = true;
            out.notes.emplace_back("tensor cores");
            break;
        case NumericalNote::CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
            out.numeric = NumericClass::Approximate;
            out.notes.emplace_back("narrows its inputs");
            break;
        case NumericalNote::CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
            out.numeric = NumericClass::Approximate;
            out.notes.emplace_back("sums in less than float32");
            break;
        case NumericalNote::CUDNN_NUMERICAL_NOTE_FFT:
            out.numeric = NumericClass::Approximate;
            out.notes.emplace_back("FFT");
            break;
        case NumericalNote::CUDNN_NUMERICAL_NOTE_WINOGRAD:
        case NumericalNote::CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4:
        case NumericalNote::CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
        case NumericalNote::CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
            out.numeric = NumericClass::Approximate;
            out.notes.emplace_back("Winograd");
            break;
        case NumericalNote::CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
            out.deterministic = false;
            out.notes.emplace_back("not deterministic");
            break;
        default:
            break;
        }
    }
}

void readBehaviorNotes(const Descriptor& engine, Configuration& out) {
    const auto room = static_cast<size_t>(BehaviorNote::CUDNN_BEHAVIOR_NOTE_TYPE_COUNT);
    for (int note : engine.read<int>(Attribute::CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE,
                                     Type::CUDNN_TYPE_BEHAVIOR_NOTE, room)) {
        switch (static_cast<BehaviorNote>(note)) {
        case BehaviorNote::CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION:
            out.runtimeCompiled = true;
            out.notes.emplace_back("compiled at run time");
            break;
        case BehaviorNote::CUDNN_BEHAVIOR_NOTE_REQUIRES_FILTER_INT8x32_REORDER:
        case BehaviorNote::CUDNN_BEHAVIOR_NOTE_REQUIRES_BIAS_INT8x32_REORDER:
            out.reorders = true;
            out.notes.emplace_back("reorders weights");
            break;
        case BehaviorNote::CUDNN_BEHAVIOR_NOTE_SUPPORTS_CUDA_GRAPH_NATIVE_API:
            out.graphNative = true;
            break;
        default:
            break;
        }
    }
}

void readKnobs(const LibraryPtr& library, FoundConfiguration& out) {
    constexpr size_t room = 44;
    std::vector<Descriptor> choices;
    for (size_t i = 0; i < room; ++i)
        choices.emplace_back(library, Kind::CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    const size_t count =
        out.descriptor.readInto(Attribute::CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, choices);
    for (size_t i = 0; i < count; ++i) {
        auto type = choices[i].read<int>(Attribute::CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE,
                                         Type::CUDNN_TYPE_KNOB_TYPE, 1);
        auto value = choices[i].read<int64_t>(Attribute::CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE,
                                              Type::CUDNN_TYPE_INT64, 1);
        if (!type.empty() && !value.empty())
            out.knobs.emplace_back(type[0], value[0]);
    }
    std::sort(out.knobs.begin(), out.knobs.end());
}

FoundConfiguration facts(const LibraryPtr& library, Descriptor config) {
    FoundConfiguration out;
    out.descriptor = std::move(config);
    std::vector<Descriptor> engine;
    engine.emplace_back(library, Kind::CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    if (out.descriptor.readInto(Attribute::CUDNN_ATTR_ENGINECFG_ENGINE, engine) == 1) {
        auto index = engine[0].read<int64_t>(Attribute::CUDNN_ATTR_ENGINE_GLOBAL_INDEX,
                                             Type::CUDNN_TYPE_INT64, 1);
        out.engine = index.empty() ? -1 : index[0];
        readNumericalNotes(engine[0], out);
        readBehaviorNotes(engine[0], out);
    }
    readKnobs(library, out);
    auto bytes = out.descriptor.read<int64_t>(Attribute::CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE,
                                              Type::CUDNN_TYPE_INT64, 1);
    if (!bytes.empty())
        out.workspaceBytes = bytes[0];
    std::sort(out.notes.begin(), out.notes.end());
    out.notes.erase(std::unique(out.notes.begin(), out.notes.end()), out.notes.end());
    return out;
}

std::optional<Reason> ask(const Target& target, const OperationGraph& graph, Heuristics mode,
                          size_t most, std::vector<FoundConfiguration>& out) {
    Descriptor heuristics(target.library, Kind::CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristics.set(Attribute::CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.graph);
    heuristics.setCode(Attribute::CUDNN_ATTR_ENGINEHEUR_MODE, Type::CUDNN_TYPE_HEUR_MODE,
                       static_cast<int>(mode));
    if (target.handle == nullptr)
        heuristics.set(Attribute::CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, target.properties);
    if (auto reason = heuristics.finish("the graph"))
        return reason;
    std::vector<Descriptor> found;
    for (size_t i = 0; i < most; ++i)
        found.emplace_back(target.library, Kind::CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    const size_t count = heuristics.readInto(Attribute::CUDNN_ATTR_ENGINEHEUR_RESULTS, found);
    for (size_t i = 0; i < count; ++i)
        out.push_back(facts(target.library, std::move(found[i])));
    return std::nullopt;
}

} // namespace

Result<std::shared_ptr<const Target>> describedTarget(const LibraryPtr& library,
                                                      const std::string& json) {
    if (library->versionNumber() < firstWithProperties)
        return failure("library-missing",
                       "cuDNN " + library->version() + " cannot plan without a device",
                       library->path(), "install cuDNN 9.8 or newer");
    auto out = std::make_shared<Target>();
    out->library = library;
    out->properties = Descriptor(library, Kind::CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    out->properties.set(Attribute::CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, Type::CUDNN_TYPE_CHAR,
                        json.c_str(), json.size());
    if (auto reason = out->properties.finish("the device's properties"))
        return failure("cudnn.properties", reason->message, library->path());
    return std::shared_ptr<const Target>(std::move(out));
}

std::string Configuration::name() const {
    std::string out = "e" + std::to_string(engine);
    for (auto [type, value] : knobs)
        out += fmt::format(" {} {}", knobName(type), value);
    return out;
}

std::variant<std::vector<FoundConfiguration>, Reason>
configurations(const Target& target, const OperationGraph& graph, size_t most) {
    std::vector<FoundConfiguration> out;
    // Where mode A knows few, engines of the other list may be faster: for a depthwise convolution
    // on an H200 it had 5, and 15 were in that list.
    constexpr size_t few = 8;
    std::optional<Reason> first = ask(target, graph, Heuristics::CUDNN_HEUR_MODE_A, most, out);
    if (out.size() < few) {
        std::vector<FoundConfiguration> more;
        auto reason = ask(target, graph, Heuristics::CUDNN_HEUR_MODE_FALLBACK, most, more);
        if (reason && !first)
            first = std::move(reason);
        for (FoundConfiguration& one : more)
            if (out.size() < most &&
                std::none_of(out.begin(), out.end(), [&](const FoundConfiguration& known) {
                    return known.name() == one.name();
                }))
                out.push_back(std::move(one));
    }
    if (!out.empty())
        return out;
    if (first)
        return std::move(*first);
    return Reason{"support", "cuDNN has no engine for the graph on this device", {}, {}};
}

Reason workspaceReason(int64_t need, int64_t limit) {
    return {"workspace",
            fmt::format("needs {} bytes of workspace, the limit is {}", need, limit),
            "raise the workspace limit",
            {{"need", std::to_string(need)}, {"limit", std::to_string(limit)}}};
}

std::optional<Reason> configurationReason(const Configuration& configuration,
                                          const KernelRequest& request,
                                          const GraphDescription& description) {
    const NumericClass numeric = std::max(configuration.numeric, description.numeric);
    if (numeric > request.allowed)
        return Reason{"numeric",
                      std::string("the engine is `") + nameOf(numeric) + "`, allowed is `" +
                          nameOf(request.allowed) + "`",
                      "allow the class `approximate`",
                      {{"notes", joined(configuration.notes)}}};
    if (description.operands == DType::Float32 && configuration.tensorCore && !request.tf32)
        return Reason{"numeric",
                      "the engine rounds float32 operands to TF32",
                      "run with the precision tf32",
                      {}};
    if (configuration.workspaceBytes > request.workspaceLimit)
        return workspaceReason(configuration.workspaceBytes, request.workspaceLimit);
    if (configuration.reorders)
        return Reason{"layout", "the engine wants weights in an order of its own", {}, {}};
    return std::nullopt;
}

Reason withLayout(Reason reason, const GraphDescription& description) {
    if (description.channelsLast || reason.code != "support")
        return reason;
    reason.code = "layout";
    reason.message += "; the operands do not have their channels innermost";
    reason.flip = "choose channels-last layouts around the convolution";
    return reason;
}

namespace {

/// A plan for the target, before it is said which.
Descriptor planFor(const Target& target) {
    Descriptor out(target.library, Kind::CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    if (target.handle != nullptr)
        out.set(Attribute::CUDNN_ATTR_EXECUTION_PLAN_HANDLE, Type::CUDNN_TYPE_HANDLE,
                &target.handle, 1);
    else
        out.set(Attribute::CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, target.properties);
    return out;
}

std::variant<Plan, Reason> finished(Descriptor descriptor, const std::string& name) {
    if (auto reason = descriptor.finish("the plan `" + name + "`"))
        return std::move(*reason);
    Plan out;
    out.descriptor = std::move(descriptor);
    auto bytes = out.descriptor.read<int64_t>(Attribute::CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                              Type::CUDNN_TYPE_INT64, 1);
    out.workspaceBytes = bytes.empty() ? 0 : bytes[0];
    return out;
}

} // namespace

std::variant<Plan, Reason> finishPlan(const Target& target,
                                      const FoundConfiguration& configuration) {
    Descriptor plan = planFor(target);
    plan.set(Attribute::CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration.descriptor);
    return finished(std::move(plan), configuration.name());
}

std::variant<Plan, Reason> restorePlan(const Target& target, const std::string& json,
                                       const std::string& name) {
    Descriptor plan = planFor(target);
    plan.set(Attribute::CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, Type::CUDNN_TYPE_CHAR,
             json.c_str(), json.size());
    return finished(std::move(plan), name);
}

} // namespace fuselage::gpu::cudnn
