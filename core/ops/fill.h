// SPDX-License-Identifier: Apache-2.0
// Operators that make tensors from sizes: ConstantOfShape, Range, EyeLike, OneHot.
#pragma once

#include "core/ops/op_table.h"

#include <span>

namespace fuselage {

/// The rows of this family.
std::span<const OpRow> fillRows();

} // namespace fuselage
