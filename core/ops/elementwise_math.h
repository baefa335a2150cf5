// SPDX-License-Identifier: Apache-2.0
// Arithmetic and mathematical functions, one element at a time.
#pragma once

#include "core/ops/op_table.h"

namespace fuselage {

std::span<const OpRow> elementwiseMathRows();

} // namespace fuselage
