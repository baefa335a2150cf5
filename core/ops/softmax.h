// SPDX-License-Identifier: Apache-2.0
// Softmax, LogSoftmax and Hardmax along one axis (opset 13), and LpNormalization.
#pragma once

#include "core/ops/op_table.h"

namespace fuselage {

std::span<const OpRow> softmaxRows();

/// Softmax in place over `count` elements that are `step` apart; NaN when all are -inf.
void softmaxRow(double* first, int64_t step, int64_t count);

} // namespace fuselage
