// SPDX-License-Identifier: Apache-2.0
// Values that several tapes of a row program compute alike for each element: the first tape makes
// them, later ones read them. For executors that keep them between the stages of a row; what a
// program means does not change. Source: value numbering over the tapes.
#pragma once

#include "core/kernel/program.h"

namespace fuselage {

/// A row program's tapes over elements with values handed on.
struct RowReuse {
    struct Made {
        uint32_t value = 0;
        uint32_t output = 0; ///< of the tape: behind its own outputs, or one of them
    };

    struct Part {
        Tape tape;
        std::vector<Made> makes;
        std::vector<uint32_t> reads; ///< values; tape inputs behind those of the program's tape
    };

    std::vector<Part> parts;   ///< the maps of the stages, then the element tape
    std::vector<DType> values; ///< of each value that is handed on
};

struct RowReuseLimits {
    int64_t leastIssue = 1;   ///< lane instructions that computing a value again would take
    bool withElements = true; ///< whether the element tape may read what stages made
};

/// Lane instructions that take as long as writing a value into a second cache and reading it.
constexpr int64_t dearToRepeat = 3;
/// What one thread keeps of a row, at most: a second cache holds it.
constexpr size_t mostKeptBytes = size_t{256} << 10;

/// Values of 16-bit floats are not handed on: only stores round them.
RowReuse reuseInRow(const Row& row, const RowReuseLimits& limits = {});

} // namespace fuselage
