// SPDX-License-Identifier: Apache-2.0
// Between the table and the list of families, which stands apart in op_families.cpp: a family's
// file includes the table's header, so the table must include none of theirs.
#pragma once

#include "core/ops/op_table.h"

#include <span>

namespace fuselage {

using OpRows = std::span<const OpRow> (*)();

/// What op_table.cpp puts in the order of the enum.
std::span<const OpRows> opFamilies();

} // namespace fuselage
