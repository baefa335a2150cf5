// SPDX-License-Identifier: Apache-2.0
// Operands of operators that move elements: shapes, axes, borders, places.
#include "app/pipeline/prove/wish_internal.h"
#include "core/ops/op_table.h"

namespace fuselage::app {

namespace {

/// A region of interest, which only one mode reads; scales, mostly of the image alone, or sizes.
Wish resizeWish(OperandContext& context, size_t operand) {
    if (operand == 0)
        return ofExtents(
            {1, 1 + context.choices.pick(2), context.dimension() + 1, context.dimension() + 1});
    auto x = context.extents(0);
    if (!x || operand > 3)
        return {};
    const bool hasScales = context.types.size() > 2 && context.types[2];
    Wish wish;
    if (operand == 3 && !hasScales) {
        Ints sizes = *x;
        for (size_t i = 2; i < sizes.size(); ++i)
            sizes[i] = 1 + context.choices.pick(6);
        wish = parameter(sizes);
        wish.presence = Wish::Presence::Needed;
        return wish;
    }
    constexpr uint32_t percentSizes = 30, percentOfAll = 8;
    const bool isLeftOut = operand == 3 || (operand == 2 && context.choices.rarely(percentSizes));
    wish.presence = isLeftOut      ? Wish::Presence::LeftOut
                    : operand == 2 ? Wish::Presence::Needed
                                   : Wish::Presence::Free;
    wish.dtype = operand == 3 ? DType::Int64 : DType::Float32;
    wish.constant = true;
    wish.numbers.emplace();
    for (size_t i = 0; operand == 2 && i < x->size(); ++i) {
        // The last one leaves a small image its size, and moves what is in it.
        constexpr double scales[] = {2, 1, 0.5, 1.5, 3, 1.2};
        const bool isOfImage = i >= 2 || context.choices.rarely(percentOfAll);
        wish.numbers->push_back(isOfImage ? scales[context.choices.pick(6)] : 1);
    }
    wish.extents = Extents{static_cast<int64_t>(wish.numbers->size())};
    return wish;
}

/// The same elements under other extents.
Extents regrouped(const Extents& extents, Choices& choices) {
    Extents out = extents;
    for (uint32_t steps = choices.pick(3); steps > 0 && !out.empty(); --steps) {
        size_t at = choices.pick(static_cast<uint32_t>(out.size()));
        if (choices.pick(2) == 0 && at + 1 < out.size()) {
            out[at] *= out[at + 1];
            out.erase(out.begin() + static_cast<std::ptrdiff_t>(at) + 1);
        } else if (at < out.size()) {
            int64_t part = out[at] % 2 == 0 ? 2 : out[at] % 3 == 0 ? 3 : 1;
            out[at] /= std::max<int64_t>(part, 1);
            out.insert(out.begin() + static_cast<std::ptrdiff_t>(at), part);
        }
    }
    return out;
}

/// Now and then one of them is left for the operator to find out.
Wish shapeParameter(OperandContext& context, Extents extents) {
    constexpr uint32_t percentOpen = 15;
    const bool mayBeOpen = !extents.empty() && productOf(extents) > 0;
    if (mayBeOpen && context.choices.rarely(percentOpen))
        extents[context.choices.pick(static_cast<uint32_t>(extents.size()))] = -1;
    return parameter(std::move(extents));
}

Wish reshapeWish(OperandContext& context, size_t operand) {
    auto x = context.extents(0);
    if (operand == 0) {
        if (!context.result)
            return {};
        Wish wish = ofExtents(regrouped(*context.result, context.choices));
        wish.regroups = true;
        return wish;
    }
    if (!x)
        return parameter({-1});
    Extents y;
    if (context.result && productOf(*context.result) == productOf(*x)) {
        y = *context.result;
    } else if (context.result && !context.result->empty()) {
        const KnownDimensions known(context.result->begin(), context.result->end());
        y = inGroups(*x, known, context.partings, context.choices).value_or(*x);
    } else {
        const auto again = context.choices.pick(2) == 1
                               ? context.partings.again(*x, context.choices)
                               : std::nullopt;
        y = again ? *again : regrouped(*x, context.choices);
    }
    context.partings.note(*x, y);
    return shapeParameter(context, std::move(y));
}

Wish expandWish(OperandContext& context, size_t operand) {
    auto x = context.extents(0);
    if (operand == 0) {
        if (!context.result)
            return {};
        constexpr uint32_t percentColumn = 30, percentOne = 25;
        Extents from = *context.result;
        const bool isColumn = context.choices.rarely(percentColumn);
        for (size_t i = 0; i < from.size(); ++i)
            if ((isColumn && i > 0) || context.choices.rarely(percentOne))
                from[i] = 1;
        return ofExtents(std::move(from));
    }
    if (!x)
        return parameter({-1});
    Extents y = context.result.value_or(broadcastOf(*x, context.choices));
    constexpr uint32_t percentEmpty = 4;
    if (auto one = std::find(y.begin(), y.end(), 1);
        one != y.end() && context.choices.rarely(percentEmpty))
        *one = 0;
    return parameter(std::move(y));
}

Wish sliceWish(OperandContext& context, size_t operand) {
    auto x = context.extents(0);
    if (operand == 0 || !x || x->empty())
        return operand == 0 ? Wish{} : parameter({0});
    const auto rank = static_cast<uint32_t>(x->size());
    const int64_t largest = *std::max_element(x->begin(), x->end());
    // The starts say how many axes it cuts: one mostly.
    const auto starts = context.extents(1);
    const size_t count = operand > 1 && starts && !starts->empty()
                             ? static_cast<size_t>((*starts)[0])
                             : 1 + (rank > 1 && context.choices.rarely(15) ? 1 : 0);
    auto oneOf = [&](std::initializer_list<int64_t> values) {
        Ints items(count);
        for (int64_t& item : items)
            item = values.begin()[context.choices.pick(static_cast<uint32_t>(values.size()))];
        return parameter(std::move(items));
    };
    switch (operand) {
    case 1:
        return oneOf({0, 0, 1, -1, 2, -2});
    case 2:
        return oneOf({largest, INT64_MAX, 1, INT64_MIN, largest - 1, -1});
    case 3:
        return parameter(someOf(rank, count, context.choices));
    default:
        return oneOf({1, 1, -1, 2, 1, -2});
    }
}

Wish padWish(OperandContext& context, size_t operand) {
    auto x = context.extents(0);
    if (operand == 0 || !x)
        return {};
    if (operand == 2) {
        Wish wish = ofExtents({});
        wish.constant = true;
        return wish;
    }
    if (operand == 3)
        return parameter({0});
    Ints pads(2 * x->size(), 0);
    for (size_t i = 0; i < pads.size(); ++i) {
        bool outer = i % x->size() < 2 && x->size() > 2;
        const int64_t amounts[] = {0, 1, 2, -1};
        if (!outer || context.choices.rarely(5))
            pads[i] = amounts[context.choices.pick(4)];
    }
    return parameter(pads);
}

/// Places along the axis, in any order and counted from either end; a list mostly, at times one
/// place or a table of them.
Wish gatherWish(OperandContext& context, size_t operand) {
    auto x = context.extents(0);
    if (operand == 0 || !x || x->empty())
        return {};
    const size_t axis = std::min(axisOf(context, x->size(), 0), x->size() - 1);
    const auto extent = static_cast<uint32_t>(std::max<int64_t>((*x)[axis], 1));
    Ints places(context.choices.pick(2) == 0 ? extent : 1 + context.choices.pick(3));
    for (int64_t& place : places)
        place = int64_t{context.choices.pick(extent)} -
                (context.choices.rarely(20) ? int64_t{extent} : 0);
    const auto length = static_cast<int64_t>(places.size());
    Wish wish = parameter(std::move(places));
    wish.places = extent;
    if (context.choices.rarely(12))
        wish.extents = context.choices.pick(2) == 0 ? Extents{1, length} : Extents{length, 1};
    else if (length == 1 && context.choices.rarely(30))
        wish.extents = Extents{};
    return wish;
}

/// What is written to one place is put together.
bool mayMeet(const OperandContext& context) {
    return context.node.attributes.string("reduction", "none") != "none";
}

/// Places along an axis, in a table that is as large as x but for that axis, at times smaller.
Wish placesWish(OperandContext& context, const Extents& x, size_t axis, Extents extents) {
    constexpr uint32_t percentSmaller = 12;
    for (size_t i = 0; i < extents.size(); ++i)
        if (i != axis && extents[i] > 1 && context.choices.rarely(percentSmaller))
            --extents[i];
    Wish wish = ofExtents(std::move(extents), DType::Int64);
    wish.places = std::max<int64_t>(x[axis], 1);
    return wish;
}

Wish gatherElementsWish(OperandContext& context, size_t operand) {
    const auto x = context.extents(0);
    if (operand == 0 || !x || x->empty())
        return {};
    const size_t axis = std::min(axisOf(context, x->size(), 0), x->size() - 1);
    Extents extents = *x;
    extents[axis] = context.dimension();
    return placesWish(context, *x, axis, context.result.value_or(extents));
}

/// A place of its own for each element along the axis: what is written twice has no value, unless
/// it is put together.
Wish scatterElementsWish(OperandContext& context, size_t operand) {
    const auto x = context.extents(0);
    if (operand == 0 || !x || x->empty())
        return {};
    if (operand == 2)
        return ofExtents(context.extents(1).value_or(*x), context.types[0]->dtype);
    constexpr int64_t most = 1 << 16; // elements: a larger graph is no sample
    if (productOf(*x) > most)
        return {};
    const size_t axis = std::min(axisOf(context, x->size(), 0), x->size() - 1);
    const int64_t extent = std::max<int64_t>((*x)[axis], 1);
    if (mayMeet(context)) {
        Extents extents = *x;
        extents[axis] = context.dimension();
        return placesWish(context, *x, axis, std::move(extents));
    }
    const auto shift = static_cast<int64_t>(context.choices.pick(4));
    int64_t inner = 1; // elements between two neighbours along the axis
    for (size_t i = axis + 1; i < x->size(); ++i)
        inner *= (*x)[i];
    Ints places(static_cast<size_t>(productOf(*x)));
    for (size_t i = 0; i < places.size(); ++i)
        places[i] = (static_cast<int64_t>(i) / std::max<int64_t>(inner, 1) + shift) % extent -
                    (context.choices.rarely(10) ? extent : 0);
    Wish wish = parameter(std::move(places));
    wish.extents = x;
    wish.places = extent;
    return wish;
}

/// Rows of x in another order, some of them.
Wish scatterNDWish(OperandContext& context, size_t operand) {
    const auto x = context.extents(0);
    if (operand == 0 || !x || x->empty() || mayMeet(context))
        return {};
    const int64_t rows = (*x)[0];
    const auto indices = context.extents(1);
    if (operand == 2) {
        if (!indices || indices->empty())
            return {};
        Extents updates(indices->begin(), indices->end() - 1);
        const auto deep = std::min<int64_t>(indices->back(), static_cast<int64_t>(x->size()));
        updates.insert(updates.end(), x->begin() + deep, x->end());
        return ofExtents(std::move(updates), context.types[0]->dtype);
    }
    const int64_t count =
        std::min<int64_t>(rows, 1 + static_cast<int64_t>(context.choices.pick(3)));
    const auto shift = static_cast<int64_t>(context.choices.pick(4));
    Ints places(static_cast<size_t>(count));
    for (size_t i = 0; i < places.size(); ++i)
        places[i] = (static_cast<int64_t>(i) + shift) % std::max<int64_t>(rows, 1);
    Wish wish = parameter(std::move(places));
    wish.extents = Extents{count, 1};
    return wish;
}

/// How often along each dimension.
Wish tileWish(OperandContext& context, size_t operand) {
    auto x = context.extents(0);
    if (operand == 0 || !x)
        return {};
    Ints repeats(x->size());
    for (int64_t& each : repeats)
        each = context.choices.rarely(4) ? 0 : 1 + context.choices.pick(3);
    return parameter(std::move(repeats));
}

/// Classes, and the two numbers that stand for no and yes.
Wish oneHotWish(OperandContext& context, size_t operand) {
    if (operand == 0) {
        Wish wish;
        wish.dtype = DType::Int64;
        return wish;
    }
    if (operand == 2)
        return ofExtents({2});
    return wholeNumber(context.dimension());
}

/// Lengths of the sequences of a batch.
Wish lengthsWish(OperandContext& context, size_t operand) {
    auto x = context.extents(0);
    if (operand == 0 || !x || x->size() < 2)
        return {};
    const auto axis = [&](const char* name, int64_t usual) {
        return static_cast<size_t>(context.node.attributes.integer(name, usual)) % x->size();
    };
    const auto longest = static_cast<uint32_t>(std::max<int64_t>((*x)[axis("time_axis", 0)], 1));
    Ints lengths(static_cast<size_t>((*x)[axis("batch_axis", 1)]));
    for (int64_t& length : lengths)
        length = 1 + context.choices.pick(longest);
    return parameter(std::move(lengths));
}

Wish concatWish(OperandContext& context, size_t operand) {
    auto x = context.extents(0);
    if (operand == 0 || !x)
        return {};
    Extents extents = *x;
    size_t axis = axisOf(context, x->size(), 0);
    if (axis < extents.size())
        extents[axis] = context.dimension();
    return ofExtents(extents, context.types[0]->dtype);
}

/// Blocks that go into channels, or come from them.
Wish blockWish(OperandContext& context) {
    const int64_t block = std::max<int64_t>(context.node.attributes.integer("blocksize", 2), 1);
    const int64_t channels = 1 + context.choices.pick(2), rows = 1 + context.choices.pick(2),
                  columns = 1 + context.choices.pick(3);
    return context.node.op == Op::DepthToSpace
               ? ofExtents({1, channels * block * block, rows, columns})
               : ofExtents({1, channels, rows * block, columns * block});
}

Wish transposeWish(OperandContext& context) {
    std::optional<Extents> y = context.result;
    Ints perm = context.node.attributes.integers("perm");
    if (!y && perm.empty())
        return {};
    if (!y) { // as many dimensions as it moves
        Extents any(perm.size());
        for (int64_t& dimension : any)
            dimension = context.dimension();
        return ofExtents(std::move(any));
    }
    if (context.regroups && !perm.empty() && y->size() != perm.size())
        y = inGroups(*y, KnownDimensions(perm.size()), context.partings, context.choices)
                .value_or(*y);
    Extents x(y->size(), 1);
    for (size_t i = 0; i < x.size(); ++i) {
        size_t from = perm.size() == x.size() ? static_cast<size_t>(perm[i]) : x.size() - 1 - i;
        if (from < x.size())
            x[from] = (*y)[i];
    }
    return ofExtents(x);
}

} // namespace

bool passesElements(Op op, size_t operand) {
    if (op == Op::Concat)
        return true;
    return operand == 0 && (hasTrait(op, View) || op == Op::Expand || op == Op::Transpose ||
                            op == Op::Slice || op == Op::Tile || op == Op::Gather);
}

std::optional<Wish> movementWish(OperandContext& context, size_t operand) {
    switch (context.node.op) {
    case Op::Reshape:
        return reshapeWish(context, operand);
    case Op::Expand:
        return expandWish(context, operand);
    case Op::Slice:
        return sliceWish(context, operand);
    case Op::Pad:
        return padWish(context, operand);
    case Op::Concat:
        return concatWish(context, operand);
    case Op::Tile:
        return tileWish(context, operand);
    case Op::OneHot:
        return oneHotWish(context, operand);
    case Op::ReverseSequence:
        return lengthsWish(context, operand);
    case Op::Transpose:
        return transposeWish(context);
    case Op::Gather:
        return gatherWish(context, operand);
    case Op::GatherElements:
        return gatherElementsWish(context, operand);
    case Op::Resize:
        return resizeWish(context, operand);
    case Op::ScatterElements:
        return scatterElementsWish(context, operand);
    case Op::ScatterND:
        return scatterNDWish(context, operand);
    case Op::DepthToSpace:
    case Op::SpaceToDepth:
        return blockWish(context);
    default:
        return std::nullopt;
    }
}

} // namespace fuselage::app
