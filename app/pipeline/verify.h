// SPDX-License-Identifier: Apache-2.0
// Numeric agreement of a run with the reference backend.
#pragma once

#include "app/pipeline/report.h"
#include "core/graph/graph.h"
#include "core/ops/reference_value.h"

#include <optional>
#include <string>
#include <vector>

namespace fuselage::app {

/// Compares one output. The error is relative to the largest magnitude of the reference output;
/// equal infinities and NaNs in the same places agree; integers must be equal. Without a tolerance
/// it is toleranceOf the element type.
OutputAgreement compareOutput(const std::string& name, const std::string& side,
                              const ReferenceValue& reference, const Tensor& actual,
                              std::optional<double> tolerance = {});

/// Compares one output bit for bit: signs of zeros count, what a NaN carries does not. The note
/// says in words that bits were compared. `reference`: of the same type and extents, or it fails.
OutputAgreement compareBits(const std::string& name, const std::string& side,
                            const Tensor& reference, const Tensor& actual);

/// The relative error that is expected of a computation in this element type: 1e-4 for float32,
/// looser for the 16-bit types, 0 for integers.
double toleranceOf(DType dtype);

/// Deep networks with random weights lose digits in single precision. What the original loses, up
/// to ten times toleranceOf, is not a mistake; a fused model may lose twice as much as its
/// original.
double originalTolerance(DType dtype);
double fusedTolerance(DType dtype, double originalError);
/// The same where the original may lose `originalLimit`.
double fusedTolerance(DType dtype, double originalError, double originalLimit);

/// The most results in a row, on the way from an input to an output, that are rounded to this type.
size_t roundingDepth(const Graph& graph, DType storage);

/// What a graph whose values are stored in 16 bits may lose against its original in float32. Each
/// rounding is off by at most u (2^-11 for float16, 2^-8 for bfloat16), and n of them in a row that
/// do not conspire by sqrt(n) u; networks amplify that by a small factor: 4 sqrt(n) u, at least
/// toleranceOf the type.
double storageTolerance(DType storage, size_t depth);

/// The type whose limits an output has: float32 for a float64 one of a graph that rounds results to
/// float32 on the way.
DType heldTo(const Graph& graph, DType output);

/// What an output of this type may lose by the operators as the graph has them: originalTolerance
/// of heldTo(), and where it stores results in 16 bits on the way, what storageTolerance says.
double ownTolerance(const Graph& graph, DType output);

/// The inputs with every float32 number moved to a neighbour, up or down at random: as close as two
/// float32 inputs can be. With a 16-bit type, to a neighbour among its numbers.
std::vector<Tensor> nudged(const std::vector<Tensor>& inputs, uint64_t seed,
                           DType storage = DType::Float32);

/// What an output may lose that changes by `change` when the inputs are nudged: every one of
/// `depth` roundings on the way is amplified like that of the inputs; they add up as in
/// storageTolerance().
double amplifiedTolerance(double change, size_t depth);

} // namespace fuselage::app
