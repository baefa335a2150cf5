// SPDX-License-Identifier: Apache-2.0
// A trace as findings: reasons that are the same in many places become one.
#include "app/pipeline/explain_internal.h"
#include "app/pipeline/flip.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::app {

namespace {

Finding::Stage stageOf(const Reason& reason) {
    const std::string& code = reason.code;
    if (code == code::gate)
        return Finding::Stage::Gate;
    if (code == code::shadowed || code == code::notSelected || code == code::disabled)
        return Finding::Stage::Select;
    if (code == code::rewriteType || code == "graph-output")
        return Finding::Stage::Rewrite;
    return Finding::Stage::Legal;
}

/// Places with the same words of advice are one finding, but advice that names nodes of the model
/// is another one everywhere.
std::string keyOf(const std::string& rule, const Reason& reason, const Span& span,
                  const std::optional<RuleEdit>& edit) {
    bool namesNodes =
        reason.code == code::cycle || reason.code == code::gate || reason.code == code::rewriteType;
    std::string advice = edit ? edit->to : namesNodes ? "" : reason.flip;
    if (reason.code == code::gate)
        advice.clear();
    if (reason.code == code::between && advice.empty() && !reason.facts.empty())
        advice = reason.facts.front().value; // which operator stands there
    return fmt::format("{}\n{}\n{}:{}-{}\n{}", rule, reason.code, span.source, span.begin, span.end,
                       advice);
}

} // namespace

std::optional<TextPlace> placeOf(const SourceSet& sources, const Span& span) {
    if (span.empty())
        return std::nullopt;
    const Source& source = sources[span.source];
    LineColumn at = source.position(span.begin);
    std::string text(source.line(at.line));
    auto left = text.size() >= at.column ? text.size() - at.column + 1 : size_t{0};
    auto length = std::min<size_t>(span.end - span.begin, left);
    return TextPlace{source.name(), at.line, at.column, static_cast<uint32_t>(length), text};
}

const Rule* FindingList::ruleOf(const std::string& name) const {
    for (const Rule& rule : m_library.loaded.rules.rules)
        if (rule.name == name)
            return &rule;
    return nullptr;
}

Finding& FindingList::at(const std::string& key, const Rule& rule, const Span& span,
                         const std::optional<RuleEdit>& edit) {
    auto [known, isNew] = m_byKey.try_emplace(key, m_entries.size());
    if (isNew) {
        Entry& entry = m_entries.emplace_back();
        entry.edit = edit;
        entry.finding.rule = rule.name;
        entry.finding.file = rule.file;
        entry.finding.line = rule.line;
        if (span != rule.span) // its line is named anyway
            entry.finding.place = placeOf(*m_library.sources, span);
        if (edit)
            entry.finding.change = changeOf(m_library, *edit);
    }
    return m_entries[known->second].finding;
}

TakenNodes::TakenNodes(const Trace& trace) {
    for (const TraceEvent& event : trace.events)
        if (event.applied())
            for (const std::string& node : event.nodes)
                m_rules[node].push_back(event.rule);
    for (const TraceEvent& event : trace.events)
        if (event.applied() && !event.made.empty()) {
            const std::string& made = event.made.front();
            for (const std::string& node : event.nodes)
                m_holders.emplace(node, event.kind == TraceEvent::Kind::Fused
                                            ? fmt::format("`{}`, fused by {}", made, event.rule)
                                            : fmt::format("`{}`, made by {}", made, event.rule));
            if (event.kind == TraceEvent::Kind::Fused)
                m_made.emplace(made, event.nodes);
        }
}

std::string TakenNodes::holderOf(const std::vector<std::string>& nodes) const {
    for (const std::string& node : nodes)
        if (const auto known = m_holders.find(node); known != m_holders.end())
            return known->second;
    return {};
}

std::set<std::string> TakenNodes::holders(const Graph& graph, const OpSet& operators) const {
    std::set<std::string> out;
    for (NodeId id : graph.nodes())
        if (operators.test(static_cast<size_t>(graph.node(id).op)))
            if (const auto known = m_rules.find(graph.node(id).name); known != m_rules.end())
                out.insert(known->second.begin(), known->second.end());
    return out;
}

void TakenNodes::addSources(const std::string& node, std::vector<std::string>& out,
                            int depth) const {
    constexpr int deepest = 8;
    const auto made = m_made.find(node);
    if (made == m_made.end() || depth == deepest)
        out.push_back(node);
    else
        for (const std::string& each : made->second)
            addSources(each, out, depth + (each == node ? deepest : 1));
}

std::vector<std::string> TakenNodes::sourcesOf(const std::vector<std::string>& nodes) const {
    std::vector<std::string> out;
    for (const std::string& node : nodes)
        addSources(node, out, 0);
    return out;
}

bool TakenNodes::hasAny(const std::vector<std::string>& nodes) const {
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](const std::string& node) { return m_rules.contains(node); });
}

bool TakenNodes::isOf(const std::string& rule, const std::string& node) const {
    const auto known = m_rules.find(node);
    return known != m_rules.end() &&
           std::find(known->second.begin(), known->second.end(), rule) != known->second.end();
}

void FindingList::addTrace(const Trace& trace) {
    for (const TraceEvent& event : trace.events)
        if (event.kind == TraceEvent::Kind::Refused)
            add(event);
    for (const NearMiss& miss : trace.nearMisses)
        add(miss);
}

void FindingList::add(const TraceEvent& event) {
    const Rule* rule = ruleOf(event.rule);
    std::vector<std::string> nodes = m_taken.sourcesOf(event.nodes);
    FindingSite site{nodes.empty() ? "" : nodes.back(), nodes, m_taken.hasAny(event.nodes)};
    if (rule == nullptr || !isWanted(event.rule, site) || isTakenOtherwise(event))
        return;
    site.holder = m_taken.holderOf(event.nodes);
    std::string key = keyOf(event.rule, event.reason, {}, event.edit);
    Finding& finding = at(key, *rule, event.edit ? event.edit->span : Span(), event.edit);
    if (finding.sites.empty()) {
        finding.stage = stageOf(event.reason);
        finding.reason = event.reason;
        finding.step = finding.steps = static_cast<uint32_t>(event.nodes.size());
    }
    finding.sites.push_back(std::move(site));
}

/// By another alternative the rule took all that it could not take by this one.
bool FindingList::isTakenOtherwise(const TraceEvent& event) const {
    return stageOf(event.reason) == Finding::Stage::Legal && !event.nodes.empty() &&
           std::all_of(event.nodes.begin(), event.nodes.end(),
                       [&](const std::string& node) { return m_taken.isOf(event.rule, node); });
}

void FindingList::add(const NearMiss& miss) {
    const Rule* rule = ruleOf(miss.rule);
    FindingSite site{m_taken.sourcesOf({miss.node}).back(), m_taken.sourcesOf({miss.anchor}),
                     m_taken.hasAny({miss.anchor})};
    site.holder = m_taken.holderOf({miss.anchor});
    FindingSite reached = site;
    if (!m_with.empty())
        for (std::string& node : m_taken.sourcesOf(miss.bound))
            reached.nodes.push_back(std::move(node));
    if (rule == nullptr || !isWanted(miss.rule, reached) || m_taken.isOf(miss.rule, miss.anchor))
        return;
    Finding& finding =
        at(keyOf(miss.rule, miss.reason, miss.span, miss.edit), *rule, miss.span, miss.edit);
    uint32_t left = miss.steps - std::min(miss.step, miss.steps);
    if (finding.sites.empty() || left < finding.steps - finding.step) {
        finding.stage = Finding::Stage::Match;
        finding.reason = miss.reason;
        finding.step = std::min(miss.step, miss.steps);
        finding.steps = miss.steps;
    }
    finding.isAllButOne |= miss.isAllButOne && miss.step > 0;
    finding.sites.push_back(std::move(site));
}

bool FindingList::isWanted(const std::string& rule, const FindingSite& site) const {
    bool ruleFits = m_rule.empty() || rule == m_rule;
    const auto has = [&](const std::string& node) {
        return node.empty() || site.node == node ||
               std::find(site.nodes.begin(), site.nodes.end(), node) != site.nodes.end();
    };
    return ruleFits && has(m_node) && has(m_with);
}

void FindingList::addWithout(const Trace& trace, const Rule& rule, const std::string& takers) {
    for (const TraceEvent& event : trace.events) {
        if (event.rule != rule.name)
            continue;
        if (!event.applied()) {
            add(event);
            continue;
        }
        FindingSite site{event.nodes.back(), event.nodes, true};
        if (!isWanted(rule.name, site))
            continue;
        site.holder = m_taken.holderOf(event.nodes);
        Finding& finding = at(rule.name + "\nheld", rule, {}, {});
        finding.stage = Finding::Stage::Select;
        finding.reason = {code::shadowed,
                          fmt::format("it fires where {} is left out", takers),
                          "",
                          {{"rule", takers}}};
        finding.step = finding.steps = static_cast<uint32_t>(event.nodes.size());
        finding.sites.push_back(std::move(site));
    }
    for (const NearMiss& miss : trace.nearMisses)
        if (miss.rule == rule.name)
            add(miss);
}

void FindingList::dropEmpty() {
    std::erase_if(m_entries, [&](const Entry& entry) {
        bool start = entry.finding.stage == Finding::Stage::Start;
        bool other = !m_rule.empty() && entry.finding.rule != m_rule;
        return other || (start ? !m_node.empty() : entry.finding.sites.empty());
    });
}

} // namespace fuselage::app
