// SPDX-License-Identifier: Apache-2.0
// Attention as cuDNN graphs: the one operation where there are no masks, else a graph of its parts,
// which the library plans as one kernel too. The scores' maximum is taken off before the
// exponential in both.
#include "core/kernel/loops.h"
#include "gpu/libs/describe_internal.h"
#include "gpu/libs/graph_builder.h"

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

std::optional<Reason> maskReason(const KernelRequest& request, const Attention& program) {
    if (program.zeroesNan)
        return Reason{"mask", "cuDNN's attention gives NaN where a row has no key", {}, {}};
    if (program.sink)
        return Reason{"mask", "cuDNN's attention has no sink beside the keys", {}, {}};
    for (const ScoreStep& mask : program.steps) {
        if (mask.kind == ScoreStep::Kind::Apply)
            return Reason{"mask", "cuDNN's attention takes no function of the scores", {}, {}};
        if (mask.kind != ScoreStep::Kind::Add)
            return Reason{"mask",
                          "cuDNN's attention takes masks that are added to the scores",
                          "write the mask as a sum with zero and minus infinity",
                          {}};
        const DType type = request.inputs[mask.access.operand].dtype;
        if (type != DType::Float32 && type != request.inputs[program.q.operand].dtype)
            return Reason{"dtype",
                          std::string("a mask is ") + nameOf(type) +
                              ": float or the operands' type is supported",
                          {},
                          {{"dtype", nameOf(type)}}};
    }
    return std::nullopt;
}

std::optional<Reason> attentionReason(const KernelRequest& request, const Attention& program) {
    if (request.strict || request.allowed < NumericClass::Reassociated)
        return Reason{"numeric",
                      "cuDNN's attention sums in an order of its own",
                      "allow the class `reassociated`",
                      {}};
    const DType type = request.inputs[program.q.operand].dtype;
    if (type != DType::Float16 && type != DType::BFloat16)
        return Reason{"dtype",
                      std::string("cuDNN's attention is for float16 and bfloat16, this is ") +
                          nameOf(type),
                      "run in float16 or bfloat16",
                      {{"dtype", nameOf(type)}}};
    for (uint32_t operand : {program.k.operand, program.v.operand})
        if (request.inputs[operand].dtype != type)
            return Reason{"dtype", "query, key and value differ in type", {}, {}};
    return maskReason(request, program);
}

/// Where the operands lie, in the frame [batch, heads, rows, columns].
class Frame {
public:
    Frame(const Attention& program, std::vector<StridedAccess> operands, std::vector<Loop> loops)
        : m_dims(program.batch.size() + 2), m_operands(std::move(operands)),
          m_loops(std::move(loops)) {}

    static constexpr size_t q = 0, k = 1, v = 2, output = 3, firstMask = 4;

    Extents extents(int64_t rows, int64_t cols) const {
        return {m_loops[0].extent, m_loops[1].extent, rows, cols};
    }

    Extents strides(size_t operand, bool transposed = false) const {
        const Extents& own = m_operands[operand].strides;
        const int64_t row = own[m_dims - 2], col = own[m_dims - 1];
        return {m_loops[0].strides[operand], m_loops[1].strides[operand], transposed ? col : row,
                transposed ? row : col};
    }

    int64_t offset(size_t operand) const { return m_operands[operand].offset; }

    /// The graph's tensor that reads an operand.
    size_t addTo(GraphBuilder& builder, size_t operand, const Access& access,
                 const Extents& extents, bool transposed = false) const {
        return builder.addInput(access.operand, extents, strides(operand, transposed),
                                offset(operand));
    }

private:
    size_t m_dims;
    std::vector<StridedAccess> m_operands;
    std::vector<Loop> m_loops;
};

std::variant<Frame, Reason> frameOf(const KernelRequest& request, const Attention& program) {
    const size_t dims = program.batch.size() + 2;
    std::vector<StridedAccess> operands;
    auto read = [&](const Access& access) {
        operands.push_back(strided(access, request.inputs[access.operand].strides, dims));
    };
    for (const Access* access : {&program.q, &program.k, &program.v})
        read(*access);
    operands.push_back(
        strided(program.output, request.outputs[program.output.operand].strides, dims));
    for (const ScoreStep& mask : program.steps)
        read(mask.access);
    auto found = twoLoops(program.batch, operands);
    if (auto* reason = std::get_if<Reason>(&found))
        return std::move(*reason);
    return Frame(program, std::move(operands), std::move(std::get<std::vector<Loop>>(found)));
}

/// On an H200 cuDNN 9.19 gave wrong sums for a mask with one row for all queries, and read illegal
/// memory (tests/gpu/RESULTS.md).
std::optional<Reason> repeatedMask(const Attention& program, const Frame& frame) {
    for (size_t i = 0; i < program.steps.size(); ++i) {
        const Extents strides = frame.strides(Frame::firstMask + i);
        if ((program.l > 1 && strides[2] == 0) || (program.s > 1 && strides[3] == 0))
            return Reason{"mask",
                          "cuDNN's attention reads a mask wrongly that repeats along the queries "
                          "or the keys",
                          {},
                          {}};
    }
    return std::nullopt;
}

/// The operation of its own.
DescribeResult describeWhole(const KernelRequest& request, const Attention& program,
                             const Frame& frame) {
    GraphBuilder builder(request, {frame.extents(program.l, program.e), {3, 2, 1, 0}});
    const Extents q = frame.extents(program.l, program.d), k = frame.extents(program.s, program.d),
                  v = frame.extents(program.s, program.e);
    SdpaNode node;
    node.q = frame.addTo(builder, Frame::q, program.q, q);
    node.k = frame.addTo(builder, Frame::k, program.k, k);
    node.v = frame.addTo(builder, Frame::v, program.v, v);
    if (builder.repeats(node.q, q, 2) || builder.repeats(node.k, k, 2) ||
        builder.repeats(node.v, v, 2))
        return repeatingOperand();
    node.o = builder.addVirtual();
    builder.bindOutput(node.o, program.output.operand, frame.strides(Frame::output),
                       frame.offset(Frame::output));
    node.scale = builder.addScalar(program.scale);
    builder.graph.nodes.emplace_back(node);
    return std::move(builder.graph);
}

/// Product, scale, masks, maximum, difference, exponential, sum, quotient, product. cuDNN's engine
/// wants the scale in memory and the quotient in the operands' type.
DescribeResult describeParts(const KernelRequest& request, const Attention& program,
                             const Frame& frame) {
    GraphBuilder builder(request, {frame.extents(program.l, program.s), {3, 2, 1, 0}});
    const Extents q = frame.extents(program.l, program.d), k = frame.extents(program.d, program.s),
                  v = frame.extents(program.s, program.e), o = frame.extents(program.l, program.e);
    MatMulNode scores, values;
    scores.a = frame.addTo(builder, Frame::q, program.q, q);
    scores.b = frame.addTo(builder, Frame::k, program.k, k, true);
    values.b = frame.addTo(builder, Frame::v, program.v, v);
    if (builder.repeats(scores.a, q, 2) || builder.repeats(scores.b, k, 2) ||
        builder.repeats(values.b, v, 2))
        return repeatingOperand();
    scores.c = builder.addVirtual();
    builder.graph.nodes.emplace_back(scores);
    size_t x = builder.pointwise(PointwiseMode::Multiply, scores.c,
                                 builder.addStoredScalar(program.scale));
    for (size_t i = 0; i < program.steps.size(); ++i) {
        const size_t operand = Frame::firstMask + i;
        x = builder.pointwise(
            PointwiseMode::Add, x,
            frame.addTo(builder, operand, program.steps[i].access, builder.frame().dims));
    }
    x = builder.pointwise(PointwiseMode::Subtract, x, builder.reduce(ReductionMode::Maximum, x, 3));
    x = builder.pointwise(PointwiseMode::Exp, x);
    values.a =
        builder.pointwise(PointwiseMode::Divide, x, builder.reduce(ReductionMode::Sum, x, 3));
    builder.graph.tensors[values.a].dtype = request.inputs[program.v.operand].dtype;
    const OperandLayout& result = request.outputs[program.output.operand];
    GraphTensor bound = builder.moved(
        o, frame.strides(Frame::output), result.dtype,
        {TensorMemory::Kind::Output, program.output.operand, frame.offset(Frame::output), 0});
    bound.alignment = alignmentAt(result, frame.offset(Frame::output));
    values.c = builder.add(std::move(bound));
    builder.graph.nodes.emplace_back(values);
    return std::move(builder.graph);
}

} // namespace

DescribeResult describeAttention(const KernelRequest& request) {
    const auto& program = std::get<Attention>(request.program->code);
    if (auto reason = attentionReason(request, program))
        return std::move(*reason);
    auto frame = frameOf(request, program);
    if (auto* reason = std::get_if<Reason>(&frame))
        return std::move(*reason);
    if (auto reason = repeatedMask(program, std::get<Frame>(frame)))
        return std::move(*reason);
    DescribeResult out = program.steps.empty()
                             ? describeWhole(request, program, std::get<Frame>(frame))
                             : describeParts(request, program, std::get<Frame>(frame));
    if (auto* graph = std::get_if<GraphDescription>(&out))
        graph->operands = request.inputs[program.q.operand].dtype;
    return out;
}

} // namespace fuselage::gpu
