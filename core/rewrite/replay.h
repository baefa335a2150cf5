// SPDX-License-Identifier: Apache-2.0
// Applies a given list of matches and nothing else: what a run did, done again. Selection and gates
// are not asked; each match must be there as the list says, or nothing comes out.
#pragma once

#include "core/rewrite/engine_options.h"
#include "core/support/progress.h"

namespace fuselage {

/// One applied match by names: those that the nodes had just before, and those that it made.
struct PlannedMatch {
    std::string phase, rule;
    std::vector<std::string> nodes; ///< in topological order
    std::vector<std::string> made;

    friend bool operator==(const PlannedMatch&, const PlannedMatch&) = default;
};

/// The applied matches of a trace, in order.
std::vector<PlannedMatch> plannedMatches(const Trace& trace);

/// In the order of the list. Errors: "plan.rule" when no rule of that name is in that phase,
/// "plan.node" when a node is not there, "plan.match" when the nodes are no match of the rule any
/// more, with the reason, "plan.made" when it makes something else, "cancelled".
Result<Rewritten> replay(Graph graph, const RuleSet& rules, const std::vector<PlannedMatch>& plan,
                         const EngineOptions& options, Progress& progress);

} // namespace fuselage
