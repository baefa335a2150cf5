// SPDX-License-Identifier: Apache-2.0
// What stays in float, in words: nodes with weights that no rule asks a pair of, and models of
// which nothing is left to quantise.
#pragma once

#include "app/quantize/places.h"
#include "core/support/result.h"

#include <string>

namespace fuselage::quantize {

/// "Gemm `g1`, LSTM `l` and 3 more": products, recurrences and tables with a constant float operand
/// that no place reads and nothing left out names. Empty: none. `model`: of the placement.
std::string unaskedNodes(const Graph& model, const Placement& placement);

/// Why a point has no pair whose value comes from one.
inline constexpr const char* quantisedAlready = "the model quantises it already";

/// "quantize.nothing": why no pair is placed in the model of that file, and what would help.
Failure nothingToQuantise(const Graph& model, const Placement& placement, const std::string& path);

} // namespace fuselage::quantize
