// SPDX-License-Identifier: Apache-2.0
// Recurrent layers: RNN, GRU, LSTM and the dynamically quantized LSTM.
#pragma once

#include "core/ops/op_table.h"
#include "core/ops/recurrent_activation.h"

#include <optional>
#include <span>
#include <vector>

namespace fuselage {

/// The rows of this family.
std::span<const OpRow> recurrentRows();

/// All activations of an RNN, a GRU or an LSTM in ONNX's order, those of the second direction
/// behind those of the first; none when a name is unknown or their number is wrong.
std::optional<std::vector<RecurrentActivation>> recurrentActivations(const Node& node);

} // namespace fuselage
