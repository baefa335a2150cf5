// SPDX-License-Identifier: Apache-2.0
// BitCast: the same bits, read as another element type of as many bits.
#pragma once

#include "core/ops/op_table.h"

namespace fuselage {

std::span<const OpRow> bitCastRows();

} // namespace fuselage
