// SPDX-License-Identifier: Apache-2.0
// Patterns are written out where they are used, with slots and dimensions of their own.
#include "dsl/compile_internal.h"

#include <algorithm>

namespace fuselage::dsl {

namespace {

const ast::Define* rootOf(const ast::Pattern& pattern) {
    for (auto it = pattern.body.rbegin(); it != pattern.body.rend(); ++it)
        if (auto* define = std::get_if<ast::Define>(&*it))
            for (const ast::Name& name : define->names)
                if (!pattern.results.empty() && name.text == pattern.results[0].text)
                    return define;
    return nullptr;
}

bool hasConditions(const ast::Pattern& pattern) {
    for (const ast::Statement& statement : pattern.body)
        if (!std::holds_alternative<ast::Define>(statement))
            return true;
    return false;
}

} // namespace

const ast::Pattern* RuleCompiler::patternNamed(const ast::Term& term, const Scope& scope) const {
    if (const DeclaredOperator* declared =
            term.kind == ast::Term::Kind::Node ? declaredBody(term.name.text, scope) : nullptr)
        return &declared->item->pattern;
    auto found = scope.names->patterns.find(term.name.text);
    return term.kind == ast::Term::Kind::Node && found != scope.names->patterns.end()
               ? found->second
               : nullptr;
}

/// A pattern can take a Hole as parameter when it reads its parameters and inner values only
/// outside of later chain steps, where `_` would mean another value.
bool RuleCompiler::isSimple(const ast::Pattern& pattern, size_t depth) {
    if (auto known = m_facts.simple.find(&pattern); known != m_facts.simple.end())
        return known->second;
    if (depth > 32)
        return false; // recursion is reported when it is written out
    bool simple = pattern.results.size() == 1;
    for (const ast::Statement& statement : pattern.body) {
        auto* define = std::get_if<ast::Define>(&statement);
        if (!define)
            continue;
        simple = simple && define->names.size() == 1 &&
                 !useIn(pattern, define->names[0].text).inLaterStep;
        walkTerms(define->choice, [&](const ast::Term& term, bool) {
            const Names& names = m_library.namesOf(pattern.name.span.source);
            auto inner = names.patterns.find(term.name.text);
            if (term.kind == ast::Term::Kind::Node && inner != names.patterns.end())
                simple = simple && inner->second != &pattern && isSimple(*inner->second, depth + 1);
        });
    }
    for (const ast::Parameter& parameter : pattern.parameters)
        simple = simple && !useIn(pattern, parameter.name.text).inLaterStep;
    m_facts.simple[&pattern] = simple;
    return simple;
}

const NameUse& RuleCompiler::useIn(const ast::Pattern& pattern, const std::string& name) {
    auto [known, isNew] = m_facts.uses.try_emplace({&pattern, name});
    if (isNew)
        known->second = useOf(name, pattern.body);
    return known->second;
}

bool RuleCompiler::needsSlot(const ast::Term& term, const Scope& scope) {
    bool needs = false;
    walkTerms(term, [&](const ast::Term& inner, bool) {
        if (const ast::Pattern* pattern = patternNamed(inner, scope))
            needs = needs || !isSimple(*pattern, 0);
    });
    return needs;
}

Bound RuleCompiler::actual(TermId id, const ast::Parameter& parameter, const NameUse& use,
                           const ast::Pattern& pattern) {
    const ast::TypeSpec* type = parameter.type ? &*parameter.type : nullptr;
    const Term& term = m_rule->terms[id.index()];
    if (term.kind == Term::Kind::Value && term.slot && !term.type && !term.rest)
        return {term.slot, term.step, type};
    if (use.times == 1 && !use.hasType && !type)
        return {std::nullopt, id, nullptr};
    return {freshSlot(pattern.name.text + "." + parameter.name.text, parameter.name.span), id,
            type};
}

bool RuleCompiler::bindParameters(const ast::Term& reference, const ast::Pattern& pattern,
                                  Filler* filler, bool implied, Scope& scope, Scope& inner) {
    const auto& parameters = pattern.parameters;
    bool takesHole = implied && filler && !mentionsHole(reference);
    size_t given = reference.args.size() + (takesHole ? 1 : 0);
    // Without an operand list, the other parameters match anything.
    bool isShort = !reference.hasArguments && given <= parameters.size();
    if (given != parameters.size() && !isShort) {
        Diagnostic& d = error("E0205", reference.span,
                              "pattern `" + pattern.name.text + "` has other parameters");
        d.found = std::to_string(given) + " operands";
        d.expected = std::to_string(parameters.size());
        d.labels.push_back({pattern.name.span, "defined here"});
        d.fix = "give one operand for each parameter";
        return false;
    }
    for (size_t i = 0; i < parameters.size(); ++i) {
        const ast::Parameter& parameter = parameters[i];
        const NameUse& use = useIn(pattern, parameter.name.text);
        Bound bound;
        if (takesHole && i == 0 && !filler->isHole) {
            bound = filler->bound;
            bound.type = parameter.type ? &*parameter.type : nullptr;
            filler->used = true;
        } else if (takesHole && i == 0) {
            bound = actual(holeTerm(*filler, reference.span), parameter, use, pattern);
        } else if (i < given) {
            const ast::Arg& arg = reference.args[i - (takesHole ? 1 : 0)];
            bound = actual(chain(arg.chain, filler, false, scope), parameter, use, pattern);
        } else {
            bound.slot =
                freshSlot(pattern.name.text + "." + parameter.name.text, parameter.name.span);
            bound.type = parameter.type ? &*parameter.type : nullptr;
        }
        inner.values[parameter.name.text] = bound;
        if (parameter.type)
            declareDims(*parameter.type, inner);
    }
    return true;
}

TermId RuleCompiler::inlinedBody(const ast::Pattern& pattern, const ast::Define& root,
                                 Scope& inner) {
    // Names first, so that statements may stand in any order.
    std::vector<std::pair<const ast::Define*, TermId>> locals;
    for (const ast::Statement& statement : pattern.body) {
        auto* define = std::get_if<ast::Define>(&statement);
        if (!define || define == &root)
            continue;
        TermId place;
        if (define->names.size() == 1 && inner.values.count(define->names[0].text) == 0) {
            place = add(makeTerm(Term::Kind::Any, define->span));
            inner.values[define->names[0].text] = {
                freshSlot(inner.prefix + define->names[0].text, define->names[0].span), place};
        }
        locals.emplace_back(define, place);
    }
    declare(pattern.body, inner, &root);
    for (auto& [local, place] : locals) {
        if (!place.valid()) {
            define(*local, inner, *m_block);
            continue;
        }
        TermId made = choice(local->choice.alternatives, local->choice.span, nullptr, false, inner);
        m_rule->terms[place.index()] = Term(m_rule->terms[made.index()]);
    }
    return choice(root.choice.alternatives, root.choice.span, nullptr, false, inner);
}

Inlined RuleCompiler::inlined(const ast::Term& reference, const ast::Pattern& pattern,
                              Filler* filler, bool implied, Scope& scope) {
    auto nothing = [&] { return Inlined{add(makeTerm(Term::Kind::Any, reference.span)), {}}; };
    const DeclaredOperator* declared = declaredBody(reference.name.text, scope);
    if (!reference.prefix.empty() || (!declared && !reference.tests.empty())) {
        Diagnostic& d = error("E0215", reference.span,
                              "a pattern takes no `spec`, `flat`, `ordered` or `[...]`");
        d.found = "`" + std::string(m_library.sources().text(reference.span)) + "`";
        d.labels.push_back({pattern.name.span, "a pattern"});
        d.fix = "write it inside of the pattern";
        return nothing();
    }
    Scope inner;
    inner.names = &m_library.namesOf(pattern.name.span.source);
    inner.prefix = pattern.name.text + ".";
    if (!bindParameters(reference, pattern, filler, implied, scope, inner))
        return nothing();
    if (declared) {
        m_namesBody = true;
        bindAttributes(reference, *declared, scope, inner);
    }
    return writtenOut(pattern, "pattern", reference.span, inner);
}

/// The body where a pattern or form is used; `inner` has its parameters.
Inlined RuleCompiler::writtenOut(const ast::Pattern& pattern, const char* what, const Span& use,
                                 Scope& inner) {
    auto nothing = [&] { return Inlined{add(makeTerm(Term::Kind::Any, use)), {}}; };
    const std::string named = std::string(what) + " `" + pattern.name.text + "` ";
    if (std::find(m_patternStack.begin(), m_patternStack.end(), &pattern) != m_patternStack.end()) {
        Diagnostic& d = error("E0212", use, named + "contains itself");
        d.labels.push_back({pattern.name.span, "defined here"});
        d.fix = std::string_view(what) == "form"
                    ? "write the operator by others; a form cannot stand inside of itself"
                    : "write the repeated step as `Step{1..n}`";
        return nothing();
    }
    const ast::Define* root = rootOf(pattern);
    if (!root) {
        Diagnostic& d = error("E0247", pattern.name.span, named + "does not define its result");
        d.expected = "`" + pattern.results[0].text + " = ...;` in its body";
        d.fix = "define the result with a statement";
        return nothing();
    }
    m_patternStack.push_back(&pattern);
    const std::string& result = pattern.results[0].text;
    bool isSplit = root->names.size() > 1; // outputs of one operator: a definition of the block
    bool isNamed = isSplit || pattern.results.size() > 1 || hasConditions(pattern) ||
                   useIn(pattern, result).times > 0;
    for (const ast::Name& name : root->names)
        if (isNamed)
            inner.values[name.text].slot = freshSlot(inner.prefix + name.text, name.span);
    if (isNamed && !isSplit)
        inner.values[result].step = add(makeTerm(Term::Kind::Any, use));
    TermId body = inlinedBody(pattern, *root, inner);
    if (isNamed) {
        const Bound own = inner.values[result];
        if (isSplit) {
            Definition outputs{{}, body, root->span};
            for (const ast::Name& name : root->names)
                outputs.slots.push_back(*inner.values[name.text].slot);
            m_block->definitions.push_back(std::move(outputs));
        } else {
            m_rule->terms[own.step.index()] = Term(m_rule->terms[body.index()]);
        }
        body = boundTerm(own, use, pattern.name.text);
        conditions(pattern.body, inner, *m_block, own.slot);
    }
    Inlined out{body, {}};
    for (const ast::Name& name : pattern.results) {
        const Bound* bound = inner.find(&Scope::values, name.text);
        out.results.push_back(bound ? *bound : Bound{});
    }
    m_patternStack.pop_back();
    return out;
}

} // namespace fuselage::dsl
