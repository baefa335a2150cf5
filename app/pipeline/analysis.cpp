// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/reanalysis_internal.h"
#include "app/pipeline/stopwatch.h"
#include "app/pipeline/summary.h"
#include "core/passes/passes.h"
#include "core/passes/precision.h"
#include "core/passes/specialise.h"

#include <algorithm>

namespace fuselage::app {

namespace {

/// What every symbol of the inputs is bound to. A loaded model has them; one that was made here
/// gets them here.
Result<DimensionValues> sizesOf(const LoadedModel& model, const DimensionValues& given) {
    DimensionValues known = given;
    known.insert(model.dims.begin(), model.dims.end());
    auto chosen = chooseDimensions(model.graph, known);
    if (!chosen)
        return failure(chosen.error());
    return std::move(chosen->values);
}

/// What both sides are planned with.
struct Planning {
    PlanOptions options;
    const RunShapes* shapes = nullptr;
};

/// Symbols become numbers, shape arithmetic that depended on them is folded, then the plan is made.
/// `prepared`: without symbols there is nothing to infer or fold.
Result<std::shared_ptr<const Plan>> planSide(Graph graph, bool prepared, const Planning& planning,
                                             const std::map<std::string, int64_t>& dims,
                                             GraphReport& drawn, AssumedShapes& assumed,
                                             Progress& progress) {
    if (!dims.empty())
        bindAllDimensions(graph, dims);
    if (!prepared || !dims.empty())
        if (auto done = prepareGraph(graph, progress); !done)
            return failure(done.error());
    drawn = summariseGraph(graph); // before the planner splits nodes
    if (planning.shapes) {
        auto taken = specialise(graph, *planning.shapes, progress);
        if (!taken)
            return failure(taken.error());
        assumed = std::move(*taken);
    }
    return makePlan(std::make_shared<const Graph>(std::move(graph)), planning.options, progress);
}

/// The side before fusion, and all of the report that depends on its plan alone.
Result<void> planBefore(Graph original, bool prepared, const Planning& planning, Analysis& out,
                        Progress& progress) {
    Report& report = out.report;
    auto before = planSide(std::move(original), prepared, planning, out.dims, report.graphBefore,
                           out.assumedBefore, progress);
    if (!before)
        return failure(before.error());
    out.before = *before;
    report.machine = summariseProfile(*planning.options.profile);
    report.before = summariseSide(*out.before);
    report.kernelsBefore = summariseKernels(*out.before);
    return {};
}

/// What planBefore, the precision and the choice of dimensions set.
void copyBefore(const Analysis& from, Analysis& to) {
    to.before = from.before;
    to.dims = from.dims;
    to.report.precision = from.report.precision;
    to.report.graphBefore = from.report.graphBefore;
    to.report.machine = from.report.machine;
    to.report.before = from.report.before;
    to.report.kernelsBefore = from.report.kernelsBefore;
}

/// The side after fusion, and all of the report that depends on its plan alone.
Result<void> planAfter(const Graph& fused, bool prepared, Planning planning, Analysis& out,
                       Progress& progress) {
    // A strict plan copies: a strided operand may be summed in another order.
    planning.options.stridedViews = !planning.options.strict;
    planning.options.groupSmall = true;
    planning.options.sweeps = true;
    Report& report = out.report;
    auto after = planSide(fused, prepared, planning, out.dims, report.graphAfter, out.assumedAfter,
                          progress);
    if (!after)
        return failure(after.error());
    out.after = *after;
    report.after = summariseSide(*out.after);
    report.kernels = summariseKernels(*out.after);
    report.splits = summariseSplits(*out.after);
    report.groups = summariseGroups(*out.after);
    return {};
}

void copyAfter(const Analysis& from, Analysis& to) {
    to.after = from.after;
    to.report.graphAfter = from.report.graphAfter;
    to.report.after = from.report.after;
    to.report.kernels = from.report.kernels;
    to.report.splits = from.report.splits;
    to.report.groups = from.report.groups;
}

/// The model in the precision asked for; null when that is how it is already known to be.
Result<std::unique_ptr<Graph>> converted(const LoadedModel& model, const AnalysisOptions& options,
                                         const AnalysisMemo* memo, Report& report) {
    bool wide = storageOf(options.fuse.precision) == DType::Float32;
    if (wide && memo && memo->before)
        return std::unique_ptr<Graph>();
    auto out = std::make_unique<Graph>(model.graph.clone());
    auto precision = setPrecision(*out, options.fuse.precision);
    if (!precision)
        return failure(precision.error());
    report.precision = summarisePrecision(*precision);
    return out;
}

bool hasRewritten(const Trace& trace) {
    return std::any_of(trace.events.begin(), trace.events.end(), [](const TraceEvent& event) {
        return event.kind == TraceEvent::Kind::Rewritten;
    });
}

} // namespace

Result<Analysis> analyse(const LoadedModel& model, const RuleLibrary& library,
                         const AnalysisOptions& options, Progress& progress) {
    return analyse(model, library, options, nullptr, progress);
}

Result<Analysis> analyse(const LoadedModel& model, const RuleLibrary& library,
                         const AnalysisOptions& options, AnalysisMemo* memo, Progress& progress) {
    auto dims = sizesOf(model, options.fuse.dims);
    if (!dims)
        return failure(dims.error());
    Analysis out;
    Report& report = out.report;
    report.stageSeconds = model.seconds;
    Stopwatch watch;
    auto changed = converted(model, options, memo, report);
    if (!changed)
        return failure(changed.error());
    const Graph& original = *changed ? **changed : model.graph;
    report.stageSeconds["precision"] = watch.lap();
    FuseOptions fusing = options.fuse;
    fusing.device = options.profile;
    fusing.dims = *dims;
    fusing.precision = Precision::Fp32; // done, for both sides
    auto rewritten =
        fuseGraph(original, library, fusing, memo ? &memo->rewriting : nullptr, progress);
    if (!rewritten)
        return failure(rewritten.error());
    report.stageSeconds["fuse"] = watch.lap();

    Planning planning{{}, options.shapes};
    planning.options.profile = &options.profile;
    planning.options.backend = options.backend;
    planning.options.stridedViews = false;
    planning.options.precision = options.fuse.precision;
    planning.options.strict = options.fuse.strict;
    planning.options.allowed = numericClasses(library);
    // Who keeps a memo has a prepared model, and fusing alone neither changes types nor makes
    // constants.
    bool prepared = memo && storageOf(options.fuse.precision) == DType::Float32;
    if (memo && memo->before) {
        copyBefore(*memo->before, out);
    } else {
        out.dims = *dims;
        if (auto done = planBefore(std::move(**changed), prepared, planning, out, progress); !done)
            return failure(done.error());
        if (memo)
            copyBefore(out, *(memo->before = std::make_unique<Analysis>()));
    }
    report.stageSeconds["plan_unfused"] = watch.lap();
    if (memo && memo->after && memo->afterState == memo->rewriting.last()) {
        copyAfter(*memo->after, out);
    } else {
        prepared = prepared && !hasRewritten(rewritten->trace);
        if (auto done = planAfter(rewritten->graph, prepared, planning, out, progress); !done)
            return failure(done.error());
        if (memo) {
            memo->afterState = memo->rewriting.last();
            copyAfter(out, *(memo->after = std::make_unique<Analysis>()));
        }
    }
    report.stageSeconds["plan_fused"] = watch.lap();

    report.model = summariseModel(model, out.dims);
    report.rules = summariseRules(library.loaded.rules, *rewritten, *out.before, *out.after);
    addMatches(rewritten->trace, report);
    locateNearMisses(library.loaded.rules, report);
    out.fused = std::move(rewritten->graph);
    out.trace = std::move(rewritten->trace);
    report.stageSeconds["summary"] = watch.lap();
    return out;
}

} // namespace fuselage::app
