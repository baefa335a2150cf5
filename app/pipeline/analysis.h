// SPDX-License-Identifier: Apache-2.0
// A loaded model before and after fusion with everything that is known without running it: graphs,
// Trace, plans, traffic and predicted times. `bench` runs what this returns; a window shows it
// while rules change, without reading the model again.
#pragma once

#include "app/pipeline/fuse.h"
#include "app/pipeline/model.h"
#include "app/pipeline/planned.h"
#include "app/pipeline/report.h"

#include <map>
#include <string>

namespace fuselage::app {

struct AnalysisOptions {
    FuseOptions fuse; ///< dims go before those of the loaded model
    DeviceProfile profile;
    const Backend* backend = nullptr; ///< chooses layouts; null: plans for prediction only
    /// What a run of the side before fusion showed: both sides are planned for such data.
    const RunShapes* shapes = nullptr;
};

struct Analysis {
    Graph fused; ///< with the file's symbolic dimensions, ready to be saved
    Trace trace;
    std::map<std::string, int64_t> dims; ///< what every symbol was bound to
    Planned before, after;
    /// Of the machine only the profile, no measured times and no agreement; stageSeconds of these
    /// stages.
    Report report;
};

/// Errors: those of fuseGraph and makePlan, "dim.open", "cancelled".
Result<Analysis> analyse(const LoadedModel& model, const RuleLibrary& library,
                         const AnalysisOptions& options, Progress& progress);

} // namespace fuselage::app
