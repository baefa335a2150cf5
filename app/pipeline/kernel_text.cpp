// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/kernel_text.h"

#if FUSELAGE_HAS_CUDA
#include "gpu/dump_kernels.h"
#endif

namespace fuselage::app {

std::string kernelText(const Plan& plan, size_t step, const DeviceProfile& profile) {
    std::string out = text(plan.steps[step].program);
#if FUSELAGE_HAS_CUDA
    if (profile.kind == "gpu")
        out += "\n" + gpu::kernelText(plan, step, profile);
#else
    (void)profile;
#endif
    return out;
}

} // namespace fuselage::app
