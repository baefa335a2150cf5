// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/precision_rules.h"

#include <algorithm>

namespace fuselage::app {

namespace {

Failure noSuchRule(const PrecisionOf& asked, const RuleLibrary& library) {
    const auto& rules = library.loaded.rules.rules;
    const bool known = std::any_of(rules.begin(), rules.end(),
                                   [&](const Rule& rule) { return rule.name == asked.rule; });
    return failure("precision.rule",
                   known ? "rule `" + asked.rule + "` takes no node of this model"
                         : "there is no rule `" + asked.rule + "`",
                   "--precision-of", "`fuselage fuse MODEL` lists the rules that take some");
}

} // namespace

bool namesRules(const PrecisionExceptions& exceptions) {
    return std::any_of(exceptions.of.begin(), exceptions.of.end(),
                       [](const PrecisionOf& each) { return !each.rule.empty(); });
}

Result<void> lookUpRules(const LoadedModel& model, const RuleLibrary& library, FuseOptions& options,
                         Progress& progress) {
    if (!namesRules(options.precisionOf))
        return {};
    FuseOptions plain = options;
    plain.precision = Precision::Fp32;
    plain.precisionOf = {};
    plain.dims = model.dims;
    plain.plan = {};
    auto fused = fuseGraph(model.graph, library, plain, progress);
    if (!fused)
        return failure(fused.error());
    for (PrecisionOf& each : options.precisionOf.of) {
        if (each.rule.empty())
            continue;
        std::set<std::string> nodes;
        for (NodeId id : fused->graph.nodes())
            if (const Provenance& from = fused->graph.node(id).provenance; from.rule == each.rule)
                nodes.insert(from.sources.begin(), from.sources.end());
        if (nodes.empty())
            return noSuchRule(each, library);
        each.nodes = NodeChoice::ofNames("rule:" + each.rule, std::move(nodes));
        each.rule.clear();
    }
    return {};
}

} // namespace fuselage::app
