// SPDX-License-Identifier: Apache-2.0
// What all operators with a tape share: shape inference (the result's type is what the tape says)
// and symbolic contents. Their reference function is the tape itself; see evaluate.h.
#pragma once

#include "core/ops/op_table.h"

namespace fuselage {

/// Broadcast shape, the tape's result type, and contents where those of the inputs are known.
void inferElementwise(InferContext& context);

/// A row with one output that is given by its tape.
constexpr OpRow elementwiseRow(Op op, const char* name, int since, const char* inputs, int arity,
                               TapeFunction tape, uint32_t traits = 0,
                               const char* attributes = "") {
    OpRow row{op, name};
    row.since = since;
    row.minInputs = arity == variadic ? 1 : arity;
    row.maxInputs = arity;
    row.traits = Elementwise | traits;
    row.inputs = inputs;
    row.attributes = attributes;
    row.infer = inferElementwise;
    row.tape = tape;
    return row;
}

/// A tape function of one operation: unaryTape<TapeOp::Exp>.
template <TapeOp op> Scalar unaryTape(TapeBuilder&, const Node&, std::span<const Scalar> in) {
    return unary(op, in[0]);
}

} // namespace fuselage
