// SPDX-License-Identifier: Apache-2.0
// Which step of a plan is the first one whose kernel computes something else: the plan runs step by
// step outside of its graphs, and each step's results are compared with the evaluator's, made from
// the operands as the device had them, so that no step answers for what others lost before it.
#pragma once

#include "core/ops/reference_value.h"
#include "core/plan/backend.h"
#include "core/support/parallel.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fuselage::gpu {

/// A plan that can be run one step after the other.
class SteppedExecutable : public Executable {
public:
    virtual const Plan& plan() const = 0;
    virtual Result<void> beginSteps(std::span<const Tensor> inputs) = 0;
    /// Returns when it is done.
    virtual Result<void> runStep(size_t step, Progress& progress) = 0;
    /// A value of the plan as the last step left it. Error "step.unread": a weight that only packed
    /// forms of are on the device.
    virtual Result<ReferenceValue> valueNow(uint32_t value) = 0;
};

struct WrongStep {
    size_t step = 0;
    size_t output = 0; ///< of the step
    std::string how;   ///< "3 of 64 elements differ, by 0.5 at element 17, allowed 0.001"
    std::vector<ReferenceValue> inputs, outputs, wanted;
};

struct StepCheck {
    std::optional<WrongStep> wrong; ///< none: each step that was checked is right by itself
    size_t checked = 0;
    size_t unchecked = 0; ///< the host's own, and those that cannot be read or evaluated
};

/// Errors: "step.backend" (not an executable of the cuda backend), those of running, "cancelled".
Result<StepCheck> firstWrongStep(Executable& executable, std::span<const Tensor> inputs,
                                 ThreadPool& threads, Progress& progress);

/// How a result differs from the evaluator's by more than the tuner allows two tactics of the step;
/// empty: not by more.
std::string differenceOf(const Step& step, const ReferenceValue& wanted, const ReferenceValue& got);

} // namespace fuselage::gpu
