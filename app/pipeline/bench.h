// SPDX-License-Identifier: Apache-2.0
// The main job: one model, before and after fusion, planned, run, verified, timed -> Report.
#pragma once

#include "app/pipeline/compiled.h"
#include "app/pipeline/fuse.h"
#include "app/pipeline/inputs.h"
#include "app/pipeline/measure.h"
#include "app/pipeline/report.h"

#include <string>
#include <vector>

namespace fuselage::app {

struct BenchOptions {
    std::string model;
    RuleOptions rules;
    FuseOptions fuse;
    CompileOptions run = {
        .backend = BackendKind::Auto}; ///< backend, threads, tactics; bench sets the rest
    std::string device;                ///< predict for this profile; empty: the machine's
    uint64_t seed = 1;
    std::string inputs;        ///< folder of input_N.pb; empty: generated from the seed
    InputNumbers numbers = {}; ///< in place of those of single inputs
    bool measure = true;
    bool verify = true;
    /// Comparing with the reference stops after so long, which a note of the report says; 0: never.
    double verifySeconds = 0;
    bool compile = false;  ///< cuda without a device: compile preferred kernels for the predicted
                           ///< one, for their registers
    bool counters = false; ///< bytes by hardware counters, in runs after the timed ones
    MeasureOptions timing;
    std::string dumpKernels; ///< folder for the generated kernels of the fused plan; empty: none
};

struct BenchResult {
    Report report;
    Graph fused; ///< with the file's symbolic dimensions, ready to be saved
    /// The named backend cannot be used here ("device.*"): the report only predicts.
    std::optional<Error> unusable = {};
    std::string dumped = {}; ///< one line about the kernels that were written
    bool compiled = false;   ///< what was asked for without a device is done
};

Result<BenchResult> bench(const BenchOptions& options, Progress& progress);

} // namespace fuselage::app
