// SPDX-License-Identifier: Apache-2.0
// Narrow integers that a tape only widens to float32, or rounds from it: their tiles are loaded and
// stored as float32 at once, with no lanes of int64 on the way. The numbers are the same.
#pragma once

#include "core/kernel/program.h"
#include "core/ops/tape.h"

#include <vector>

namespace fuselage::cpu {

struct FloatLanes {
    Tape tape;                 ///< in which those inputs and outputs are float32
    std::vector<bool> inputs;  ///< parallel to tape.inputs
    std::vector<bool> outputs; ///< parallel to tape.outputs
};

FloatLanes withFloatLanes(const Tape& tape);

/// Of a row: an input is float32 in all stages and in what is written per element, or in none.
struct RowFloatLanes {
    Row row;
    std::vector<bool> reads;         ///< parallel to row.reads
    std::vector<bool> elementWrites; ///< parallel to row.elementWrites
};

RowFloatLanes withFloatLanes(const Row& row);

} // namespace fuselage::cpu
