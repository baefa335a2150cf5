// SPDX-License-Identifier: Apache-2.0
// W0315: a phase that no pipeline runs. Without any pipeline nothing is said: rules of a part of a
// library do not know the one that will run them.
#include "dsl/lint.h"
#include "dsl/suggest.h"

#include <algorithm>

namespace fuselage::dsl {

void lintPhases(const LoadedRules& loaded, Diagnostics& out) {
    std::vector<std::string> phases;
    for (const Pipeline& pipeline : loaded.rules.pipelines)
        for (const PhaseStep& step : pipeline.steps)
            if (std::find(phases.begin(), phases.end(), step.phase) == phases.end())
                phases.push_back(step.phase);
    if (phases.empty())
        return;
    for (const Rule& rule : loaded.rules.rules) {
        if (std::find(phases.begin(), phases.end(), rule.phase) != phases.end())
            continue;
        Diagnostic& d = out.warning("W0315", rule.span,
                                    "rule `" + rule.name + "` never runs: no pipeline has phase `" +
                                        rule.phase + "`");
        d.found = rule.phase;
        d.expected = "one of " + listed(phases);
        d.fix = didYouMean(closest(rule.phase, phases),
                           "name one of these, or write a pipeline that has it");
    }
}

} // namespace fuselage::dsl
