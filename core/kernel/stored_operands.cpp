// SPDX-License-Identifier: Apache-2.0
// A contraction of floats that are stored as 8-bit integers: sum(sa (a - za) sb (b - zb)) is
// sa sb sum((a - za) (b - zb)) where the scales are the same for all that is summed.
#include "core/kernel/quantized_internal.h"

#include <algorithm>
#include <limits>

namespace fuselage {

namespace {

bool isStoredByte(DType type) {
    return type == DType::Int8 || type == DType::UInt8;
}

/// Which node dequantises an operand, and where each of its dims is in the operand.
struct DequantisedAt {
    NodeId node;
    IndexMap map; ///< over the operand's own dims
};

/// Through views; none where there is no DequantizeLinear, or behind a reshape that merges dims.
std::optional<DequantisedAt> dequantisedAt(const LowerBody& body, ValueId id) {
    const Extents space = body.extents(id);
    IndexMap map = identityMap(space);
    while (!body.operand(id)) {
        const NodeId maker = body.graph().producer(id);
        if (!maker.valid())
            return std::nullopt;
        if (body.node(maker).op == Op::DequantizeLinear)
            return DequantisedAt{maker, std::move(map)};
        if (body.classOf(maker) != NodeClass::View)
            return std::nullopt;
        auto step = stepThroughView(body, maker, body.graph().value(id).outputSlot, map, space);
        auto* next = std::get_if<ViewStep>(&step);
        if (!next)
            return std::nullopt;
        id = next->value;
        map = std::move(next->map);
    }
    return std::nullopt;
}

/// The dim of an operand that is summed over. Of a convolution: any but the first of W, all of X.
bool isSummed(const LowerBody& body, const Node& node, bool isA, uint32_t dim) {
    if (node.op == Op::Conv)
        return isA || dim != 0;
    const size_t rank = body.extents(node.inputs[isA ? 0 : 1]).size();
    if (rank == 1)
        return true;
    const bool transposed = node.attributes.integer(isA ? "transA" : "transB") != 0;
    return dim == rank - (isA != transposed ? 1 : 2);
}

/// The longest sum, in products.
int64_t depthOf(const LowerBody& body, const Node& node) {
    const Extents& b = body.extents(node.inputs[1]);
    if (node.op == Op::Conv)
        return *elementCount(b) / std::max<int64_t>(b[0], 1);
    for (uint32_t d = 0; d < b.size(); ++d)
        if (isSummed(body, node, false, d))
            return b[d];
    return std::numeric_limits<int64_t>::max();
}

std::optional<IntegerOperand> storedOperand(const LowerBody& body, const Node& node, bool isA) {
    const auto found = dequantisedAt(body, node.inputs[isA ? 0 : 1]);
    if (!found)
        return std::nullopt;
    const Node& dequantise = body.node(found->node);
    IntegerOperand out{dequantise.inputs[0], LowerBody::input(dequantise, 2), dequantise.inputs[1],
                       dequantise.attributes.integer("axis", 1), found->node};
    const ValueId result = dequantise.outputs[0];
    const Extents& extents = body.extents(out.stored);
    const bool one = elementCount(body.extents(out.scale)) == 1;
    if (!isStoredByte(body.dtype(out.stored)) || body.dtype(result) != DType::Float32 ||
        !body.operand(out.stored) || body.classOf(found->node) != NodeClass::Elementwise ||
        (isA && out.zero.valid() && elementCount(body.extents(out.zero)) != 1))
        return std::nullopt;
    if (one)
        return out;
    const auto axis = normalizedAxis(out.axis, extents.size());
    if (!axis || body.extents(out.scale)[0] != extents[*axis])
        return std::nullopt;
    const std::vector<uint32_t> dims = dimsOf(found->map[*axis]);
    const bool fits = std::none_of(dims.begin(), dims.end(),
                                   [&](uint32_t d) { return isSummed(body, node, isA, d); });
    return fits ? std::optional(out) : std::nullopt;
}

} // namespace

std::optional<IntegerOperands> storedOperands(const LowerBody& body, const Node& node) {
    const bool known = node.op == Op::Conv || node.op == Op::MatMul || node.op == Op::Gemm ||
                       node.op == Op::FusedMatMul;
    if (!known || body.dtype(node.outputs[0]) != DType::Float32)
        return std::nullopt;
    const auto a = storedOperand(body, node, true), b = storedOperand(body, node, false);
    if (!a || !b || !body.constant(b->stored) || (b->zero.valid() && !body.constant(b->zero)))
        return std::nullopt;
    constexpr int64_t largestProduct = 255 * 255;
    if (depthOf(body, node) > std::numeric_limits<int32_t>::max() / largestProduct)
        return std::nullopt;
    return IntegerOperands{*a, *b};
}

Scalar scaleOf(Composer& composer, ValueId operand, const IntegerOperand& integers, IndexMap map) {
    const LowerBody& body = composer.body();
    const Extents& own = body.extents(integers.scale);
    if (elementCount(own) == 1)
        return cast(composer.value(integers.scale, IndexMap(own.size())), DType::Float32);
    for (ValueId id = operand; id != body.node(integers.dequantised).outputs[0];) {
        ViewStepResult step =
            stepThroughView(body, body.graph().producer(id), body.graph().value(id).outputSlot, map,
                            composer.space());
        if (auto* split = std::get_if<DimSplit>(&step))
            return composer.fail(*split);
        if (auto* reason = std::get_if<Reason>(&step))
            return composer.fail(std::move(*reason));
        id = std::get<ViewStep>(step).value;
        map = std::move(std::get<ViewStep>(step).map);
    }
    const size_t axis = *normalizedAxis(integers.axis, map.size());
    return cast(composer.value(integers.scale, {map[axis]}), DType::Float32);
}

} // namespace fuselage
