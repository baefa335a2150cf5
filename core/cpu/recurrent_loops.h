// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN of constant weights by loops of our own: products of all elements of the
// sequence with the input weights first, then step by step those of the state, with both packed for
// vector loops. One thread a direction. oneDNN's take two to three times as long where there are
// few sequences.
#pragma once

#include "core/cpu/library.h"

namespace fuselage::cpu {

/// GRU: whether the reset gate is applied to the state or to its product with the weights.
enum class RecurrentKind { Lstm, GruOfResetState, GruOfResetProduct, Rnn };

struct RecurrentShape {
    RecurrentKind kind = RecurrentKind::Lstm;
    int64_t length = 0, batch = 0, inputs = 0, hidden = 0, directions = 1;
    bool reverse = false; ///< of one direction
};

/// Whether the loops take these sizes on this processor.
bool fitsRecurrentLoops(const RecurrentShape& shape, const VectorTable& table);

/// Needs fitsRecurrentLoops(), weights and biases that are constant or omitted, usual activations.
std::unique_ptr<Kernel> makeRecurrentLoops(const LibraryCall& call, const RecurrentShape& shape);

} // namespace fuselage::cpu
