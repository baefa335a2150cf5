// SPDX-License-Identifier: Apache-2.0
// Einsum: a sum of products over named indices.
#pragma once

#include "core/ops/op_table.h"

namespace fuselage {

std::span<const OpRow> einsumRows();

} // namespace fuselage
