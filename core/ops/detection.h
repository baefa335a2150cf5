// SPDX-License-Identifier: Apache-2.0
// Operators of detection heads: NonMaxSuppression, RoiAlign.
#pragma once

#include "core/ops/op_table.h"

#include <span>

namespace fuselage {

/// The rows of this family.
std::span<const OpRow> detectionRows();

} // namespace fuselage
