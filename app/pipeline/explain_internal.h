// SPDX-License-Identifier: Apache-2.0
// The parts of explaining: findings from a trace, from rules that were never searched for and from
// plans. Stays in this room.
#pragma once

#include "app/pipeline/explain.h"
#include "core/rewrite/matcher_index.h"

#include <set>
#include <unordered_map>

namespace fuselage::app {

/// The nodes that applied matches have, by name.
class TakenNodes {
public:
    explicit TakenNodes(const Trace& trace);

    bool hasAny(const std::vector<std::string>& nodes) const;

    /// "`y_fused`, fused by ConvBNReLU": what has the first of the nodes that anything has; else
    /// empty.
    std::string holderOf(const std::vector<std::string>& nodes) const;

    /// Rules whose matches have nodes of the graph with these operators.
    std::set<std::string> holders(const Graph& graph, const OpSet& operators) const;

    /// Nodes that were fused or made by others, as those of the model that they stand for.
    std::vector<std::string> sourcesOf(const std::vector<std::string>& nodes) const;

    /// That a match of this rule has, by whichever of its alternatives.
    bool isOf(const std::string& rule, const std::string& node) const;

private:
    void addSources(const std::string& node, std::vector<std::string>& out, int depth) const;

    std::unordered_map<std::string, std::vector<std::string>> m_rules; ///< by node
    std::unordered_map<std::string, std::string> m_holders;            ///< by node
    std::unordered_map<std::string, std::vector<std::string>> m_made;  ///< fused node -> its nodes
};

/// Findings by what they share; remembers the suggested edits.
class FindingList {
public:
    /// Only of the rule asked for, and only places that concern the nodes asked for.
    FindingList(const RuleLibrary& library, const TakenNodes& taken, const ExplainOptions& asked)
        : m_library(library), m_taken(taken), m_rule(asked.rule), m_node(asked.node),
          m_with(asked.with) {}

    const TakenNodes& taken() const { return m_taken; }

    /// The only rule asked for; empty: all.
    const std::string& rule() const { return m_rule; }

    /// Refusals, and near misses where the rule itself took nothing.
    void addTrace(const Trace& trace);

    /// The same of one rule in a run without the rules that took its nodes.
    void addWithout(const Trace& trace, const Rule& rule, const std::string& takers);

    /// The finding of that key, made from the rule's name when it is new.
    Finding& at(const std::string& key, const Rule& rule, const Span& span,
                const std::optional<RuleEdit>& edit);

    /// Whether a place is of those asked for.
    bool isWanted(const std::string& rule, const FindingSite& site) const;

    /// Removes findings that were asked for and have no place.
    void dropEmpty();

    struct Entry {
        Finding finding;
        std::optional<RuleEdit> edit;
    };

    std::vector<Entry>& entries() { return m_entries; }

    const RuleLibrary& library() const { return m_library; }

private:
    void add(const TraceEvent& event);
    void add(const NearMiss& miss);
    bool isTakenOtherwise(const TraceEvent& event) const;
    const Rule* ruleOf(const std::string& name) const;

    const RuleLibrary& m_library;
    const TakenNodes& m_taken;
    std::string m_rule, m_node, m_with;
    std::vector<Entry> m_entries;
    std::unordered_map<std::string, size_t> m_byKey;
};

/// The place of a span; none for an empty one.
std::optional<TextPlace> placeOf(const SourceSet& sources, const Span& span);

/// Rules that left nothing in the trace: why their search did not even start, and what stands where
/// their pattern begins (explain_start.cpp).
void addUnsearched(const Graph& graph, const ExplainOptions& options, const Trace& trace,
                   FindingList& findings, Progress& progress);

/// What the rule says of its nodes when those rules that took them are left out, one after the
/// other; false where it is not searched for even then (explain_held.cpp).
bool addHeld(const Graph& graph, const ExplainOptions& options, const Rule& rule,
             const OpSet& anchors, FindingList& findings, Progress& progress);

/// What the planner does with a node of the model that the graph does not show, in sentences
/// (explain_planned.cpp).
std::vector<std::string> plannedFor(const Plan& plan, const Graph& model, const std::string& node);

/// Fused nodes that the planner split (explain_lower.cpp).
void addSplits(const Analysis& analysis, FindingList& findings);

} // namespace fuselage::app
