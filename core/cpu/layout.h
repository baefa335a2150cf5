// SPDX-License-Identifier: Apache-2.0
// Memory orders that the backend chooses between.
#pragma once

#include "core/graph/type.h"
#include "core/plan/channels_last.h"

namespace fuselage::cpu {

/// Dense strides that keep the order of the dimensions in memory.
Extents denseLike(const Extents& extents, const Extents& strides);

/// True when every extent is `value`.
bool areAll(const Extents& extents, int64_t value);

/// chooseChannelsLast with what this backend's Library kernels do.
void chooseLayouts(Plan& plan);

} // namespace fuselage::cpu
