// SPDX-License-Identifier: Apache-2.0
// What the compiler says of kernels for a device that is not here: registers, spills, blocks on a
// multiprocessor. Into a report that predicts; nothing is run or measured.
#pragma once

#include "app/pipeline/report.h"
#include "core/plan/plan.h"
#include "core/support/progress.h"

namespace fuselage::app {

struct KernelCompileOptions {
    int threads = 0;   ///< 0: all of the machine
    std::string cache; ///< folder of machine code; empty: the person's cache
    int64_t workspaceLimit = 0;
};

/// Sets tactic and facts of the report's kernels, those of `plan`. What forbids it (no NVRTC, an
/// architecture that it does not know) is a note of the report, and false is returned; the only
/// error is "cancelled".
Result<bool> compileKernels(const Plan& plan, const DeviceProfile& profile,
                            const KernelCompileOptions& options, Report& report,
                            Progress& progress);

} // namespace fuselage::app
