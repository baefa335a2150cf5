// SPDX-License-Identifier: Apache-2.0
// Functions of the resample family that live in other files than its rows.
#pragma once

#include "core/ops/resample.h"

namespace fuselage::resample {

using Results = Result<std::vector<ReferenceValue>>;
using Tap = ResizeTap;

/// What a Resize does along one axis.
struct ResizedAxis {
    size_t axis = 0;
    int64_t from = 0;
    int64_t to = 0;
    double scale = 1;
    double roiStart = 0;
    double roiEnd = 1;
};

/// What the node's attributes say about these axes of a value of this type.
Result<ResizeTable> makeTable(const Node& node, DType dtype, const Extents& extents,
                              const std::vector<ResizedAxis>& axes);

Results resize(const Node& node, const ReferenceValue& x, const ResizeTable& table);

/// Weights of the four neighbours floor-1 .. floor+2 at `fraction` right of floor.
void cubicWeights(double fraction, double a, double weights[4]);

void inferGridSample(InferContext& context);
Results runGridSample(const Node& node, ReferenceInputs inputs, ReferenceContext& context);
void inferAffineGrid(InferContext& context);
Results runAffineGrid(const Node& node, ReferenceInputs inputs, ReferenceContext& context);

} // namespace fuselage::resample
