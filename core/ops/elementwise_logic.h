// SPDX-License-Identifier: Apache-2.0
// Comparisons, logic, bits, selection and conversion, one element at a time.
#pragma once

#include "core/ops/op_table.h"

namespace fuselage {

std::span<const OpRow> elementwiseLogicRows();

} // namespace fuselage
