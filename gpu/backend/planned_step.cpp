// SPDX-License-Identifier: Apache-2.0
#include "gpu/backend/planned_step.h"

#include "gpu/backend/plan_steps.h"
#include "gpu/kernels/variant_table.h"
#include "gpu/tune/left_out.h"
#include "gpu/tune/tuner.h"

#include <algorithm>

namespace fuselage::gpu {

PlannedStep plannedStep(const Plan& plan, const Step& step, const DeviceProfile& profile,
                        int64_t workspaceLimit) {
    if (onHost(plan, step))
        return {"host", {}};
    const KernelRequest request = requestOf(plan, step, {profile, profile.arch, workspaceLimit});
    for (const KernelSet& set : emitAll(request).accepted) {
        TacticFacts facts;
        facts.numeric = set.numeric;
        facts.workspaceBytes = set.scratchBytes;
        facts.passedBytes = set.scratchBytes;
        facts.launches = static_cast<uint32_t>(set.kernels.size());
        if (!whyIllegal(facts, step.allowed, workspaceLimit))
            return {set.variant, hiddenWorkOf(facts)};
    }
    return {"host", {}};
}

bool isForHost(const Plan& plan, const Step& step, const DeviceProfile& profile,
               const std::vector<std::string>& without) {
    if (onHost(plan, step))
        return true;
    // Every other kind of program has a kernel for any operands.
    if (!std::holds_alternative<Library>(step.program.code) &&
        !std::holds_alternative<Chain>(step.program.code))
        return false;
    const KernelRequest request = requestOf(plan, step, {profile, profile.arch, 0});
    const std::vector<KernelSet> accepted = emitAll(request).accepted;
    return std::all_of(accepted.begin(), accepted.end(), [&](const KernelSet& set) {
        return whyLeftOut(set.variant, true, without, {}).has_value();
    });
}

} // namespace fuselage::gpu
