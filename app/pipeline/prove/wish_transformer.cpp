// SPDX-License-Identifier: Apache-2.0
// Operands of attentions, whose dimensions are heads times what a head holds, and of products with
// weights that are packed into bytes.
#include "app/pipeline/prove/wish_internal.h"

#include <algorithm>

namespace fuselage::app {

namespace {

Wish of(Extents extents, Wish::Presence presence = Wish::Presence::Needed) {
    Wish wish;
    wish.extents = std::move(extents);
    wish.presence = presence;
    return wish;
}

/// How the weights of a MatMulNBits lie in memory, as far as its attributes say.
struct Packing {
    explicit Packing(const OperandContext& context)
        : bits(context.node.attributes.integer("bits", 4)),
          block(std::max<int64_t>(context.node.attributes.integer("block_size", 16), 1)) {
        if (const auto x = context.extents(0); x && !x->empty())
            k = std::max<int64_t>(x->back(), 1);
        blocks = (k - 1) / block + 1;
    }

    int64_t bits, block;
    int64_t k = 1, blocks = 1;
};

/// Its columns, which the weights show where they are there.
int64_t columnsOf(OperandContext& context) {
    if (const auto w = context.extents(1); w && !w->empty())
        return w->front();
    return context.result && !context.result->empty() ? context.result->back()
                                                      : context.dimension();
}

Wish packedWish(OperandContext& context, size_t operand) {
    constexpr int64_t depths[] = {5, 16, 17, 32, 40}; // in whole blocks and not
    if (operand == 0) {
        Extents x = context.result.value_or(Extents{});
        if (x.empty())
            x.assign(1 + (context.choices.pick(3) + 1) % 3, context.dimension());
        x.back() = depths[context.choices.pick(5)];
        return of(x);
    }
    const Packing packing(context);
    const int64_t n = columnsOf(context);
    const bool isFlat = operand == 2 && context.choices.pick(2) == 1;
    Wish wish;
    switch (operand) {
    case 1:
        wish = of({n, packing.blocks, packing.block * packing.bits / 8});
        wish.dtype = DType::UInt8;
        wish.packed = true;
        return wish;
    case 2:
        return of(isFlat ? Extents{n * packing.blocks} : Extents{n, packing.blocks});
    case 3:
        wish = of({n, (packing.blocks * packing.bits + 7) / 8}, Wish::Presence::Free);
        wish.dtype = DType::UInt8;
        wish.packed = true;
        return wish;
    case 5:
        return of({n}, Wish::Presence::Free);
    default:
        return leftOut();
    }
}

/// Batch, heads, rows, what a head holds: only the rows of keys and values may differ.
Wish headsWish(OperandContext& context, size_t operand) {
    if (operand > 2)
        return leftOut();
    if (operand == 0) {
        if (context.result && context.result->size() == 4)
            return of(*context.result);
        return of({1 + context.choices.pick(2), 1 + context.choices.pick(2), context.dimension(),
                   1 + context.choices.pick(4)});
    }
    const auto known = context.extents(operand - 1);
    if (!known || known->size() != 4)
        return of({1, 1, 2, 2});
    Extents out = *known;
    if (operand == 1)
        out[2] = context.dimension();
    else if (context.choices.rarely(30))
        out[3] = context.dimension();
    return of(out);
}

/// The same with the heads beside each other in the last dimension.
Wish flatHeadsWish(OperandContext& context, size_t operand) {
    constexpr int64_t widths[] = {2, 4, 6, 1};
    if (operand > 2)
        return leftOut();
    if (operand == 0) {
        if (context.result && context.result->size() == 3)
            return of(*context.result);
        return of(
            {1 + context.choices.pick(2), context.dimension(), widths[context.choices.pick(4)]});
    }
    const auto known = context.extents(operand - 1);
    if (!known || known->size() != 3)
        return of({1, 2, 4});
    Extents out = *known;
    if (operand == 1)
        out[1] = context.dimension();
    return of(out);
}

/// One matrix makes queries, keys and values.
Wish projectedWish(OperandContext& context, size_t operand) {
    constexpr int64_t widths[] = {2, 4, 6, 1};
    const auto x = context.extents(0), w = context.extents(1);
    if (operand == 0)
        return of({1 + context.choices.pick(2), context.dimension(), context.dimension()});
    if (operand == 1 && x && !x->empty())
        return of({x->back(), 3 * widths[context.choices.pick(4)]});
    if (operand == 2 && w && !w->empty())
        return of({w->back()}, Wish::Presence::Free);
    return leftOut();
}

/// A number of heads that divides the width.
int64_t headsFor(int64_t width, int64_t wished) {
    return wished > 0 && width % wished == 0 ? wished : 1;
}

void repeat(Node& node, const char* name, int64_t value) {
    if (!node.attributes.has(name))
        node.attributes.set(name, value);
}

} // namespace

Wish transformerWish(OperandContext& context, size_t operand) {
    switch (context.node.op) {
    case Op::MatMulNBits:
        return packedWish(context, operand);
    case Op::Attention:
        return headsWish(context, operand);
    case Op::MsAttention:
        return projectedWish(context, operand);
    default:
        return flatHeadsWish(context, operand);
    }
}

void repeatOperands(const OperandContext& context, Node& node) {
    const auto first = context.extents(0), second = context.extents(1);
    const int64_t few[] = {2, 1, 3};
    if (node.op == Op::MatMulNBits) {
        if (first && !first->empty())
            repeat(node, "K", first->back());
        if (second && !second->empty())
            repeat(node, "N", second->front());
    } else if (node.op == Op::MultiHeadAttention && first && !first->empty()) {
        repeat(node, "num_heads", headsFor(first->back(), few[context.choices.pick(3)]));
    } else if (node.op == Op::MsAttention && second && second->size() == 2) {
        repeat(node, "num_heads", headsFor(second->back() / 3, few[context.choices.pick(3)]));
    } else if (node.op == Op::GRU || node.op == Op::LSTM || node.op == Op::RNN) {
        if (const auto r = context.extents(2); r && r->size() == 3)
            repeat(node, "hidden_size", r->back());
    }
}

} // namespace fuselage::app
