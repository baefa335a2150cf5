// SPDX-License-Identifier: Apache-2.0
// Graphs in which a rule matches, from the generator of the numeric proof.
#include "app/pipeline/foreign_rules.h"
#include "app/pipeline/lint/lint_internal.h"
#include "app/pipeline/prove/sample.h"
#include "core/graph/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::app {

namespace {

constexpr uint64_t hopeless = 200; ///< graphs without one match
constexpr uint64_t perWitness = 40;

bool readsDirectly(const Graph& graph, NodeId reader, NodeId maker) {
    const std::vector<ValueId>& inputs = graph.node(reader).inputs;
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](ValueId input) { return graph.producer(input) == maker; });
}

} // namespace

std::vector<std::vector<NodeId>> matchesIn(const PreparedRule& rule, const Graph& graph) {
    GraphFacts facts(graph);
    Convexity convexity(graph);
    Matcher matcher(graph, facts, convexity, {});
    MatchResult found;
    matcher.find(rule, found);
    std::vector<std::vector<NodeId>> out;
    for (const Match& match : found.matches)
        out.push_back(match.nodes);
    return out;
}

std::vector<Witness> witnessesOf(const PreparedRule& rule, size_t count, Progress& progress) {
    std::vector<Witness> out;
    PairCoverage coverage;
    for (uint64_t attempt = 1; out.size() < count && attempt <= count * perWitness &&
                               !(out.empty() && attempt > hopeless) && !progress.cancelled();
         ++attempt) {
        Choices choices(sampleSeed(1, attempt), coverage);
        auto sample = generateSample(rule, choices, progress);
        coverage.add(choices.structure());
        if (!sample)
            continue;
        auto matches = matchesIn(rule, sample->graph);
        if (matches.empty())
            continue;
        const OpSet operators = operatorsIn(sample->graph);
        out.push_back({std::move(sample->graph), std::move(matches), operators});
    }
    std::stable_sort(out.begin(), out.end(), [](const Witness& a, const Witness& b) {
        return a.graph.nodeCount() < b.graph.nodeCount();
    });
    return out;
}

std::string witnessText(const Graph& graph, const std::vector<NodeId>& nodes) {
    bool chain = true;
    for (size_t i = 1; i < nodes.size(); ++i)
        chain = chain && readsDirectly(graph, nodes[i], nodes[i - 1]);
    std::string out;
    for (NodeId node : nodes)
        out += (out.empty() ? ""
                : chain     ? " -> "
                            : ", ") +
               (chain ? opText(graph.node(node)) : text(graph, node));
    return out;
}

Rewritten runPhase(const Graph& graph, const std::vector<Rule>& rules, bool repeat,
                   Progress& progress) {
    RuleSet set;
    set.rules = rules;
    Pipeline pipeline{"lint", {{rules[0].phase, repeat, PhaseStep::Selection::Gain}}};
    auto done = rewrite(graph.clone(), set, pipeline, {}, progress);
    return done ? std::move(*done) : Rewritten{graph.clone(), {}}; // cancelled
}

LintContext::LintContext(const RuleLibrary& rules, Progress& work, Diagnostics& to)
    : library(rules), index(rules.loaded.rules), byOperator(index), progress(work), out(to) {}

const std::vector<Witness>& LintContext::witnesses(const PreparedRule& rule) {
    constexpr size_t count = 16;
    auto [entry, isNew] = m_witnesses.try_emplace(&rule);
    if (isNew)
        entry->second = witnessesOf(rule, count, silent);
    return entry->second;
}

std::string LintContext::placeOf(const Rule& rule) const {
    return fmt::format("{}:{}", rule.file, rule.line);
}

} // namespace fuselage::app
