// SPDX-License-Identifier: Apache-2.0
// Figures of trained models of others, and the tables made of them. Measures nothing.
#pragma once

#include "tests/bench/figures.h"

namespace fuselage::bench {

/// Ours, and ONNX Runtime at its levels.
enum Side : size_t { Fused, Unfused, All, Disabled, Sides };

/// Median milliseconds of each round and side, the rounds of all sides in step.
struct Times {
    Rounds of[Sides];

    /// Of each round.
    Rounds ratio(Side a, Side b) const;
};

/// One model with one set of inputs.
struct Row {
    std::string name;
    Times idle, busy;
    Rounds first, firstOfRuntime; ///< seconds
    /// Steps that reference code computes, of the fused side and the unfused one: where there are
    /// some, the ratio of the two says little.
    std::vector<size_t> fallbacks;
    std::string failure; ///< of what is not in the row
};

/// Times alone and beside a busy process, load + first run, each with geometric means of its
/// ratios; then a sentence for each row that lacks something.
std::string tables(const std::vector<Row>& rows);

} // namespace fuselage::bench
