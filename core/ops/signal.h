// SPDX-License-Identifier: Apache-2.0
// Signal processing: Fourier transforms, windows, mel filters.
#pragma once

#include "core/ops/op_table.h"

#include <span>

namespace fuselage {

/// The rows of this family.
std::span<const OpRow> signalRows();

/// Discrete Fourier transforms of all rows along one axis, as a DFT node asks for them. X is
/// [outer, available, inner, parts], the result [outer, bins, inner, toReal ? 1 : 2].
struct FourierShape {
    size_t axis = 0;
    int64_t length = 0; ///< of each transform: what X lacks is 0, what it has beyond is not read
    int64_t available = 0, given = 0; ///< elements of X along the axis; the first that are read
    int64_t bins = 0;                 ///< of the result along the axis
    int64_t outer = 1, inner = 1;
    int64_t parts = 1; ///< of an element of X: real numbers, or also imaginary ones
    bool inverse = false;
    bool toReal = false; ///< from half a spectrum, of which the other half is the conjugate
};

/// Of input 0 only dtype and extents are read; the others must have their contents.
Result<FourierShape> fourierShape(const Node& node, ReferenceInputs inputs);

/// What an STFT node asks for: X is [rows, samples, parts], the result [rows, frames, bins, 2].
struct FrameShape {
    int64_t rows = 1, samples = 0, parts = 1;
    int64_t step = 1, length = 1; ///< between frames; of each
    int64_t frames = 0, bins = 0;
    bool hasWindow = false; ///< input 2 weighs the samples of a frame
};

/// Of inputs 0 and 2 only dtypes and extents are read; the others must have their contents.
Result<FrameShape> frameShape(const Node& node, ReferenceInputs inputs);

} // namespace fuselage
