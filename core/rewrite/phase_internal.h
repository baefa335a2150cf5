// SPDX-License-Identifier: Apache-2.0
// One phase of a pipeline on one graph: levels of priority, rounds of match, select and apply, and
// what the Trace says about them. Used by the engine only.
#pragma once

#include "core/rewrite/replay.h"
#include "core/rewrite/rewrite_memo.h"

#include <map>
#include <span>
#include <unordered_map>
#include <unordered_set>

namespace fuselage {

/// Values that readers lost to others since the matches were found.
class Forwarding {
public:
    void add(const std::vector<std::pair<ValueId, ValueId>>& replaced) {
        for (const auto& [from, to] : replaced)
            m_to[from] = to;
    }

    ValueId resolve(ValueId value) const {
        for (auto found = m_to.find(value); found != m_to.end(); found = m_to.find(value))
            value = found->second;
        return value;
    }

    void resolve(Binding& binding) const {
        if (binding.kind == Binding::Kind::Value)
            binding.value = resolve(binding.value);
        for (Binding& item : binding.items)
            resolve(item);
    }

private:
    std::unordered_map<ValueId, ValueId> m_to;
};

/// The matches of a rule on the graph at the start of a phase; to say who took their nodes.
struct EarlyMatches {
    const Rule* rule;
    RewriteMemo::FoundPtr found;
};

/// A copy of the options that knows what roots stand for; both arguments must outlive it.
EngineOptions withRoots(const EngineOptions& options, const GraphTotals& totals);

using PlannedSpan = std::span<const PlannedMatch>;

class Phase {
public:
    /// `state`: of the graph, as the memo calls it.
    Phase(Graph& graph, Trace& trace, const RuleIndex& index, const PhaseStep& step,
          const EngineOptions& options, RewriteMemo& memo, RewriteMemo::State state,
          Progress& progress);

    /// Of a shared graph, which is copied into `graph` once something is made of it.
    Phase(std::shared_ptr<const Graph> shared, Graph& graph, Trace& trace, const RuleIndex& index,
          const PhaseStep& step, const EngineOptions& options, RewriteMemo& memo,
          RewriteMemo::State state, Progress& progress)
        : Phase(graph, trace, index, step, options, memo, state, progress) {
        m_shared = std::move(shared);
    }

    /// Errors: "cancelled".
    Result<void> run();

    /// That the graph is in now.
    RewriteMemo::State state() const { return m_state; }

    /// After run(): the graph where it is the shared one, or one that the memo knows; null: the
    /// caller's.
    std::shared_ptr<const Graph> known();

    /// These matches and no others (phase_replay.cpp). Errors: those of fuselage::replay.
    Result<void> replay(PlannedSpan plan);

private:
    using Rules = std::vector<const IndexedRule*>;
    using Replayable = std::map<std::pair<std::string, std::vector<std::string>>, Match>;

    /// A level that was taken over and whose matches are still to be applied.
    struct Waiting {
        RewriteMemo::LevelPtr level;
        Rules rules;
    };

    const Graph& graph() const;
    InferenceFunction inference() const;
    void show();
    Graph& own();
    Result<bool> level(const Rules& rules);
    bool takeOver(const RewriteMemo::LevelPtr& level, const Rules& rules);
    Result<bool> runLevel(const Rules& rules);
    void refreshFacts();
    Result<std::vector<Candidate>> findAll(const Rules& rules);
    void findEach(const Rules& rules, Matcher::Take take);
    void remember(const Rules& rules);
    void note(const IndexedRule& rule, MatchResult& found);
    bool isDisabled(const Match& match);
    std::optional<double> admit(const Match& match);
    // phase_gate.cpp, as admit
    bool refusesGate(const Match& match, const Gain* gain);
    void refuseGate(const Match& match, const Gain& gain, Reason reason,
                    std::optional<RuleEdit> edit);
    bool applyAll(std::vector<Candidate>& candidates, const std::vector<size_t>& chosen);
    bool applyOne(Candidate& candidate, Forwarding& forwarding);

    Replayable findReplayable(PlannedSpan plan);
    Result<size_t> replayStretch(PlannedSpan plan);
    Failure whyNotReplayed(const PlannedMatch& planned);
    const IndexedRule* ruleNamed(const std::string& name) const;

    // What the Trace says (phase_trace.cpp)
    TraceEvent eventOf(const Match& match, double gain) const;
    void refuse(const Match& match, Reason reason, double gain, std::optional<RuleEdit> edit = {});
    void refuseCycle(const Match& match, const std::vector<NodeId>& cycle, double gain);
    void stop(size_t from);
    void noteCut(uint32_t components);
    void noteEarlyMatches();
    void noteShadowed();
    void shadow(const Rule& rule, const std::vector<std::string>& nodes, size_t winner,
                int64_t priority);

    Graph& m_own;
    std::shared_ptr<const Graph> m_shared; ///< in place of m_own; null: that
    std::vector<Waiting> m_waiting;        ///< for m_shared or m_own
    std::shared_ptr<const Graph> m_shown;  ///< what will be when nothing waits; null: not looked at
    RewriteMemo::Level* m_level = nullptr; ///< that is to be remembered
    Trace& m_trace;
    PhaseStep m_step;
    const EngineOptions& m_options;
    RewriteMemo& m_memo;
    RewriteMemo::State m_state;
    Progress& m_progress;
    std::map<int64_t, Rules> m_levels; ///< by falling priority
    uint32_t m_iteration = 1;
    std::unique_ptr<GraphFacts> m_facts; ///< null after a change
    std::unique_ptr<Convexity> m_convexity;
    std::unordered_set<const IndexedRule*> m_seenMisses;
    std::unordered_set<std::string> m_refusals;
    std::vector<EarlyMatches> m_early;
    size_t m_firstEvent = 0;
};

} // namespace fuselage
