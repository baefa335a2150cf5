// SPDX-License-Identifier: Apache-2.0
// Records of kernels from CUPTI's activity interface, through the few functions that are needed,
// declared here. One collector in the process: CUPTI's callbacks carry no context.
#pragma once

#include "core/support/result.h"
#include "gpu/runtime/libraries.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace fuselage::gpu {

/// One kernel that ran.
struct KernelRecord {
    std::string name;
    uint64_t begin = 0, end = 0; ///< nanoseconds of the device
    uint64_t graphNode = 0;      ///< id of the node; 0: not launched by a graph
};

/// Ids as records have them, by the captured nodes that the launched ones are copies of.
using GraphNodeIds = std::unordered_map<const void*, uint64_t>;

/// The library, which stays open until the process ends: its threads and hooks may outlive any
/// owner. Error "library-missing".
Result<std::shared_ptr<SharedLibrary>> openCuptiForGood();

/// Held while kernels are recorded or counters are read: CUPTI cannot do both at a time, and
/// counting makes kernels slower.
std::unique_lock<std::mutex> cuptiForOneUse();

class Cupti {
public:
    /// Error "library-missing": not here, or too old (before 12), or it refuses to record.
    static Result<std::shared_ptr<Cupti>> open();
    virtual ~Cupti() = default;
    virtual std::string version() const = 0;
    /// Collects from here on. The device must be idle. Error "cupti.call".
    virtual Result<void> start() = 0;
    /// What ran since start(); the device must be idle. Errors "cupti.call", "cupti.dropped".
    virtual Result<std::vector<KernelRecord>> stop() = 0;
    /// The copies of nodes that are made while `instantiate` runs. Error "cupti.nodes" when CUPTI
    /// lacks what is needed or another tool has its callbacks; those of `instantiate`.
    virtual Result<GraphNodeIds> nodeIdsWhile(const std::function<Result<void>()>& instantiate) = 0;
};

} // namespace fuselage::gpu
