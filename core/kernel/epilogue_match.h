// SPDX-License-Identifier: Apache-2.0
// Turns an epilogue tape into what a library can do after a contraction: a scale and shift per
// channel that fold into weights and bias, then a list of post-ops; or says why it cannot. Looks at
// the tape's structure only.
#pragma once

#include "core/kernel/activation_match.h"
#include "core/ops/numeric_class.h"
#include "core/support/reason.h"

#include <optional>
#include <variant>
#include <vector>

namespace fuselage {

/// What an epilogue's tape input is to the contraction.
struct EpilogueInput {
    enum class Kind : uint8_t {
        Accumulator,
        Constant, ///< `values`: one, or one a channel
        Channel,  ///< one value a channel, known only when running
        Full,     ///< an element for each element of the result
        Other,
    };

    Kind kind = Kind::Other;
    std::vector<double> values;
    uint32_t read = 0; ///< index in Epilogue::reads, of Channel and Full
};

struct PostOp {
    enum class Kind : uint8_t {
        Activate,
        Sum,             ///< adds operand `read`, element for element
        MultiplyChannel, ///< by `values`, or by operand `read` when they are empty
        AddChannel,
        Multiply, ///< by operand `read`, element for element
    };

    /// An operand that is stored as integers: scale * (operand - zero) is meant.
    struct Stored {
        double scale = 1, zero = 0;
    };

    Kind kind = Kind::Activate;
    MatchedActivation activation;
    std::vector<double> values;
    uint32_t read = 0;
    std::optional<Stored> stored = std::nullopt; ///< Sum
};

/// A result of the tape on the way: its value after the scale, the shift and the first `postOps`.
struct EpilogueTap {
    uint32_t output = 0; ///< in Tape::outputs
    size_t postOps = 0;
};

struct MatchedEpilogue {
    std::vector<double> scale; ///< empty: one; else one value or one a channel
    std::vector<double> shift; ///< empty: zero
    std::vector<PostOp> postOps;
    uint16_t beforeSum = 0;        ///< with a Sum: the tape's register that it adds to
    std::vector<EpilogueTap> taps; ///< of the outputs besides the one at the end
    uint32_t last = 0;             ///< the output at the end
    /// Against the tape: scales that fold into weights, shifts that are summed beforehand and
    /// functions that a library computes its own way are Reassociated.
    NumericClass numeric = NumericClass::Exact;
};

/// What the library can do beyond one result and one addend.
struct EpilogueAbilities {
    bool severalResults = false;
    bool anyOperands = false;           ///< any number of Sum and Multiply
    double tolerance = exactActivation; ///< of functions, see matchActivation
    bool storedOperands = false;        ///< Sums of operands that are dequantised
};

/// `inputs` is parallel to the tape's inputs; the accumulator is input 0.
std::variant<MatchedEpilogue, Reason> matchEpilogue(const Tape& tape,
                                                    const std::vector<EpilogueInput>& inputs,
                                                    const EpilogueAbilities& abilities = {});

/// A matched epilogue cut in two before its Sum.
struct SplitEpilogue {
    MatchedEpilogue head;        ///< for the primitive
    Tape rest;                   ///< input 0 is the primitive's result
    std::vector<uint32_t> reads; ///< of the epilogue, parallel to inputs 1.. of `rest`
};

/// None when there is no Sum or what it adds to is not float.
std::optional<SplitEpilogue> splitBeforeSum(const Tape& tape, const MatchedEpilogue& epilogue);

} // namespace fuselage
