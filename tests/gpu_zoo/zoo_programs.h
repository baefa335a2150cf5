// SPDX-License-Identifier: Apache-2.0
// Every kernel program of every zoo model, before and after fusion, as the CUDA emitters meet it:
// planned for a device of each architecture, layouts of the plan, constants that are known when it
// is made. Emits nothing itself.
#pragma once

#include "app/pipeline/model.h"
#include "core/ops/precision.h"
#include "core/plan/plan.h"
#include "gpu/emit/emit.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fuselage::gpu_zoo {

/// One step of one plan. Requests point into the plan.
struct ZooProgram {
    std::string model, arch, step;
    bool fused = false;
    bool channelsLast = false; ///< operands of four dims lie so, whatever the plan says
    std::shared_ptr<const Plan> plan;
    gpu::KernelRequest request;
};

/// Architectures that kernels are compiled for, oldest first.
std::vector<std::string> architectures();

/// The profile that stands for an architecture of architectures(): T4, A100, A10, L4, H200, B200,
/// RTX 5090.
const DeviceProfile& profileFor(const std::string& arch);

/// The zoo model, ready to be planned; prints a message and returns nothing when it does not build.
std::optional<app::LoadedModel> prepared(const std::string& model);

/// Programs of a zoo model in a precision, its symbols bound to small numbers, planned and asked
/// for a device of `arch`; convolutions and what lies between them in both memory orders. Prints a
/// message and returns nothing when the model does not plan.
std::vector<ZooProgram> programsOf(const std::string& model, const app::LoadedModel& loaded,
                                   Precision precision, const std::string& arch);

/// The same, prepared for this call, for an H200.
std::vector<ZooProgram> programsOf(const std::string& model, Precision precision);

/// "resnet50 fused Conv_3: Contraction float[1,64,56,56] ... -> [1,64,56,56]".
std::string describe(const ZooProgram& program);

} // namespace fuselage::gpu_zoo
