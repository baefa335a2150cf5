// SPDX-License-Identifier: Apache-2.0
// Pairs that ONNX Runtime's CPU provider (1.30) computes by our numbers only with its optimisations
// off: what its own fusions make of them is refused by its kernels, or wrong. For a note; nothing
// here decides what is written.
#pragma once

#include "app/quantize/pair_plan.h"

#include <string>

namespace fuselage::quantize {

/// One sentence; empty where its default optimisations do no harm.
std::string onnxRuntimeNote(const PairPlan& plan);

} // namespace fuselage::quantize
