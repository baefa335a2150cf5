// SPDX-License-Identifier: Apache-2.0
// Activation functions, one element at a time.
#pragma once

#include "core/ops/op_table.h"

namespace fuselage {

std::span<const OpRow> activationRows();

} // namespace fuselage
