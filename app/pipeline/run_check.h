// SPDX-License-Identifier: Apache-2.0
// Are the numbers of one run right? The cheap answer for `run --verify`: one more run, and the slow
// judge only where the two differ. `bench` verifies both of its sides against the judge always.
#pragma once

#include "app/pipeline/compiled.h"
#include "app/pipeline/report.h"
#include "core/support/progress.h"

#include <vector>

namespace fuselage::app {

/// Compares `outputs`, results of `fused`, the fused form of `model`, on `inputs`, with those of
/// `model` run node by node on the same backend with the same precision, or in float32 where the
/// precision stores 16 bits; an output that differs is compared with the double-precision
/// interpreter instead, and both sides that were run so are in the answer. Stored in 16 bits, or of
/// a model that jumps, it may lose what amplification.h says. Of a strict plan the bits are
/// compared with an unfused run in the same precision; what differs fails. With `fused` null,
/// `outputs` are of the model itself and the interpreter judges them. `model`: static shapes,
/// prepared. `compile`: as the run was compiled.
Result<std::vector<OutputAgreement>> checkRun(const Graph& model, const Graph* fused,
                                              const std::vector<Tensor>& inputs,
                                              const std::vector<Tensor>& outputs,
                                              const CompileOptions& compile, Progress& progress);

} // namespace fuselage::app
