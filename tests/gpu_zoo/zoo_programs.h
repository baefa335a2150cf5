// SPDX-License-Identifier: Apache-2.0
// Every kernel program of every zoo model, before and after fusion, as the CUDA emitters meet it:
// layouts of the plan, constants that are known when it is made. Emits nothing itself.
#pragma once

#include "core/ops/precision.h"
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
    bool channelsLast = false; ///< operands of four dims lie so, whatever the plan says
    std::shared_ptr<const Plan> plan;
    gpu::EmitRequest request;
};

/// Programs of a zoo model in a precision, its symbols bound to small numbers, planned for an H200;
/// convolutions and what lies between them in both memory orders. Prints a message and returns
/// nothing when the model does not plan.
std::vector<ZooProgram> programsOf(const std::string& model, Precision precision);

/// "resnet50 fused Conv_3: Contraction float[1,64,56,56] ... -> [1,64,56,56]".
std::string describe(const ZooProgram& program);

} // namespace fuselage::gpu_zoo
