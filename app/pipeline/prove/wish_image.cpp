// SPDX-License-Identifier: Apache-2.0
// Operands of windows and places in images that are not the regular ones of a convolution or a
// pool: given by data, given by size, or put back where they came from.
#include "app/pipeline/prove/wish_internal.h"

namespace fuselage::app {

namespace {

Extents image(OperandContext& context) {
    Extents out{1 + context.choices.pick(2), 1 + context.choices.pick(3)};
    for (int axis = 0; axis < 2; ++axis)
        out.push_back(2 + context.choices.pick(4));
    return out;
}

/// Where each element of the result lies in X, -1..1 across it and beyond.
Wish gridWish(OperandContext& context, size_t operand) {
    const auto x = context.extents(0);
    if (operand == 0)
        return ofExtents(image(context));
    if (!x || x->size() < 3)
        return {};
    Extents grid{x->front()};
    for (size_t axis = 2; axis < x->size(); ++axis)
        grid.push_back(context.dimension());
    grid.push_back(static_cast<int64_t>(x->size()) - 2);
    return ofExtents(std::move(grid));
}

Wish affineWish(OperandContext& context, size_t operand) {
    const auto theta = context.extents(0);
    const int64_t spatial = 2 + (context.choices.rarely(30) ? 1 : 0);
    if (operand == 0)
        return ofExtents({1 + context.choices.pick(2), spatial, spatial + 1});
    if (!theta || theta->size() != 3)
        return {};
    Ints size{theta->front(), 1 + int64_t{context.choices.pick(2)}};
    for (int64_t axis = 0; axis < (*theta)[1]; ++axis)
        size.push_back(context.dimension());
    return parameter(std::move(size));
}

/// A window that as many channels can be columns of.
struct Block {
    int64_t rows = 1, columns = 1;
};

Block blockIn(int64_t channels) {
    return channels % 4 == 0   ? Block{2, 2}
           : channels % 3 == 0 ? Block{1, 3}
           : channels % 2 == 0 ? Block{2, 1}
                               : Block{};
}

/// Columns of windows, one for each place where a window of stride 1 lies.
Wish columnsWish(OperandContext& context, size_t operand) {
    if (operand == 0) {
        constexpr int64_t blocks[] = {4, 3, 2, 1, 8};
        return ofExtents({1 + context.choices.pick(2), blocks[context.choices.pick(5)],
                          context.dimension() * (1 + context.choices.pick(2))});
    }
    const auto x = context.extents(0);
    if (!x || x->size() != 3)
        return {};
    const Block block = blockIn((*x)[1]);
    if (operand == 2)
        return parameter({block.rows, block.columns});
    const int64_t rows = (*x)[2] % 2 == 0 ? 2 : 1;
    return parameter({rows + block.rows - 1, (*x)[2] / rows + block.columns - 1});
}

/// A convolution of stride 1 whose windows are torn apart by offsets.
Wish deformedWish(OperandContext& context, size_t operand) {
    const auto x = context.extents(0), w = context.extents(1);
    const Attributes& attributes = context.node.attributes;
    const int64_t group = std::max<int64_t>(attributes.integer("group", 1), 1);
    const int64_t offsetGroup = std::max<int64_t>(attributes.integer("offset_group", 1), 1);
    if (operand == 0) {
        Extents out = image(context);
        out[1] = group * offsetGroup * (1 + context.choices.pick(2));
        return ofExtents(std::move(out));
    }
    if (!x || x->size() != 4)
        return {};
    if (operand == 1)
        return ofExtents({group * (1 + context.choices.pick(2)),
                          std::max<int64_t>((*x)[1] / group, 1), 1 + context.choices.pick(2),
                          1 + context.choices.pick(2)});
    if (!w || w->size() != 4)
        return {};
    if (operand == 3)
        return ofExtents({w->front()});
    const int64_t each = offsetGroup * (*w)[2] * (*w)[3];
    return ofExtents(
        {x->front(), operand == 2 ? 2 * each : each, (*x)[2] - (*w)[2] + 1, (*x)[3] - (*w)[3] + 1});
}

/// Every element to a place of its own.
Wish unpoolWish(OperandContext& context, size_t operand) {
    const auto x = context.extents(0);
    if (operand == 0)
        return ofExtents(image(context));
    if (!x || operand > 1)
        return leftOut();
    Ints places(static_cast<size_t>(productOf(*x)));
    for (size_t i = 0; i < places.size(); ++i)
        places[i] = static_cast<int64_t>(i);
    Wish wish = parameter(std::move(places));
    wish.extents = x;
    return wish;
}

/// The image, then left, top, right and bottom.
Wish regionsWish(OperandContext& context, size_t operand) {
    const auto x = context.extents(0);
    if (operand == 0)
        return ofExtents(image(context));
    if (!x || x->size() != 4)
        return {};
    const int64_t count = 1 + context.choices.pick(3);
    std::vector<double> regions;
    for (int64_t region = 0; region < count; ++region) {
        const double left = context.choices.pick(3), top = context.choices.pick(3);
        const double image =
            context.choices.pick(static_cast<uint32_t>(std::max<int64_t>(x->front(), 1)));
        regions.insert(regions.end(), {image, left, top, left + context.choices.pick(4),
                                       top + context.choices.pick(4)});
    }
    return numbers({count, 5}, std::move(regions));
}

/// Factors of a nearest or linear enlargement, one for each dimension.
Wish upsampleWish(OperandContext& context, size_t operand) {
    const auto x = context.extents(0);
    if (operand == 0)
        return ofExtents(image(context));
    if (!x)
        return {};
    constexpr double factors[] = {2, 1, 1.5, 3};
    std::vector<double> scales;
    for (size_t axis = 0; axis < x->size(); ++axis)
        scales.push_back(axis < 2 ? 1 : factors[context.choices.pick(4)]);
    const auto rank = static_cast<int64_t>(scales.size());
    Wish wish = numbers({rank}, std::move(scales));
    wish.presence = Wish::Presence::Needed; // the attribute of old files is an operand when loaded
    return wish;
}

} // namespace

std::optional<Wish> imageWish(OperandContext& context, size_t operand) {
    switch (context.node.op) {
    case Op::GridSample:
        return gridWish(context, operand);
    case Op::AffineGrid:
        return affineWish(context, operand);
    case Op::Col2Im:
        return columnsWish(context, operand);
    case Op::DeformConv:
        return deformedWish(context, operand);
    case Op::MaxUnpool:
        return unpoolWish(context, operand);
    case Op::MaxRoiPool:
        return regionsWish(context, operand);
    case Op::Upsample:
        return upsampleWish(context, operand);
    default:
        return std::nullopt;
    }
}

} // namespace fuselage::app
