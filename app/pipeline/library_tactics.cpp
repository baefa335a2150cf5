// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/library_tactics.h"

#include "app/pipeline/analysis.h"
#include "app/pipeline/model.h"
#include "gpu/backend/plan_steps.h"
#include "gpu/backend/planning_backend.h"
#include "gpu/libs/library_support.h"

namespace fuselage::app {

#if FUSELAGE_HAS_CUDA

namespace {

bool isAsked(const KernelProgram& program) {
    return std::holds_alternative<Contraction>(program.code) ||
           std::holds_alternative<Attention>(program.code);
}

StepTactics askStep(const Plan& plan, const Step& step, const LibraryTacticsOptions& options,
                    gpu::LibraryPlanner& planner) {
    StepTactics out{step.name, step.rule, nameOf(kindOf(step.program)), isAsked(step.program), {}};
    if (!out.asked)
        return out;
    gpu::KernelRequest request = gpu::stepRequest(plan, step);
    request.workspaceLimit = options.workspaceLimit;
    if (options.fuse.precision == Precision::Tf32) {
        request.tf32 = true;
        request.allowed = NumericClass::Approximate;
    }
    for (const gpu::LibrarySupport& support : planner.support(request, options.finish))
        out.answers.push_back({support.library, support.supported(), gpu::text(support)});
    return out;
}

} // namespace

Result<LibraryTactics> libraryTactics(const LibraryTacticsOptions& options, Progress& progress) {
    auto profile = deviceProfile(options.device);
    if (!profile)
        return failure(profile.error());
    if (profile->kind != DeviceKind::Gpu)
        return failure("usage.device", "`" + options.device + "` is not a GPU", "--device",
                       "`fuselage devices` lists the profiles");
    auto library = requireRuleLibrary(options.rules);
    if (!library)
        return failure(library.error());
    ModelRequest request{options.model, options.fuse.dims};
    readFor(*library, options.fuse.pipeline, request);
    auto model = loadModel(request, progress);
    if (!model)
        return failure(model.error());
    auto planner = gpu::LibraryPlanner::make(*profile);
    if (!planner)
        return failure(planner.error());
    auto backend = gpu::makePlanningBackend(*profile);
    auto analysis = analyse(*model, *library, {options.fuse, *profile, backend.get()}, progress);
    if (!analysis)
        return failure(analysis.error());
    LibraryTactics out;
    out.description = (*planner)->description();
    out.asksCompiling = (*planner)->asksCompilingEngines();
    const Plan& plan = *analysis->after.plan;
    for (size_t i = 0; i < plan.steps.size(); ++i) {
        if (progress.cancelled())
            return cancelledFailure("asking libraries");
        progress.report("asking libraries", i, plan.steps.size());
        out.steps.push_back(askStep(plan, plan.steps[i], options, **planner));
    }
    return out;
}

#else

Result<LibraryTactics> libraryTactics(const LibraryTacticsOptions& options, Progress& progress) {
    (void)options, (void)progress;
    return failure("library-missing", "this program was built without the CUDA backend", {},
                   "build it with FUSELAGE_GPU=ON");
}

#endif

} // namespace fuselage::app
