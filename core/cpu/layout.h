// SPDX-License-Identifier: Apache-2.0
// Dense memory in the order of other memory.
#pragma once

#include "core/graph/type.h"
#include "core/kernel/layout_work.h"

namespace fuselage::cpu {

/// Dense strides that keep the order of the dimensions in memory.
Extents denseLike(const Extents& extents, const Extents& strides);

/// True when every extent is `value`.
bool areAll(const Extents& extents, int64_t value);

} // namespace fuselage::cpu
