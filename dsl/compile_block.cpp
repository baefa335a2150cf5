// SPDX-License-Identifier: Apache-2.0
// Statements: which names a block binds, its definitions, conditions, `many` and `unless`.
#include "core/ops/op_table.h"
#include "dsl/compile_internal.h"

#include <algorithm>
#include <set>

namespace fuselage::dsl {

namespace {

constexpr uint32_t manyLimit = 4096;

/// "x: [..., K];": constrains a value and cannot be the root of a search.
bool isConstraint(const ast::Define& define) {
    const auto& alternatives = define.choice.alternatives;
    return define.names.empty() && alternatives.size() == 1 &&
           alternatives[0].chain.steps.size() == 1 &&
           alternatives[0].chain.steps[0].term.kind == ast::Term::Kind::Value;
}

/// The term of a definition that consists of one term only.
const ast::Term* onlyTerm(const ast::Define& define) {
    const auto& alternatives = define.choice.alternatives;
    bool isOne = alternatives.size() == 1 && alternatives[0].chain.steps.size() == 1;
    return isOne ? &alternatives[0].chain.steps[0].term : nullptr;
}

} // namespace

void RuleCompiler::declareDims(const ast::TypeSpec& type, Scope& scope) {
    for (const ast::Dim& dim : type.dims) {
        if (dim.kind != ast::Dim::Kind::Value || dim.value.kind != ast::Expr::Kind::Upper ||
            scope.find(&Scope::dims, dim.value.text))
            continue;
        scope.dims[dim.value.text] = static_cast<uint32_t>(m_rule->dims.size());
        m_rule->dims.push_back(scope.prefix + dim.value.text);
    }
}

/// Gives a slot to each new name of a block, except the results of `unnamed`.
void RuleCompiler::declare(const std::vector<ast::Statement>& body, Scope& scope,
                           const ast::Define* unnamed) {
    auto bind = [&](const ast::Name& name) {
        if (!scope.find(&Scope::values, name.text))
            scope.values[name.text].slot = freshSlot(scope.prefix + name.text, name.span);
    };
    for (const ast::Statement& statement : body) {
        auto* define = std::get_if<ast::Define>(&statement);
        if (!define)
            continue;
        if (define != unnamed)
            for (const ast::Name& name : define->names)
                bind(name);
        walkTerms(define->choice, [&](const ast::Term& term, bool) {
            if (term.kind == ast::Term::Kind::Value)
                bind(term.name);
            if (term.capture)
                bind(*term.capture);
            if (term.type)
                declareDims(*term.type, scope);
        });
    }
}

void RuleCompiler::block(const std::vector<ast::Statement>& body, Scope& scope, Block& out) {
    Block* outer = m_block;
    m_block = &out;
    declare(body, scope);
    std::set<std::string> defined;
    std::vector<const ast::Define*> roots;
    for (const ast::Statement& statement : body) {
        auto* item = std::get_if<ast::Define>(&statement);
        if (!item)
            continue;
        for (const ast::Name& name : item->names)
            if (!defined.insert(name.text).second) {
                Diagnostic& d = error("E0232", name.span, "`" + name.text + "` is defined twice");
                d.expected = "one definition";
                d.fix = "join both with `|`, or rename one";
            }
        if (isConstraint(*item))
            define(*item, scope, out);
        else
            roots.push_back(item);
    }
    for (const ast::Define* item : roots)
        define(*item, scope, out);
    for (const ast::Statement& statement : body)
        if (auto* item = std::get_if<ast::Many>(&statement))
            many(*item, scope, out);
    conditions(body, scope, out, std::nullopt);
    m_block = outer;
}

void RuleCompiler::define(const ast::Define& define, Scope& scope, Block& out) {
    Definition definition;
    definition.span = define.span;
    std::vector<SlotIndex> slots;
    for (const ast::Name& name : define.names) {
        const Bound* bound = scope.find(&Scope::values, name.text);
        if (bound && bound->slot) {
            slots.push_back(*bound->slot);
            continue;
        }
        Diagnostic& d = error("E0232", name.span, "`" + name.text + "` is already bound");
        d.found = "a parameter of that name";
        d.fix = "choose another name";
        return;
    }
    const ast::Term* only = onlyTerm(define);
    const ast::Pattern* pattern = only && slots.size() > 1 ? patternNamed(*only, scope) : nullptr;
    if (!pattern) {
        definition.term =
            choice(define.choice.alternatives, define.choice.span, nullptr, false, scope);
        definition.slots = slots;
        checkOutputs(definition.term, define);
        out.definitions.push_back(std::move(definition));
        return;
    }
    // Further results of a pattern: each is a definition of its own.
    Inlined made = inlined(*only, *pattern, nullptr, false, scope);
    if (slots.size() > made.results.size() && m_errors == 0) {
        Diagnostic& d = error("E0205", define.names.back().span,
                              "pattern `" + pattern->name.text + "` has fewer results");
        d.expected = std::to_string(made.results.size());
        d.fix = "remove the names behind that";
    }
    for (size_t i = 1; i < slots.size() && i < made.results.size(); ++i)
        out.definitions.push_back({{slots[i]},
                                   boundTerm(made.results[i], define.span, define.names[i].text),
                                   define.span});
    out.definitions.push_back({{slots[0]}, made.term, define.span});
}

/// Each operator that may stand there has as many outputs as get names.
void RuleCompiler::checkOutputs(TermId id, const ast::Define& define) {
    const Term& made = m_rule->term(id);
    for (const Term::Alternative& each : made.alternatives)
        checkOutputs(each.term, define);
    const size_t wanted = std::min<size_t>(define.names.size(), variadic);
    if (made.kind != Term::Kind::Node || made.ops.empty())
        return;
    const bool isCustom = made.custom.size() == 1;
    if (!isCustom && (made.ops.size() != 1 || !hasSchema(made.ops[0])))
        return;
    const size_t most =
        isCustom ? made.custom[0]->maxOutputs : static_cast<size_t>(rowOf(made.ops[0]).maxOutputs);
    if (most >= wanted)
        return;
    Diagnostic& d = error("E0205", define.names.back().span, made.text + " has fewer outputs");
    d.expected = "at most " + std::to_string(most);
    d.fix = "remove the names behind that";
}

/// A name of the block around a `many` is one value in all instances, which share no node.
void RuleCompiler::oneInAll(const std::string& name, Span span) {
    Diagnostic& d = error("E0233", span, "`" + name + "` is named outside of the `many` too");
    d.expected = "a name that only the `many` has: each instance makes another value";
    d.fix = "name it otherwise inside; a match cannot read what instances make, a rewrite reads "
            "the list `" +
            name + "[]`";
}

void RuleCompiler::many(const ast::Many& many, Scope& scope, Block& out) {
    Many made;
    made.span = many.span;
    made.all = many.all;
    if (checkRange(many.range, manyLimit)) {
        made.least = many.range.least;
        made.most = many.range.most;
    }
    size_t slotsBefore = m_rule->slots.size();
    size_t dimsBefore = m_rule->dims.size();
    Scope inner;
    inner.parent = &scope;
    inner.names = scope.names;
    inner.prefix = scope.prefix;
    block(many.body, inner, made.block);
    for (const Definition& definition : made.block.definitions)
        for (SlotIndex slot : definition.slots)
            if (slot < slotsBefore)
                oneInAll(m_rule->slots[slot].name, definition.span);
    for (size_t i = slotsBefore; i < m_rule->slots.size(); ++i) {
        m_rule->slots[i].isList = true;
        made.slots.push_back(static_cast<SlotIndex>(i));
    }
    for (size_t i = dimsBefore; i < m_rule->dims.size(); ++i)
        made.dims.push_back(static_cast<uint32_t>(i));
    for (auto& [name, bound] : inner.values) {
        bool isNew = !bound.slot || scope.lists.emplace(name, *bound.slot).second;
        if (!isNew) {
            Diagnostic& d = error("E0232", many.span, "`" + name + "` is bound in two `many`");
            d.fix = "use another name in one of them";
        }
    }
    scope.dimLists.insert(inner.dims.begin(), inner.dims.end());
    if (made.block.definitions.empty()) {
        Diagnostic& d = error("E0247", many.span, "`many` has nothing to match");
        d.fix = "add a statement such as `m = MatMul(x, w);`";
    }
    out.manys.push_back(std::move(made));
}

void RuleCompiler::unless(const ast::Unless& unless, Scope& scope, Block& out,
                          std::optional<SlotIndex> when) {
    Scope inner;
    inner.parent = &scope;
    inner.names = scope.names;
    inner.prefix = scope.prefix;
    Block made;
    made.when = when;
    made.span = unless.span;
    block(unless.body, inner, made);
    if (made.definitions.empty()) {
        Diagnostic& d = error("E0247", unless.span, "`unless` has nothing to match");
        d.fix = "add a statement such as `Softmax(p);`";
    }
    out.unless.push_back(std::move(made));
}

void RuleCompiler::conditions(const std::vector<ast::Statement>& body, Scope& scope, Block& out,
                              std::optional<SlotIndex> when) {
    // Each `let` sees those before it.
    for (const ast::Statement& statement : body) {
        if (auto* let = std::get_if<ast::Let>(&statement)) {
            if (scope.find(&Scope::values, let->name.text) ||
                scope.find(&Scope::lets, let->name.text)) {
                Diagnostic& d =
                    error("E0232", let->name.span, "`" + let->name.text + "` is already bound");
                d.fix = "choose another name";
                continue;
            }
            Expression value = expression(let->value, scope);
            scope.lets[let->name.text] = static_cast<uint32_t>(m_rule->lets.size());
            m_rule->lets.push_back({scope.prefix + let->name.text, std::move(value)});
        } else if (auto* where = std::get_if<ast::Where>(&statement)) {
            for (const ast::Expr& condition : where->conditions) {
                Expression compiled = expression(condition, scope);
                if (compiled.kind != Expression::Kind::Number) // `true` is one
                    checkCondition(compiled);
                out.conditions.push_back({std::move(compiled), when, condition.span});
            }
        } else if (auto* item = std::get_if<ast::Unless>(&statement)) {
            unless(*item, scope, out, when);
        } else if (std::holds_alternative<ast::Many>(statement) && !scope.prefix.empty() && when) {
            Diagnostic& d = error("E0243", ast::spanOf(statement), "`many` stands in a pattern");
            d.expected = "`many` directly in the `match` of a rule";
            d.fix = "move it into the rule";
        }
    }
}

} // namespace fuselage::dsl
