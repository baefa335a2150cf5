// SPDX-License-Identifier: Apache-2.0
// Convolutions and matrix products as cuDNN graphs. Weights that never change are packed: filters
// in the order of their image, matrices with the reduced dimension innermost, scaled where the
// epilogue starts with a scale. Bytes are multiplied as they are stored; what quantised models put
// behind the sums (scales, a stored residual, rounding to 8 bits) are operations on float32.
#include "gpu/libs/describe_internal.h"
#include "gpu/libs/graph_builder.h"
#include "gpu/libs/matrix_product.h"

#include <algorithm>
#include <numeric>

namespace fuselage::gpu {

namespace {

StridedAccess accessOf(const Access& access, const OperandLayout& layout, size_t dims) {
    return strided(access, layout.strides, dims);
}

/// The scale goes into the weights: they are known, and it may be rounded with them.
bool foldsScale(const KernelRequest& request, const MatchedContraction& matched) {
    const TensorPtr weights = constantOf(request, matched.program->b.operand);
    return weights && scaledWeightsFit(*weights, matched.epilogue.scale);
}

// --- convolution ---------------------------------------------------------------------------------

/// Two spatial dimensions at least: a row of height one for signals.
Extents planar(Extents values, int64_t inserted) {
    if (values.size() == 3)
        values.insert(values.begin() + 2, inserted);
    return values;
}

Extents planarWindow(Extents values, size_t spatial, int64_t inserted) {
    if (spatial == 1)
        values.insert(values.begin(), inserted);
    return values;
}

StridedAccess planar(StridedAccess access) {
    access.strides = planar(std::move(access.strides), 0);
    return access;
}

bool isChannelsLast(const GraphTensor& tensor) {
    return tensor.strides[1] == 1 || tensor.dims[1] == 1;
}

/// Dimensions innermost first: as the image lies, channels innermost or row-major.
std::vector<size_t> orderOf(const GraphTensor& image) {
    std::vector<size_t> out;
    for (size_t d = image.dims.size(); d-- > 2;)
        out.push_back(d);
    out.insert(isChannelsLast(image) ? out.begin() : out.end(), 1);
    out.push_back(0);
    return out;
}

std::optional<Reason> geometryReason(const Contraction& program, const Extents& x) {
    const SlidingWindow& window = program.window;
    for (size_t d = 0; d < window.kernel.size(); ++d) {
        const int64_t reach = (window.kernel[d] - 1) * window.dilations[d] + 1;
        const int64_t room = x[d + 2] + window.padsBegin[d] + window.padsEnd[d] - reach;
        if (room < 0 || room / window.strides[d] + 1 != program.space[d + 2])
            return Reason{"shape", "the result's extents are not those of its padding", {}, {}};
    }
    return std::nullopt;
}

size_t addFilter(GraphBuilder& builder, const KernelRequest& request,
                 const MatchedContraction& matched, bool folded) {
    const Contraction& program = *matched.program;
    const OperandLayout& layout = request.inputs[program.b.operand];
    const Extents extents = planar(layout.extents, 1);
    if (!constantOf(request, program.b.operand))
        return builder.addInput(program.b.operand, extents, planar(layout.strides, 0), 0);
    PackedConstant packed;
    packed.dtype = layout.dtype;
    packed.extents = extents;
    packed.strides = denseStrides(extents, builder.frame().order);
    packed.input = program.b.operand;
    packed.sourceStrides = rowMajorStrides(extents);
    if (folded) {
        packed.factors = matched.epilogue.scale;
        packed.factorStrides = Extents(extents.size(), 0);
        packed.factorStrides[0] = packed.factors.size() > 1 ? 1 : 0;
    }
    builder.graph.packed.push_back(packed);
    const auto index = static_cast<uint32_t>(builder.graph.packed.size() - 1);
    return builder.add(
        {layout.dtype, extents, packed.strides, {TensorMemory::Kind::Packed, index, 0, 0}, 16});
}

DescribeResult describeConvolution(const KernelRequest& request, const MatchedContraction& matched,
                                   bool tanhGelu) {
    const Contraction& program = *matched.program;
    const OperandLayout& x = request.inputs[program.a.operand];
    const size_t rank = program.space.size();
    if (rank < 3 || rank > 5)
        return Reason{"shape", "cuDNN convolves in one to three dimensions", {}, {}};
    if (auto reason = geometryReason(program, x.extents))
        return std::move(*reason);
    const Extents dims = planar(program.space, 1);
    const GraphTensor image{x.dtype, planar(x.extents, 1), planar(x.strides, 0), {}, 16};
    GraphBuilder builder(request, {dims, orderOf(image)});
    const bool folded = foldsScale(request, matched);
    ConvolutionNode node;
    const size_t spatial = rank - 2;
    node.x = builder.addInput(program.a.operand, planar(x.extents, 1), planar(x.strides, 0), 0);
    node.w = addFilter(builder, request, matched, folded);
    if (builder.repeats(node.x, planar(x.extents, 1), 0) ||
        builder.repeats(node.w, planar(request.inputs[program.b.operand].extents, 1), 0))
        return repeatingOperand();
    node.y = builder.addVirtual();
    node.padsBegin = planarWindow(program.window.padsBegin, spatial, 0);
    node.padsEnd = planarWindow(program.window.padsEnd, spatial, 0);
    node.strides = planarWindow(program.window.strides, spatial, 1);
    node.dilations = planarWindow(program.window.dilations, spatial, 1);
    builder.graph.nodes.emplace_back(node);
    EpilogueFrame frame;
    for (const Access& write : program.epilogue.writes)
        frame.writes.push_back(planar(accessOf(write, request.outputs[write.operand], rank)));
    for (const Access& read : program.epilogue.reads)
        frame.reads.push_back(planar(accessOf(read, request.inputs[read.operand], rank)));
    frame.channel = Extents(dims.size(), 0);
    frame.channel[1] = 1;
    if (auto reason = addEpilogue(builder, node.y, matched, frame, folded, tanhGelu))
        return std::move(*reason);
    for (const GraphTensor& tensor : builder.graph.tensors)
        if (tensor.memory.kind == TensorMemory::Kind::Input ||
            tensor.memory.kind == TensorMemory::Kind::Output)
            builder.graph.channelsLast = builder.graph.channelsLast && isChannelsLast(tensor);
    return std::move(builder.graph);
}

// --- matrix product ------------------------------------------------------------------------------

Extents framed(const MatMulLoops& loops, const Loop& rows, const Loop& cols, size_t operand) {
    Extents out;
    for (const Loop& loop : loops.batch)
        out.push_back(loop.strides[operand]);
    if (loops.batch.empty())
        out.push_back(0);
    out.push_back(rows.strides[operand]);
    out.push_back(cols.strides[operand]);
    return out;
}

Extents framedExtents(const MatMulLoops& loops, const Loop& rows, const Loop& cols) {
    Extents out;
    for (const Loop& loop : loops.batch)
        out.push_back(loop.extent);
    if (loops.batch.empty())
        out.push_back(1);
    out.push_back(rows.extent);
    out.push_back(cols.extent);
    return out;
}

size_t addMatrixB(GraphBuilder& builder, const KernelRequest& request, const Contraction& program,
                  const MatrixProduct& product) {
    const MatMulLoops& loops = product.loops;
    const Extents extents = framedExtents(loops, loops.k, loops.n);
    const Extents strides = framed(loops, loops.k, loops.n, MatrixProduct::b);
    if (!product.packedB)
        return builder.addInput(program.b.operand, extents, strides,
                                product.offsets[MatrixProduct::b]);
    builder.graph.packed.push_back(*product.packedB);
    const auto index = static_cast<uint32_t>(builder.graph.packed.size() - 1);
    return builder.add(builder.moved(extents, strides, request.inputs[program.b.operand].dtype,
                                     {TensorMemory::Kind::Packed, index, 0, 0}));
}

DescribeResult describeMatMul(const KernelRequest& request, const MatchedContraction& matched,
                              bool tanhGelu) {
    const Contraction& program = *matched.program;
    auto found = matrixProduct(request, matched);
    if (auto* reason = std::get_if<Reason>(&found))
        return std::move(*reason);
    const auto& product = std::get<MatrixProduct>(found);
    const MatMulLoops& loops = product.loops;
    const Extents dims = framedExtents(loops, loops.m, loops.n);
    if (dims.size() > 8)
        return Reason{"layout", "more batch dimensions than cuDNN takes", {}, {}};
    std::vector<size_t> order(dims.size());
    std::iota(order.rbegin(), order.rend(), 0);
    GraphBuilder builder(request, {dims, order});
    MatMulNode node;
    node.a = builder.addInput(program.a.operand, framedExtents(loops, loops.m, loops.k),
                              framed(loops, loops.m, loops.k, MatrixProduct::a),
                              product.offsets[MatrixProduct::a]);
    node.b = addMatrixB(builder, request, program, product);
    if (builder.repeats(node.a, framedExtents(loops, loops.m, loops.k), dims.size() - 2) ||
        builder.repeats(node.b, framedExtents(loops, loops.k, loops.n), dims.size() - 2))
        return repeatingOperand();
    node.c = builder.addVirtual();
    builder.graph.nodes.emplace_back(node);
    EpilogueFrame frame;
    auto framedAt = [&](size_t operand) {
        return StridedAccess{product.offsets[operand], framed(loops, loops.m, loops.n, operand)};
    };
    for (size_t i = 0; i < program.epilogue.writes.size(); ++i)
        frame.writes.push_back(framedAt(MatrixProduct::firstWrite + i));
    for (size_t i = 0; i < program.epilogue.reads.size(); ++i)
        frame.reads.push_back(framedAt(product.firstRead + i));
    frame.channel = framed(loops, loops.m, loops.n, MatrixProduct::channel);
    if (auto reason = addEpilogue(builder, node.c, matched, frame, product.scaleFolded, tanhGelu))
        return std::move(*reason);
    return std::move(builder.graph);
}

} // namespace

DescribeResult describeContraction(const KernelRequest& request, bool tanhGelu) {
    auto found = matchContraction(request, {true, true}, ByteProducts::Rescaled);
    if (auto* reason = std::get_if<Reason>(&found))
        return std::move(*reason);
    const auto& matched = std::get<MatchedContraction>(found);
    DescribeResult out = matched.program->kind == Contraction::Kind::Conv
                             ? describeConvolution(request, matched, tanhGelu)
                             : describeMatMul(request, matched, tanhGelu);
    if (auto* graph = std::get_if<GraphDescription>(&out)) {
        graph->operands = matched.dtype;
        graph->numeric = tanhGelu       ? NumericClass::Approximate
                         : matched.sums ? NumericClass::Exact
                                        : NumericClass::Reassociated;
    }
    return out;
}

} // namespace fuselage::gpu
