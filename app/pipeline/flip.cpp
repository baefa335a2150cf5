// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/flip.h"

#include <algorithm>

namespace fuselage::app {

namespace {

/// Behind the last clause of the rule whose name stands at `name`.
std::optional<size_t> endOfRule(const std::string& text, size_t name) {
    size_t depth = 0;
    char quote = 0;
    for (size_t i = name; i < text.size(); ++i) {
        char c = text[i];
        if (quote != 0) {
            if (c == '\\')
                ++i;
            else if (c == quote)
                quote = 0;
        } else if (c == '"') {
            quote = c;
        } else if (c == '/' && i + 1 < text.size() && text[i + 1] == '/') {
            i = std::min(text.find('\n', i), text.size() - 1);
        } else if (c == '{') {
            ++depth;
        } else if (c == '}' && --depth == 0) {
            return i;
        }
    }
    return std::nullopt;
}

double gainOf(const Trace& trace, const std::string& rule) {
    double sum = 0;
    for (const TraceEvent& event : trace.events)
        if (event.rule == rule &&
            (event.kind == TraceEvent::Kind::Fused || event.kind == TraceEvent::Kind::Rewritten))
            sum += event.gain;
    return sum;
}

} // namespace

std::optional<EditedRules> applyEdit(const RuleLibrary& library, const RuleEdit& edit) {
    const Source& source = (*library.sources)[edit.span.source];
    std::string text(source.text());
    if (edit.span.end > text.size() || edit.span.begin >= edit.span.end)
        return std::nullopt;
    std::string old = text.substr(edit.span.begin, edit.span.end - edit.span.begin);
    std::string made = old;
    size_t at = edit.from.empty() ? 0 : old.find(edit.from);
    size_t length = edit.from.empty() ? old.size() : edit.from.size();
    switch (edit.kind) {
    case RuleEdit::Kind::Replace:
        if (at == std::string::npos)
            return std::nullopt;
        made.replace(at, length, edit.to);
        break;
    case RuleEdit::Kind::Alternative:
        if (at == std::string::npos)
            return std::nullopt;
        made.replace(at, length, edit.to);
        made = "(" + old + " | " + made + ")";
        break;
    case RuleEdit::Kind::Append:
        made += edit.to;
        break;
    case RuleEdit::Kind::Clause: {
        auto end = endOfRule(text, edit.span.begin);
        if (!end)
            return std::nullopt;
        text.insert(*end, "  " + edit.to + "\n");
        return EditedRules{source.name(), std::move(text)};
    }
    }
    text.replace(edit.span.begin, old.size(), made);
    return EditedRules{source.name(), std::move(text)};
}

Result<FlipGain> tryFlip(const Graph& graph, const RuleLibrary& library, const RuleOptions& rules,
                         const FuseOptions& options, const std::string& rule, const Trace& now,
                         const RuleEdit& edit, Progress& progress) {
    auto edited = applyEdit(library, edit);
    if (!edited)
        return failure("explain.edit", "the change does not fit the text of the rule");
    RuleOptions changed = rules;
    changed.unsaved[edited->file] = edited->text;
    for (dsl::RuleInput& text : changed.texts)
        if (text.name == edited->file)
            text.text = edited->text;
    auto loaded = requireRuleLibrary(changed);
    if (!loaded)
        return failure(loaded.error());
    FuseOptions quick = options;
    quick.explain = false;
    auto after = fuseGraph(graph, *loaded, quick, progress);
    if (!after)
        return failure(after.error());
    return FlipGain{after->trace.applied(rule), now.applied(rule),
                    gainOf(after->trace, rule) - gainOf(now, rule)};
}

} // namespace fuselage::app
