// SPDX-License-Identifier: Apache-2.0
// What a phase writes into the Trace: applied and refused matches, stops, and who took whose nodes.
#include "core/graph/text.h"
#include "core/rewrite/phase_internal.h"

#include <fmt/format.h>

namespace fuselage {

namespace {

void collect(const Graph& graph, const Binding& binding, std::vector<std::string>& names) {
    if (binding.kind == Binding::Kind::Value && graph.alive(binding.value))
        names.push_back(graph.value(binding.value).name);
    for (const Binding& item : binding.items)
        collect(graph, item, names);
}

std::vector<TraceBinding> bindingsOf(const Graph& graph, const Match& match) {
    std::vector<TraceBinding> out;
    for (size_t i = 0; i < match.slots.size(); ++i) {
        TraceBinding binding{match.rule->slots[i].name, {}};
        collect(graph, match.slots[i], binding.values);
        if (!binding.name.empty() && !binding.values.empty())
            out.push_back(std::move(binding));
    }
    return out;
}

} // namespace

TraceEvent Phase::eventOf(const Match& match, double gain) const {
    TraceEvent event;
    event.phase = m_step.phase;
    event.iteration = m_iteration;
    event.rule = match.rule->name;
    event.file = match.rule->file;
    event.line = match.rule->line;
    event.nodes = namesOf(graph(), match.nodes);
    event.labels = match.labels;
    event.bindings = bindingsOf(graph(), match);
    event.gain = gain;
    return event;
}

void Phase::refuse(const Match& match, Reason reason, double gain, std::optional<RuleEdit> edit) {
    ++m_trace.count(match.rule->name, m_step.phase).refused;
    TraceEvent event = eventOf(match, gain);
    event.kind = TraceEvent::Kind::Refused;
    // Rounds after the first find the same refusals again.
    std::string key = event.rule + "\n" + reason.text();
    for (const std::string& node : event.nodes)
        key += "\n" + node;
    if (!m_refusals.insert(std::move(key)).second)
        return;
    event.reason = std::move(reason);
    event.edit = std::move(edit);
    m_trace.events.push_back(std::move(event));
}

void Phase::refuseCycle(const Match& match, const std::vector<NodeId>& cycle, double gain) {
    refuse(match, cycleReason(graph(), cycle, "after the fusions before it, a path"), gain);
}

/// The phase came back to a graph that it had `from` events before: names the rules.
void Phase::stop(size_t from) {
    std::string rules;
    std::unordered_set<std::string> seen;
    for (size_t i = from; i < m_trace.events.size(); ++i) {
        const TraceEvent& event = m_trace.events[i];
        if (event.applied() && seen.insert(event.rule).second)
            rules += (rules.empty() ? "`" : ", `") + event.rule + "`";
    }
    TraceEvent event;
    event.kind = TraceEvent::Kind::Stopped;
    event.phase = m_step.phase;
    event.iteration = m_iteration;
    bool cycle = m_iteration < m_options.maxIterations && !rules.empty();
    event.reason = {code::ruleCycle,
                    cycle ? "phase `" + m_step.phase + "*` undoes its own work: " + rules
                          : "phase `" + m_step.phase + "*` was stopped after " +
                                std::to_string(m_iteration) + " rounds",
                    "mark one of the rules `once`",
                    {{"rules", rules}}};
    m_trace.events.push_back(std::move(event));
}

void Phase::noteCut(uint32_t components) {
    TraceEvent event;
    event.kind = TraceEvent::Kind::Stopped;
    event.phase = m_step.phase;
    event.iteration = m_iteration;
    event.reason = {"selection-bound",
                    fmt::format("the exact selection of {} groups of overlapping matches was "
                                "cut off after {} steps; the best found so far is used",
                                components, m_options.selectionSteps),
                    "raise the bound of the selection, or select by gain",
                    {{"steps", std::to_string(m_options.selectionSteps)}}};
    m_trace.events.push_back(std::move(event));
}

void Phase::noteEarlyMatches() {
    m_firstEvent = m_trace.events.size();
    if (m_memo.remembers()) {
        for (const auto& [priority, rules] : m_levels) {
            remember(rules);
            for (const IndexedRule* rule : rules)
                if (auto found = m_memo.found(m_state, rule->rule())) // else it was cancelled
                    m_early.push_back({&rule->rule(), std::move(found)});
        }
        return;
    }
    refreshFacts();
    MatcherOptions quick = m_options.matcher;
    quick.explain = false;
    Matcher matcher(graph(), *m_facts, *m_convexity, quick);
    for (const auto& [priority, rules] : m_levels)
        matcher.findEach(rules, [&](const IndexedRule& rule, MatchResult& found) {
            auto early = std::make_shared<RewriteMemo::Found>();
            for (const Match& match : found.matches)
                early->names.push_back(namesOf(graph(), match.nodes));
            m_early.push_back({&rule.rule(), std::move(early)});
            return true;
        });
}

/// Matches of lower priority that others took nodes from were never found again: says so.
void Phase::noteShadowed() {
    std::unordered_map<std::string_view, size_t> taken; // names stay where events move
    for (size_t i = m_firstEvent; i < m_trace.events.size(); ++i)
        if (m_trace.events[i].applied())
            for (const std::string& node : m_trace.events[i].nodes)
                taken.emplace(node, i);
    if (taken.empty())
        return;
    std::unordered_map<std::string, int64_t> priorities;
    for (const auto& [priority, rules] : m_levels)
        for (const IndexedRule* rule : rules)
            priorities[rule->rule().name] = rule->rule().priority;
    for (const EarlyMatches& early : m_early)
        for (const std::vector<std::string>& nodes : early.found->names) {
            auto winner = taken.end();
            for (const std::string& node : nodes)
                if (auto found = taken.find(node); found != taken.end())
                    winner = found;
            if (winner == taken.end())
                continue;
            int64_t priority = priorities[m_trace.events[winner->second].rule];
            if (priority > early.rule->priority)
                shadow(*early.rule, nodes, winner->second, priority);
        }
}

/// A match that lost a node to the match of the event.
void Phase::shadow(const Rule& rule, const std::vector<std::string>& nodes, size_t winner,
                   int64_t priority) {
    const TraceEvent& by = m_trace.events[winner];
    TraceEvent event;
    event.kind = TraceEvent::Kind::Refused;
    event.phase = m_step.phase;
    event.iteration = 1;
    event.rule = rule.name;
    event.file = rule.file;
    event.line = rule.line;
    event.nodes = nodes;
    event.reason = {code::shadowed,
                    fmt::format("`{}` ({}:{}), priority {}, takes nodes of this match", by.rule,
                                by.file, by.line, priority),
                    fmt::format("raise the priority above {}", priority),
                    {{"rule", by.rule}, {"line", std::to_string(by.line)}}};
    m_trace.events.push_back(std::move(event));
}

} // namespace fuselage
