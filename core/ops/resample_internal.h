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

/// What a Resize does along one axis.
struct ResizedAxis {
    size_t axis = 0;
    int64_t from = 0;
    int64_t to = 0;
    double scale = 1;
    double roiStart = 0;
    double roiEnd = 1;
};

/// Resamples x along these axes as the node's attributes say.
Results resize(const Node& node, const ReferenceValue& x, const std::vector<ResizedAxis>& axes);

/// Weights of the four neighbours floor-1 .. floor+2 at `fraction` right of floor.
void cubicWeights(double fraction, double a, double weights[4]);

void inferGridSample(InferContext& context);
Results runGridSample(const Node& node, ReferenceInputs inputs, ReferenceContext& context);
void inferAffineGrid(InferContext& context);
Results runAffineGrid(const Node& node, ReferenceInputs inputs, ReferenceContext& context);

} // namespace fuselage::resample
