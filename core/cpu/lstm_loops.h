// SPDX-License-Identifier: Apache-2.0
// LSTM of constant weights by loops of our own: products of all elements of the sequence with the
// input weights first, then step by step those of the state, with both packed for vector loops. One
// thread a direction. oneDNN's takes two to three times as long where there are few sequences.
#pragma once

#include "core/cpu/library.h"

namespace fuselage::cpu {

struct LstmShape {
    int64_t length = 0, batch = 0, inputs = 0, hidden = 0, directions = 1;
    bool reverse = false; ///< of one direction
};

/// Whether the loops take these sizes on this processor.
bool fitsLstmLoops(const LstmShape& shape, const VectorTable& table);

/// Needs fitsLstmLoops(), weights and biases that are constant or omitted, usual activations.
std::unique_ptr<Kernel> makeLstmLoops(const LibraryCall& call, const LstmShape& shape);

} // namespace fuselage::cpu
