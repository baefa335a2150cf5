// SPDX-License-Identifier: Apache-2.0
// Resampling: Resize, Upsample, GridSample, AffineGrid.
#pragma once

#include "core/ops/op_table.h"

#include <span>

namespace fuselage {

/// The rows of this family.
std::span<const OpRow> resampleRows();

/// One source position with its share.
struct ResizeTap {
    int64_t index = 0;
    double weight = 0;
};

/// What a Resize does along one axis that it changes.
struct ResizedAxisTable {
    size_t axis = 0;
    int64_t from = 0;
    int64_t to = 0;
    std::vector<std::vector<ResizeTap>> taps; ///< of each position of the result
    std::vector<bool> outside; ///< positions that get the extrapolation value; empty: none
};

/// Everything that a Resize or Upsample decides before it looks at data.
struct ResizeTable {
    Extents extents; ///< of the result
    bool nearest = false;
    double extrapolation = 0;
    std::vector<ResizedAxisTable> axes; ///< in an order that keeps intermediates small
};

/// The table of a Resize or Upsample. Of input 0 only dtype and extents are read; the other inputs
/// must have their contents.
Result<ResizeTable> resizeTable(const Node& node, ReferenceInputs inputs);

/// How a GridSample reads an image.
struct GridSettings {
    enum class Mode : uint8_t { Nearest, Linear, Cubic };
    enum class Padding : uint8_t { Zeros, Border, Reflection };

    Mode mode = Mode::Linear;
    Padding padding = Padding::Zeros;
    bool alignCorners = false;
};

/// None: a mode that the operator does not have.
std::optional<GridSettings> gridSettings(const Node& node);

/// Taps along one axis of `extent` elements for a coordinate, -1 to 1 across it; none where zeros
/// are read, also of a coordinate that is no number.
void gridTaps(const GridSettings& settings, double coordinate, int64_t extent,
              std::vector<ResizeTap>& taps);

/// What is wrong with the shapes of a GridSample; empty: nothing.
std::string gridMisfit(const Extents& x, const Extents& grid);

} // namespace fuselage
