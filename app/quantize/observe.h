// SPDX-License-Identifier: Apache-2.0
// What values of a model are like on sets of inputs: one histogram a value, filled while the float
// model runs. Memory is that of one run and of the histograms: where the values of one run would be
// too many, the model runs again for the others.
#pragma once

#include "app/pipeline/compiled.h"
#include "app/quantize/histogram.h"
#include "app/quantize/input_sets.h"
#include "core/support/progress.h"

#include <map>

namespace fuselage::quantize {

using Histograms = std::map<ValueId, Histogram>;

struct ObserveRequest {
    const InputSets* sets = nullptr;
    DimensionValues dims;                   ///< sizes of open dimensions, for generated inputs
    CompileOptions run;                     ///< backend and threads
    int64_t mostBytes = int64_t{512} << 20; ///< of values that one run keeps to be looked at
};

/// Of float32 values that no constant is: inputs, results of nodes. Errors: "quantize.number" where
/// a value holds NaN or infinity, with the value and the set; those of reading inputs, compiling
/// and running; "cancelled".
Result<Histograms> observe(const Graph& model, const std::vector<ValueId>& values,
                           const ObserveRequest& request, Progress& progress);

} // namespace fuselage::quantize
