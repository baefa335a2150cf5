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
    {Knob::TileSize, "tile"},    {Knob::TileM, "m"},
    {Knob::TileN, "n"},          {Knob::TileK, "k"},
    {Knob::Stages, "stages"},    {Knob::SplitKSlices, "split-k"},
    {Knob::TileCgaM, "cga-m"},   {Knob::TileCgaN, "cga-n"},
    {Knob::StreamK, "stream-k"}, {Knob::KernelConfig, "kernel"},
    {Knob::Swizzle, "swizzle"},
};

std::string knobName(int type) {
    for (const KnobName& row : knobNames)
        if (static_cast<int>(row.knob) == type)
            return row.name;
    return "knob" + std::to_string(type);
}

void readNumericalNotes(const Descriptor& engine, Configuration& out) {
    const auto room = static_cast<size_t>(NumericalNote::Count);
    for (int note : engine.read<int>(Attribute::EngineNumericalNotes, Type::NumericalNote, room)) {
        switch (static_cast<NumericalNote>(note)) {
        case NumericalNote::TensorCore:
            out.tensorCore = true;
            out.notes.emplace_back("tensor cores");
            break;
        case NumericalNote::DownConvertInputs:
            out.numeric = NumericClass::Approximate;
            out.notes.emplace_back("narrows its inputs");
            break;
        case NumericalNote::ReducedPrecisionReduction:
            out.numeric = NumericClass::Approximate;
            out.notes.emplace_back("sums in less than float32");
            break;
        case NumericalNote::Fft:
            out.numeric = NumericClass::Approximate;
            out.notes.emplace_back("FFT");
            break;
        case NumericalNote::Winograd:
        case NumericalNote::WinogradTile4:
        case NumericalNote::WinogradTile6:
        case NumericalNote::WinogradTile13:
            out.numeric = NumericClass::Approximate;
            out.notes.emplace_back("Winograd");
            break;
        case NumericalNote::Nondeterministic:
            out.deterministic = false;
            out.notes.emplace_back("not deterministic");
            break;
        default:
            break;
        }
    }
}

void readBehaviorNotes(const Descriptor& engine, Configuration& out) {
    const auto room = static_cast<size_t>(BehaviorNote::Count);
    for (int note : engine.read<int>(Attribute::EngineBehaviorNotes, Type::BehaviorNote, room)) {
        switch (static_cast<BehaviorNote>(note)) {
        case BehaviorNote::RuntimeCompilation:
            out.runtimeCompiled = true;
            out.notes.emplace_back("compiled at run time");
            break;
        case BehaviorNote::FilterReorder:
        case BehaviorNote::BiasReorder:
            out.reorders = true;
            out.notes.emplace_back("reorders weights");
            break;
        case BehaviorNote::GraphNative:
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
        choices.emplace_back(library, Kind::KnobChoice);
    const size_t count = out.descriptor.readInto(Attribute::ConfigKnobChoices, choices);
    for (size_t i = 0; i < count; ++i) {
        auto type = choices[i].read<int>(Attribute::KnobChoiceType, Type::KnobType, 1);
        auto value = choices[i].read<int64_t>(Attribute::KnobChoiceValue, Type::Int64, 1);
        if (!type.empty() && !value.empty())
            out.knobs.emplace_back(type[0], value[0]);
    }
    std::sort(out.knobs.begin(), out.knobs.end());
}

FoundConfiguration facts(const LibraryPtr& library, Descriptor config) {
    FoundConfiguration out;
    out.descriptor = std::move(config);
    std::vector<Descriptor> engine;
    engine.emplace_back(library, Kind::Engine);
    if (out.descriptor.readInto(Attribute::ConfigEngine, engine) == 1) {
        auto index = engine[0].read<int64_t>(Attribute::EngineGlobalIndex, Type::Int64, 1);
        out.engine = index.empty() ? -1 : index[0];
        readNumericalNotes(engine[0], out);
        readBehaviorNotes(engine[0], out);
    }
    readKnobs(library, out);
    auto bytes = out.descriptor.read<int64_t>(Attribute::ConfigWorkspaceSize, Type::Int64, 1);
    if (!bytes.empty())
        out.workspaceBytes = bytes[0];
    std::sort(out.notes.begin(), out.notes.end());
    out.notes.erase(std::unique(out.notes.begin(), out.notes.end()), out.notes.end());
    return out;
}

std::optional<Reason> ask(const Target& target, const OperationGraph& graph, Heuristics mode,
                          size_t most, std::vector<FoundConfiguration>& out) {
    Descriptor heuristics(target.library, Kind::EngineHeuristics);
    heuristics.set(Attribute::HeuristicsGraph, graph.graph);
    heuristics.setCode(Attribute::HeuristicsMode, Type::HeuristicsMode, static_cast<int>(mode));
    if (target.handle == nullptr)
        heuristics.set(Attribute::HeuristicsDeviceProperties, target.properties);
    if (auto reason = heuristics.finish("the graph"))
        return reason;
    std::vector<Descriptor> found;
    for (size_t i = 0; i < most; ++i)
        found.emplace_back(target.library, Kind::EngineConfig);
    const size_t count = heuristics.readInto(Attribute::HeuristicsResults, found);
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
    out->properties = Descriptor(library, Kind::DeviceProperties);
    out->properties.set(Attribute::DevicePropertiesJson, Type::Char, json.c_str(), json.size());
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
    std::optional<Reason> first = ask(target, graph, Heuristics::A, most, out);
    if (out.empty())
        if (auto reason = ask(target, graph, Heuristics::Fallback, most, out); reason && !first)
            first = std::move(reason);
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
    Descriptor out(target.library, Kind::ExecutionPlan);
    if (target.handle != nullptr)
        out.set(Attribute::PlanHandle, Type::Handle, &target.handle, 1);
    else
        out.set(Attribute::PlanDeviceProperties, target.properties);
    return out;
}

std::variant<Plan, Reason> finished(Descriptor descriptor, const std::string& name) {
    if (auto reason = descriptor.finish("the plan `" + name + "`"))
        return std::move(*reason);
    Plan out;
    out.descriptor = std::move(descriptor);
    auto bytes = out.descriptor.read<int64_t>(Attribute::PlanWorkspaceSize, Type::Int64, 1);
    out.workspaceBytes = bytes.empty() ? 0 : bytes[0];
    return out;
}

} // namespace

std::variant<Plan, Reason> finishPlan(const Target& target,
                                      const FoundConfiguration& configuration) {
    Descriptor plan = planFor(target);
    plan.set(Attribute::PlanEngineConfig, configuration.descriptor);
    return finished(std::move(plan), configuration.name());
}

std::variant<Plan, Reason> restorePlan(const Target& target, const std::string& json,
                                       const std::string& name) {
    Descriptor plan = planFor(target);
    plan.set(Attribute::PlanJson, Type::Char, json.c_str(), json.size());
    return finished(std::move(plan), name);
}

} // namespace fuselage::gpu::cudnn
