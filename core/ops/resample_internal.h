// SPDX-License-Identifier: Apache-2.0
// Functions of the resample family that live in other files than its rows.
#pragma once

#include "core/ops/op_table.h"

namespace fuselage::resample {

using Results = Result<std::vector<ReferenceValue>>;

/// One source position with its share.
struct Tap {
    int64_t index = 0;
    double weight = 0;
};

/// Weights of the four neighbours floor-1 .. floor+2 at `fraction` right of floor.
void cubicWeights(double fraction, double a, double weights[4]);

void inferGridSample(InferContext& context);
Results runGridSample(const Node& node, ReferenceInputs inputs, ReferenceContext& context);
void inferAffineGrid(InferContext& context);
Results runAffineGrid(const Node& node, ReferenceInputs inputs, ReferenceContext& context);

} // namespace fuselage::resample
