// SPDX-License-Identifier: Apache-2.0
// Dropout: the identity unless training mode is asked for.
#pragma once

#include "core/ops/op_table.h"

namespace fuselage {

std::span<const OpRow> dropoutRows();

} // namespace fuselage
