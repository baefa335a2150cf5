// SPDX-License-Identifier: Apache-2.0
// The part of a tape that only constants reach, cut out so that a backend computes it once while
// preparing: what BatchNormalization makes of its four parameters is two numbers a channel, not a
// root and a division for every element. Pointwise programs, epilogues and the passes of rows;
// computes nothing itself.
#pragma once

#include "core/kernel/program.h"

#include <functional>
#include <vector>

namespace fuselage {

/// What is known of an operand that a tape reads.
struct ConstantOperand {
    Extents extents;
    TensorPtr data; ///< row-major, when it never changes; else null
};

/// A part to compute: its space is that of its operands, all of one shape.
struct ConstantPart {
    Pointwise program;             ///< reads and writes are identity maps of operands 0, 1 ...
    std::vector<TensorPtr> inputs; ///< parallel to its reads
};

/// The results, parallel to program.writes, of the tape's types.
using ConstantEvaluator = std::function<std::vector<TensorPtr>(const ConstantPart& part)>;

/// A tape over reads, where the first `given` inputs of the tape are no reads (an accumulator).
struct TapeReads {
    Extents space;
    size_t given = 0;
    Tape tape;
    std::vector<Access> reads;
};

struct FoldedReads {
    TapeReads rest;                 ///< may read operands after the given ones
    std::vector<TensorPtr> results; ///< those, in order
};

/// What is worth a table.
struct FoldLimits {
    int64_t mostElements = std::numeric_limits<int64_t>::max();
    bool conversions = true; ///< an operand in another type, and nothing more
};

/// Folds where all constants that meet lie along the same dimensions of the space, in types that
/// hold what a register holds.
FoldedReads foldConstantReads(const TapeReads& from, const std::vector<ConstantOperand>& operands,
                              const ConstantEvaluator& evaluator, const FoldLimits& limits = {});

/// The same for what the passes of a row read, each result once; the row then reads operands after
/// the given ones. Returns those; empty: nothing was folded, or the evaluator gave nothing.
std::vector<TensorPtr> foldConstantReads(Row& row, const std::vector<ConstantOperand>& operands,
                                         const ConstantEvaluator& evaluator,
                                         const FoldLimits& limits = {});

} // namespace fuselage
