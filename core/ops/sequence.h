// SPDX-License-Identifier: Apache-2.0
// Sequences of tensors and optional values.
#pragma once

#include "core/ops/op_table.h"

#include <span>

namespace fuselage {

/// The rows of this family.
std::span<const OpRow> sequenceRows();

} // namespace fuselage
