// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN of constant weights by loops of our own: products of all elements of the
// sequence with the input weights first, then step by step those of the state, with both packed for
// vector loops. One thread a direction. oneDNN's take two to three times as long where there are
// few sequences, and know nothing of sequences of their own length, peepholes, bounds of gates and
// other activations than the usual.
#pragma once

#include "core/cpu/library.h"

namespace fuselage::cpu {

/// GRU: whether the reset gate is applied to the state or to its product with the weights.
enum class RecurrentKind { Lstm, GruOfResetState, GruOfResetProduct, Rnn };

struct RecurrentShape {
    RecurrentKind kind = RecurrentKind::Lstm;
    int64_t length = 0, batch = 0, inputs = 0, hidden = 0, directions = 1;
    bool reverse = false;    ///< of one direction
    bool batchFirst = false; ///< in X, Y and states, otherwise [direction, sequence, hidden]
    /// By direction, where they are not the usual; their peepholes are the node's.
    std::vector<RecurrentGates> gates;
};

/// Whether the loops take these sizes as they are on this processor; others are filled up.
bool fitsRecurrentLoops(const RecurrentShape& shape, const VectorTable& table);

/// Needs weights and biases that are constant or omitted.
std::unique_ptr<Kernel> makeRecurrentLoops(const LibraryCall& call, RecurrentShape shape);

} // namespace fuselage::cpu
