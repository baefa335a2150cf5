// SPDX-License-Identifier: Apache-2.0
// Wholes in parts: how many there are, and how many are done at a time.
#pragma once

#include <cstdint>

namespace fuselage::gpu {

/// Parts of `part` that cover `whole`, the last one perhaps beyond its end.
constexpr int64_t divideUp(int64_t whole, int64_t part) {
    return (whole + part - 1) / part;
}

constexpr int64_t roundUp(int64_t whole, int64_t part) {
    return divideUp(whole, part) * part;
}

/// Of `count` things that take as few rounds of at most `most` as they can: how many make a round.
constexpr int64_t perRound(int64_t count, int64_t most) {
    return divideUp(count, divideUp(count, most));
}

} // namespace fuselage::gpu
