// SPDX-License-Identifier: Apache-2.0
// What the lints of this folder share: graphs in which a rule matches, and one function a family.
#pragma once

#include "app/pipeline/lint/lint.h"
#include "core/rewrite/engine.h"

#include <array>
#include <functional>
#include <memory>

namespace fuselage::app {

/// Fewer graphs than this say nothing about all of them.
constexpr size_t leastWitnesses = 6;

/// A graph in which a rule has a complete, legal match.
struct Witness {
    Graph graph;
    std::vector<std::vector<NodeId>> matches; ///< nodes of each, in topological order
    OpSet operators;                          ///< that the graph has
};

/// Which rules may match a graph, found by one operator that each of them cannot do without: few of
/// many rules are looked at.
class RulesByOperator {
public:
    explicit RulesByOperator(const RuleIndex& index);

    /// Positions in RuleIndex::rules, rising.
    std::vector<size_t> mayMatch(const OpSet& present) const;

private:
    const RuleIndex& m_index;
    std::array<std::vector<size_t>, static_cast<size_t>(Op::Count_)> m_rules;
    std::vector<size_t> m_always; ///< those that need no operator in particular
};

/// Graphs made from the rule's pattern, smallest first; at most `count`.
std::vector<Witness> witnessesOf(const PreparedRule& rule, size_t count, Progress& progress);

/// Nodes of all matches of the rule in the graph.
std::vector<std::vector<NodeId>> matchesIn(const PreparedRule& rule, const Graph& graph);

/// "Conv -> Relu", or "a = Exp(x), y = Add(a, b)" where the nodes are no chain.
std::string witnessText(const Graph& graph, const std::vector<NodeId>& nodes);

/// One phase with these rules alone.
Rewritten runPhase(const Graph& graph, const std::vector<Rule>& rules, bool repeat,
                   Progress& progress);

struct LintContext {
    LintContext(const RuleLibrary& rules, Progress& work, Diagnostics& to);

    /// Made when first asked for.
    const std::vector<Witness>& witnesses(const PreparedRule& rule);
    /// "conv.fuse:12"
    std::string placeOf(const Rule& rule) const;

    const RuleLibrary& library;
    RuleIndex index;
    RulesByOperator byOperator;
    Progress& progress; ///< of the whole; says whether to stop
    Progress silent;    ///< of the many small graphs
    Diagnostics& out;

private:
    std::map<const PreparedRule*, std::vector<Witness>> m_witnesses;
};

/// E0308: every match is taken by rules of higher priority.
void lintShadowed(LintContext& context);
/// E0309: an alternative whose matches are those of alternatives before it.
void lintAlternatives(LintContext& context);
/// E0302: matches that overlap, and results that depend on which rule stands first.
void lintOverlaps(LintContext& context);
/// E0231: rewrites that no graph lets through.
void lintRewriteTypes(LintContext& context);
/// E0410: phases that repeat and whose rules shrink no common measure.
void lintTermination(LintContext& context);
/// W0313: rules that never fire on the models.
Result<void> lintModels(LintContext& context, const LintOptions& options);

} // namespace fuselage::app
