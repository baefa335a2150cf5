// SPDX-License-Identifier: Apache-2.0
// What 8-bit pairs and 16-bit storage cost node by node: the model as it is run beside its float
// twin, value by value. Says where digits are lost; outputs (output_error.h) say whether it
// matters.
#pragma once

#include "app/pipeline/compiled.h"
#include "app/pipeline/model.h"
#include "app/pipeline/report.h"
#include "app/quantize/input_sets.h"

namespace fuselage::quantize {

struct NodeErrorRequest {
    const InputSets* sets = nullptr;        ///< the first one is used
    CompileOptions run;                     ///< backend, threads; precision and its exceptions
    int64_t mostBytes = int64_t{512} << 20; ///< of values that one run keeps to be looked at
};

/// Of the first float result of every node that both graphs have under one name, in the order of
/// the model: what the nodes before it lost is in it. Errors "errors.none" for a model without
/// pairs in float32, which loses nothing so; those of reading inputs, compiling and running;
/// "cancelled".
Result<std::vector<app::NodeErrorReport>>
nodeErrors(const app::LoadedModel& model, const NodeErrorRequest& request, Progress& progress);

} // namespace fuselage::quantize
