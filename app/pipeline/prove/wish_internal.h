// SPDX-License-Identifier: Apache-2.0
// What the rules of thumb of all families are made of.
#pragma once

#include "app/pipeline/prove/wish.h"

#include <algorithm>

namespace fuselage::app {

using Ints = std::vector<int64_t>;

inline Wish ofExtents(Extents extents, std::optional<DType> dtype = {}) {
    Wish wish;
    wish.extents = std::move(extents);
    wish.dtype = dtype;
    return wish;
}

inline Wish parameter(Ints contents) {
    Wish wish;
    wish.extents = Extents{static_cast<int64_t>(contents.size())};
    wish.dtype = DType::Int64;
    wish.constant = true;
    wish.contents = std::move(contents);
    return wish;
}

inline size_t axisOf(const OperandContext& context, size_t rank, int64_t fallback = -1) {
    int64_t axis = context.node.attributes.integer("axis", fallback);
    axis += axis < 0 ? static_cast<int64_t>(rank) : 0;
    return static_cast<size_t>(std::clamp<int64_t>(axis, 0, static_cast<int64_t>(rank)));
}

/// Of operators that move elements, cut shapes or fill them; none for others.
std::optional<Wish> movementWish(OperandContext& context, size_t operand);

} // namespace fuselage::app
