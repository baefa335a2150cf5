// SPDX-License-Identifier: Apache-2.0
// How far the values of each fused node are from the reference: outputs say whether a model is
// right, this says where digits are lost. Part of verifying; judges nothing.
#pragma once

#include "app/pipeline/compiled.h"
#include "app/pipeline/report.h"

#include <span>

namespace fuselage::app {

/// Values of the model that fused nodes make, as `keep` of interpret(); first come, first served up
/// to a quarter of a gigabyte. `model` and `fused` share the names of values.
std::vector<ValueId> valuesOfMatches(const Graph& model, const Graph& fused);

/// Runs the fused graph once more with those values as outputs and puts the largest error of each
/// match into the report, relative to the largest magnitude of the reference. `expected` is
/// parallel to `kept`. Values under other names stay unknown.
Result<void> addMatchErrors(const Graph& model, const std::vector<ValueId>& kept,
                            std::span<const ReferenceValue> expected, const Graph& fused,
                            const CompileOptions& options, const std::vector<Tensor>& inputs,
                            Report& report);

} // namespace fuselage::app
