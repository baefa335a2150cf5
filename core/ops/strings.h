// SPDX-License-Identifier: Apache-2.0
// Operators on strings and n-grams.
#pragma once

#include "core/ops/op_table.h"

#include <span>

namespace fuselage {

/// The rows of this family.
std::span<const OpRow> stringsRows();

} // namespace fuselage
