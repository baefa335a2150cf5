// SPDX-License-Identifier: Apache-2.0
// Every kernel program of every zoo model, before and after fusion, as the CUDA emitters meet it:
// layouts of the plan, constants that are known when it is made. Emits nothing itself.
#pragma once

#include "core/plan/plan.h"
#include "gpu/emit.h"

#include <memory>
#include <string>
#include <vector>

namespace fuselage::gpu_zoo {

/// One step of one plan. Requests point into the plan.
struct ZooProgram {
    std::string model, step;
    bool fused = false;
    std::shared_ptr<const Plan> plan;
    gpu::EmitRequest request;
};

/// Programs of a zoo model with its symbols bound to `dims` (others to small numbers), planned for
/// an H200. Prints a message and returns nothing when the model does not plan.
std::vector<ZooProgram> programsOf(const std::string& model);

/// "2 of 3 x [64,3,224]": kind, operands and taps, for messages.
std::string describe(const ZooProgram& program);

} // namespace fuselage::gpu_zoo
