// SPDX-License-Identifier: Apache-2.0
// Which steps of a fused model NVIDIA's libraries can compute on a device that need not be here: a
// prediction of support, made by asking the libraries, never of time.
#pragma once

#include "app/pipeline/fuse.h"
#include "app/pipeline/rules.h"

#include <optional>
#include <string>
#include <vector>

namespace fuselage::app {

struct LibraryTacticsOptions {
    std::string model;
    std::string device = "h200";
    RuleOptions rules;
    FuseOptions fuse;
    int64_t workspaceLimit = int64_t(256) << 20;
    bool finish = false; ///< also finish a plan of each step: compiles, seconds a step
};

struct LibraryAnswer {
    std::string library; ///< "cudnn"
    bool supported = false;
    std::string text; ///< "cudnn: 3 configurations, workspace 0, compiled at run time"
};

struct StepTactics {
    std::string step, rule, program;
    bool asked = false; ///< libraries compute this kind of program
    std::vector<LibraryAnswer> answers;
};

struct LibraryTactics {
    std::string description;   ///< library, version and file
    bool asksCompiling = true; ///< false: no libcuda, engines that compile were not asked
    std::vector<StepTactics> steps;
};

/// Errors: those of loading, fusing and planning, "usage.device", "library-missing".
Result<LibraryTactics> libraryTactics(const LibraryTacticsOptions& options, Progress& progress);

} // namespace fuselage::app
