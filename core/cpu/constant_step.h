// SPDX-License-Identifier: Apache-2.0
// A step that reads nothing but constants, computed once while a plan is prepared.
#pragma once

#include "core/cpu/kernel.h"
#include "core/plan/plan.h"

namespace fuselage::cpu {

/// Its outputs; none where it fails, since it is not the preparation that fails then. `kernel`:
/// null where the body is interpreted. `constants`: its inputs.
std::vector<TensorPtr> computeConstants(const Plan& plan, const Step& step, Kernel* kernel,
                                        const std::vector<TensorPtr>& constants, Threads& threads);

} // namespace fuselage::cpu
