// SPDX-License-Identifier: Apache-2.0
// Geometry of sliding windows: what Conv, ConvTranspose and the pooling operators share.
#pragma once

#include "core/ops/op_table.h"

#include <optional>
#include <span>
#include <vector>

namespace fuselage {

/// All of one length, the number of spatial dimensions.
struct WindowGeometry {
    Extents input, kernel, strides, dilations, padsBegin, padsEnd, output;

    int64_t kernelCount() const;
    int64_t inputCount() const;
    int64_t outputCount() const;
};

/// Reads strides, dilations, pads, auto_pad and ceil_mode of the node and computes the output's
/// spatial extents. Errors when the lists do not fit or a window is larger than its input.
Result<WindowGeometry> windowGeometry(const Node& node, const Extents& input,
                                      const Extents& kernel);

/// The same for ConvTranspose: `output_shape` and `output_padding` count; the geometry's `input`
/// is the large side, which ConvTranspose writes, and `output` the small side, which it reads.
Result<WindowGeometry> transposedGeometry(const Node& node, const Extents& input,
                                          const Extents& kernel);

/// For one kernel position and output pixels first, first + 1 ...: offset in the input plane, or -1
/// in the padding.
void windowOffsets(const WindowGeometry& geometry, int64_t kernelPosition, int64_t first,
                   std::span<int64_t> offsets);

/// Symbolic output extents of a window over `input`; reports contradictions to the context.
Shape windowShape(InferContext& context, const Shape& input, const Shape& kernel);

/// The same for ConvTranspose.
Shape transposedShape(InferContext& context, const Shape& input, const Shape& kernel);

} // namespace fuselage
