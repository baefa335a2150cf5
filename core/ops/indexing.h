// SPDX-License-Identifier: Apache-2.0
// Operators that move elements by index tensors: Gather, Scatter and their relatives.
#pragma once

#include "core/ops/op_table.h"

#include <span>

namespace fuselage {

/// The rows of this family.
std::span<const OpRow> indexingRows();

} // namespace fuselage
