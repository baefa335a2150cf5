// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/engine.h"

#include "core/graph/bodies.h"
#include "core/rewrite/body_trace_internal.h"
#include "core/rewrite/custom_body.h"
#include "core/rewrite/phase_internal.h"
#include "core/support/hash.h"

namespace fuselage {

namespace {

/// Runs phases one after the other; those that the memo knows are taken from it.
class Run {
public:
    Run(std::shared_ptr<const Graph> graph, const RuleSet& rules, const RuleIndex& index,
        const EngineOptions& options, RewriteMemo& memo, Progress& progress)
        : m_index(index), m_totals(totalsOf(*graph)), m_options(withRoots(options, m_totals)),
          m_memo(memo), m_progress(progress), m_latest(std::move(graph)) {
        m_memo.begin(m_index);
        m_isPlain = rules.operators.empty() && bodiesOf(*m_latest).empty();
        if (m_isPlain)
            return;
        m_out.graph = m_latest->clone();
        m_latest = nullptr;
        enter(rules);
    }

    Run(Graph graph, const RuleSet& rules, const RuleIndex& index, const EngineOptions& options,
        RewriteMemo& memo, Progress& progress)
        : m_index(index), m_totals(totalsOf(graph)), m_options(withRoots(options, m_totals)),
          m_memo(memo), m_progress(progress), m_out{std::move(graph), {}} {
        m_memo.begin(m_index);
        enter(rules);
    }

    Result<Rewritten> phases(const Pipeline& pipeline) {
        for (size_t i = 0; i < pipeline.steps.size(); ++i) {
            m_progress.report("phase " + pipeline.steps[i].phase, i, pipeline.steps.size());
            if (auto done = phase(pipeline.steps[i], i + 1 == pipeline.steps.size()); !done)
                return failure(done.error());
        }
        return finish();
    }

private:
    void enter(const RuleSet& rules) {
        enterBodies(m_out.graph, rules.operators, m_options.infer ? m_options.infer : inferShapes);
        takeCapturedConstants(m_out.graph);
    }

    Result<void> phase(const PhaseStep& step, bool isLast) {
        std::string key =
            m_memo.remembers() ? m_memo.keyOf(step, rulesOf(step), m_options) : std::string();
        if (const auto* known = m_memo.outcome(m_state, key)) {
            m_latest = known->graph ? known->graph : m_latest;
            m_keptNodes = known->keptNodes && (m_keptNodes || known->state != m_state);
            m_state = known->state;
            m_isClean = true;
            append(m_out.trace, known->trace);
            return {};
        }
        if (!m_isPlain)
            if (auto latest = std::exchange(m_latest, nullptr))
                m_out.graph = latest->clone();
        Trace trace;
        const size_t values = (m_latest ? *m_latest : m_out.graph).values().size();
        Result<RewriteMemo::State> inside = m_isPlain ? m_state : inBodies(step, trace);
        if (!inside)
            return failure(inside.error());
        Phase phase(std::move(m_latest), m_out.graph, trace, m_index, step, m_options, m_memo,
                    *inside, m_progress);
        if (Result<void> done = phase.run(); !done)
            return done;
        if (m_progress.cancelled())
            return cancelledFailure("rewriting");
        m_latest = phase.known();
        if (m_latest && !m_isClean)
            m_out.graph = std::exchange(m_latest, nullptr)->clone();
        m_isClean = true;
        const bool keptNodes = m_latest || m_out.graph.removeDead() == 0;
        m_keptNodes = keptNodes && (m_keptNodes || phase.state() != m_state);
        // The last graph is the caller's: a copy would be dear and rarely asked for.
        if (m_memo.remembers() && !isLast) {
            const bool same =
                phase.state() == m_state && (m_latest || m_out.graph.values().size() == values);
            m_memo.keep(m_state, key,
                        {same       ? nullptr
                         : m_latest ? m_latest
                                    : std::make_shared<const Graph>(m_out.graph),
                         phase.state(), trace, keptNodes});
        }
        m_state = phase.state();
        append(m_out.trace, std::move(trace));
        return {};
    }

    Rewritten finish() {
        m_memo.finish(m_state, m_isPlain && m_keptNodes);
        if (m_isPlain && m_memo.remembers())
            m_out.known = std::move(m_latest);
        else if (m_latest)
            m_out.graph = m_latest->clone();
        returnCapturedConstants(m_out.graph);
        return std::move(m_out);
    }

    /// The phase in every body, each like a graph of its own; the state that follows from what that
    /// did.
    Result<RewriteMemo::State> inBodies(const PhaseStep& step, Trace& trace) {
        RewriteMemo::State state = m_state;
        auto change = [&](Graph& body, const std::string& path, NodeId node) -> Result<bool> {
            const auto start = Hasher().number(m_state).text(path).number(node.index()).value();
            const EngineOptions options = optionsInside(m_options, path);
            Trace inside;
            Phase phase(body, inside, m_index, step, options, m_memo, start, m_progress);
            if (Result<void> done = phase.run(); !done)
                return failure(done.error());
            const bool changed = appliedAny(inside);
            if (changed) {
                body.removeDead();
                state = Hasher().number(state).number(phase.state()).value();
            }
            append(trace, withPath(std::move(inside), path));
            return changed;
        };
        if (auto done = changeBodies(m_out.graph, change); !done)
            return failure(done.error());
        return state;
    }

    std::vector<const Rule*> rulesOf(const PhaseStep& step) const {
        std::vector<const Rule*> out;
        for (const auto& rule : m_index.rules())
            if (rule->rule().phase == step.phase)
                out.push_back(&rule->rule());
        return out;
    }

    const RuleIndex& m_index;
    const GraphTotals m_totals;
    const EngineOptions m_options;
    RewriteMemo& m_memo;
    Progress& m_progress;
    Rewritten m_out;
    std::shared_ptr<const Graph> m_latest; ///< the caller's or the memo's, in place of m_out.graph
    bool m_isPlain = false;                ///< no graphs in the graph, and no operators with bodies
    bool m_isClean = false;                ///< what was dead in the caller's graph is gone
    bool m_keptNodes = true; ///< since the state came up no node was dead at the end of a phase
    RewriteMemo::State m_state = 0;
};

template <typename GraphToRewrite>
Result<Rewritten> rewritten(GraphToRewrite graph, const RuleSet& rules, const RuleIndex& index,
                            const Pipeline& pipeline, const EngineOptions& options,
                            RewriteMemo& memo, Progress& progress) {
    if (options.decide != Decide::Rules && !options.gain)
        return failure("rewrite.gain", "deciding by cost needs a cost model", pipeline.name);
    return Run(std::move(graph), rules, index, options, memo, progress).phases(pipeline);
}

} // namespace

Result<Rewritten> rewrite(std::shared_ptr<const Graph> graph, const RuleSet& rules,
                          const Pipeline& pipeline, const EngineOptions& options, RewriteMemo& memo,
                          Progress& progress) {
    return rewritten(std::move(graph), rules, RuleIndex(rules), pipeline, options, memo, progress);
}

EngineOptions withRoots(const EngineOptions& options, const GraphTotals& totals) {
    EngineOptions out = options;
    out.matcher.roots = {nullptr, options.device ? &*options.device : nullptr, &totals};
    return out;
}

Result<Rewritten> rewrite(Graph graph, const RuleSet& rules, const Pipeline& pipeline,
                          const EngineOptions& options, Progress& progress) {
    return rewrite(std::move(graph), rules, RuleIndex(rules), pipeline, options, progress);
}

Result<Rewritten> rewrite(Graph graph, const RuleSet& rules, const RuleIndex& index,
                          const Pipeline& pipeline, const EngineOptions& options,
                          Progress& progress) {
    RewriteMemo none = RewriteMemo::none();
    return rewritten(std::move(graph), rules, index, pipeline, options, none, progress);
}

const Pipeline* findPipeline(const RuleSet& rules, std::string_view name) {
    for (const Pipeline& pipeline : rules.pipelines)
        if (pipeline.name == name)
            return &pipeline;
    return nullptr;
}

} // namespace fuselage
