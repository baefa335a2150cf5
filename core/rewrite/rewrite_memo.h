// SPDX-License-Identifier: Apache-2.0
// What rewrite() found on one graph, for the next run on the same graph with other rules: whole
// phases whose rules did not change, and matches of unchanged rules on states of the graph that
// come back. A run with a memo gives the very result of a run without.
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
        Trace trace; ///< of this phase alone
    };

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

    /// The run came to its end: forgets what it did not use.
    void finish(State last);

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

    /// `key` says all that the phase depends on besides the state. Null when not known.
    const Outcome* outcome(State state, const std::string& key);
    void keep(State state, const std::string& key, Outcome outcome);

    /// Phases and searches that this run took over.
    size_t reused() const { return m_reused; }

private:
    using Place = std::pair<State, RuleNumber>;

    std::map<std::string, RuleNumber> m_rules; ///< by whole key
    RuleNumber m_nextRule = 0;
    // Of the run at hand, and of runs before that it has not asked for.
    std::unordered_map<const Rule*, RuleNumber> m_running;
    std::map<Place, FoundPtr> m_found, m_foundBefore;
    std::map<std::pair<State, std::string>, Outcome> m_outcomes, m_outcomesBefore;
    bool m_remembers = true;
    State m_last = 0;
    size_t m_reused = 0;
};

} // namespace fuselage
