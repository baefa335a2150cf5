// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/gain.h"
#include "app/pipeline/reanalysis_internal.h"
#include "core/passes/precision.h"
#include "core/support/text.h"

#include <fmt/format.h>

#include <functional>

namespace fuselage::app {

namespace {

/// Fuse rules keep the bits, since plans hold them to their class; rewrites only where exact.
bool keepsBits(const Rule& rule) {
    return !rule.isRewrite || rule.numeric == NumericClass::Exact;
}

RuleSet exactRules(RuleSet rules) {
    std::erase_if(rules.rules, std::not_fn(keepsBits));
    return rules;
}

/// Whether a run with these options may apply what the plan holds.
Result<void> checkPlan(const FusePlan& plan, const RuleSet& rules, const FuseOptions& options) {
    if (!plan.precision.empty() && plan.precision != nameOf(options.precision))
        return failure("plan.precision",
                       fmt::format("the plan was written for {}, this run is {}", plan.precision,
                                   nameOf(options.precision)),
                       "", "give --precision " + plan.precision);
    for (const PlannedMatch& match : plan.matches)
        for (const Rule& rule : rules.rules)
            if (options.strict && rule.name == match.rule && !keepsBits(rule))
                return failure("plan.strict",
                               fmt::format("the plan has {}, a rewrite that is {}, not exact",
                                           matchText(match), nameOf(rule.numeric)),
                               "", "write the plan with --strict, or leave --strict out");
    return {};
}

} // namespace

Result<Rewritten> fuseGraph(const Graph& graph, const RuleLibrary& library,
                            const FuseOptions& options, Progress& progress) {
    return fuseGraph(graph, library, options, nullptr, progress);
}

Result<Rewritten> fuseGraph(const Graph& graph, const RuleLibrary& library,
                            const FuseOptions& options, RewriteMemo* memo, Progress& progress) {
    const RuleSet& rules = library.loaded.rules;
    const Pipeline* pipeline = findPipeline(rules, options.pipeline);
    if (pipeline == nullptr)
        return failure("usage.pipeline", "no pipeline `" + options.pipeline + "`", "",
                       "one of: " + joined(rules.pipelines, std::mem_fn(&Pipeline::name)));
    auto profile =
        options.device ? Result<DeviceProfile>(*options.device) : deviceProfile(options.profile);
    if (!profile)
        return failure(profile.error());
    EngineOptions engine;
    engine.decide = options.decide;
    engine.gain = makeGain(*profile, options.dims);
    engine.matcher.explain = options.explain;
    engine.disabled = options.disabled;
    Graph converted = graph.clone();
    if (auto done = setPrecision(converted, options.precision); !done)
        return failure(done.error());
    RuleSet exact = options.strict ? exactRules(rules) : RuleSet();
    const RuleSet& used = options.strict ? exact : rules;
    if (options.plan) {
        if (auto fits = checkPlan(*options.plan, rules, options); !fits)
            return failure(fits.error());
        return replay(std::move(converted), used, options.plan->matches, engine, progress);
    }
    return memo ? rewrite(std::move(converted), used, *pipeline, engine, *memo, progress)
                : rewrite(std::move(converted), used, *pipeline, engine, progress);
}

} // namespace fuselage::app
