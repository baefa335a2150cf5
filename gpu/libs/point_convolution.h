// SPDX-License-Identifier: Apache-2.0
// A convolution that multiplies single positions (kernel, strides and groups of one, no padding) as
// the matrix product that it is: positions of all images are rows, channels are what is summed.
#pragma once

#include "core/kernel/program.h"

#include <optional>

namespace fuselage::gpu {

/// The same work on the same operands; none where the program is another one.
std::optional<KernelProgram> productOfPositions(const KernelProgram& program);

} // namespace fuselage::gpu
