// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/kernel_text.h"

#include "core/support/hash.h"

#if FUSELAGE_HAS_CUDA
#include "gpu/backend/dump_kernels.h"
#include "gpu/backend/plan_steps.h"
#include "gpu/backend/planned_step.h"
#endif

namespace fuselage::app {

std::string kernelText(const Plan& plan, size_t step, const DeviceProfile& profile) {
    std::string out = text(plan.steps[step].program);
#if FUSELAGE_HAS_CUDA
    if (profile.kind == DeviceKind::Gpu)
        out += "\n" + gpu::kernelText(plan, step, profile);
#else
    (void)profile;
#endif
    return out;
}

void hashKernelTexts(const Plan& plan, const DeviceProfile& profile,
                     std::vector<KernelReport>& kernels) {
    for (size_t i = 0; i < kernels.size(); ++i)
        kernels[i].textHash = Hasher().text(kernelText(plan, i, profile)).hex();
}

void addPlannedKernels(const Plan& plan, const DeviceProfile& profile, int64_t workspaceLimit,
                       std::vector<KernelReport>& kernels) {
#if FUSELAGE_HAS_CUDA
    for (size_t i = 0; i < kernels.size(); ++i) {
        gpu::PlannedStep planned = gpu::plannedStep(plan, plan.steps[i], profile, workspaceLimit);
        kernels[i].hidden = planned.work;
        kernels[i].isFallback = planned.tactic == "host" && !plan.isOnce(plan.steps[i]);
        if (kernels[i].isFallback)
            kernels[i].tactic = planned.tactic;
        if (plan.isOnce(plan.steps[i])) // computed once while preparing
            kernels[i].hidden.launches = 0;
    }
#else
    (void)plan, (void)profile, (void)workspaceLimit, (void)kernels;
#endif
}

} // namespace fuselage::app
