// SPDX-License-Identifier: Apache-2.0
// Matrix products and convolutions of 8-bit integers with zero points and scales.
#pragma once

#include "core/ops/op_table.h"

namespace fuselage {

std::span<const OpRow> quantizedContractionRows();

} // namespace fuselage
