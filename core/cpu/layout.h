// SPDX-License-Identifier: Apache-2.0
// Dense memory in the order of other memory; where elements lie.
#pragma once

#include "core/graph/type.h"
#include "core/kernel/layout_work.h"

#include <vector>

namespace fuselage::cpu {

/// Dense strides that keep the order of the dimensions in memory.
Extents denseLike(const Extents& extents, const Extents& strides);

/// True when every extent is `value`.
bool areAll(const Extents& extents, int64_t value);

/// Offsets of all indices of `extents` in an operand whose dims `first` .. these are, row-major.
std::vector<int64_t> offsetsOf(const Extents& extents, const Extents& strides, size_t first);

} // namespace fuselage::cpu
