// SPDX-License-Identifier: Apache-2.0
// Operators whose result depends on a search of the data: TopK, Unique, NonZero, Compress.
#pragma once

#include "core/ops/op_table.h"

#include <span>

namespace fuselage {

/// The rows of this family.
std::span<const OpRow> selectionRows();

} // namespace fuselage
