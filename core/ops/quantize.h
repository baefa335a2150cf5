// SPDX-License-Identifier: Apache-2.0
// Linear quantization between floats and 8-bit integers.
#pragma once

#include "core/ops/op_table.h"

#include <span>

namespace fuselage {

/// The rows of this family.
std::span<const OpRow> quantizeRows();

} // namespace fuselage
