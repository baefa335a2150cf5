// SPDX-License-Identifier: Apache-2.0
// The exact level of the proof of a rewrite: both sides are computed with symbols, for every way
// through the pattern, and found equal for all inputs. What is not proved may be true all the same;
// `obstacle` says what stood in the way.
#pragma once

#include "core/rewrite/pattern.h"
#include "core/support/progress.h"

#include <string>
#include <vector>

namespace fuselage {

struct ExactProof {
    enum class Level : uint8_t {
        None,
        Reals, ///< equal as real numbers, with the same places where neither is a number
        Bits,  ///< the same bits
    };

    Level level = Level::None;
    std::vector<std::string> conditions; ///< that it rests on, in words
    std::string obstacle;                ///< None: the first thing that stood in the way
    uint32_t ways = 0;                   ///< through the pattern
};

ExactProof proveExactly(const Rule& rule, Progress& progress);

} // namespace fuselage
