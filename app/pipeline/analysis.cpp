// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/analysis.h"

#include "app/pipeline/stopwatch.h"
#include "app/pipeline/summary.h"
#include "core/passes/passes.h"
#include "core/passes/precision.h"

namespace fuselage::app {

namespace {

/// Symbols become numbers, shape arithmetic that depended on them is folded, then the plan is made.
Result<std::shared_ptr<const Plan>> planSide(Graph graph, const PlanOptions& planning,
                                             const std::map<std::string, int64_t>& dims,
                                             GraphReport& drawn, Progress& progress) {
    bindAllDimensions(graph, dims);
    if (auto prepared = prepareGraph(graph, progress); !prepared)
        return failure(prepared.error());
    drawn = summariseGraph(graph); // before the planner splits nodes
    return makePlan(std::make_shared<const Graph>(std::move(graph)), planning, progress);
}

} // namespace

Result<Analysis> analyse(const LoadedModel& model, const RuleLibrary& library,
                         const AnalysisOptions& options, Progress& progress) {
    Analysis out;
    Report& report = out.report;
    report.stageSeconds = model.seconds;
    Stopwatch watch;
    Graph original = model.graph.clone();
    auto precision = setPrecision(original, options.fuse.precision);
    if (!precision)
        return failure(precision.error());
    report.stageSeconds["precision"] = watch.lap();
    FuseOptions fusing = options.fuse;
    fusing.device = options.profile;
    fusing.precision = Precision::Fp32; // done, for both sides
    auto rewritten = fuseGraph(original, library, fusing, progress);
    if (!rewritten)
        return failure(rewritten.error());
    report.stageSeconds["fuse"] = watch.lap();

    Graph bound = original.clone();
    out.dims = bindAllDimensions(bound, options.fuse.dims);
    watch.lap();
    PlanOptions planning;
    planning.profile = &options.profile;
    planning.backend = options.backend;
    planning.stridedViews = false;
    planning.precision = options.fuse.precision;
    planning.strict = options.fuse.strict;
    planning.allowed = numericClasses(library);
    out.before = options.before;
    if (!out.before) {
        auto before =
            planSide(std::move(original), planning, out.dims, report.graphBefore, progress);
        if (!before)
            return failure(before.error());
        out.before = *before;
    } else {
        report.graphBefore = summariseGraph(*out.before->graph);
    }
    report.stageSeconds["plan_unfused"] = watch.lap();
    // A strict plan copies: a strided operand may be summed in another order.
    planning.stridedViews = !options.fuse.strict;
    planning.groupSmall = true;
    planning.sweeps = true;
    auto after = planSide(rewritten->graph, planning, out.dims, report.graphAfter, progress);
    if (!after)
        return failure(after.error());
    out.after = *after;
    report.stageSeconds["plan_fused"] = watch.lap();

    report.machine = summariseProfile(options.profile);
    report.model = summariseModel(model, out.dims);
    report.precision = summarisePrecision(*precision);
    report.before = summariseSide(*out.before);
    report.after = summariseSide(*out.after);
    report.kernelsBefore = summariseKernels(*out.before);
    report.kernels = summariseKernels(*out.after);
    report.rules = summariseRules(library.loaded.rules, *rewritten, *out.before, *out.after);
    report.splits = summariseSplits(*out.after);
    report.groups = summariseGroups(*out.after);
    addMatches(rewritten->trace, report);
    locateNearMisses(library.loaded.rules, report);
    out.fused = std::move(rewritten->graph);
    out.trace = std::move(rewritten->trace);
    return out;
}

} // namespace fuselage::app
