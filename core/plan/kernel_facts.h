// SPDX-License-Identifier: Apache-2.0
// What a backend can say of the kernels behind one step, for reports: resources, times by itself,
// counted bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fuselage {

/// What a backend knows of the kernels behind a step.
struct KernelFacts {
    uint32_t registers = 0; ///< a thread's; 0: not known
    uint32_t sharedBytes = 0;
    uint32_t spilledBytes = 0; ///< a thread's
    uint32_t launches = 1;     ///< 0: computed once while preparing, of constants alone
    int64_t workspaceBytes = 0;
    /// "measured", "cached", "predicted"; "compiled": for a device that is not here.
    std::string choice;
    uint32_t residentBlocks = 0; ///< that a multiprocessor holds at a time; 0: not known
    double occupancy = 0;        ///< share of a multiprocessor's threads that those are
};

/// What the kernels of a step do beyond one launch that reads and writes values of the plan.
struct HiddenWork {
    uint32_t launches = 1;    ///< 0: computed once while preparing, of constants alone
    int64_t scratchBytes = 0; ///< memory beside the plan's values, while the step runs
    uint32_t values = 0;      ///< intermediate results of full size in it, which the plan has not
    int64_t passedBytes = 0;  ///< of those: each is written once and read once

    bool any() const { return launches != 1 || scratchBytes != 0 || values != 0; }
};

/// Bytes that hardware counters saw during one step. None of a kind: the device counts no such
/// bytes, or did not this time; never a zero in its place.
struct MeasuredTraffic {
    std::optional<int64_t> dramRead, dramWritten, l2;

    std::optional<int64_t> dram() const {
        return dramRead && dramWritten ? std::optional(*dramRead + *dramWritten) : std::nullopt;
    }
};

/// What counters say of the steps of one executable.
struct TrafficCounts {
    std::vector<std::optional<MeasuredTraffic>> steps; ///< parallel to Plan::steps
    std::string note;                                  ///< what counted, and how
};

/// Seconds of one step by itself, again and again.
struct IsolatedTimes {
    std::vector<double> cold; ///< the cache was overwritten before each
    std::vector<double> warm; ///< right after a run of the same step
};

} // namespace fuselage
