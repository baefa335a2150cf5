// SPDX-License-Identifier: Apache-2.0
// Pooling over sliding windows, over whole planes and over regions.
#pragma once

#include "core/ops/op_table.h"

namespace fuselage {

std::span<const OpRow> poolingRows();

} // namespace fuselage
