// SPDX-License-Identifier: Apache-2.0
// The parts of explaining: findings from a trace, from rules that were never searched for and from
// plans. Stays in this room.
#pragma once

#include "app/pipeline/explain.h"

#include <unordered_map>

namespace fuselage::app {

/// The nodes that applied matches have, by name.
class TakenNodes {
public:
    explicit TakenNodes(const Trace& trace);

    bool hasAny(const std::vector<std::string>& nodes) const;

    /// That a match of this rule has, by whichever of its alternatives.
    bool isOf(const std::string& rule, const std::string& node) const;

private:
    std::unordered_map<std::string, std::vector<std::string>> m_rules; ///< by node
};

/// Findings by what they share; remembers the suggested edits.
class FindingList {
public:
    /// Only of this rule, and only places that concern this node; empty: all.
    FindingList(const RuleLibrary& library, const TakenNodes& taken, std::string rule,
                std::string node)
        : m_library(library), m_taken(taken), m_rule(std::move(rule)), m_node(std::move(node)) {}

    /// Refusals, and near misses where the rule itself took nothing.
    void addTrace(const Trace& trace);

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
    const Rule* ruleOf(const std::string& name) const;

    const RuleLibrary& m_library;
    const TakenNodes& m_taken;
    std::string m_rule, m_node;
    std::vector<Entry> m_entries;
    std::unordered_map<std::string, size_t> m_byKey;
};

/// The place of a span; none for an empty one.
std::optional<TextPlace> placeOf(const SourceSet& sources, const Span& span);

/// Rules that left nothing in the trace: why their search did not even start, and what stands where
/// their pattern begins (explain_start.cpp).
void addUnsearched(const Graph& graph, const FuseOptions& options, const Trace& trace,
                   FindingList& findings);

/// Fused nodes that the planner split (explain_lower.cpp).
void addSplits(const Analysis& analysis, FindingList& findings);

} // namespace fuselage::app
