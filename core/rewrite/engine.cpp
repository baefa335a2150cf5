// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/engine.h"

#include "core/rewrite/phase_internal.h"

namespace fuselage {

Result<Rewritten> rewrite(Graph graph, const RuleSet& rules, const Pipeline& pipeline,
                          const EngineOptions& options, Progress& progress) {
    if (options.decide == Decide::Cost && !options.gain)
        return failure("rewrite.gain", "deciding by cost needs a cost model", pipeline.name);
    RuleIndex index(rules);
    Rewritten out{std::move(graph), {}};
    for (size_t i = 0; i < pipeline.steps.size(); ++i) {
        progress.report("phase " + pipeline.steps[i].phase, i, pipeline.steps.size());
        Phase phase(out.graph, out.trace, index, pipeline.steps[i], options, progress);
        Result<void> done = phase.run();
        if (!done)
            return failure(done.error());
        if (progress.cancelled())
            return cancelledFailure("rewriting");
        out.graph.removeDead();
    }
    return out;
}

const Pipeline* findPipeline(const RuleSet& rules, std::string_view name) {
    for (const Pipeline& pipeline : rules.pipelines)
        if (pipeline.name == name)
            return &pipeline;
    return nullptr;
}

} // namespace fuselage
