// SPDX-License-Identifier: Apache-2.0
// Chains, operators, values, types: the pattern side of a rule.
#include "core/ops/op_table.h"
#include "dsl/compile_internal.h"
#include "dsl/names_elsewhere.h"
#include "dsl/tokens.h"

#include <algorithm>

namespace fuselage::dsl {

namespace {

using TermKind = Term::Kind;

constexpr size_t chainLimit = 200;
constexpr size_t termLimit = 20000;
constexpr uint32_t repeatLimit = 256;
constexpr uint32_t regionLimit = 4096;
constexpr size_t flatLimit = 6;

/// True when the value depends on what the rule's names are bound to.
bool readsMatch(const Expression& expression) {
    using Reads = Expression::Kind;
    if (expression.kind == Reads::Slot || expression.kind == Reads::SlotList ||
        expression.kind == Reads::Dim || expression.kind == Reads::DimList ||
        expression.kind == Reads::Let || expression.kind == Reads::Parameter)
        return true;
    return std::any_of(expression.args.begin(), expression.args.end(), readsMatch) ||
           std::any_of(expression.named.begin(), expression.named.end(),
                       [](const auto& named) { return readsMatch(named.value); });
}

Span join(const Span& from, const Span& to) {
    return {from.source, from.begin, to.end};
}

} // namespace

Diagnostic& RuleCompiler::error(const char* code, const Span& span, std::string message) {
    ++m_errors;
    return m_diagnostics.error(code, span, std::move(message));
}

bool RuleCompiler::withinBudget(const Span& span) {
    if (!m_overBudget) {
        m_overBudget = true;
        Diagnostic& d = error("E0213", span,
                              "the rule is too large when its patterns and functions "
                              "are written out");
        d.expected = "at most " + std::to_string(termLimit) + " terms";
        d.fix = "use fewer patterns inside of patterns";
    }
    return false;
}

TermId RuleCompiler::add(Term term) {
    if (m_rule->terms.size() >= termLimit) {
        withinBudget(term.span);
        return TermId(0);
    }
    m_rule->terms.push_back(std::move(term));
    return TermId(static_cast<uint32_t>(m_rule->terms.size() - 1));
}

Term RuleCompiler::makeTerm(TermKind kind, const Span& span, std::string text) {
    Term out;
    out.kind = kind;
    out.span = span;
    out.text = std::move(text);
    return out;
}

SlotIndex RuleCompiler::freshSlot(const std::string& name, const Span& span) {
    m_rule->slots.push_back({name, false, span});
    return static_cast<SlotIndex>(m_rule->slots.size() - 1);
}

TermId RuleCompiler::boundTerm(const Bound& bound, const Span& span, const std::string& text) {
    if (!bound.slot)
        return bound.step;
    Term out = makeTerm(TermKind::Value, span, text);
    out.slot = bound.slot;
    out.step = bound.step;
    return add(std::move(out));
}

TermId RuleCompiler::holeTerm(Filler& filler, const Span& span) {
    filler.used = true;
    return filler.isHole ? add(makeTerm(TermKind::Hole, span, "_"))
                         : boundTerm(filler.bound, span, "_");
}

TermId RuleCompiler::choice(const std::vector<ast::Alternative>& alternatives, const Span& span,
                            Filler* filler, bool implied, Scope& scope) {
    if (alternatives.size() == 1 && !alternatives[0].label)
        return chain(alternatives[0].chain, filler, implied, scope);
    Term out = makeTerm(TermKind::Choice, span, std::string(m_library.sources().text(span)));
    for (const ast::Alternative& alternative : alternatives) {
        bool readsBefore = filler && filler->used;
        if (filler)
            filler->used = false;
        out.alternatives.push_back({alternative.label ? alternative.label->text : "",
                                    chain(alternative.chain, filler, implied, scope),
                                    alternative.chain.span});
        if (implied && filler && !filler->used) {
            Diagnostic& d = error("E0241", alternative.chain.span,
                                  "this alternative does not read what stands before `->`");
            d.fix = "put `_` where the value goes";
        }
        if (filler)
            filler->used |= readsBefore;
    }
    return add(std::move(out));
}

TermId RuleCompiler::chain(const ast::Chain& chain, Filler* filler, bool implied, Scope& scope) {
    if (chain.steps.size() > chainLimit) {
        Diagnostic& d = error("E0105", chain.span, "chain too long");
        d.expected = "at most " + std::to_string(chainLimit) + " steps";
        d.fix = "name an inner value with a statement of its own";
        return add(makeTerm(TermKind::Any, chain.span));
    }
    const ast::Step& first = chain.steps[0];
    bool isStep = implied && filler;
    if (isStep && first.quantifier != ast::Step::Quantifier::One) {
        TermId source = holeTerm(*filler, first.span);
        TermId current = quantified(first, source, scope);
        for (size_t i = 1; i < chain.steps.size(); ++i)
            current = quantified(chain.steps[i], current, scope);
        return current;
    }
    if (first.quantifier != ast::Step::Quantifier::One) {
        Diagnostic& d = error("E0240", first.span, "the first step of a chain cannot be left out");
        d.found = "`" + std::string(m_library.sources().text(first.span)) + "`";
        d.expected = "a step behind `->`";
        d.fix = "put a value before it: `x -> ...?`";
    }
    TermId current = term(first.term, filler, implied, scope);
    for (size_t i = 1; i < chain.steps.size(); ++i)
        current = quantified(chain.steps[i], current, scope);
    return current;
}

TermId RuleCompiler::quantified(const ast::Step& step, TermId source, Scope& scope) {
    using Quantifier = ast::Step::Quantifier;
    Filler filler;
    bool isRepeat = step.quantifier == Quantifier::Repeat;
    if (needsSlot(step.term, scope)) {
        filler.isHole = false;
        const Term& before = m_rule->terms[source.index()];
        bool isName = before.kind == TermKind::Value && before.slot && !before.type;
        filler.bound = isName ? Bound{before.slot, before.step}
                              : Bound{freshSlot(scope.prefix + "_", step.span), source};
        if (isRepeat) {
            Diagnostic& d =
                error("E0245", step.span, "a pattern that repeats reads its values behind no `->`");
            d.fix = "write its steps inside of each other: `Sqrt(Add(x, m))`";
        }
    }
    TermId inner = term(step.term, &filler, true, scope);
    if (!filler.used && m_errors == 0) {
        Diagnostic& d =
            error("E0241", step.span, "this step does not read what stands before `->`");
        d.found = "`" + std::string(m_library.sources().text(step.span)) + "`";
        d.expected = "an operator, a pattern or a group";
        d.fix = "put `_` where the value goes";
        if (step.term.kind == ast::Term::Kind::Value) {
            d.fix =
                operatorFix(step.term.name.text, operatorNames(), "write an operator or a pattern");
        }
    }
    if (step.quantifier == Quantifier::One && !filler.isHole)
        return inner;
    Term out = makeTerm(step.quantifier == Quantifier::One ? TermKind::Pipe
                        : isRepeat                         ? TermKind::Repeat
                                                           : TermKind::Optional,
                        join(m_rule->terms[source.index()].span, step.span),
                        m_rule->terms[inner.index()].text);
    out.step = inner;
    out.source = filler.isHole ? source : boundTerm(filler.bound, step.span, "_");
    if (isRepeat && checkRange(step.range, repeatLimit)) {
        out.least = step.range.least;
        out.most = step.range.most;
    }
    return add(std::move(out));
}

bool RuleCompiler::checkRange(const ast::Range& range, uint32_t limit) {
    if (range.least <= range.most && range.most > 0 && range.most <= limit)
        return true;
    Diagnostic& d = error("E0248", range.span, "this range is empty or too large");
    d.found = std::to_string(range.least) + ".." + std::to_string(range.most);
    d.expected = "the smaller number first, at most " + std::to_string(limit);
    const auto [first, last] = std::minmax(range.least, range.most);
    const uint32_t end = std::clamp(last, 1U, limit);
    d.fix = "write `" + std::to_string(std::min(first, end)) + ".." + std::to_string(end) + "`";
    return false;
}

TermId RuleCompiler::term(const ast::Term& term, Filler* filler, bool implied, Scope& scope) {
    if (m_overBudget)
        return TermId(0);
    switch (term.kind) {
    case ast::Term::Kind::Hole:
        return filler ? holeTerm(*filler, term.span) : add(makeTerm(TermKind::Any, term.span, "_"));
    case ast::Term::Kind::Value:
        return value(term, scope);
    case ast::Term::Kind::Number:
        return number(term);
    case ast::Term::Kind::Group:
        return captured(choice(term.alternatives, term.span, filler, implied, scope), term.capture,
                        scope);
    case ast::Term::Kind::Region:
        return captured(region(term, filler, implied, scope), term.capture, scope);
    case ast::Term::Kind::Node:
        break;
    }
    if (const ast::Pattern* pattern = patternNamed(term, scope))
        return captured(inlined(term, *pattern, filler, implied, scope).term, term.capture, scope);
    TermId made = term.prefix == "spec" ? spec(term, filler, implied, scope)
                                        : node(term, filler, implied, scope);
    return captured(made, term.capture, scope);
}

TermId RuleCompiler::captured(TermId id, const std::optional<ast::Name>& capture, Scope& scope) {
    if (!capture)
        return id;
    const Bound* bound = scope.find(&Scope::values, capture->text);
    if (!bound || !bound->slot) {
        Diagnostic& d =
            error("E0232", capture->span, "`" + capture->text + "` cannot be captured here");
        d.fix = "choose another name";
        return id;
    }
    Term& inner = m_rule->terms[id.index()];
    bool holdsSlot = inner.kind == TermKind::Node || inner.kind == TermKind::Region ||
                     inner.kind == TermKind::Choice;
    if (holdsSlot && !inner.slot) {
        inner.slot = bound->slot;
        return id;
    }
    return boundTerm({bound->slot, id}, capture->span, capture->text);
}

TermId RuleCompiler::value(const ast::Term& term, Scope& scope) {
    if (const uint32_t* let = m_isWrittenOut ? scope.find(&Scope::lets, term.name.text) : nullptr)
        if (const Expression& attribute = m_rule->lets[*let].expression;
            attribute.kind == Expression::Kind::Number) {
            Term out = makeTerm(TermKind::Number, term.span, term.name.text);
            out.number = attribute.number;
            return add(std::move(out));
        }
    const Bound* bound = scope.find(&Scope::values, term.name.text);
    if (!bound) {
        // Every name of a block is declared before its terms, so only a list is left.
        Diagnostic& d = error("E0233", term.span, "`" + term.name.text + "` is a list here");
        d.fix = "use it inside of the `many` that binds it";
        return add(makeTerm(TermKind::Any, term.span, term.name.text));
    }
    if (!bound->slot)
        return bound->step;
    Term out = makeTerm(TermKind::Value, term.span, term.name.text);
    out.slot = bound->slot;
    out.step = bound->step;
    out.mayBeAbsent = term.mayBeAbsent;
    out.rest = term.rest;
    if (term.type)
        out.type = type(*term.type, scope);
    else if (bound->type)
        out.type = type(*bound->type, scope);
    return add(std::move(out));
}

TermId RuleCompiler::number(const ast::Term& term) {
    Term out = makeTerm(TermKind::Number, term.span, term.number);
    out.number = numeralValue(term.number);
    if (!term.tolerance.empty())
        out.tolerance = numeralValue(term.tolerance);
    else if (m_rule->isRewrite && m_rule->numeric == NumericClass::Exact)
        out.tolerance = 0;
    return add(std::move(out));
}

OperatorSet RuleCompiler::opsNamed(const ast::Name& name, const Scope& scope) {
    const size_t before = m_diagnostics.all().size();
    if (auto found = operatorsNamed(name, *scope.names, m_diagnostics)) {
        m_errors += found->ops.empty() && m_diagnostics.all().size() > before ? 1 : 0;
        return *found;
    }
    std::vector<std::string> known = operatorNames();
    known.insert(known.end(), publishedNames().begin(), publishedNames().end());
    for (auto& [pattern, item] : scope.names->patterns)
        known.push_back(pattern);
    for (auto& [group, ops] : scope.names->classes)
        known.push_back(group);
    Diagnostic& d =
        error("E0201", name.span, "there is no operator, class or pattern `" + name.text + "`");
    d.fix = operatorFix(name.text, known,
                        "write an ONNX operator, another with its domain (`com.acme." + name.text +
                            "`), or import the file that defines it");
    return {};
}

TermId RuleCompiler::region(const ast::Term& term, Filler* filler, bool implied, Scope& scope) {
    Term out = makeTerm(TermKind::Region, term.span, "region " + term.name.text);
    const OperatorSet meant = opsNamed(term.name, scope);
    out.ops = meant.ops;
    out.custom = meant.custom;
    if (checkRange(term.range, regionLimit)) {
        out.least = term.range.least;
        out.most = term.range.most;
    }
    out.maxOutputs = term.outputs.value_or(1);
    if (implied && filler)
        out.arguments.push_back({"", holeTerm(*filler, term.span)});
    return add(std::move(out));
}

TermId RuleCompiler::node(const ast::Term& term, Filler* filler, bool implied, Scope& scope) {
    Term out = makeTerm(TermKind::Node, term.span, term.name.text);
    const OperatorSet meant = opsNamed(term.name, scope);
    out.ops = meant.ops;
    out.custom = meant.custom;
    out.order = term.prefix == "ordered" ? OperandOrder::Ordered
                : term.prefix == "flat"  ? OperandOrder::Flat
                                         : OperandOrder::Schema;
    out.hasArguments = term.hasArguments;
    if (implied && filler && !mentionsHole(term))
        out.arguments.push_back({"", holeTerm(*filler, term.span)});
    bool open = false;
    for (const ast::Arg& arg : term.args) {
        const ast::Term& first = arg.chain.steps[0].term;
        open |= first.kind == ast::Term::Kind::Value && first.rest;
        out.arguments.push_back(
            {arg.name ? arg.name->text : "", chain(arg.chain, filler, false, scope)});
    }
    for (const ast::Test& test : term.tests) {
        Expression value = expression(test.value, scope);
        bool late = readsMatch(value);
        out.tests.push_back(
            {test.attribute.text, test.comparison, std::move(value), late, test.span});
    }
    bool associative = std::all_of(out.ops.begin(), out.ops.end(), [](Op op) {
        return hasTrait(op, Commutative) && hasTrait(op, Associative);
    });
    if (out.order == OperandOrder::Flat && !associative) {
        Diagnostic& d = error("E0215", term.name.span,
                              "`flat` needs an operator whose order and "
                              "nesting do not matter");
        d.found = "`" + term.name.text + "`";
        d.expected = "Add, Mul, Min, Max, And, Or ...";
        d.fix = "remove `flat`";
    }
    if (out.order == OperandOrder::Flat &&
        (out.arguments.size() < 2 || out.arguments.size() > flatLimit)) {
        Diagnostic& d = error("E0217", term.span, "wrong number of operands for `flat`");
        d.found = std::to_string(out.arguments.size());
        d.expected = "2 to " + std::to_string(flatLimit);
        d.fix = "split it into two statements";
    }
    if (out.order != OperandOrder::Flat)
        checkNode(term, meant, out.arguments.size(), open);
    return add(std::move(out));
}

TypePattern RuleCompiler::type(const ast::TypeSpec& spec, Scope& scope) {
    TypePattern out;
    out.span = spec.span;
    for (const ast::Name& flag : spec.flags) {
        out.isConst |= flag.text == "const";
        out.isScalar |= flag.text == "scalar";
        out.isInput |= flag.text == "input";
    }
    for (const ast::Name& name : spec.dtypes)
        if (auto dtype = dtypeFromName(name.text))
            out.dtypes.push_back(*dtype);
    if (!spec.hasDims)
        return out;
    size_t rests = 0;
    out.dims.emplace();
    for (const ast::Dim& dim : spec.dims) {
        DimPattern pattern;
        pattern.span = dim.span;
        if (dim.kind == ast::Dim::Kind::Any) {
            pattern.kind = DimPattern::Kind::Any;
        } else if (dim.kind == ast::Dim::Kind::Rest) {
            pattern.kind = DimPattern::Kind::Rest;
            ++rests;
        } else if (dim.value.kind == ast::Expr::Kind::Upper) {
            pattern.kind = DimPattern::Kind::Variable;
            const uint32_t* known = scope.find(&Scope::dims, dim.value.text);
            if (known)
                pattern.variable = *known;
            else
                unbound(dim.value, scope);
        } else {
            pattern.kind = DimPattern::Kind::Value;
            pattern.value = expression(dim.value, scope);
        }
        out.dims->push_back(std::move(pattern));
    }
    if (rests > 1) {
        Diagnostic& d = error("E0221", spec.span, "`...` can stand only once in a type");
        d.fix = "keep one `...`";
    }
    return out;
}

} // namespace fuselage::dsl
