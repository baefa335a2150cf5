// SPDX-License-Identifier: Apache-2.0
// Telling a wrong result from a model that makes much of small differences: how far the judge's own
// outputs move when its inputs, or all float32 results on the way, move by a rounding.
#pragma once

#include "app/pipeline/compiled.h"
#include "app/pipeline/report.h"
#include "core/ops/reference_value.h"
#include "core/support/progress.h"

#include <vector>

namespace fuselage::app {

constexpr uint64_t roundingSeeds = 3; ///< the largest change of one is a matter of luck

/// A result that failed agrees after all when it differs by no more than `moved` results do, which
/// roundings alone made of `reference`: at its worst element and on average, both times with some
/// room. Sets the tolerance. A wrong bias or integer shifts the average.
void allowMoves(const ReferenceValue& reference, const Tensor& actual,
                const std::vector<const ReferenceValue*>& moved, OutputAgreement& agreement);

/// Whether somewhere a small change of a float makes a step: quantisers, comparisons, casts.
bool hasJumps(const Graph& graph);

/// What a failed check asks: the model, what it was run on, and what came out.
struct FailedCheck {
    const Graph& model;
    const Graph& fused;
    const std::vector<Tensor>& inputs;
    const std::vector<ReferenceValue>& reference;
    const std::vector<Tensor>&unfusedOutputs, &fusedOutputs;
    CompileOptions compile;
    DType storage = DType::Float32; ///< in which results are rounded: a 16-bit type's are coarser
};

/// Of a model that jumps, the judge's float32 results move (side "rounding"), and every part of
/// both graphs is checked by itself (sides "unfused parts" and "fused parts"), since an output that
/// roundings turn over may hide a mistake. Of others, and where that does not explain it, the
/// inputs move to their neighbours (side "inputs"). Sides that failed may lose what either implies.
/// Where results are stored in 16 bits, the inputs of models that do not jump move, by a step of
/// that type: the tail of a Sigmoid, relative to its largest number, may be far off by that alone.
/// Of models that jump only results move, in float32, where the side "weights" shows that storage
/// turns no decision over, as in quantised models, whose values are not stored in 16 bits.
Result<void> allowAmplification(const FailedCheck& check, Report& report, Progress& progress);

} // namespace fuselage::app
