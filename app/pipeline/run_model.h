// SPDX-License-Identifier: Apache-2.0
// One run of a model on a backend, unfused or fused, checked on request. Neither predicts nor
// times: that is bench.
#pragma once

#include "app/pipeline/compiled.h"
#include "app/pipeline/fuse.h"
#include "app/pipeline/model.h"
#include "app/pipeline/report.h"
#include "core/support/progress.h"

#include <string>
#include <vector>

namespace fuselage::app {

struct RunModelOptions {
    bool fused = false, verify = false;
    RuleOptions rules; ///< with `fused`
    FuseOptions fuse;  ///< its precision and `strict` hold for an unfused run too
    /// Backend, threads, tactics; runModel() sets the rest.
    CompileOptions run = {.backend = BackendKind::Auto};
    uint64_t seed = 1; ///< of generated inputs, where the model was loaded without any
    std::vector<std::string> values; ///< inside, to give out besides the outputs (inner_values.h)
};

struct RunModelResult {
    std::vector<std::string> names; ///< of the outputs, then of the values inside
    std::vector<Tensor> outputs;
    size_t inner = 0;                     ///< how many of them are values inside
    std::vector<OutputAgreement> checked; ///< with `verify`, as checkRun() and checkElsewhere() say
    std::vector<std::string> checkNotes;  ///< what the check did not see
    bool jumps = false;                   ///< small differences may become large ones
    std::vector<std::string> notes;       ///< of the backend
};

/// A declared shape of the model that the run proves wrong is forgotten, with a note in the model,
/// and the run begins again. Errors: "load.missing", "dim.open", "run.value", those of loading
/// rules, fusing, compiling and running, "cancelled".
Result<RunModelResult> runModel(LoadedModel& model, const RunModelOptions& options,
                                Progress& progress);

} // namespace fuselage::app
