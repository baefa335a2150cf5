// SPDX-License-Identifier: Apache-2.0
// Elementwise operators on small integer tensors whose contents are dimensions: shape arithmetic
// with symbols. Elements that cannot be told come out unknown.
#pragma once

#include "core/graph/type.h"
#include "core/ops/tape.h"

#include <vector>

namespace fuselage {

/// A small tensor's contents with its extents.
struct SymbolicTensor {
    Extents extents;
    Shape contents; ///< row-major
};

/// Runs a tape (one output) on broadcast operands, parallel to tape.inputs. None when they do not
/// broadcast or the result has more than `maxElements`.
std::optional<SymbolicTensor>
evaluateOnDims(const Tape& tape, const std::vector<SymbolicTensor>& operands, int64_t maxElements);

/// a < b, a <= b, a == b where the symbols decide it (symbols are at least zero).
std::optional<bool> certainlyLess(const Dim& a, const Dim& b);
std::optional<bool> certainlyEqual(const Dim& a, const Dim& b);

/// The smaller or larger of the two where the symbols decide it, else unknown.
Dim minDim(const Dim& a, const Dim& b);
Dim maxDim(const Dim& a, const Dim& b);

} // namespace fuselage
