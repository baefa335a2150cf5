// SPDX-License-Identifier: Apache-2.0
// Scale migration (SmoothQuant): where some channels of an activation are far larger than the
// others, one scale for all leaves the others few steps. A factor for each channel moves from the
// normalisation in front of matrix products into their weights, which have scales of their own.
#pragma once

#include "app/quantize/observe.h"

namespace fuselage::quantize {

/// Changes normalisations over the last axis, and products by a constant vector, whose readers all
/// are matrix products with constant weights. The factor of channel c is max|x_c|^strength over
/// max|w_c|^(1 - strength), from all sets; the function computed stays the same but for rounding.
/// How many normalisations were changed. Errors: those of reading inputs, compiling and running,
/// "cancelled".
Result<size_t> migrateScales(Graph& graph, const ObserveRequest& request, double strength,
                             Progress& progress);

} // namespace fuselage::quantize
