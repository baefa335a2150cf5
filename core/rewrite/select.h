// SPDX-License-Identifier: Apache-2.0
// Which of the matches that overlap are applied: by priority, then by order, by gain, or the set
// of largest total gain. The result depends on the graph's structure only.
#pragma once

#include "core/rewrite/matcher.h"

namespace fuselage {

struct Candidate {
    Match match;
    double gain = 0;
    uint32_t ruleOrder = 0; ///< position of the rule in its set
};

struct Loser {
    size_t candidate = 0;
    Reason reason; ///< shadowed-by or not-selected, with the numbers
};

struct Selection {
    std::vector<size_t> chosen; ///< in topological order of their first nodes
    std::vector<Loser> losers;
    uint32_t cutComponents = 0; ///< groups of overlapping matches too hard for the exact search
};

struct SelectOptions {
    PhaseStep::Selection by = PhaseStep::Selection::Gain;
    uint64_t maxSteps = 200'000; ///< of the exact search of one conflict component
};

Selection select(const GraphFacts& facts, const std::vector<Candidate>& candidates,
                 const SelectOptions& options);

/// Nodes saved: what a match gains when no cost model is asked.
double nodesSaved(const Match& match);

} // namespace fuselage
