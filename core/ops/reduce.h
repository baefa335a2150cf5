// SPDX-License-Identifier: Apache-2.0
// Reductions along axes, arg-reductions and running sums.
#pragma once

#include "core/ops/op_table.h"

namespace fuselage {

std::span<const OpRow> reduceRows();

} // namespace fuselage
