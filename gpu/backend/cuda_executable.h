// SPDX-License-Identifier: Apache-2.0
// A Plan ready to run on a device: constants uploaded, memory allocated, consecutive steps captured
// as graphs. A step that only the host can compute stands between two graphs.
#pragma once

#include "core/plan/backend.h"
#include "core/support/parallel.h"
#include "gpu/backend/plan_steps.h"
#include "gpu/tune/early_launch.h"

#include <memory>
#include <optional>
#include <vector>

namespace fuselage::gpu {

/// A library's call that failed when it was first made for the plan's memory.
struct FailedCall {
    TacticKey key;
    std::string tactic;
    Error error;
};

/// `steps` are parallel to the plan's. Loads their tactics, and runs each library's once before
/// anything is captured: in a warm start nothing else of them ran in this process. `early` decides
/// whether kernels are launched early. Errors "device.*"; with `failedCall` those of that call.
Result<std::unique_ptr<Executable>> makeCudaExecutable(std::shared_ptr<const Plan> plan,
                                                       std::shared_ptr<Device> device,
                                                       std::vector<PreparedStep> steps,
                                                       std::shared_ptr<ThreadPool> threads,
                                                       double deadlineSeconds, EarlyLaunch& early,
                                                       std::optional<FailedCall>& failedCall);

} // namespace fuselage::gpu
