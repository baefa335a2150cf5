// SPDX-License-Identifier: Apache-2.0
// What rewrite() found on one graph, for the next run on the same graph with other rules: whole
// phases whose rules did not change, levels of a phase in front of the first change, and matches of
// unchanged rules on states of the graph that come back. A run with a memo gives the very result of
// a run without.
#pragma once

#include "core/rewrite/engine_options.h"

#include <map>
#include <memory>
#include <unordered_map>

namespace fuselage {

class RewriteMemo {
public:
    /// A state of the graph: what was applied since the beginning, as a hash.
    using State = uint64_t;
    using RuleNumber = uint32_t;

    /// All matches of a rule on one state, and the names of their nodes.
    struct Found {
        MatchResult result;                          ///< `rule` of its matches is not set
        std::vector<std::vector<std::string>> names; ///< parallel to result.matches
    };
    using FoundPtr = std::shared_ptr<const Found>;

    /// What a phase made of its graph.
    struct Outcome {
        std::shared_ptr<const Graph> graph; ///< null: the graph it was given
        State state = 0;
        Trace trace;           ///< of this phase alone
        bool keptNodes = true; ///< no node of its graph was dead at its end
    };

    /// A match as it was applied; `rule` is not set.
    struct AppliedMatch {
        Match match;
        RuleNumber rule = 0;
    };

    /// What the rules of one priority did in a phase that does not repeat.
    struct Level {
        std::vector<State> before; ///< in which their matches were looked for
        State state = 0;           ///< that they left
        std::vector<AppliedMatch> applied;
        Trace trace; ///< of this level alone
    };
    using LevelPtr = std::shared_ptr<const Level>;

    RewriteMemo() = default;

    /// Knows nothing and keeps nothing: for a run that stands alone.
    static RewriteMemo none() {
        RewriteMemo out;
        out.m_remembers = false;
        return out;
    }

    /// False: keeping is in vain, and what would be kept need not be made.
    bool remembers() const { return m_remembers; }

    /// Begins a run. The graph and all options besides `disabled` must be those of the run before.
    void begin(const RuleIndex& index);

    /// The run came to its end: forgets what it did not use. `isReadable`: no node was dead in the
    /// graph of its last state.
    void finish(State last, bool isReadable);

    /// The graph of the run that came to its end last, for reading when its state comes back.
    void keepLast(std::shared_ptr<const Graph> graph);

    /// Null when not known. Without initializers that nothing reads: names that changes make up
    /// could be others.
    std::shared_ptr<const Graph> graphOf(State state) const {
        return state == m_lastGraphState ? m_lastGraph : nullptr;
    }

    /// The state that the last run which came to its end has left; equal states of two runs are
    /// equal graphs.
    State last() const { return m_last; }

    /// The same number in every run for rules that are equal to the last place in their text.
    RuleNumber numberOf(const Rule& rule) const { return m_running.at(&rule); }

    /// The state after a match was applied.
    State after(State state, const Match& match) const;

    /// Null when not known.
    FoundPtr found(State state, const Rule& rule);
    FoundPtr keep(State state, const Rule& rule, const Graph& graph, MatchResult result);

    /// Of a phase, or of a level in one: all that its rules depend on besides the state and options
    /// that stay.
    std::string keyOf(const PhaseStep& step, const std::vector<const Rule*>& rules,
                      const EngineOptions& options) const;

    /// Null when not known.
    const Outcome* outcome(State state, const std::string& key);
    void keep(State state, const std::string& key, Outcome outcome);

    /// Null when not known; what its rules found stays known as well.
    LevelPtr level(State state, const std::string& key, const std::vector<const Rule*>& rules);
    void keep(State state, const std::string& key, LevelPtr level);

    /// Phases, levels and searches that this run took over.
    size_t reused() const { return m_reused; }

private:
    using Place = std::pair<State, RuleNumber>;

    std::map<std::string, RuleNumber> m_rules; ///< by whole key
    RuleNumber m_nextRule = 0;
    // Of the run at hand, and of runs before that it has not asked for.
    std::unordered_map<const Rule*, RuleNumber> m_running;
    std::map<Place, FoundPtr> m_found, m_foundBefore;
    std::map<std::pair<State, std::string>, Outcome> m_outcomes, m_outcomesBefore;
    std::map<std::pair<State, std::string>, LevelPtr> m_levels, m_levelsBefore;
    std::shared_ptr<const Graph> m_lastGraph; ///< null: it is not to be read
    State m_lastGraphState = 0;
    bool m_isReadable = false;
    bool m_remembers = true;
    State m_last = 0;
    size_t m_reused = 0;
};

} // namespace fuselage
