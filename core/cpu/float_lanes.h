// SPDX-License-Identifier: Apache-2.0
// Narrow integers that a tape only widens to float32, or rounds from it: their tiles are loaded and
// stored as float32 at once, with no lanes of int64 on the way. The numbers are the same.
#pragma once

#include "core/ops/tape.h"

#include <vector>

namespace fuselage::cpu {

struct FloatLanes {
    Tape tape;                 ///< in which those inputs and outputs are float32
    std::vector<bool> inputs;  ///< parallel to tape.inputs
    std::vector<bool> outputs; ///< parallel to tape.outputs
};

FloatLanes withFloatLanes(const Tape& tape);

} // namespace fuselage::cpu
