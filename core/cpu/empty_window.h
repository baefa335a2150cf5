// SPDX-License-Identifier: Apache-2.0
// Windows of a convolution that see no element of the image, only padding.
#pragma once

#include "core/kernel/program.h"

namespace fuselage::cpu {

/// Whether some position of the result is a sum of nothing: a dilated filter that steps over a
/// small image, a transposed convolution whose step is longer than its filter. `image` are the
/// extents of the operand that is convolved.
bool hasEmptyWindow(const Contraction& code, const Extents& image);

} // namespace fuselage::cpu
