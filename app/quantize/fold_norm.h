// SPDX-License-Identifier: Apache-2.0
// Batch normalisation behind a convolution as part of its weights and bias: what every quantiser
// does before it looks at weights, since a runtime's integer convolution has no place for it.
// Scales each output channel, so with one scale a channel the integers are the same with and
// without.
#pragma once

#include "core/graph/graph.h"

namespace fuselage::quantize {

/// Changes Conv (and ConvTranspose of one group) whose only reader is an inference-mode
/// BatchNormalization, all of it constant float32; the result keeps the normalisation's name.
/// Weights are computed in double precision. Returns how many were folded.
size_t foldNormalisation(Graph& graph);

} // namespace fuselage::quantize
