// SPDX-License-Identifier: Apache-2.0
// Memory orders that the backend chooses between.
#pragma once

#include "core/graph/type.h"
#include "core/plan/plan.h"

namespace fuselage::cpu {

/// Strides with dimension 1 innermost: NHWC for [N, C, H, W].
Extents channelsLast(const Extents& extents);

/// Dense strides that keep the order of the dimensions in memory.
Extents denseLike(const Extents& extents, const Extents& strides);

/// Puts channels innermost in the arena values around convolutions and pools, and in what
/// pointwise and copying programs make of them. Called before views and buffers are decided.
void chooseLayouts(Plan& plan);

} // namespace fuselage::cpu
