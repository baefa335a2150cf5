// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/flip.h"

#include "app/pipeline/compiled.h"
#include "app/pipeline/planned.h"
#include "app/pipeline/prove/proof.h"
#include "core/graph/bodies.h"

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

/// What goes from a text at `begin`, and what comes in its place.
struct Splice {
    size_t begin = 0;
    std::string remove, insert;
};

/// The name of the rule that holds the span.
size_t ruleAt(const RuleLibrary& library, const Span& span) {
    size_t found = 0;
    for (const Rule& rule : library.loaded.rules.rules)
        if (rule.span.source == span.source && rule.span.begin <= span.begin)
            found = std::max<size_t>(found, rule.span.begin);
    return found;
}

std::optional<Splice> clauseOf(const RuleLibrary& library, const std::string& text,
                               const RuleEdit& edit) {
    auto end = endOfRule(text, ruleAt(library, edit.span));
    if (!end || *end < edit.span.end)
        return std::nullopt;
    std::string clause = "  " + edit.to + "\n";
    if (edit.from.empty())
        return Splice{*end, "", std::move(clause)};
    std::string between = text.substr(edit.span.begin, *end - edit.span.begin);
    std::string made = edit.from + between + clause;
    return Splice{edit.span.begin, std::move(between), std::move(made)};
}

std::optional<Splice> spliceOf(const RuleLibrary& library, const RuleEdit& edit) {
    const std::string& text = (*library.sources)[edit.span.source].text();
    if (edit.span.end > text.size() || edit.span.begin >= edit.span.end)
        return std::nullopt;
    std::string old = text.substr(edit.span.begin, edit.span.end - edit.span.begin);
    if (edit.kind == RuleEdit::Kind::Append)
        return Splice{edit.span.end, "", edit.to};
    if (edit.kind == RuleEdit::Kind::Clause)
        return clauseOf(library, text, edit);
    size_t at = old.find(edit.from); // at the beginning when it is empty
    if (at == std::string::npos)
        return std::nullopt;
    std::string made = old;
    made.replace(at, edit.from.empty() ? old.size() : edit.from.size(), edit.to);
    if (edit.kind == RuleEdit::Kind::Alternative)
        made = "(" + old + " | " + made + ")";
    return Splice{edit.span.begin, std::move(old), std::move(made)};
}

/// The first rule of that name.
const Rule* ruleNamed(const RuleLibrary& library, const std::string& name) {
    const auto& rules = library.loaded.rules.rules;
    auto found = std::find_if(rules.begin(), rules.end(),
                              [&](const Rule& rule) { return rule.name == name; });
    return found == rules.end() ? nullptr : &*found;
}

bool isBlamed(const RuleLibrary& library, const std::string& name, Progress& progress) {
    const Rule* rule = ruleNamed(library, name);
    if (!rule || !rule->isRewrite)
        return false;
    ProofOptions options;
    options.exact = false;
    return proveRule(*rule, options, progress).failing > 0;
}

} // namespace

std::optional<TextChange> changeOf(const RuleLibrary& library, const RuleEdit& edit) {
    const Source& source = (*library.sources)[edit.span.source];
    auto splice = spliceOf(library, edit);
    if (!splice)
        return std::nullopt;
    LineColumn at = source.position(static_cast<uint32_t>(splice->begin));
    return TextChange{{source.name(), at.line, at.column,
                       static_cast<uint32_t>(splice->remove.size()),
                       std::string(source.line(at.line))},
                      std::move(splice->remove),
                      std::move(splice->insert)};
}

std::optional<EditedRules> applyEdit(const RuleLibrary& library, const RuleEdit& edit) {
    const Source& source = (*library.sources)[edit.span.source];
    auto splice = spliceOf(library, edit);
    if (!splice)
        return std::nullopt;
    std::string text = source.text();
    text.replace(splice->begin, splice->remove.size(), splice->insert);
    return EditedRules{source.name(), std::move(text)};
}

namespace {

/// The rules with the edit made, loaded again.
Result<RuleLibrary> editedLibrary(const RuleLibrary& library, const RuleOptions& rules,
                                  const RuleEdit& edit) {
    auto edited = applyEdit(library, edit);
    if (!edited)
        return failure("explain.edit", "the change does not fit the text of the rule");
    RuleOptions changed = rules;
    changed.unsaved[edited->file] = edited->text;
    for (dsl::RuleInput& text : changed.texts)
        if (text.name == edited->file)
            text.text = edited->text;
    return requireRuleLibrary(changed);
}

} // namespace

bool loadsWith(const RuleLibrary& library, const RuleOptions& rules, const RuleEdit& edit) {
    return static_cast<bool>(editedLibrary(library, rules, edit));
}

Result<std::shared_ptr<const Plan>> planToJudge(const Graph& fused, const RuleLibrary& library,
                                                const FuseOptions& options, Progress& progress) {
    Result<DeviceProfile> profile =
        options.device ? Result<DeviceProfile>(*options.device) : deviceProfile(options.profile);
    if (!profile)
        return failure(profile.error());
    Graph bound = fused.clone();
    bindAllDimensions(bound, options.dims);
    auto sized = withSizes(std::move(bound), {}, progress);
    if (!sized)
        return failure(sized.error());
    const std::unique_ptr<Backend> backend = planningBackendOf(*profile);
    const PlanRequest request{&*profile, backend.get(), options.precision, options.strict,
                              numericClasses(library)};
    auto side =
        planSide(std::make_shared<const Graph>(std::move(*sized)), Form::Fused, request, progress);
    if (!side)
        return failure(side.error());
    return side->plan;
}

Result<FlipGain> tryFlip(const Graph& graph, const RuleLibrary& library, const RuleOptions& rules,
                         const FuseOptions& options, const std::string& rule, const FlipSide& now,
                         const RuleEdit& edit, Progress& progress) {
    auto loaded = editedLibrary(library, rules, edit);
    if (!loaded)
        return failure(loaded.error());
    FuseOptions quick = options;
    quick.explain = false;
    auto after = fuseGraph(graph, *loaded, quick, progress);
    if (!after)
        return failure(after.error());
    auto plan = planToJudge(after->graph, *loaded, quick, progress);
    if (!plan)
        return failure(plan.error());
    const auto bytes = [](const Plan& of) {
        return static_cast<double>(of.totalTraffic().logical());
    };
    FlipGain out{after->trace.applied(rule),
                 now.trace.applied(rule),
                 (now.plan.totalPredicted().seconds - (*plan)->totalPredicted().seconds) * 1e6,
                 countNodes(after->graph),
                 bytes(**plan) - bytes(now.plan),
                 false};
    out.isUnsound =
        out.fires > 0 && isBlamed(*loaded, rule, progress) && !isBlamed(library, rule, progress);
    return out;
}

} // namespace fuselage::app
