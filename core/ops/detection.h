// SPDX-License-Identifier: Apache-2.0
// Operators of detection heads: NonMaxSuppression, RoiAlign.
#pragma once

#include "core/ops/op_table.h"

#include <span>

namespace fuselage {

/// The rows of this family.
std::span<const OpRow> detectionRows();

/// One bilinear sample of a plane: four positions and weights, none when outside.
struct RoiSample {
    int64_t at[4] = {0, 0, 0, 0};
    double weight[4] = {0, 0, 0, 0};
};

/// Samples of one region: for each bin of the result, row by row, the same number of them.
struct RoiSamples {
    std::vector<RoiSample> samples;
    size_t perBin = 1;
};

/// What the attributes of a RoiAlign say.
struct RoiSettings {
    explicit RoiSettings(const Node& node);

    /// Of a region (left, top, right, bottom) in a plane; none when there are too many.
    std::optional<RoiSamples> samplesOf(const double roi[4], int64_t height, int64_t width) const;

    bool average = true; ///< else the largest weighted corner of all samples
    bool halfPixel = true;
    double scale = 1;
    int64_t height = 1, width = 1; ///< bins
    int64_t sampling = 0;          ///< samples a bin along each axis; 0: one for each pixel
};

/// What is wrong with the operands of a RoiAlign; empty: nothing.
std::string roiMisfit(const RoiSettings& settings, const Extents& x, const Extents& rois,
                      const Extents& batches);

} // namespace fuselage
