// SPDX-License-Identifier: Apache-2.0
// Resampling: Resize, Upsample, GridSample, AffineGrid.
#pragma once

#include "core/ops/op_table.h"

#include <span>

namespace fuselage {

/// The rows of this family.
std::span<const OpRow> resampleRows();

} // namespace fuselage
