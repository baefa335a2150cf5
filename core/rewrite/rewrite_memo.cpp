// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/rewrite_memo.h"

#include "core/graph/text.h"
#include "core/rewrite/match_cache.h"
#include "core/support/hash.h"
#include "core/support/text.h"

namespace fuselage {

namespace {

void add(Hasher& hasher, std::span<const Binding> bindings) {
    hasher.number(bindings.size());
    for (const Binding& binding : bindings) {
        hasher.number(binding.kind);
        hasher.number(binding.value.valid() ? binding.value.index() : ~uint32_t{0});
        add(hasher, binding.items);
    }
}

/// The node of the first container, if it is there, goes into the second one.
template <typename Container>
typename Container::mapped_type* moved(Container& from, Container& to,
                                       const typename Container::key_type& key) {
    auto known = to.find(key);
    if (known == to.end()) {
        auto node = from.extract(key);
        if (!node)
            return nullptr;
        known = to.insert(std::move(node)).position;
    }
    return &known->second;
}

} // namespace

void RewriteMemo::begin(const RuleIndex& index) {
    if (!m_remembers)
        return;
    m_reused = 0;
    m_foundBefore.merge(m_found);
    m_found.clear();
    m_outcomesBefore.merge(m_outcomes);
    m_outcomes.clear();
    m_levelsBefore.merge(m_levels);
    m_levels.clear();
    m_running.clear();
    for (const auto& rule : index.rules()) {
        auto [number, isNew] = m_rules.try_emplace(wholeKey(rule->rule()), m_nextRule);
        m_nextRule += isNew ? 1 : 0;
        m_running.emplace(&rule->rule(), number->second);
    }
}

void RewriteMemo::finish(State last, bool isReadable) {
    m_last = last;
    m_isReadable = isReadable;
    m_foundBefore.clear();
    m_outcomesBefore.clear();
    m_levelsBefore.clear();
    std::vector<bool> isUsed(m_nextRule, false);
    for (const auto& [rule, number] : m_running)
        isUsed[number] = true;
    std::erase_if(m_rules, [&](const auto& each) { return !isUsed[each.second]; });
}

void RewriteMemo::keepLast(std::shared_ptr<const Graph> graph) {
    m_lastGraph = m_isReadable ? std::move(graph) : nullptr;
    m_lastGraphState = m_last;
}

RewriteMemo::State RewriteMemo::after(State state, const Match& match) const {
    if (!m_remembers)
        return state;
    Hasher hasher;
    hasher.number(state).number(numberOf(*match.rule)).number(match.nodes.size());
    for (NodeId node : match.nodes)
        hasher.number(node.index());
    for (ValueId output : match.outputs)
        hasher.number(output.index());
    add(hasher, match.slots);
    return hasher.value();
}

RewriteMemo::FoundPtr RewriteMemo::found(State state, const Rule& rule) {
    FoundPtr* known = moved(m_foundBefore, m_found, {state, numberOf(rule)});
    m_reused += known ? 1 : 0;
    return known ? *known : nullptr;
}

RewriteMemo::FoundPtr RewriteMemo::keep(State state, const Rule& rule, const Graph& graph,
                                        MatchResult result) {
    auto found = std::make_shared<Found>();
    found->result = std::move(result);
    for (Match& match : found->result.matches) {
        match.rule = nullptr;
        found->names.push_back(namesOf(graph, match.nodes));
    }
    for (RefusedMatch& refused : found->result.refused)
        refused.match.rule = nullptr;
    m_found[{state, numberOf(rule)}] = found;
    return found;
}

std::string RewriteMemo::keyOf(const PhaseStep& step, const std::vector<const Rule*>& rules,
                               const EngineOptions& options) const {
    std::string out;
    appendSized(out, step.phase);
    out += step.repeat ? '*' : ' ';
    out += static_cast<char>(options.selection.value_or(step.selection));
    out += static_cast<char>(options.decide);
    for (const Rule* rule : rules)
        out += std::to_string(numberOf(*rule)) + ",";
    for (const MatchKey& key : options.disabled) {
        appendSized(out, key.rule);
        for (const std::string& node : key.nodes)
            appendSized(out, node);
        out += ';';
    }
    return out;
}

const RewriteMemo::Outcome* RewriteMemo::outcome(State state, const std::string& key) {
    Outcome* known = moved(m_outcomesBefore, m_outcomes, {state, key});
    m_reused += known ? 1 : 0;
    return known;
}

void RewriteMemo::keep(State state, const std::string& key, Outcome outcome) {
    m_outcomes[{state, key}] = std::move(outcome);
}

RewriteMemo::LevelPtr RewriteMemo::level(State state, const std::string& key,
                                         const std::vector<const Rule*>& rules) {
    LevelPtr* known = moved(m_levelsBefore, m_levels, {state, key});
    if (!known)
        return nullptr;
    ++m_reused;
    for (State before : (*known)->before)
        for (const Rule* rule : rules)
            (void)found(before, *rule);
    return *known;
}

void RewriteMemo::keep(State state, const std::string& key, LevelPtr level) {
    m_levels[{state, key}] = std::move(level);
}

} // namespace fuselage
