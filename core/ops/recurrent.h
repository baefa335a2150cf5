// SPDX-License-Identifier: Apache-2.0
// Recurrent layers: RNN, GRU, LSTM and the dynamically quantized LSTM.
#pragma once

#include "core/ops/op_table.h"

#include <span>

namespace fuselage {

/// The rows of this family.
std::span<const OpRow> recurrentRows();

} // namespace fuselage
