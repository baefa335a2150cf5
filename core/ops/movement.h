// SPDX-License-Identifier: Apache-2.0
// Operators that move whole elements by position: Transpose, Concat, Slice, Pad, Tile ...
#pragma once

#include "core/ops/op_table.h"

#include <span>

namespace fuselage {

/// The rows of this family.
std::span<const OpRow> movementRows();

} // namespace fuselage
