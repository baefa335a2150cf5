// SPDX-License-Identifier: Apache-2.0
#include "core/ops/elementwise_math.h"

#include "core/ops/elementwise.h"

namespace fuselage {

namespace {

using In = std::span<const Scalar>;

template <Scalar (*combine)(Scalar, Scalar)> Scalar foldTape(TapeBuilder&, const Node&, In in) {
    Scalar out = in[0];
    for (size_t i = 1; i < in.size(); ++i)
        out = combine(out, in[i]);
    return out;
}

Scalar add(Scalar a, Scalar b) {
    return a + b;
}

/// The type in which base and exponent of mixed types meet before the result is cast to the base's.
DType powerType(DType base, DType exponent) {
    if (isFloat(base) && isFloat(exponent))
        return sizeOf(base) >= sizeOf(exponent) ? base : exponent;
    if (isFloat(base))
        return base;
    return isFloat(exponent) ? DType::Float64 : base;
}

Scalar powTape(TapeBuilder& tape, const Node&, In in) {
    DType type = powerType(in[0].type(), in[1].type());
    Scalar power = tape.apply(TapeOp::Pow, type, {cast(in[0], type), cast(in[1], type)});
    return cast(power, in[0].type());
}

Scalar modTape(TapeBuilder& tape, const Node& node, In in) {
    bool fmod = node.attributes.integer("fmod") != 0 || isFloat(in[0].type());
    return tape.apply(fmod ? TapeOp::Fmod : TapeOp::Mod, in[0].type(), {in[0], in[1]});
}

// Present inputs are passed without gaps, so the node tells whether the second one is min or max.
Scalar clipTape(TapeBuilder&, const Node& node, In in) {
    bool hasMin = node.inputs.size() > 1 && node.inputs[1].valid();
    Scalar out = in[0];
    if (hasMin && in.size() > 1)
        out = max(out, in[1]);
    size_t upper = hasMin ? 2 : 1;
    return in.size() > upper ? min(out, in[upper]) : out;
}

OpRow unaryRow(Op op, const char* name, int since, TapeFunction tape, uint32_t traits = 0) {
    OpRow row = elementwiseRow(op, name, since, "X", 1, tape, traits);
    if (since == 1 || op == Op::Erf || op == Op::Sign)
        row.inputs = "input";
    return row;
}

OpRow clipRow() {
    OpRow row = elementwiseRow(Op::Clip, "Clip", 1, "input min max", 3, clipTape);
    row.minInputs = 1;
    return row;
}

} // namespace

std::span<const OpRow> elementwiseMathRows() {
    constexpr uint32_t ring = Commutative | Associative;
    static const OpRow rows[] = {
        elementwiseRow(
            Op::Add, "Add", 1, "A B", 2,
            [](TapeBuilder&, const Node&, In in) { return in[0] + in[1]; }, ring),
        elementwiseRow(Op::Sub, "Sub", 1, "A B", 2,
                       [](TapeBuilder&, const Node&, In in) { return in[0] - in[1]; }),
        elementwiseRow(
            Op::Mul, "Mul", 1, "A B", 2,
            [](TapeBuilder&, const Node&, In in) { return in[0] * in[1]; }, ring),
        elementwiseRow(Op::Div, "Div", 1, "A B", 2,
                       [](TapeBuilder&, const Node&, In in) { return in[0] / in[1]; }),
        elementwiseRow(Op::Pow, "Pow", 1, "X Y", 2, powTape),
        elementwiseRow(Op::Mod, "Mod", 10, "A B", 2, modTape, Discontinuous, "fmod:int=0"),
        elementwiseRow(Op::Min, "Min", 1, "data_0", variadic, foldTape<min>, ring),
        elementwiseRow(Op::Max, "Max", 1, "data_0", variadic, foldTape<max>, ring),
        elementwiseRow(Op::Sum, "Sum", 1, "data_0", variadic, foldTape<add>, ring),
        elementwiseRow(
            Op::Mean, "Mean", 1, "data_0", variadic,
            [](TapeBuilder& tape, const Node& node, In in) {
                return foldTape<add>(tape, node, in) / static_cast<double>(in.size());
            },
            Commutative),
        clipRow(),
        unaryRow(Op::Neg, "Neg", 1, unaryTape<TapeOp::Neg>),
        unaryRow(Op::Abs, "Abs", 1, unaryTape<TapeOp::Abs>),
        unaryRow(Op::Sign, "Sign", 9, unaryTape<TapeOp::Sign>, Discontinuous),
        unaryRow(Op::Reciprocal, "Reciprocal", 1,
                 [](TapeBuilder&, const Node&, In in) { return 1.0 / in[0]; }),
        unaryRow(Op::Sqrt, "Sqrt", 1, unaryTape<TapeOp::Sqrt>),
        unaryRow(Op::Exp, "Exp", 1, unaryTape<TapeOp::Exp>),
        unaryRow(Op::Log, "Log", 1, unaryTape<TapeOp::Log>),
        unaryRow(Op::Erf, "Erf", 9, unaryTape<TapeOp::Erf>),
        unaryRow(Op::Sin, "Sin", 7, unaryTape<TapeOp::Sin>),
        unaryRow(Op::Cos, "Cos", 7, unaryTape<TapeOp::Cos>),
        unaryRow(Op::Tan, "Tan", 7, unaryTape<TapeOp::Tan>),
        unaryRow(Op::Asin, "Asin", 7, unaryTape<TapeOp::Asin>),
        unaryRow(Op::Acos, "Acos", 7, unaryTape<TapeOp::Acos>),
        unaryRow(Op::Atan, "Atan", 7, unaryTape<TapeOp::Atan>),
        unaryRow(Op::Sinh, "Sinh", 9, unaryTape<TapeOp::Sinh>),
        unaryRow(Op::Cosh, "Cosh", 9, unaryTape<TapeOp::Cosh>),
        unaryRow(Op::Tanh, "Tanh", 1, unaryTape<TapeOp::Tanh>),
        unaryRow(Op::Asinh, "Asinh", 9, unaryTape<TapeOp::Asinh>),
        unaryRow(Op::Acosh, "Acosh", 9, unaryTape<TapeOp::Acosh>),
        unaryRow(Op::Atanh, "Atanh", 9, unaryTape<TapeOp::Atanh>),
        unaryRow(Op::Floor, "Floor", 1, unaryTape<TapeOp::Floor>, Discontinuous),
        unaryRow(Op::Ceil, "Ceil", 1, unaryTape<TapeOp::Ceil>, Discontinuous),
        unaryRow(Op::Round, "Round", 11, unaryTape<TapeOp::RoundEven>, Discontinuous),
    };
    return rows;
}

} // namespace fuselage
