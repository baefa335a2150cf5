// SPDX-License-Identifier: Apache-2.0
// A step that reads nothing but constants, computed once while a plan is prepared. Its outputs;
// none where it fails, since it is not the preparation that fails then.
#pragma once

#include "core/cpu/kernel.h"
#include "core/plan/plan.h"

namespace fuselage::cpu {

/// By its kernel. `inputs`: where the plan's values lie.
std::vector<TensorPtr> computeConstants(const Plan& plan, const Step& step, Kernel& kernel,
                                        const std::vector<const std::byte*>& inputs,
                                        Threads& threads);

/// By interpreting its body.
std::vector<TensorPtr> computeConstants(const Step& step, const std::vector<TensorPtr>& inputs,
                                        Threads& threads);

} // namespace fuselage::cpu
