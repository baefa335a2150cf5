// SPDX-License-Identifier: Apache-2.0
#include "gpu/compiled_plan.h"

#include "core/support/parallel.h"
#include "gpu/runtime/cubin_cache.h"
#include "gpu/runtime/generated_tactic.h"
#include "gpu/runtime/host_tactic.h"
#include "gpu/runtime/plan_steps.h"
#include "gpu/tune/tune_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

namespace fuselage::gpu {

namespace {

/// What the steps are compiled with.
struct Compiler {
    const Plan& plan;
    RequestTarget target;
    TuneContext choosing;
    std::unique_ptr<TacticSource> generated, host;

    CompiledStep compile(const Step& step, Progress& progress) const;
};

/// Every kernel that could compute the step, and the host's functions as the last resort; the one
/// that prediction puts first is built.
CompiledStep Compiler::compile(const Step& step, Progress& progress) const {
    const TacticRequest request = requestOf(plan, step, target);
    TuneTask task;
    task.step = step.name;
    task.allowed = request.emit.allowed;
    task.predicted = step.predicted;
    task.tactics = generated->candidates(request);
    for (auto& candidate : host->candidates(request).candidates)
        task.tactics.candidates.push_back(std::move(candidate));
    std::vector<TuneTask> tasks;
    tasks.push_back(std::move(task));
    TimingCache unmeasured;
    auto tuned = tuneSteps(std::move(tasks), choosing, unmeasured, progress);
    if (!tuned)
        return {"", {}, {{tuned.error().code, tuned.error().message, tuned.error().fix, {}}}};
    TunedStep& chosen = tuned->front();
    const TacticFacts facts = chosen.tactic->facts();
    CompiledStep out{chosen.tactic->name(), {}, std::move(chosen.reasons)};
    if (!facts.fallback)
        out.facts = kernelFactsOf(facts, "compiled");
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
    auto cache = std::make_shared<CubinCache>(std::move(*nvrtc), options.cache == "none" ? ""
                                                                 : options.cache.empty()
                                                                     ? defaultCacheFolder()
                                                                     : options.cache);
    auto threads = std::make_shared<ThreadPool>(options.threads);
    Compiler compiler{plan,
                      {profile, profile.arch, options.tune.workspaceLimit},
                      {},
                      makeGeneratedSource(cache),
                      makeHostSource(threads)};
    compiler.choosing.options.workspaceLimit = options.tune.workspaceLimit;
    compiler.choosing.overlap = profile.overlap;
    compiler.choosing.threads = 1; // of one step; steps go side by side
    out.steps.assign(plan.steps.size(), {"host", {}, {}});
    std::atomic<size_t> done = 0;
    threads->forRange(plan.steps.size(), 1, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end && !progress.cancelled(); ++i) {
            if (!onHost(plan, plan.steps[i]))
                out.steps[i] = compiler.compile(plan.steps[i], progress);
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
