// SPDX-License-Identifier: Apache-2.0
#include "tests/shim/suite.h"

#include "core/graph/type.h"
#include "core/kernel/chain.h"
#include "core/kernel/lower.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "tests/shim/suite_cases.h"

#include <cstdio>
#include <numeric>
#include <sstream>

namespace fuselage::gpu_suite {

namespace {

void retype(Graph& graph, const std::map<std::string, DType>& types) {
    for (const auto& values : {graph.inputs(), graph.outputs()})
        for (ValueId id : values)
            if (const auto found = types.find(graph.value(id).name); found != types.end()) {
                Type type = graph.value(id).type;
                type.dtype = found->second;
                graph.setType(id, std::move(type));
            }
}

std::optional<KernelProgram> lowered(const std::string& body, const Case& source) {
    auto graph = model_io::loadText("g " + body);
    if (!graph) {
        std::fprintf(stderr, "%s\n%s\n", body.c_str(), graph.error().text().c_str());
        return std::nullopt;
    }
    retype(*graph, source.types);
    for (const InferProblem& problem : inferShapes(*graph))
        std::fprintf(stderr, "%s\n%s\n", body.c_str(), problem.message.c_str());
    Progress progress;
    if (auto folded = foldConstants(*graph, {}, progress); !folded) {
        std::fprintf(stderr, "%s\n%s\n", body.c_str(), folded.error().text().c_str());
        return std::nullopt;
    }
    LowerRequest request;
    request.constants.resize(graph->inputs().size());
    if (source.stored >= 0) { // only that it is one matters, as below
        const auto number = static_cast<size_t>(source.stored);
        const Type& type = graph->value(graph->inputs()[number]).type;
        request.constants[number] = std::make_shared<Tensor>(type.dtype, *type.extents());
    }
    request.body = std::make_shared<const Graph>(std::move(*graph));
    LowerResult result = lower(request);
    if (auto* reason = std::get_if<Reason>(&result)) {
        std::fprintf(stderr, "%s\n%s\n", body.c_str(), reason->text().c_str());
        return std::nullopt;
    }
    return std::get<KernelProgram>(std::move(result));
}

/// Members keep their own operand numbers; the group's are theirs one after the other.
KernelProgram grouped(std::vector<KernelProgram> members) {
    KernelProgram out;
    for (const KernelProgram& member : members) {
        out.inputs.insert(out.inputs.end(), member.inputs.begin(), member.inputs.end());
        out.outputs.insert(out.outputs.end(), member.outputs.begin(), member.outputs.end());
        out.numeric = std::max(out.numeric, member.numeric);
    }
    out.code = Group{std::move(members)};
    return out;
}

gpu::OperandLayout layoutOf(const OperandType& type, const Placement& placement) {
    gpu::OperandLayout out{type.dtype, type.extents, Extents(type.extents.size(), 0),
                           placement.alignment};
    std::vector<uint32_t> order = placement.order;
    if (order.empty()) {
        order.resize(type.extents.size());
        std::iota(order.begin(), order.end(), 0U);
    }
    int64_t stride = 1;
    for (size_t i = order.size(); i-- > 0;) {
        out.strides[order[i]] = stride;
        stride *= type.extents[order[i]];
        if (i + 1 == order.size())
            stride += placement.pad;
    }
    return out;
}

} // namespace

std::vector<Case> cases() {
    std::vector<Case> out;
    for (const auto& family :
         {pointwiseCases(), rowCases(), copyCases(), windowCases(), groupCases(), depthwiseCases(),
          fewChannelsCases(), haloCases(), pixelCases(), contractionCases(), integerCases(),
          attentionCases(), libraryCases(), chainCases(), fewBitsCases()})
        out.insert(out.end(), family.begin(), family.end());
    return out;
}

Prepared prepare(const Case& source) {
    Prepared out;
    out.source = source;
    std::vector<KernelProgram> members;
    for (const std::string& body : source.bodies) {
        auto program = lowered(body, source);
        if (!program)
            return out;
        members.push_back(std::move(*program));
    }
    if (source.chained) {
        KernelProgram whole = std::move(members.back());
        for (members.pop_back(); !members.empty(); members.pop_back()) {
            auto chain = chained(members.back(), whole);
            if (auto* reason = std::get_if<Reason>(&chain)) {
                std::fprintf(stderr, "%s: %s\n", source.name.c_str(), reason->text().c_str());
                return out;
            }
            whole = std::get<KernelProgram>(std::move(chain));
        }
        out.program = std::make_unique<KernelProgram>(std::move(whole));
    } else {
        out.program = std::make_unique<KernelProgram>(
            members.size() == 1 ? std::move(members[0]) : grouped(std::move(members)));
    }
    auto placed = [&](const std::string& name) {
        auto found = source.placements.find(name);
        return found == source.placements.end() ? Placement{} : found->second;
    };
    for (size_t i = 0; i < out.program->inputs.size(); ++i)
        out.request.inputs.push_back(
            layoutOf(out.program->inputs[i], placed("in" + std::to_string(i))));
    for (size_t i = 0; i < out.program->outputs.size(); ++i)
        out.request.outputs.push_back(
            layoutOf(out.program->outputs[i], placed("out" + std::to_string(i))));
    out.request.program = out.program.get();
    out.request.strict = source.strict;
    out.request.allowed = source.allowed;
    out.request.tf32 = source.tf32;
    out.request.capability = source.capability;
    if (source.units != 0) {
        out.profile = std::make_unique<DeviceProfile>();
        out.profile->units = source.units;
        out.profile->sharedBytesPerUnit = static_cast<double>(source.sharedBytes);
        out.request.profile = out.profile.get();
    }
    std::istringstream constants(source.constants);
    for (std::string name; constants >> name;) {
        const auto number = static_cast<size_t>(std::stoi(name.substr(2)));
        out.request.constants.resize(out.program->inputs.size());
        // A weight that kernels may pack: they read the operand, never these zeros.
        const OperandType& type = out.program->inputs[number];
        out.request.constants[number] = std::make_shared<Tensor>(type.dtype, type.extents);
    }
    return out;
}

} // namespace fuselage::gpu_suite
