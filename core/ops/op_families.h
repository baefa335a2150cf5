// SPDX-License-Identifier: Apache-2.0
// The families whose rows op_table.cpp puts in the order of the enum. Apart from it, since a
// family's file includes the table's header.
#pragma once

#include "core/ops/op_table.h"

#include <span>

namespace fuselage {

using OpRows = std::span<const OpRow> (*)();

std::span<const OpRows> opFamilies();

} // namespace fuselage
