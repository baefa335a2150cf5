// SPDX-License-Identifier: Apache-2.0
// From the steps of a Plan to one built tactic each: makes the requests, asks every source, hands
// the candidates to the tuner.
#pragma once

#include "core/plan/kernel_facts.h"
#include "core/plan/plan.h"
#include "gpu/backend/cuda_options.h"
#include "gpu/emit/tactic.h"
#include "gpu/runtime/cubin_cache.h"
#include "gpu/runtime/device.h"
#include "gpu/tune/tune_store.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace fuselage::gpu {

/// How one step is computed.
struct PreparedStep {
    std::unique_ptr<Tactic> tactic; ///< built; null: an operand has no fixed size
    TacticKey key;                  ///< of the timing cache
    std::string choice;             ///< "measured", "cached", "predicted"
    std::vector<Reason> reasons;    ///< why other tactics were not taken
};

/// For reports.
KernelFacts kernelFactsOf(const TacticFacts& facts, std::string choice);

/// What of them the plan does not say: launches beyond the first, and parts of sums that are
/// written to memory and read again, within one launch or between two.
HiddenWork hiddenWorkOf(const TacticFacts& facts);

struct StepContext {
    const CudaOptions& options;
    Device& device;
    const DeviceProfile& profile;
    const std::vector<std::unique_ptr<TacticSource>>& sources;
    const std::vector<Reason>& missing;           ///< sources that could not be opened
    std::shared_ptr<CubinCache> compiler;         ///< null: candidates are not compared
    std::function<void(const Error&)> deviceGone; ///< see TuneContext
};

/// The machine's part of the keys of its steps.
TuneEnvironment environmentOf(const StepContext& context);

/// The part of a request that the plan decides: program, layouts, constants. The step outlives it.
KernelRequest stepRequest(const Plan& plan, const Step& step);

/// What a request says of the device, also where there is none.
struct RequestTarget {
    const DeviceProfile& profile;
    std::string arch;
    int64_t workspaceLimit = 0;
};

/// The step as sources meet it; the step and the profile outlive it.
KernelRequest requestOf(const Plan& plan, const Step& step, const RequestTarget& target);

/// An operand has no fixed size, so its value lives on the host.
bool onHost(const Plan& plan, const Step& step);

/// Parallel to the plan's steps. Errors of tuneSteps.
Result<std::vector<PreparedStep>> prepareSteps(const Plan& plan, const StepContext& context,
                                               TuneStore& store, Progress& progress);

} // namespace fuselage::gpu
