// SPDX-License-Identifier: Apache-2.0
// A program cut to some of its images: the positions along the first dimension of its space, which
// for most networks is the batch. The plan runs such parts one after the other.
#pragma once

#include "core/kernel/program.h"

#include <optional>
#include <vector>

namespace fuselage {

struct ImageSlice {
    KernelProgram program;    ///< for the images of one part; without a body
    std::vector<bool> inputs; ///< per input: it has a part for each image, else it is read whole
};

/// Positions along the first dimension of the program's space; 0 for kinds that cannot be cut.
int64_t imagesOf(const KernelProgram& program);

/// The program for `images` consecutive images. None when a result depends on several images, or
/// an operand does not go along with them.
std::optional<ImageSlice> sliceImages(const KernelProgram& program, int64_t images);

} // namespace fuselage
