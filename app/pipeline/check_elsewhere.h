// SPDX-License-Identifier: Apache-2.0
// A check sees what one run does: the branches that its inputs take, at the sizes that were found.
// This runs both forms of a model again where more can be seen - other sizes of open dimensions,
// inputs that enter other bodies of If and Loop - and says which bodies no run of the check
// entered.
#pragma once

#include "app/pipeline/compiled.h"
#include "app/pipeline/model.h"
#include "app/pipeline/report.h"

#include <string>
#include <vector>

namespace fuselage::app {

struct ElsewhereRequest {
    const LoadedModel& model;
    const Graph& run; ///< what is checked: the fused graph, or the model; open dimensions stay
    bool fused = false;
    const std::vector<Tensor>& inputs; ///< of the run that was checked
    uint64_t seed = 1;                 ///< of generated ones
    CompileOptions compile;            ///< as that run was compiled
    bool sizes = true;                 ///< other sizes too; false: bodies only
};

struct Elsewhere {
    std::vector<OutputAgreement> found; ///< as checkRun(); the side ends in ", with N=2"
    /// "bodies that no run of this check entered: ..."; sizes that could not be run. A sentence
    /// each.
    std::vector<std::string> notes;
};

/// Errors: "cancelled".
Result<Elsewhere> checkElsewhere(const ElsewhereRequest& request, Progress& progress);

} // namespace fuselage::app
