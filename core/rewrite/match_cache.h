// SPDX-License-Identifier: Apache-2.0
// The matches of rules on one graph while a person edits them: a rule that means what it meant
// keeps what was found for it, so that an edit costs the search of the rules it changed.
#pragma once

#include "core/rewrite/matcher.h"

#include <map>

namespace fuselage {

/// Everything that the matches of a rule depend on, as text: equal keys have equal matches. Left
/// out: places in the text, priority, phase, gate, tests, the operators that a rewrite builds.
std::string matchKey(const Rule& rule);

/// The same without the rule's name, and with what a match is replaced by: rules with equal keys do
/// the same in every graph, but for the names of their fused nodes.
std::string meaningKey(const Rule& rule);

/// As matchKey with places in the text, order and what is done with a match: equal keys rewrite
/// equally and say the same about it.
std::string wholeKey(const Rule& rule);

class MatchCache {
public:
    /// The graph and what is known of it must outlive the cache and stay as they are.
    MatchCache(const Graph& graph, const GraphFacts& facts, const Convexity& convexity,
               MatcherOptions options);

    struct Entry {
        std::unique_ptr<const Rule> rule; ///< its places are those of when it was first seen
        std::unique_ptr<const IndexedRule> indexed;
        MatchResult found; ///< points into `rule`
    };

    /// The matches of all rules of the set that no other one replaces, in order; good until the
    /// next call. `stop` is asked now and then: when it says so nothing is returned, and the rules
    /// that are new are searched for by the next call.
    std::optional<std::vector<const Entry*>> update(const RuleSet& rules, FunctionRef<bool()> stop);

    /// Rules that the last update searched for.
    size_t searched() const { return m_searched; }

private:
    Matcher m_matcher;
    std::map<std::string, Entry> m_entries; ///< by key
    size_t m_searched = 0;
};

} // namespace fuselage
