// SPDX-License-Identifier: Apache-2.0
// Shared by the two files of phase 6b: sweeps.cpp says which steps may run together and makes the
// sweeps, sweep_cost.cpp says which of them pay.
#pragma once

#include "core/cost/pass_bytes.h"
#include "core/plan/planner_internal.h"

namespace fuselage::planner {

/// One operand of a step, by the value that owns its memory.
struct SweepOperand {
    uint32_t root = 0;
    bool each = false; ///< goes along with the images
};

/// A step that can run for some images at a time.
struct SweepStep {
    int64_t images = 0; ///< 0: it cannot
    std::vector<SweepOperand> inputs, outputs;
    uint32_t begin = 0; ///< the first step that a sweep which ends here may hold
};

/// A stretch of steps and how many images it takes at a time; 0: all, one step after the other.
struct Stretch {
    uint32_t first = 0, last = 0;
    int64_t images = 0;
    double seconds = 0, wholeSeconds = 0;
    std::vector<Traffic> traffic;
};

/// Where values are made and last used: step numbers, by root.
struct ValueSpan {
    int64_t made = -1; ///< -1: before the first step
    uint32_t lastUse = 0;
    bool mayBeInner = false; ///< nothing else needs all of its images
};

struct StretchChoice {
    std::vector<Stretch> taken;  ///< in order
    std::optional<Stretch> lost; ///< that saves most of those which save too little, if anything
};

/// The stretches that the cost model takes to be fastest; those of whole steps left out.
StretchChoice chooseStretches(const Plan& plan, const std::vector<SweepStep>& steps,
                              const std::vector<ValueSpan>& spans, uint32_t workers,
                              const DeviceProfile& profile);

} // namespace fuselage::planner
