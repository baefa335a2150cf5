// SPDX-License-Identifier: Apache-2.0
// Parts of an epilogue's tape as tapes of their own. Looks at registers only.
#pragma once

#include "core/ops/tape.h"

#include <optional>
#include <vector>

namespace fuselage {

struct TapePart {
    Tape tape;
    std::vector<uint32_t> reads; ///< of the epilogue, parallel to the tape's inputs behind the head
};

/// What the registers `outputs` need of a tape whose input i + 1 is read i. With `head`, that
/// register's value is input 0 in place of what made it; without, input 0 must not be needed.
TapePart partOfTape(const Tape& tape, const std::vector<uint16_t>& outputs,
                    std::optional<uint16_t> head);

/// An epilogue on sums of integers that begins with float32(sum) * scale + shift, where the scale
/// and the shift, if there is one, are the same in all rows.
struct ScaledSums {
    TapePart columns; ///< the scale, then the shift
    bool hasShift = false;
    std::optional<TapePart> rest; ///< input 0: the scaled sum; none: that is the only result
};

/// `perColumn`: whether a read of the epilogue is the same in all rows. None: another epilogue.
std::optional<ScaledSums> matchScaledSums(const Tape& tape, const std::vector<bool>& perColumn);

} // namespace fuselage
