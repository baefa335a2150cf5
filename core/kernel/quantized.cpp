// SPDX-License-Identifier: Apache-2.0
#include "core/kernel/quantized_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuselage {

namespace {

bool isByte(DType type) {
    return type == DType::Int8 || type == DType::UInt8;
}

bool isConvolution(Op op) {
    return op == Op::ConvInteger || op == Op::QLinearConv;
}

/// The dim of an operand, or of the result, whose indices own a parameter: rows of A, columns of B,
/// output channels.
int64_t parameterAxis(const Node& node, bool isA) {
    if (isConvolution(node.op))
        return 0;
    return isA ? -2 : -1;
}

Reason misfit(const LowerBody& body, const Node& node, ValueId parameter) {
    return shapeReason(text(body.extents(parameter)), body.graph().value(parameter).name,
                       fmt::format("a scale or zero point of {} does not fit {}",
                                   text(body.extents(parameter)), describe(node)));
}

/// Where a parameter is read for the element at `map` of a value of `extents`: one number for all,
/// one for each index of `axis`, or dims that broadcast.
std::optional<IndexMap> parameterMap(const Extents& own, const Extents& extents, int64_t axis,
                                     const IndexMap& map) {
    if (elementCount(own) == 1)
        return IndexMap(own.size());
    auto at = normalizedAxis(axis, extents.size());
    if (own.size() == 1 && at)
        return own[0] == extents[*at] ? std::optional(IndexMap{map[*at]}) : std::nullopt;
    if (own.size() != extents.size())
        return std::nullopt;
    IndexMap out(own.size());
    for (size_t d = 0; d < own.size(); ++d) {
        if (own[d] != 1 && own[d] != extents[d])
            return std::nullopt;
        if (own[d] != 1)
            out[d] = map[d];
    }
    return out;
}

/// The value as a float32 that is stored, which rounding must see.
Scalar asStored(Scalar wide) {
    return wide.tape().apply(TapeOp::Cast, DType::Float32, {cast(wide, DType::Float32)});
}

/// The nearest integer plus the zero point, within `type`; NaN becomes 0.
Scalar saturated(Scalar steps, std::optional<Scalar> zero, DType type) {
    const int bits = static_cast<int>(8 * sizeOf(type));
    const double high = std::ldexp(1.0, isSigned(type) ? bits - 1 : bits) - 1;
    const double low = isSigned(type) ? -std::ldexp(1.0, bits - 1) : 0.0;
    TapeBuilder& tape = steps.tape();
    Scalar value = unary(TapeOp::RoundEven, steps);
    if (zero)
        value = value + cast(*zero, DType::Float32);
    value =
        min(max(value, tape.constant(DType::Float32, low)), tape.constant(DType::Float32, high));
    return cast(value, type);
}

Scalar parameter(Composer& composer, const Node& node, ValueId id, const Extents& extents,
                 int64_t axis, const IndexMap& map) {
    auto at = parameterMap(composer.body().extents(id), extents, axis, map);
    if (!at)
        return composer.fail(misfit(composer.body(), node, id));
    return composer.value(id, *at);
}

/// A zero point as a tape's own number where it is one, and float32 holds it.
Scalar zeroAt(Composer& composer, const Node& node, ValueId zero, const Extents& extents,
              int64_t axis, const IndexMap& map) {
    const Tensor* constant = composer.body().constant(zero);
    if (constant && constant->elementCount() == 1 && sizeOf(constant->dtype()) <= 2)
        return composer.tape().constant(DType::Float32, static_cast<double>(constant->intAt(0)));
    return parameter(composer, node, zero, extents, axis, map);
}

/// Whether a zero point is left out or all zeros.
bool isZero(const LowerBody& body, ValueId zero) {
    if (!zero.valid())
        return true;
    const Tensor* constant = body.constant(zero);
    for (int64_t i = 0; constant && i < constant->elementCount(); ++i)
        if (constant->intAt(i) != 0)
            return false;
    return constant != nullptr;
}

} // namespace

ContractionSlots slotsOf(const Node& node) {
    ContractionSlots out;
    auto given = [&](size_t slot) {
        return LowerBody::input(node, slot).valid() ? std::optional(slot) : std::nullopt;
    };
    switch (node.op) {
    case Op::MatMulInteger:
    case Op::ConvInteger:
        out.aZero = 2;
        out.bZero = 3;
        break;
    case Op::QLinearMatMul:
    case Op::QLinearConv:
        out = {0, 3, 2, 5, 1, 4, 6, 7, given(8)};
        break;
    default:
        out.bias = given(2);
        break;
    }
    return out;
}

std::optional<Reason> checkQuantised(const LowerBody& body, const Node& node,
                                     const ContractionSlots& slots) {
    const Extents& b = body.extents(node.inputs[slots.b]);
    for (bool isA : {true, false}) {
        ValueId x = node.inputs[isA ? slots.a : slots.b];
        ValueId zero = LowerBody::input(node, isA ? *slots.aZero : *slots.bZero);
        const bool fits = !zero.valid() || body.dtype(zero) == body.dtype(x);
        if (!isByte(body.dtype(x)) || !fits)
            return Reason{"unsupported-op",
                          fmt::format("operand of {} is {}, with a zero point of another type, or "
                                      "not of 8 bits",
                                      describe(node), nameOf(body.dtype(x))),
                          "give it 8-bit operands",
                          {{"node", node.name}}};
    }
    if (!slots.yScale)
        return std::nullopt;
    // These mean the sums themselves, which must not wrap.
    const int64_t depth = isConvolution(node.op) ? *elementCount(b) / b[0]
                          : b.size() > 1         ? b[b.size() - 2]
                                                 : b[0];
    constexpr int64_t largestProduct = 255 * 255;
    const ValueId yZero = node.inputs[*slots.yZero];
    if (depth > std::numeric_limits<int32_t>::max() / largestProduct || !isByte(body.dtype(yZero)))
        return Reason{"unsupported-op",
                      fmt::format("{} may have sums that int32 does not hold, or a wide result",
                                  describe(node)),
                      "split its reduced dimension",
                      {{"node", node.name}}};
    for (auto slot : {slots.aScale, slots.bScale, slots.yScale})
        if (!isFloat(body.dtype(node.inputs[*slot])))
            return misfit(body, node, node.inputs[*slot]);
    for (auto slot : {slots.yScale, slots.yZero})
        if (elementCount(body.extents(node.inputs[*slot])) != 1)
            return misfit(body, node, node.inputs[*slot]);
    return std::nullopt;
}

IntegerOperands integerOperands(const Node& node, const ContractionSlots& slots) {
    auto operand = [&](bool isA) {
        return IntegerOperand{node.inputs[isA ? slots.a : slots.b],
                              LowerBody::input(node, isA ? *slots.aZero : *slots.bZero),
                              {},
                              parameterAxis(node, isA),
                              {}};
    };
    return {operand(true), operand(false)};
}

std::optional<Reason> subtractZeroPoint(const LowerBody& body, const Node& node,
                                        const IntegerOperand& integers, TracedOperand& operand) {
    const ValueId zero = integers.zero, x = integers.stored;
    if (!zero.valid())
        return std::nullopt;
    const ValueId found = body.graph().inputs()[operand.access.operand];
    const Extents& extents = body.extents(x);
    if (isZero(body, zero))
        return std::nullopt;
    const Tensor* constant = body.constant(zero);
    const bool one = elementCount(body.extents(zero)) == 1;
    auto at = parameterMap(body.extents(zero), extents, integers.axis, identityMap(extents));
    if (!at || (!one && !operand.prologue && found != x))
        return misfit(body, node, zero);
    if (!(one && constant) && !body.operand(zero))
        return kindReason(
            "Pointwise", "Contraction",
            fmt::format("the zero point of {} is made inside the body", describe(node)),
            "leave what makes it out of the match");
    TapeBuilder tape;
    Prologue out;
    Scalar value;
    if (operand.prologue) {
        std::vector<Scalar> inputs;
        for (DType type : operand.prologue->tape.inputs)
            inputs.push_back(tape.input(type));
        value = tape.append(operand.prologue->tape, inputs).front();
        out.reads = std::move(operand.prologue->reads);
    } else {
        value = tape.input(body.dtype(x));
    }
    Scalar origin;
    if (one && constant) {
        origin = tape.integer(DType::Int32, constant->intAt(0));
    } else {
        out.reads.push_back({*body.operand(zero), std::move(*at)});
        origin = cast(tape.input(body.dtype(zero)), DType::Int32);
    }
    out.tape = tape.finish({cast(value, DType::Int32) - origin});
    operand.prologue = std::move(out);
    return std::nullopt;
}

Scalar requantised(Composer& composer, const Node& node, const ContractionSlots& slots, Scalar sums,
                   const IndexMap& map) {
    const Extents& extents = composer.body().extents(node.outputs[0]);
    const bool isConv = isConvolution(node.op);
    auto number = [&](size_t slot, int64_t axis) {
        Scalar value = parameter(composer, node, node.inputs[slot], extents, axis, map);
        return cast(value, DType::Float32);
    };
    Scalar total = cast(sums, DType::Int64);
    if (slots.bias)
        total = total + cast(composer.value(node.inputs[*slots.bias], {map[1]}), DType::Int64);
    Scalar scale =
        asStored(number(*slots.aScale, isConv ? 0 : -2) * number(*slots.bScale, isConv ? 1 : -1));
    scale = asStored(scale / number(*slots.yScale, 0));
    std::optional<Scalar> zero;
    if (!isZero(composer.body(), node.inputs[*slots.yZero]))
        zero = zeroAt(composer, node, node.inputs[*slots.yZero], extents, 0, map);
    if (composer.failed())
        return sums;
    return saturated(asStored(cast(total, DType::Float32) * scale), zero,
                     composer.body().dtype(node.outputs[0]));
}

bool isElementwiseQuantisation(const LowerBody& body, const Node& node) {
    if (node.op != Op::QuantizeLinear && node.op != Op::DequantizeLinear)
        return false;
    const DType narrow =
        body.dtype(node.op == Op::QuantizeLinear ? node.outputs[0] : node.inputs[0]);
    const DType wide = body.dtype(node.op == Op::QuantizeLinear ? node.inputs[0] : node.outputs[0]);
    const ValueId scale = node.inputs[1], zero = LowerBody::input(node, 2);
    const Extents& own = body.extents(scale);
    const size_t widest = node.op == Op::QuantizeLinear ? 2 : 4;
    return isInteger(narrow) && sizeOf(narrow) > 0 && sizeOf(narrow) <= widest &&
           (wide == DType::Float32 || isNarrowFloat(wide)) && isFloat(body.dtype(scale)) &&
           node.attributes.integer("block_size") == 0 &&
           (elementCount(own) == 1 || own.size() == 1) &&
           (!zero.valid() ||
            (body.dtype(zero) == narrow && elementCount(body.extents(zero)) == elementCount(own)));
}

Scalar quantisation(Composer& composer, const Node& node, const IndexMap& map) {
    const LowerBody& body = composer.body();
    const Extents& extents = body.extents(node.inputs[0]);
    const int64_t axis = node.attributes.integer("axis", 1);
    const ValueId zeroPoint = LowerBody::input(node, 2);
    const bool quantises = node.op == Op::QuantizeLinear;
    Scalar x =
        quantises ? composer.stored(node.inputs[0], map) : composer.value(node.inputs[0], map);
    Scalar scale = parameter(composer, node, node.inputs[1], extents, axis, map);
    std::optional<Scalar> zero;
    if (!isZero(body, zeroPoint))
        zero = zeroAt(composer, node, zeroPoint, extents, axis, map);
    if (composer.failed())
        return x;
    if (quantises)
        return saturated(asStored(asStored(x) / asStored(scale)), zero,
                         body.dtype(node.outputs[0]));
    // Never wraps; float32 holds differences of 16-bit integers.
    const DType type = sizeOf(x.type()) < 4 ? DType::Float32 : DType::Int64;
    const Scalar steps = zero ? cast(x, type) - cast(*zero, type) : cast(x, type);
    return cast(steps, DType::Float32) * cast(scale, DType::Float32);
}

} // namespace fuselage
