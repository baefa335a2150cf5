// SPDX-License-Identifier: Apache-2.0
#include "gpu/emit/emit_kernel.h"

#include "core/graph/type.h"
#include "core/support/hash.h"
#include "gpu/emit/device_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace fuselage::gpu {

namespace {

void replaceAll(std::string& text, const std::string& what, const std::string& by) {
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
        text.replace(at, what.size(), by);
}

std::string layoutLine(const std::string& name, const OperandLayout& layout) {
    return fmt::format("// {}: {} {}, strides {} elements, aligned to {} bytes\n", name,
                       nameOf(layout.dtype), text(layout.extents), text(layout.strides),
                       layout.alignment);
}

std::string mapLine(size_t number, const TensorMapText& map) {
    const std::string tensor = fmt::format("// map{}: {} of {}, strides {} bytes, ", number,
                                           nameOf(map.element), text(map.dims), text(map.strides));
    if (!map.pixels)
        return tensor + fmt::format("boxes of {}, all innermost first\n", text(map.box));
    return tensor + fmt::format("columns of {} (channels, pixels) from place {} to {} behind the "
                                "last in steps of {}, all innermost first\n",
                                text(map.box), text(map.pixels->lower), text(map.pixels->upper),
                                text(map.pixels->steps));
}

std::string headComment(const char* variant, const KernelRequest& request,
                        const std::vector<KernelPart>& parts, const KernelSet& set,
                        const KernelText& kernel) {
    std::string out = fmt::format("// {}: one kernel for a {} program, made by Fuselage.\n",
                                  variant, nameOf(kindOf(*request.program)));
    for (const KernelPart& part : parts)
        for (const std::string& line : part.comment)
            out += "// " + line + "\n";
    for (size_t i = 0; i < request.inputs.size(); ++i)
        out += layoutLine(fmt::format("in{}", i), request.inputs[i]);
    for (size_t i = 0; i < request.outputs.size(); ++i)
        out += layoutLine(fmt::format("out{}", i), request.outputs[i]);
    for (size_t i = 0; i < kernel.maps.size(); ++i)
        out += mapLine(i, kernel.maps[i]);
    out += fmt::format("// numerics: class {}{}, tolerance {:.1e} of the largest output\n",
                       nameOf(set.numeric), request.strict ? ", strict" : "", set.tolerance);
    out += fmt::format(
        "// launch: {} blocks of {} threads{}, {} bytes of dynamic shared memory\n\n",
        kernel.grid[0], kernel.block[0],
        kernel.clusterBlocks == 1 ? "" : fmt::format(" in clusters of {}", kernel.clusterBlocks),
        kernel.sharedBytes);
    return out;
}

std::string helperText(const std::vector<KernelPart>& parts) {
    std::vector<std::string> names = {"types", "math", "launch"};
    for (const KernelPart& part : parts)
        for (const std::string& helper : part.helpers)
            if (std::find(names.begin(), names.end(), helper) == names.end())
                names.push_back(helper);
    std::string out;
    for (const std::string& name : names)
        out += std::string(deviceText(name)) + "\n";
    return out;
}

} // namespace

Reason refusal(const char* code, std::string message, std::vector<ReasonFact> facts) {
    return {code, std::move(message), {}, std::move(facts)};
}

std::string launchBounds(const KernelText& kernel) {
    return fmt::format("__launch_bounds__({}, {})", kernel.block[0], kernel.residentBlocks);
}

namespace {

/// Whether a program rounds to this type somewhere, whatever its results are.
struct RoundsTo {
    DType type;

    bool operator()(const Tape& tape) const {
        return std::any_of(tape.code.begin(), tape.code.end(), [&](const TapeInstruction& one) {
            return one.op == TapeOp::Cast && one.type == type;
        });
    }

    bool operator()(const std::optional<Prologue>& prologue) const {
        return prologue && (*this)(prologue->tape);
    }

    bool operator()(const Pointwise& code) const { return (*this)(code.tape); }

    bool operator()(const Row& code) const {
        return (*this)(code.element) || (*this)(code.row) ||
               std::any_of(code.stages.begin(), code.stages.end(), [&](const Row::Stage& stage) {
                   return (*this)(stage.map) || (*this)(stage.scalar);
               });
    }

    bool operator()(const Contraction& code) const {
        return (*this)(code.epilogue.tape) || (*this)(code.prologueA) || (*this)(code.prologueB);
    }

    bool operator()(const Window& code) const {
        return (*this)(code.epilogue.tape) || (*this)(code.prologue);
    }

    bool operator()(const Group& code) const {
        return std::any_of(
            code.members.begin(), code.members.end(),
            [&](const KernelProgram& member) { return std::visit(*this, member.code); });
    }

    bool operator()(const Chain& code) const {
        return std::any_of(
            code.members.begin(), code.members.end(),
            [&](const KernelProgram& member) { return std::visit(*this, member.code); });
    }

    template <typename Other> bool operator()(const Other&) const { return false; }
};

/// Of a type that results have or are rounded to on the way.
double toleranceOfType(DType type, NumericClass numeric) {
    switch (type) {
    case DType::Float16:
        return 1e-3;
    case DType::BFloat16:
        return 8e-3;
    case DType::Float32:
        return numeric >= NumericClass::Reassociated ? 2e-5 : 4e-6;
    case DType::Float64:
        return 1e-12;
    default:
        return 0;
    }
}

} // namespace

double toleranceOf(const KernelProgram& program, NumericClass numeric) {
    double out = 0;
    for (const OperandType& output : program.outputs)
        out = std::max(out, toleranceOfType(output.dtype, numeric));
    for (const DType narrow : {DType::Float16, DType::BFloat16})
        if (out > 0 && std::visit(RoundsTo{narrow}, program.code))
            out = std::max(out, toleranceOfType(narrow, numeric));
    return out;
}

bool storesNarrow(const KernelRequest& request, const std::vector<KernelOperand>& writes) {
    return request.allowed >= NumericClass::Wider &&
           std::all_of(writes.begin(), writes.end(), [](const KernelOperand& write) {
               return isFloat(write.dtype) && sizeOf(write.dtype) == 2;
           });
}

std::optional<Reason> refuseTypes(const KernelRequest& request) {
    for (const auto* layouts : {&request.inputs, &request.outputs})
        for (const OperandLayout& layout : *layouts)
            if (sizeOf(layout.dtype) == 0)
                return refusal("dtype", fmt::format("kernels have no operands of type {}",
                                                    nameOf(layout.dtype)));
    return std::nullopt;
}

std::string parameterList(const KernelRequest& request, const std::vector<ExtraParameter>& extra,
                          bool types) {
    std::string out;
    auto add = [&](const std::string& type, const std::string& name) {
        out += (out.empty() ? "" : ", ") + (types ? type + " __restrict__ " : "") + name;
    };
    for (size_t i = 0; i < request.inputs.size(); ++i)
        add(fmt::format("const {}*", storageType(request.inputs[i].dtype)), fmt::format("in{}", i));
    for (size_t i = 0; i < request.outputs.size(); ++i)
        add(fmt::format("{}*", storageType(request.outputs[i].dtype)), fmt::format("out{}", i));
    for (const ExtraParameter& parameter : extra)
        add(parameter.type, parameter.name);
    return out;
}

namespace {

/// The set's facts from its parts, or why it is not allowed.
std::variant<KernelSet, Reason> emptySet(const char* variant, const KernelRequest& request,
                                         const std::vector<KernelPart>& parts) {
    KernelSet set;
    set.variant = variant;
    set.numeric = request.program->numeric;
    for (const KernelPart& part : parts) {
        set.numeric = std::max(set.numeric, part.numeric);
        set.memory += part.memory;
    }
    if (set.numeric > request.allowed && set.numeric > request.program->numeric)
        return refusal("numeric-class",
                       fmt::format("{} gives class {}, allowed is {}", variant, nameOf(set.numeric),
                                   nameOf(request.allowed)),
                       {{"variant", variant}});
    set.tolerance = toleranceOf(*request.program, set.numeric);
    return set;
}

/// One kernel of parts by block ranges.
std::variant<KernelText, Reason> kernelOf(const KernelRequest& request, const KernelSet& set,
                                          const std::vector<KernelPart>& parts) {
    KernelText kernel;
    std::vector<ExtraParameter> extra;
    for (const KernelPart& part : parts)
        extra.insert(extra.end(), part.extra.begin(), part.extra.end());
    std::string names = parameterList(request, extra, false);
    std::string types = parameterList(request, extra, true), entryTypes = types;
    kernel.maps = parts[0].maps;
    for (size_t i = 0; i < kernel.maps.size(); ++i) {
        names += fmt::format(", map{}", i);
        types += fmt::format(", const TensorMap& map{}", i);
        entryTypes += fmt::format(", const __grid_constant__ TensorMap map{}", i);
    }
    std::string text, calls;
    int64_t blocks = 0;
    uint32_t resident = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
        const KernelPart& part = parts[i];
        std::string functions = part.functions;
        replaceAll(functions, "@", fmt::format("@part{}_", i));
        std::string body = part.body;
        replaceAll(body, "@", fmt::format("@part{}_", i));
        const std::string entry = fmt::format(
            "@part{}({}, {})", i,
            blocks == 0 ? "blockIdx.x" : fmt::format("blockIdx.x - {}u", blocks), names);
        text += functions + fmt::format("__device__ __forceinline__ void @part{}(unsigned block, "
                                        "{}) {{\n{}}}\n\n",
                                        i, types, body);
        blocks += part.blocks;
        const bool last = i + 1 == parts.size();
        calls +=
            last ? fmt::format("    {};\n", entry)
                 : fmt::format("    if (blockIdx.x < {}u)\n        return {};\n", blocks, entry);
        kernel.block[0] = std::max(kernel.block[0], part.threads);
        kernel.sharedBytes = std::max(kernel.sharedBytes, part.sharedBytes);
        resident = std::max(resident, part.residentBlocks);
        kernel.ownArch = kernel.ownArch || part.ownArch;
        kernel.clusterBlocks = std::max(kernel.clusterBlocks, part.clusterBlocks);
    }
    if (blocks > std::numeric_limits<int32_t>::max())
        return refusal("support", fmt::format("{} blocks are more than one launch has", blocks),
                       {{"variant", set.variant}});
    kernel.grid[0] = static_cast<uint32_t>(blocks);
    // The second bound keeps the assembler from spilling for more threads at a time.
    kernel.residentBlocks = resident != 0 ? resident : std::max(1U, 512 / kernel.block[0]);
    // First of all, so that no part can touch anything before it or leave without it.
    text += fmt::format("extern \"C\" __global__ void {} @(\n    {}) {{\n"
                        "    waitForKernelsBefore();\n{}}}\n",
                        launchBounds(kernel), entryTypes, calls);
    kernel.waits = true;
    const std::string comment = headComment(set.variant.c_str(), request, parts, set, kernel);
    kernel.name =
        fmt::format("{}_{}", set.variant, Hasher().text(comment).text(text).hex().substr(0, 12));
    replaceAll(text, "@part", kernel.name + "_part");
    replaceAll(text, "@", kernel.name);
    kernel.source = comment + helperText(parts) + text;
    for (uint32_t i = 0; i < request.inputs.size(); ++i)
        kernel.arguments.push_back({KernelArgument::Kind::Input, i, 0});
    for (uint32_t i = 0; i < request.outputs.size(); ++i)
        kernel.arguments.push_back({KernelArgument::Kind::Output, i, 0});
    for (const ExtraParameter& parameter : extra)
        kernel.arguments.push_back(parameter.argument);
    return kernel;
}

} // namespace

EmitResult finish(const char* variant, const KernelRequest& request,
                  std::vector<KernelPart> parts) {
    std::erase_if(parts, [](const KernelPart& part) { return part.blocks == 0; });
    auto set = emptySet(variant, request, parts);
    if (auto* reason = std::get_if<Reason>(&set))
        return std::move(*reason);
    auto& out = std::get<KernelSet>(set);
    if (parts.empty())
        return std::move(out); // nothing to compute, so nothing to launch
    auto kernel = kernelOf(request, out, parts);
    if (auto* reason = std::get_if<Reason>(&kernel))
        return std::move(*reason);
    out.kernels.push_back(std::move(std::get<KernelText>(kernel)));
    return std::move(out);
}

EmitResult finishInOrder(const char* variant, const KernelRequest& request,
                         std::vector<KernelPart> launches, SetNeeds needs) {
    auto set = emptySet(variant, request, launches);
    if (auto* reason = std::get_if<Reason>(&set))
        return std::move(*reason);
    auto& out = std::get<KernelSet>(set);
    out.packed = std::move(needs.packed);
    out.scratchBytes = needs.scratchBytes;
    out.tickets = needs.tickets;
    out.tables = std::move(needs.tables);
    for (KernelPart& part : launches) {
        if (part.blocks == 0)
            continue;
        auto kernel = kernelOf(request, out, {std::move(part)});
        if (auto* reason = std::get_if<Reason>(&kernel))
            return std::move(*reason);
        out.kernels.push_back(std::move(std::get<KernelText>(kernel)));
    }
    return std::move(out);
}

EmitResult finish(const char* variant, const KernelRequest& request, PartResult part) {
    if (auto* reason = std::get_if<Reason>(&part)) {
        reason->facts.push_back({"variant", variant});
        return *reason;
    }
    std::vector<KernelPart> parts;
    parts.push_back(std::move(std::get<KernelPart>(part)));
    return finish(variant, request, std::move(parts));
}

} // namespace fuselage::gpu
