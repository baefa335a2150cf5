// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/fuse.h"

#include "app/pipeline/gain.h"
#include "core/graph/bodies.h"
#include "core/graph/verify.h"
#include "core/rewrite/custom_body.h"
#include "core/rewrite/engine.h"
#include "core/support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace fuselage::app {

namespace {

RuleSet exactRules(RuleSet rules) {
    std::erase_if(rules.rules, std::not_fn(keepsBits));
    return rules;
}

/// Whether a run with these options may apply what the plan holds.
Result<void> checkPlan(const FusePlan& plan, const RuleSet& rules, Precision precision,
                       bool strict) {
    if (!plan.precision.empty() && plan.precision != nameOf(precision))
        return failure("plan.precision",
                       fmt::format("the plan was written for {}, this run is {}", plan.precision,
                                   nameOf(precision)),
                       "", "give --precision " + plan.precision);
    for (const PlannedMatch& match : plan.matches)
        for (const Rule& rule : rules.rules)
            if (strict && rule.name == match.rule && !keepsBits(rule))
                return failure("plan.strict",
                               fmt::format("the plan has {}, a rewrite that is {}, not exact",
                                           matchText(match), nameOf(rule.numeric)),
                               "", "write the plan with --strict, or leave --strict out");
    return {};
}

/// Rules that want every match of theirs measured go by cost where nothing can be.
Result<GainMeasuring> measuringFor(const RuleLibrary& library, const FuseOptions& options,
                                   const MatchPlanning& planning, const DeviceProfile& profile,
                                   Progress& progress) {
    const bool asked = options.decide == Decide::Measure;
    const std::vector<Rule>& rules = library.loaded.rules.rules;
    if (!asked && std::none_of(rules.begin(), rules.end(),
                               [](const Rule& rule) { return rule.gate.measured; }))
        return GainMeasuring{};
    auto made = gainMeasurer(options.measuring, planning, profile, progress);
    if (made)
        return GainMeasuring{std::move(*made), asked};
    if (asked)
        return failure(made.error());
    return GainMeasuring{};
}

} // namespace

void enterDeclared(Graph& graph, const RuleLibrary& library) {
    enterBodies(graph, library.loaded.rules.operators, inferShapes);
}

void enterDeclared(LoadedModel& model, const RuleLibrary& library) {
    enterDeclared(model.graph, library);
    const auto& declared = library.loaded.rules.operators;
    auto note = [&](const Graph& graph, const std::string& path) {
        for (NodeId id : topologicalOrder(graph)) {
            const Node& node = graph.node(id);
            if (node.op == Op::Unknown &&
                std::any_of(declared.begin(), declared.end(),
                            [&](const auto& each) { return each->body && each->is(node); }))
                model.notes.push_back(fmt::format("`{}{}` is kept and not computed: {}", path,
                                                  node.name, node.notComputed));
        }
    };
    note(model.graph, "");
    for (const BodyPlace& place : bodiesOf(model.graph))
        note(*place.graph, place.path);
}

FuseOptions timedAs(FuseOptions options, const CompileOptions& run) {
    options.measuring.backend = run.backend;
    options.measuring.threads = run.threads;
    return options;
}

bool keepsBits(const Rule& rule) {
    return !rule.isRewrite || rule.numeric == NumericClass::Exact;
}

Result<Rewritten> fuse(const Prepared& prepared, const RuleLibrary& library,
                       const FuseOptions& options, RewriteMemo& memo, Progress& progress) {
    const RuleSet& rules = library.loaded.rules;
    const Pipeline* pipeline = findPipeline(rules, options.pipeline);
    if (pipeline == nullptr)
        return failure("usage.pipeline", "no pipeline `" + options.pipeline + "`", "",
                       "one of: " + joined(rules.pipelines, std::mem_fn(&Pipeline::name)));
    auto profile =
        options.device ? Result<DeviceProfile>(*options.device) : deviceProfile(options.profile);
    if (!profile)
        return failure(profile.error());
    const MatchPlanning planning{prepared.precision.precision, options.strict,
                                 numericClasses(library)};
    auto measuring = measuringFor(library, options, planning, *profile, progress);
    if (!measuring)
        return failure(measuring.error());
    EngineOptions engine =
        engineOptions(*profile, prepared.dims, planning, std::move(*measuring), options.gains);
    engine.decide = options.decide;
    engine.matcher.explain = options.explain;
    engine.matcher.budget = options.searchSteps;
    engine.matcher.ruleBudget = options.ruleSteps;
    engine.disabled = options.disabled;
    RuleSet exact = options.strict ? exactRules(rules) : RuleSet();
    const RuleSet& used = options.strict ? exact : rules;
    if (!options.plan)
        return rewrite(prepared.graph, used, *pipeline, engine, memo, progress);
    const Precision precision = prepared.precision.precision;
    if (auto fits = checkPlan(*options.plan, rules, precision, options.strict); !fits)
        return failure(fits.error());
    return replay(prepared.graph->clone(), used, options.plan->matches, engine, progress);
}

Result<Rewritten> fuseGraph(const Graph& graph, const RuleLibrary& library,
                            const FuseOptions& options, Progress& progress) {
    if (auto sound = verify(graph); !sound)
        return failure(sound.error());
    for (const auto& [name, size] : options.dims)
        if (size < 0)
            return failure("dim.negative",
                           "dimension `" + name + "` cannot be " + std::to_string(size), "",
                           "give a number of at least 0");
    // It outlives what is prepared of it, which need not be a copy then.
    const std::shared_ptr<const Graph> lent(std::shared_ptr<const Graph>(), &graph);
    auto prepared = prepare(lent, options.dims, {options.precision, options.precisionOf});
    if (!prepared)
        return failure(prepared.error());
    if (auto said = requireAllSaid(*prepared); !said)
        return failure(said.error());
    RewriteMemo none = RewriteMemo::none();
    return fuse(*prepared, library, options, none, progress);
}

} // namespace fuselage::app
