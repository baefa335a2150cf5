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

/// One whole number that is no axis of its own.
inline Wish wholeNumber(int64_t value) {
    Wish wish = parameter({value});
    wish.extents = Extents{};
    return wish;
}

inline Wish numbers(Extents extents, std::vector<double> contents) {
    Wish wish = ofExtents(std::move(extents), DType::Float32);
    wish.constant = true;
    wish.numbers = std::move(contents);
    return wish;
}

inline Wish leftOut() {
    Wish wish;
    wish.presence = Wish::Presence::LeftOut;
    return wish;
}

inline size_t axisOf(const OperandContext& context, size_t rank, int64_t fallback = -1) {
    int64_t axis = context.node.attributes.integer("axis", fallback);
    axis += axis < 0 ? static_cast<int64_t>(rank) : 0;
    return static_cast<size_t>(std::clamp<int64_t>(axis, 0, static_cast<int64_t>(rank)));
}

/// So many different ones of `count` dimensions, counted from either end.
Ints someOf(uint32_t count, size_t wanted, Choices& choices);

/// Of operators that move elements, cut shapes or fill them; none for others.
std::optional<Wish> movementWish(OperandContext& context, size_t operand);

/// Of windows and places in images that are not the regular ones of a convolution or a pool.
std::optional<Wish> imageWish(OperandContext& context, size_t operand);

/// Of RNN, GRU and LSTM.
Wish recurrentWish(OperandContext& context, size_t operand);

/// Of sequences of numbers, their spectra and what these are weighted with.
std::optional<Wish> signalWish(OperandContext& context, size_t operand);

/// As the equation names the dimensions.
Wish einsumWish(OperandContext& context, size_t operand);

} // namespace fuselage::app
