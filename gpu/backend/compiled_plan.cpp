// SPDX-License-Identifier: Apache-2.0
#include "gpu/backend/compiled_plan.h"

#include "core/support/parallel.h"
#include "gpu/backend/plan_steps.h"
#include "gpu/runtime/cubin_cache.h"
#include "gpu/runtime/generated_tactic.h"
#include "gpu/tune/tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

namespace fuselage::gpu {

namespace {

/// The first kernel in the order of preference that builds and is legal: the one whose text is
/// shown and dumped.
CompiledStep compileStep(TacticSource& generated, const KernelRequest& request,
                         Progress& progress) {
    TacticList all = generated.candidates(request);
    CompiledStep out{"host", {}, std::move(all.refused)};
    for (const std::unique_ptr<Tactic>& tactic : all.candidates) {
        if (auto built = tactic->build(progress); !built) {
            const Error& error = built.error();
            out.reasons.push_back({error.code, error.text(), error.fix, {}});
            continue;
        }
        if (auto reason = whyIllegal(tactic->facts(), request.allowed, request.workspaceLimit)) {
            reason->message = tactic->name() + ": " + reason->message;
            reason->facts = {{"tactic", tactic->name()}};
            out.reasons.push_back(std::move(*reason));
            continue;
        }
        out.tactic = tactic->name();
        out.facts = kernelFactsOf(tactic->facts(), "compiled");
        break;
    }
    return out;
}

/// Errors "library-missing", "nvrtc.arch".
Result<std::shared_ptr<Nvrtc>> compilerFor(const DeviceProfile& profile) {
    auto compiler = Nvrtc::open();
    if (!compiler)
        return compiler;
    const std::vector<std::string> known = (*compiler)->architectures();
    if (std::find(known.begin(), known.end(), profile.arch) == known.end())
        return failure(
            "nvrtc.arch",
            fmt::format("NVRTC {} does not know {}", (*compiler)->version(), profile.arch),
            profile.name, "install a CUDA toolkit that does, or name another --device");
    return compiler;
}

} // namespace

Result<CompiledPlan> compilePlan(const Plan& plan, const DeviceProfile& profile,
                                 const CudaOptions& options, Progress& progress) {
    auto nvrtc = compilerFor(profile);
    if (!nvrtc)
        return failure(nvrtc.error());
    CompiledPlan out;
    out.compiler = "NVRTC " + (*nvrtc)->version();
    auto cache = std::make_shared<CubinCache>(std::move(*nvrtc), cacheFolder(options.cache));
    const auto generated = makeGeneratedSource(cache);
    const RequestTarget target{profile, profile.arch, options.tune.workspaceLimit};
    ThreadPool threads(options.threads);
    out.steps.assign(plan.steps.size(), {"host", {}, {}});
    std::atomic<size_t> done = 0;
    threads.forRange(plan.steps.size(), 1, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end && !progress.cancelled(); ++i) {
            if (!onHost(plan, plan.steps[i]))
                out.steps[i] =
                    compileStep(*generated, requestOf(plan, plan.steps[i], target), progress);
            progress.report("compile kernels", ++done, plan.steps.size());
        }
    });
    if (progress.cancelled())
        return cancelledFailure("compile");
    out.compiled = cache->compiled();
    out.found = cache->found();
    return out;
}

} // namespace fuselage::gpu
