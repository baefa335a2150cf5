// SPDX-License-Identifier: Apache-2.0
// Writes the generated kernels of a plan as CUDA files that stand alone: the text, its launch, data
// from a seed, a check of the results. Needs no device and no toolkit.
#pragma once

#include "core/plan/plan.h"
#include "core/support/progress.h"

#include <string>

namespace fuselage::gpu {

struct DumpCounts {
    size_t kernels = 0;    ///< files written, one for each variant of each step
    size_t checked = 0;    ///< with expected results beside them
    size_t withoutOne = 0; ///< steps that no variant accepts
};

/// Equal steps are written once. Expected results are computed here, in double precision, where
/// that takes a moment only. Error "save.write".
Result<DumpCounts> dumpKernels(const Plan& plan, const DeviceProfile& profile,
                               const std::string& folder, Progress& progress);

/// The same of one step.
Result<DumpCounts> dumpStep(const Plan& plan, size_t step, const DeviceProfile& profile,
                            const std::string& folder, Progress& progress);

/// The CUDA text of a step as its first accepting variant writes it; else why none does, as a
/// comment.
std::string kernelText(const Plan& plan, size_t step, const DeviceProfile& profile);

} // namespace fuselage::gpu
