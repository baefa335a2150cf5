// SPDX-License-Identifier: Apache-2.0
#include "core/kernel/loops.h"
#include "gpu/libs/describe_internal.h"
#include "gpu/libs/graph_builder.h"

#include <algorithm>

namespace fuselage::gpu {

namespace {

/// Batch and heads: the dimensions as they are where there are no more than two, else merged.
std::variant<std::vector<Loop>, Reason> twoLoops(const Extents& batch,
                                                 const std::vector<StridedAccess>& operands) {
    std::vector<Loop> loops;
    for (size_t d = 0; d < batch.size(); ++d) {
        if (batch[d] == 1)
            continue;
        Loop loop{batch[d], {}};
        for (const StridedAccess& operand : operands)
            loop.strides.push_back(operand.strides[d]);
        loops.push_back(std::move(loop));
    }
    if (loops.size() > 2)
        mergeNeighbours(loops);
    if (loops.size() > 2)
        return Reason{"layout", "batch dimensions do not lie one after the other", {}, {}};
    while (loops.size() < 2)
        loops.insert(loops.begin(), Loop{1, std::vector<int64_t>(operands.size(), 0)});
    return loops;
}

std::optional<Reason> attentionReason(const TacticRequest& request, const Attention& program) {
    if (request.emit.strict || request.emit.allowed < NumericClass::Reassociated)
        return Reason{"numeric",
                      "cuDNN's attention sums in an order of its own",
                      "allow the class `reassociated`",
                      {}};
    if (!program.masks.empty())
        return Reason{"mask", "cuDNN's attention is described without masks", {}, {}};
    const DType type = request.emit.inputs[program.q.operand].dtype;
    if (type != DType::Float16 && type != DType::BFloat16)
        return Reason{"dtype",
                      std::string("cuDNN's attention is for float16 and bfloat16, this is ") +
                          nameOf(type),
                      "run in float16 or bfloat16",
                      {{"dtype", nameOf(type)}}};
    for (uint32_t operand : {program.k.operand, program.v.operand})
        if (request.emit.inputs[operand].dtype != type)
            return Reason{"dtype", "query, key and value differ in type", {}, {}};
    return std::nullopt;
}

bool hasErfGelu(const GraphDescription& graph) {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const GraphNode& node) {
        const auto* pointwise = std::get_if<PointwiseNode>(&node);
        return pointwise && pointwise->mode == PointwiseMode::GeluErf;
    });
}

} // namespace

DescribeResult describeAttention(const TacticRequest& request) {
    const auto& program = std::get<Attention>(request.emit.program->code);
    if (auto reason = attentionReason(request, program))
        return std::move(*reason);
    const size_t dims = program.batch.size() + 2;
    std::vector<StridedAccess> operands;
    for (const Access* access : {&program.q, &program.k, &program.v})
        operands.push_back(strided(*access, request.emit.inputs[access->operand].strides, dims));
    operands.push_back(
        strided(program.output, request.emit.outputs[program.output.operand].strides, dims));
    auto found = twoLoops(program.batch, operands);
    if (auto* reason = std::get_if<Reason>(&found))
        return std::move(*reason);
    const auto& loops = std::get<std::vector<Loop>>(found);
    auto framed = [&](size_t operand) {
        const Extents& own = operands[operand].strides;
        return Extents{loops[0].strides[operand], loops[1].strides[operand], own[dims - 2],
                       own[dims - 1]};
    };
    auto extents = [&](int64_t rows, int64_t cols) {
        return Extents{loops[0].extent, loops[1].extent, rows, cols};
    };
    GraphBuilder builder(request, {extents(program.l, program.e), {3, 2, 1, 0}});
    SdpaNode node;
    node.q = builder.addInput(program.q.operand, extents(program.l, program.d), framed(0),
                              operands[0].offset);
    node.k = builder.addInput(program.k.operand, extents(program.s, program.d), framed(1),
                              operands[1].offset);
    node.v = builder.addInput(program.v.operand, extents(program.s, program.e), framed(2),
                              operands[2].offset);
    if (builder.repeats(node.q, extents(program.l, program.d), 2) ||
        builder.repeats(node.k, extents(program.s, program.d), 2) ||
        builder.repeats(node.v, extents(program.s, program.e), 2))
        return repeatingOperand();
    node.o = builder.addVirtual();
    builder.bindOutput(node.o, program.output.operand, framed(3), operands[3].offset);
    node.scale = builder.addScalar(program.scale);
    builder.graph.nodes.emplace_back(node);
    builder.graph.operands = request.emit.inputs[program.q.operand].dtype;
    return std::move(builder.graph);
}

std::variant<std::vector<GraphDescription>, Reason> describe(const TacticRequest& request) {
    auto one = std::holds_alternative<Attention>(request.emit.program->code)
                   ? describeAttention(request)
                   : describeContraction(request, false);
    if (auto* reason = std::get_if<Reason>(&one))
        return std::move(*reason);
    std::vector<GraphDescription> out;
    out.push_back(std::move(std::get<GraphDescription>(one)));
    if (request.emit.allowed == NumericClass::Approximate && hasErfGelu(out[0])) {
        auto other = describeContraction(request, true);
        if (auto* graph = std::get_if<GraphDescription>(&other)) {
            graph->form = "tanh";
            out.push_back(std::move(*graph));
        }
    }
    return out;
}

} // namespace fuselage::gpu
