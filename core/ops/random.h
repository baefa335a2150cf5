// SPDX-License-Identifier: Apache-2.0
// Random numbers; deterministic for one node by ReferenceContext::seed().
#pragma once

#include "core/ops/op_table.h"

#include <span>

namespace fuselage {

/// The rows of this family.
std::span<const OpRow> randomRows();

} // namespace fuselage
