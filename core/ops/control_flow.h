// SPDX-License-Identifier: Apache-2.0
// Operators with subgraphs: If, Loop, Scan.
#pragma once

#include "core/ops/op_table.h"

#include <span>

namespace fuselage {

/// The rows of this family.
std::span<const OpRow> controlFlowRows();

} // namespace fuselage
