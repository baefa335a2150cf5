// SPDX-License-Identifier: Apache-2.0
#include "core/ops/elementwise_logic.h"

#include "core/ops/elementwise.h"
#include "core/ops/elementwise_strings.h"
#include "core/ops/tensor_index.h"

#include <limits>

namespace fuselage {

namespace {

using In = std::span<const Scalar>;

template <TapeOp op> Scalar binaryTape(TapeBuilder& tape, const Node&, In in) {
    return tape.apply(op, in[0].type(), {in[0], in[1]});
}

// Logic only makes sense on Bool: saying so in the result's type lets wrong operands be refused.
template <TapeOp op> Scalar logicTape(TapeBuilder& tape, const Node&, In in) {
    return tape.apply(op, DType::Bool, {in[0], in[1]});
}

Scalar notTape(TapeBuilder& tape, const Node&, In in) {
    return tape.apply(TapeOp::Not, DType::Bool, {in[0]});
}

Scalar isInfTape(TapeBuilder& tape, const Node& node, In in) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    bool negative = node.attributes.integer("detect_negative", 1) != 0;
    bool positive = node.attributes.integer("detect_positive", 1) != 0;
    if (!isFloat(in[0].type()) || (!negative && !positive))
        return tape.integer(DType::Bool, 0);
    if (negative && positive)
        return tape.apply(TapeOp::IsInf, DType::Bool, {in[0]});
    return equal(in[0], tape.constant(in[0].type(), positive ? infinity : -infinity));
}

Scalar castTape(TapeBuilder& tape, const Node& node, In in) {
    auto to = dtypeFromOnnx(node.attributes.integer("to"));
    // String has no tape; its type makes the tape ill-typed, so that tapeOf refuses.
    return tape.apply(TapeOp::Cast, to.value_or(DType::Undefined), {in[0]});
}

Scalar shiftTape(TapeBuilder& tape, const Node& node, In in) {
    bool left = node.attributes.string("direction") == "LEFT";
    return tape.apply(left ? TapeOp::ShiftLeft : TapeOp::ShiftRight, in[0].type(), {in[0], in[1]});
}

OpRow withStrings(OpRow row, ReferenceFunction reference, InferFunction infer) {
    row.reference = reference;
    row.infer = infer;
    return row;
}

OpRow castLikeRow() {
    OpRow row{Op::CastLike, "CastLike"};
    row.since = 15;
    row.minInputs = row.maxInputs = 2;
    row.inputs = "input target_type";
    row.infer = inferCastLike;
    row.reference = onTensors<runCastLike>;
    return row;
}

} // namespace

std::span<const OpRow> elementwiseLogicRows() {
    constexpr uint32_t ring = Commutative | Associative;
    static const OpRow rows[] = {
        withStrings(elementwiseRow(
                        Op::Equal, "Equal", 1, "A B", 2,
                        [](TapeBuilder&, const Node&, In in) { return equal(in[0], in[1]); },
                        Commutative | Discontinuous),
                    onTensors<runEqual>, inferEqual),
        elementwiseRow(
            Op::Less, "Less", 1, "A B", 2,
            [](TapeBuilder&, const Node&, In in) { return in[0] < in[1]; }, Discontinuous),
        elementwiseRow(
            Op::LessOrEqual, "LessOrEqual", 12, "A B", 2,
            [](TapeBuilder&, const Node&, In in) { return in[0] <= in[1]; }, Discontinuous),
        elementwiseRow(
            Op::Greater, "Greater", 1, "A B", 2,
            [](TapeBuilder&, const Node&, In in) { return in[1] < in[0]; }, Discontinuous),
        elementwiseRow(
            Op::GreaterOrEqual, "GreaterOrEqual", 12, "A B", 2,
            [](TapeBuilder&, const Node&, In in) { return in[1] <= in[0]; }, Discontinuous),
        elementwiseRow(Op::And, "And", 1, "A B", 2, logicTape<TapeOp::And>, ring),
        elementwiseRow(Op::Or, "Or", 1, "A B", 2, logicTape<TapeOp::Or>, ring),
        elementwiseRow(Op::Xor, "Xor", 1, "A B", 2, logicTape<TapeOp::Xor>, ring),
        elementwiseRow(Op::Not, "Not", 1, "X", 1, notTape),
        elementwiseRow(Op::BitwiseAnd, "BitwiseAnd", 18, "A B", 2, binaryTape<TapeOp::BitAnd>,
                       ring),
        elementwiseRow(Op::BitwiseOr, "BitwiseOr", 18, "A B", 2, binaryTape<TapeOp::BitOr>, ring),
        elementwiseRow(Op::BitwiseXor, "BitwiseXor", 18, "A B", 2, binaryTape<TapeOp::BitXor>,
                       ring),
        elementwiseRow(Op::BitwiseNot, "BitwiseNot", 18, "X", 1, unaryTape<TapeOp::BitNot>),
        elementwiseRow(Op::BitShift, "BitShift", 11, "X Y", 2, shiftTape, 0, "direction:string!"),
        elementwiseRow(
            Op::IsNaN, "IsNaN", 9, "X", 1,
            [](TapeBuilder& tape, const Node&, In in) {
                return tape.apply(TapeOp::IsNan, DType::Bool, {in[0]});
            },
            Discontinuous),
        elementwiseRow(Op::IsInf, "IsInf", 10, "X", 1, isInfTape, Discontinuous,
                       "detect_negative:int=1 detect_positive:int=1"),
        withStrings(elementwiseRow(Op::Where, "Where", 9, "condition X Y", 3,
                                   [](TapeBuilder&, const Node&, In in) {
                                       return select(in[0], in[1], in[2]);
                                   }),
                    onTensors<runWhere>, inferWhere),
        withStrings(elementwiseRow(Op::Cast, "Cast", 1, "input", 1, castTape, 0,
                                   "to:int! saturate:int round_mode:string"),
                    onTensors<runCast>, inferCast),
        castLikeRow(),
    };
    return rows;
}

} // namespace fuselage
