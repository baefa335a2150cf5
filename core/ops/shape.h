// SPDX-License-Identifier: Apache-2.0
// Operators that look at shapes or reinterpret them: views, Shape, Size, Constant.
#pragma once

#include "core/ops/op_table.h"

#include <span>

namespace fuselage {

/// The rows of this family.
std::span<const OpRow> shapeRows();

} // namespace fuselage
