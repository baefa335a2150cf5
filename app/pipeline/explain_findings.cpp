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
    FindingSite site{event.nodes.empty() ? "" : event.nodes.back(), event.nodes,
                     m_taken.hasAny(event.nodes)};
    if (rule == nullptr || !isWanted(event.rule, site))
        return;
    std::string key = keyOf(event.rule, event.reason, {}, event.edit);
    Finding& finding = at(key, *rule, event.edit ? event.edit->span : Span(), event.edit);
    if (finding.sites.empty()) {
        finding.stage = stageOf(event.reason);
        finding.reason = event.reason;
        finding.step = finding.steps = static_cast<uint32_t>(event.nodes.size());
    }
    finding.sites.push_back(std::move(site));
}

void FindingList::add(const NearMiss& miss) {
    const Rule* rule = ruleOf(miss.rule);
    FindingSite site{miss.node, {miss.anchor}, m_taken.hasAny({miss.anchor})};
    if (rule == nullptr || !isWanted(miss.rule, site) || m_taken.isOf(miss.rule, miss.anchor))
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
    return ruleFits &&
           (m_node.empty() || site.node == m_node ||
            std::find(site.nodes.begin(), site.nodes.end(), m_node) != site.nodes.end());
}

void FindingList::dropEmpty() {
    std::erase_if(m_entries, [&](const Entry& entry) {
        bool start = entry.finding.stage == Finding::Stage::Start;
        bool other = !m_rule.empty() && entry.finding.rule != m_rule;
        return other || (start ? !m_node.empty() : entry.finding.sites.empty());
    });
}

} // namespace fuselage::app
