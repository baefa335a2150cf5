// SPDX-License-Identifier: Apache-2.0
// DeformConv: a convolution of images that samples each window element at a learned offset.
#pragma once

#include "core/ops/op_table.h"

namespace fuselage {

std::span<const OpRow> deformConvRows();

} // namespace fuselage
