// SPDX-License-Identifier: Apache-2.0
// DeformConv: a convolution of images that samples each window element at a learned offset.
#pragma once

#include "core/ops/op_table.h"
#include "core/ops/window.h"

#include <array>

namespace fuselage {

std::span<const OpRow> deformConvRows();

/// A bilinear sample of a plane: the neighbours that are inside, with their weights; none outside.
struct PlaneSample {
    std::array<int64_t, 4> at{};
    std::array<double, 4> weight{};
    size_t count = 0;
};

PlaneSample samplePlane(int64_t height, int64_t width, double y, double x);

/// What a DeformConv does. Offsets are [image, offset group, kernel position, y and x, pixel],
/// masks the same without y and x.
struct DeformGeometry {
    WindowGeometry window;
    int64_t channels = 1; ///< of X
    int64_t groups = 1, offsetGroups = 1;

    /// Where kernel position k of an output pixel lies without its offset.
    std::pair<int64_t, int64_t> placeOf(int64_t pixel, int64_t k) const;
};

/// Reads dtypes and extents of the operands.
Result<DeformGeometry> deformGeometry(const Node& node, ReferenceInputs inputs);

} // namespace fuselage
