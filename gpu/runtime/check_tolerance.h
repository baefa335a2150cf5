// SPDX-License-Identifier: Apache-2.0
// How far two right tactics of one step may be apart: from what is stored, the numeric class, the
// length of sums and what jumps. The figures of tests/shim, once for each of the two.
#pragma once

#include "core/plan/plan.h"

namespace fuselage::gpu {

struct OutputTolerance {
    double relative = 0; ///< to the largest magnitude of the output; 0: equal
    double share = 0;    ///< of the elements that may be further apart, where the step jumps
};

/// Of one output of the step.
OutputTolerance outputTolerance(const Step& step, DType output);

} // namespace fuselage::gpu
