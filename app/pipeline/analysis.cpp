// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/analysis.h"

#include "app/pipeline/foreign_rules.h"
#include "app/pipeline/stopwatch.h"
#include "app/pipeline/summary.h"
#include "core/rewrite/match_cache.h"
#include "core/support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>

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

/// `settled`: types and constants are as they will be with these sizes.
Result<std::shared_ptr<const Graph>> sizedGraph(std::shared_ptr<const Graph> graph, bool settled,
                                                const DimensionValues& dims, Progress& progress) {
    if (settled)
        return graph;
    auto out = withSizes(graph->clone(), dims, progress);
    if (!out)
        return failure(out.error());
    return std::make_shared<const Graph>(std::move(*out));
}

bool hasRewritten(const Trace& trace) {
    return std::any_of(trace.events.begin(), trace.events.end(), [](const TraceEvent& event) {
        return event.kind == TraceEvent::Kind::Rewritten;
    });
}

/// Of the profile the name: profiles of one name are equal while a program runs.
std::string optionsKey(const AnalysisOptions& options) {
    std::string out;
    appendSized(out, options.profile.name);
    appendSized(out, options.fuse.pipeline);
    appendSized(out, nameOf(options.fuse.decide));
    appendSized(out, nameOf(options.fuse.precision));
    out += options.fuse.strict ? 's' : '-';
    out += options.fuse.explain ? 'e' : '-';
    out += fmt::format("{};{};", options.fuse.searchSteps, options.fuse.ruleSteps);
    out += options.backend ? 'b' : '-';
    out += options.fuse.plan ? 'p' : '-';
    for (const PrecisionOf& each : options.fuse.precisionOf.of) {
        appendSized(out, each.nodes.text());
        out += each.wide ? 'w' : 'n';
    }
    out += options.fuse.precisionOf.restIsWide ? 'W' : '-';
    for (const auto& [symbol, value] : options.fuse.dims) {
        appendSized(out, symbol);
        out += std::to_string(value) + ";";
    }
    return out;
}

/// What the rules declare of operators: it changes the graph before any rule does.
std::string declaredKey(const RuleLibrary& library) {
    std::string out;
    for (const CustomOperatorPtr& declared : library.loaded.rules.operators) {
        appendSized(out, declared->text());
        for (const AttributeSchema& schema : declared->attributes)
            appendSized(out, schema.name + (schema.fallback ? text(*schema.fallback) : ""));
        appendSized(out, declared->body ? meaningKey(*declared->body) : "");
    }
    return out;
}

/// The model's graph with what the rules declare of its operators.
std::shared_ptr<const Graph> declaredGraph(const LoadedModel& model, const RuleLibrary& library,
                                           const std::shared_ptr<const Graph>& shared) {
    if (shared && library.loaded.rules.operators.empty())
        return shared;
    Graph out = model.graph.clone();
    enterDeclared(out, library);
    return std::make_shared<const Graph>(std::move(out));
}

/// `shared`: the model's graph; null: a copy is made.
Result<Analysis> analyseWith(const LoadedModel& model, const RuleLibrary& library,
                             const AnalysisOptions& options,
                             const std::shared_ptr<const Graph>& shared,
                             AnalysisCache::Known& known, Progress& progress) {
    auto dims = sizesOf(model, options.fuse.dims);
    if (!dims)
        return failure(dims.error());
    Analysis out;
    Report& report = out.report;
    report.stageSeconds = model.seconds;
    Stopwatch watch;
    if (!known.prepared) {
        auto prepared = prepare(declaredGraph(model, library, shared), *dims,
                                {options.fuse.precision, options.fuse.precisionOf});
        if (!prepared)
            return failure(prepared.error());
        if (auto said = requireAllSaid(*prepared); !said)
            return failure(said.error());
        known.prepared = std::make_shared<const Prepared>(std::move(*prepared));
    }
    const Prepared& prepared = *known.prepared;
    report.precision = summarisePrecision(prepared.precision);
    report.stageSeconds["precision"] = watch.lap();
    FuseOptions fusing = options.fuse;
    fusing.device = options.profile;
    fusing.gains = known.gains;
    auto rewritten = fuse(prepared, library, fusing, known.rewriting, progress);
    if (!rewritten)
        return failure(rewritten.error());
    out.fused = rewritten->known ? rewritten->known
                                 : std::make_shared<const Graph>(std::move(rewritten->graph));
    if (!fusing.plan) // whose matches are no state of the memo
        known.rewriting.keepLast(out.fused);
    if (!options.everyNearMiss && !rewritten->trace.nearMisses.empty())
        dropForeign(library.loaded.rules, operatorsIn(*prepared.graph), rewritten->trace);
    report.stageSeconds["fuse"] = watch.lap();

    PlanRequest request{&options.profile, options.backend, options.fuse.precision,
                        options.fuse.strict, numericClasses(library)};
    // A model is loaded prepared, and fusing alone neither changes types nor makes constants.
    const bool settled = dims->empty() && storageOf(options.fuse.precision) == DType::Float32;
    if (!known.before) {
        request.shapes = options.shapes ? &options.shapes->before : nullptr;
        auto graph = sizedGraph(prepared.graph, settled, *dims, progress);
        if (!graph)
            return failure(graph.error());
        auto side = planSide(std::move(*graph), Form::Unfused, request, progress);
        if (!side)
            return failure(side.error());
        known.before = std::move(*side);
    }
    report.stageSeconds["plan_unfused"] = watch.lap();
    // What a plan replays is not among what is remembered.
    const bool isNew =
        !known.after || known.afterState != known.rewriting.last() || fusing.plan.has_value();
    auto graph =
        isNew ? sizedGraph(out.fused, settled && !hasRewritten(rewritten->trace), *dims, progress)
              : Result<std::shared_ptr<const Graph>>(known.after->graph);
    if (!graph)
        return failure(graph.error());
    // What needs no plan is said while it is made.
    GraphReport drawn;
    std::future<void> beside =
        std::async(std::launch::async | std::launch::deferred, [&, planned = *graph] {
            drawn = summariseGraph(*planned);
            report.before = summariseSide(*known.before); // a copy to keep takes as much memory
            addSteps(library.loaded.rules, rewritten->trace, report);
        });
    if (isNew) {
        request.shapes = options.shapes ? &options.shapes->after : nullptr;
        auto side = planSide(std::move(*graph), Form::Fused, request, progress);
        if (!side)
            return failure(side.error());
        known.after = std::move(*side);
        known.afterState = known.rewriting.last();
    }
    beside.get();
    report.stageSeconds["plan_fused"] = watch.lap();

    out.before = *known.before;
    out.after = *known.after;
    out.dims = std::move(*dims);
    const Plan& fusedPlan = *out.after.plan;
    report.machine = summariseProfile(options.profile, options.fuse.precision);
    report.model = summariseModel(model, out.dims);
    report.after = summariseSide(out.after, std::move(drawn));
    report.splits = summariseSplits(fusedPlan);
    report.recomputes = summariseRecomputes(fusedPlan);
    report.groups = summariseGroups(fusedPlan);
    report.layouts = summariseLayouts(fusedPlan);
    report.sweeps = summariseSweeps(fusedPlan);
    report.rules = summariseRules(library.loaded.rules, *out.fused, rewritten->trace,
                                  *out.before.plan, fusedPlan);
    addMatches(rewritten->trace, report);
    out.trace = std::move(rewritten->trace);
    report.stageSeconds["summary"] = watch.lap();
    return out;
}

} // namespace

Result<Analysis> analyse(const LoadedModel& model, const RuleLibrary& library,
                         const AnalysisOptions& options, Progress& progress) {
    AnalysisCache::Known nothing;
    nothing.rewriting = RewriteMemo::none();
    return analyseWith(model, library, options, nullptr, nothing, progress);
}

Result<Analysis> analyse(const LoadedModel& model, const RuleLibrary& library,
                         const AnalysisOptions& options, AnalysisCache& cache, Progress& progress) {
    std::lock_guard lock(cache.m_running);
    if (progress.cancelled()) // while it waited
        return cancelledFailure("analysing");
    AnalysisCache::Known& known = cache.m_known;
    if (std::string key = optionsKey(options) + declaredKey(library); key != known.key) {
        known = {};
        known.key = std::move(key);
    }
    return analyseWith(model, library, options, cache.m_graph, known, progress);
}

} // namespace fuselage::app
