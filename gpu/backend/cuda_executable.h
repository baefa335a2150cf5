// SPDX-License-Identifier: Apache-2.0
// A Plan ready to run on a device: constants uploaded, memory allocated, consecutive steps captured
// as graphs. A step that only the host can compute stands between two graphs.
#pragma once

#include "core/plan/backend.h"
#include "core/support/parallel.h"
#include "gpu/backend/plan_steps.h"

#include <memory>
#include <vector>

namespace fuselage::gpu {

/// `steps` are parallel to the plan's. Loads their tactics. Errors "device.*".
Result<std::unique_ptr<Executable>> makeCudaExecutable(std::shared_ptr<const Plan> plan,
                                                       std::shared_ptr<Device> device,
                                                       std::vector<PreparedStep> steps,
                                                       std::shared_ptr<ThreadPool> threads);

} // namespace fuselage::gpu
