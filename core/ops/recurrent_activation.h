// SPDX-License-Identifier: Apache-2.0
// The functions that the gates of RNN, GRU and LSTM may have.
#pragma once

#include <cstdint>

namespace fuselage {

enum class RecurrentFunctionName : uint8_t {
    Sigmoid,
    Tanh,
    Relu,
    Softsign,
    Softplus,
    LeakyRelu,
    ThresholdedRelu,
    Elu,
    Affine,
    ScaledTanh,
    HardSigmoid
};

struct RecurrentActivation {
    RecurrentFunctionName name = RecurrentFunctionName::Sigmoid;
    double alpha = 0, beta = 0;

    bool operator==(const RecurrentActivation&) const = default;
};

} // namespace fuselage
