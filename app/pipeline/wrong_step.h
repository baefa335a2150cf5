// SPDX-License-Identifier: Apache-2.0
// A plan of the cuda backend failed its check against the reference: which step is the first whose
// kernel is wrong by itself, and files that run that step alone.
#pragma once

#include "app/pipeline/report.h"
#include "core/cost/cost.h"
#include "core/plan/backend.h"
#include "core/support/progress.h"

#include <string>
#include <vector>

namespace fuselage::app {

struct WrongStepRequest {
    Executable& executable;
    const Plan& plan;
    const std::vector<Tensor>& inputs;
    const DeviceProfile& profile; ///< kernels are written for it
    std::string cache;            ///< --cache: the repro lies in its folder `wrong_steps`
    std::string model, side;      ///< "unfused", "fused"; they name the repro's folder
    int threads = 0;
};

/// A sentence: the step, its tactic, how it differs and where the repro is (`step.onnx` with the
/// operands of that run, and each generated kernel of the step as a program of its own); or that
/// every step is right by itself. Runs the plan once with every step evaluated on the host. Errors
/// "step.backend" and those of running.
Result<std::string> describeWrongStep(const WrongStepRequest& request, Progress& progress);

/// Adds that sentence to the first output of that side that differs, if one does; what forbids it
/// is said there too.
void noteWrongStep(const WrongStepRequest& request, Report& report, Progress& progress);

} // namespace fuselage::app
