// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/compiled_kernels.h"

#include <fmt/format.h>

#if FUSELAGE_HAS_CUDA
#include "gpu/backend/compiled_plan.h"
#endif

namespace fuselage::app {

#if FUSELAGE_HAS_CUDA

Result<bool> compileKernels(const Plan& plan, const DeviceProfile& profile,
                            const KernelCompileOptions& options, Report& report,
                            Progress& progress) {
    gpu::CudaOptions cuda;
    cuda.threads = options.threads;
    cuda.cache = options.cache;
    cuda.tune.workspaceLimit = options.workspaceLimit;
    auto compiled = gpu::compilePlan(plan, profile, cuda, progress);
    if (!compiled && compiled.error().code == "cancelled")
        return failure(compiled.error());
    std::vector<std::string>& notes = report.machine.notes;
    if (!compiled) {
        notes.push_back("registers are not known: " + compiled.error().text());
        return false;
    }
    for (size_t i = 0; i < report.after.kernels.size() && i < compiled->steps.size(); ++i) {
        report.after.kernels[i].tactic = compiled->steps[i].tactic;
        report.after.kernels[i].isFallback = compiled->steps[i].tactic == "host";
        report.after.kernels[i].facts = compiled->steps[i].facts;
        report.after.kernels[i].fallbacks = compiled->steps[i].reasons;
    }
    notes.push_back(fmt::format(
        "kernels compiled by {} for {} ({} anew, {} found): the preferred generated one of each "
        "step, a device measures the others, cuBLASLt and cuDNN beside it",
        compiled->compiler, profile.arch, compiled->compiled, compiled->found));
    return true;
}

#else

Result<bool> compileKernels(const Plan&, const DeviceProfile&, const KernelCompileOptions&,
                            Report& report, Progress&) {
    report.machine.notes.push_back(
        "registers are not known: this program was built without the cuda backend");
    return false;
}

#endif

} // namespace fuselage::app
