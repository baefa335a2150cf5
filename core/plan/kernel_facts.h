// SPDX-License-Identifier: Apache-2.0
// What a backend can say of the kernels behind one step, for reports.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fuselage {

/// What a backend knows of the kernels behind a step.
struct KernelFacts {
    uint32_t registers = 0; ///< a thread's; 0: not known
    uint32_t sharedBytes = 0;
    uint32_t spilledBytes = 0; ///< a thread's
    uint32_t launches = 1;
    int64_t workspaceBytes = 0;
    std::string choice; ///< "measured", "cached", "predicted"
};

/// Seconds of one step by itself, again and again.
struct IsolatedTimes {
    std::vector<double> cold; ///< the cache was overwritten before each
    std::vector<double> warm; ///< right after a run of the same step
};

} // namespace fuselage
