// SPDX-License-Identifier: Apache-2.0
// What the reference functions of recurrent layers share.
#pragma once

#include "core/ops/op_table.h"
#include "core/ops/quantize.h"
#include "core/ops/recurrent_activation.h"

namespace fuselage {

/// RNN, GRU or LSTM on floats. Of DynamicQuantizeLSTM: on weights and X that are whole steps of
/// their scales; the state of each step is quantized here.
Result<std::vector<ReferenceValue>> runRecurrent(const Node& node, ReferenceInputs inputs,
                                                 ReferenceContext& context);

Result<std::vector<ReferenceValue>> runDynamicQuantizeLstm(const Node& node, ReferenceInputs inputs,
                                                           ReferenceContext& context);

double valueOf(const RecurrentActivation& function, double x);

/// What a product of integers sees of the values.
void requantize(const DynamicRange& range, std::vector<double>& values);

} // namespace fuselage
