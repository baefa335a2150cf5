// SPDX-License-Identifier: Apache-2.0
// Reads the epilogue of a contraction of 8-bit integers as what nearly all quantised networks have
// there: a scale and shift per channel, a stored residual, a clamp, and rounding to 8 bits. For
// backends that compute this in one pass over the sums. Looks at the tape's structure only.
#pragma once

#include "core/kernel/epilogue_match.h"

#include <limits>

namespace fuselage {

/// v = f(clamp(scale * (sum + bias) + shift + addendScale * (addend - addendZero), low, high)); the
/// result is v, or round(v / step) + zero saturated to `type`.
struct Requantisation {
    /// f(x): x, x * unit(x) or unit(x), where unit(x) is slope * x + offset within 0 and 1: what
    /// HardSwish and HardSigmoid are.
    enum class Bend : uint8_t { None, TimesUnit, Unit };

    std::vector<double> bias{0};            ///< whole numbers: one, or one a channel
    std::vector<double> scale{1}, shift{0}; ///< one, or one a channel
    std::optional<uint32_t> addend;         ///< read of the epilogue, of an 8-bit type
    double addendScale = 1, addendZero = 0;
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
    Bend bend = Bend::None;
    double slope = 0, offset = 0;
    DType type = DType::Float32; ///< Int8 or UInt8: rounded
    double step = 1, zero = 0;
};

/// An epilogue on sums of integers, cut where it rounds.
struct RoundedEpilogue {
    Tape floats;                 ///< input 0: the sum plus `bias`, a float32
    std::vector<double> bias{0}; ///< whole numbers: one, or one a channel
    /// Int8 or UInt8: round(v / step) + zero saturated, v the result of `floats`; else v's type.
    DType type = DType::Float32;
    double step = 1, zero = 0;
};

/// `inputs` as below. None: several results, or work on the sums as integers that is no bias.
std::optional<RoundedEpilogue> cutRounding(const Tape& tape,
                                           const std::vector<EpilogueInput>& inputs);

/// `inputs` is parallel to the tape's inputs; the sums are input 0. None: the tape is another one.
std::optional<Requantisation> matchRequantisation(const Tape& tape,
                                                  const std::vector<EpilogueInput>& inputs);

} // namespace fuselage
