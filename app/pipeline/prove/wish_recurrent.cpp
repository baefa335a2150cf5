// SPDX-License-Identifier: Apache-2.0
// Operands of recurrent layers: X [T, B, I], W [D, gates * H, I], R [D, gates * H, H], and what
// they start with.
#include "app/pipeline/prove/wish_internal.h"

namespace fuselage::app {

namespace {

int64_t gatesOf(Op op) {
    return op == Op::LSTM ? 4 : op == Op::GRU ? 3 : 1;
}

/// How long each sequence of the batch is.
Wish lengthsOf(OperandContext& context, int64_t steps, int64_t batch) {
    Ints lengths(static_cast<size_t>(batch));
    for (int64_t& length : lengths)
        length = 1 + context.choices.pick(static_cast<uint32_t>(std::max<int64_t>(steps, 1)));
    Wish wish = parameter(std::move(lengths));
    wish.dtype = DType::Int32;
    return wish;
}

} // namespace

Wish recurrentWish(OperandContext& context, size_t operand) {
    const Attributes& attributes = context.node.attributes;
    const int64_t gates = gatesOf(context.node.op);
    const int64_t ways = attributes.string("direction", "forward") == "bidirectional" ? 2 : 1;
    const bool isBatchFirst = attributes.integer("layout", 0) != 0;
    const auto x = context.extents(0), r = context.extents(2);
    if (operand == 0)
        return ofExtents({1 + context.choices.pick(3), 1 + context.choices.pick(3),
                          1 + context.choices.pick(4)});
    if (!x || x->size() != 3)
        return {};
    const int64_t steps = (*x)[isBatchFirst ? 1 : 0], batch = (*x)[isBatchFirst ? 0 : 1];
    if (operand == 1) {
        const int64_t asked = attributes.integer("hidden_size", 0);
        const int64_t hidden = asked > 0 ? asked : 1 + int64_t{context.choices.pick(3)};
        return ofExtents({ways, gates * hidden, (*x)[2]});
    }
    if (operand == 2) {
        const auto w = context.extents(1);
        const int64_t rows = w && w->size() == 3 ? (*w)[1] : gates;
        return ofExtents({ways, rows, std::max<int64_t>(rows / gates, 1)});
    }
    if (!r || r->size() != 3)
        return {};
    const int64_t hidden = r->back();
    switch (operand) {
    case 3:
        return ofExtents({ways, 2 * gates * hidden});
    case 4:
        return lengthsOf(context, steps, batch);
    case 7: // peepholes
        return ofExtents({ways, 3 * hidden});
    default:
        return ofExtents(isBatchFirst ? Extents{batch, ways, hidden}
                                      : Extents{ways, batch, hidden});
    }
}

} // namespace fuselage::app
