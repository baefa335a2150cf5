// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/gain.h"
#include "app/pipeline/reanalysis_internal.h"
#include "core/passes/precision.h"
#include "core/support/text.h"

#include <functional>

namespace fuselage::app {

namespace {

/// Rules that keep the bits: fuse rules, which plans hold to their class, and exact rewrites.
RuleSet exactRules(RuleSet rules) {
    std::erase_if(rules.rules, [](const Rule& rule) {
        return rule.isRewrite && rule.numeric != NumericClass::Exact;
    });
    return rules;
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
    if (options.decide != "rules" && options.decide != "cost")
        return failure("usage.decide", "no way to decide `" + options.decide + "`", "",
                       "one of: rules, cost");
    auto profile =
        options.device ? Result<DeviceProfile>(*options.device) : deviceProfile(options.profile);
    if (!profile)
        return failure(profile.error());
    EngineOptions engine;
    engine.decide = options.decide == "cost" ? Decide::Cost : Decide::Rules;
    engine.gain = makeGain(*profile, options.dims);
    engine.matcher.explain = options.explain;
    engine.disabled = options.disabled;
    Graph converted = graph.clone();
    if (auto done = setPrecision(converted, options.precision); !done)
        return failure(done.error());
    RuleSet exact = options.strict ? exactRules(rules) : RuleSet();
    const RuleSet& used = options.strict ? exact : rules;
    return memo ? rewrite(std::move(converted), used, *pipeline, engine, *memo, progress)
                : rewrite(std::move(converted), used, *pipeline, engine, progress);
}

} // namespace fuselage::app
