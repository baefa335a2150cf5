// SPDX-License-Identifier: Apache-2.0
// Attributes as values: `c.strides` of a node that the match names, `...c` in an operator that a
// rewrite builds. Which operators can make `c` is known when the whole match is compiled.
#include "core/ops/op_table.h"
#include "core/rewrite/members.h"
#include "dsl/compile_internal.h"
#include "dsl/names_elsewhere.h"
#include "dsl/suggest.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace fuselage::dsl {

namespace {

/// An operator of the rule that has an attribute of that name.
const char* operatorWith(const Rule& rule, const std::string& attribute) {
    for (const Term& term : rule.terms)
        for (Op op : term.ops)
            for (const AttributeSchema& schema : attributesOf(op))
                if (schema.name == attribute)
                    return rowOf(op).name;
    return nullptr;
}

/// Every operator of the rule that can make what a slot stands for.
class MakersOf {
public:
    MakersOf(const Rule& rule, SlotIndex slot) : m_rule(rule) {
        makes(slot);
        std::sort(m_ops.begin(), m_ops.end());
        m_ops.erase(std::unique(m_ops.begin(), m_ops.end()), m_ops.end());
    }

    const std::vector<Op>& ops() const { return m_ops; }

private:
    void makes(SlotIndex slot) {
        if (!m_slots.insert(slot).second)
            return;
        inBlock(m_rule.match, slot);
        for (const Term& term : m_rule.terms) {
            if (term.slot != slot)
                continue;
            if (term.kind == Term::Kind::Value && term.step.valid())
                of(term.step);
            else if (term.kind != Term::Kind::Value)
                of(term);
        }
    }

    void inBlock(const Block& block, SlotIndex slot) {
        for (const Definition& definition : block.definitions)
            if (std::find(definition.slots.begin(), definition.slots.end(), slot) !=
                definition.slots.end())
                of(definition.term);
        for (const Many& many : block.manys)
            inBlock(many.block, slot);
        for (const Block& unless : block.unless)
            inBlock(unless, slot);
    }

    void of(TermId id) {
        if (id.valid() && m_terms.insert(id.index()).second)
            of(m_rule.term(id));
    }

    void of(const Term& term) {
        switch (term.kind) {
        case Term::Kind::Node:
        case Term::Kind::Region:
            m_ops.insert(m_ops.end(), term.ops.begin(), term.ops.end());
            break;
        case Term::Kind::Choice:
            for (const Term::Alternative& each : term.alternatives)
                of(each.term);
            break;
        case Term::Kind::Optional:
        case Term::Kind::Repeat:
            of(term.source);
            of(term.step);
            break;
        case Term::Kind::Pipe:
            of(term.step);
            break;
        case Term::Kind::Value:
            if (term.slot)
                makes(*term.slot);
            break;
        default:
            break;
        }
    }

    const Rule& m_rule;
    std::vector<Op> m_ops;
    std::set<SlotIndex> m_slots;
    std::set<uint32_t> m_terms;
};

bool hasParameter(Op op, const std::string& name) {
    return !hasSchema(op) || attributeNamed(op, name) || isInputName(op, name);
}

} // namespace

/// `c.strides`: what the node that makes `c` does.
Expression RuleCompiler::parameter(const ast::Expr& expr, const Expression& object) {
    Expression out;
    out.kind = Expression::Kind::Parameter;
    out.span = expr.span;
    out.slot = object.slot;
    out.text = expr.text;
    m_parameterUses.push_back({object.slot, expr.text, Op::Unknown, {}, ast::spanOfMember(expr)});
    return out;
}

/// `Conv(x, w)[pads = ..., ...c]`: all attributes that are not given are those of the node that
/// makes `c`.
void RuleCompiler::copyAttributes(const ast::Expr& expr, Expression& built, const Scope& scope) {
    checkGivenOnce(expr);
    for (const ast::NamedExpr& named : expr.named) {
        if (!named.isSpread())
            continue;
        Expression from = expression(named.value, scope);
        if (from.kind != Expression::Kind::Slot) {
            if (from.kind != Expression::Kind::None) {
                Diagnostic& d = error("E0233", named.value.span,
                                      "`" + named.value.text + "` is not the value of one node");
                d.fix = "name a node of `match`: `c@Conv(...)`";
            }
            continue;
        }
        if (built.custom) { // its attributes need not be known: all that the node has
            Expression all;
            all.kind = Expression::Kind::Attribute;
            all.span = named.value.span;
            all.slot = from.slot;
            built.named.push_back({"...", std::move(all)});
            continue;
        }
        ParameterUse use{from.slot, {}, built.op, {}, named.value.span};
        for (const NamedExpression& given : built.named)
            use.given.push_back(given.name);
        for (const AttributeSchema& schema : attributesOf(built.op)) {
            if (std::find(use.given.begin(), use.given.end(), schema.name) != use.given.end())
                continue;
            Expression value;
            value.kind = Expression::Kind::Attribute;
            value.span = named.value.span;
            value.slot = from.slot;
            value.text = schema.name;
            built.named.push_back({schema.name, std::move(value)});
        }
        m_parameterUses.push_back(std::move(use));
    }
}

/// What `c.strides` and `...c` read, against the operators that can make `c`.
void RuleCompiler::checkParameters() {
    for (const ParameterUse& use : m_parameterUses) {
        const std::string& value = m_rule->slots[use.slot].name;
        const MakersOf makers(*m_rule, use.slot);
        if (makers.ops().empty()) {
            bool ofNode = use.name.empty();
            Diagnostic& d = error("E0234", use.span,
                                  ofNode ? "no node of `match` makes `" + value + "`"
                                         : "no value has a member `" + use.name + "`");
            d.expected = ofNode ? "the name of a node, `" + value + "@Op(...)`"
                                : "one of " + listed(membersOfValues(), 20) +
                                      ", or an attribute where a node of `match` makes `" + value +
                                      "`";
            const char* op = operatorWith(*m_rule, use.name);
            d.fix = ofNode ? "name a node of `match`, `c@Op(...)`, and write `...c`"
                    : op   ? "name the node: `c@" + std::string(op) + "(...)`, and write `c." +
                               use.name + "`"
                         : didYouMean(closest(use.name, membersOfValues()), "write one of these");
            continue;
        }
        if (use.name.empty()) {
            checkCopied(use, makers.ops());
            continue;
        }
        if (std::any_of(makers.ops().begin(), makers.ops().end(),
                        [&](Op op) { return hasParameter(op, use.name); }))
            continue;
        std::vector<std::string> known = membersOfValues();
        for (Op op : makers.ops()) {
            for (const AttributeSchema& schema : attributesOf(op))
                known.push_back(schema.name);
            for (const std::string& input : inputNamesOf(op))
                if (std::islower(static_cast<unsigned char>(input[0])))
                    known.push_back(input);
        }
        std::sort(known.begin(), known.end());
        known.erase(std::unique(known.begin(), known.end()), known.end());
        Diagnostic& d = error("E0234", use.span,
                              "`" + value + "` has no member `" + use.name + "`, and " +
                                  rowOf(makers.ops()[0]).name + " no such attribute");
        d.expected = "one of " + listed(known, 30);
        d.fix = didYouMean(attributeMeant(use.name, known), "write one of these");
    }
}

/// `c.axis == -1` never holds, since axes of members count from the front.
void RuleCompiler::checkAxis(const Expression& comparison) {
    auto isNegative = [](const Expression& it) {
        return it.kind == Expression::Kind::Number && it.number < 0;
    };
    for (size_t side = 0; side < 2 && comparison.args.size() == 2; ++side) {
        const Expression& axis = comparison.args[side];
        const Expression& other = comparison.args[1 - side];
        bool ofAxis = axis.kind == Expression::Kind::Parameter && isAxisName(axis.text);
        if (!ofAxis ||
            !(isNegative(other) || std::any_of(other.args.begin(), other.args.end(), isNegative)))
            continue;
        const std::string& value = m_rule->slots[axis.slot].name;
        Diagnostic& d =
            error("E0221", other.span, "`" + value + "." + axis.text + "` counts from the front");
        d.found = "a negative axis";
        d.fix = "test it behind the operator, `Op[" + axis.text + " " + comparison.text +
                " ...]`, where both ways to count are one, or write `" + value + ".rank - 1`";
    }
}

/// `x / 0` is no number: a condition with it is never known.
void RuleCompiler::checkDivisor(const Expression& quotient) {
    const bool divides = quotient.text == "/" || quotient.text == "%";
    if (!divides || quotient.args.size() != 2 ||
        quotient.args[1].kind != Expression::Kind::Number || quotient.args[1].number != 0)
        return;
    Diagnostic& d = error("E0221", quotient.args[1].span, "a division by zero is no number");
    d.found = "0";
    d.fix = "divide by another number";
}

/// An attribute is given once, and all others come from one node.
void RuleCompiler::checkGivenOnce(const ast::Expr& built) {
    std::set<std::string> given;
    bool isCopied = false;
    for (const ast::NamedExpr& named : built.named) {
        const bool isNew = named.isSpread() ? !isCopied : given.insert(named.name.text).second;
        isCopied = isCopied || named.isSpread();
        if (isNew)
            continue;
        const std::string what =
            named.isSpread() ? "`..." + named.value.text + "`" : "`" + named.name.text + "`";
        Diagnostic& d = error("E0232", named.isSpread() ? named.value.span : named.name.span,
                              what + " is given a second time");
        d.fix = named.isSpread() ? "keep one `...`: it copies all attributes that are left"
                                 : "keep one of them";
    }
}

/// What would be lost on the way from one operator to another must be written out.
void RuleCompiler::checkCopied(const ParameterUse& use, const std::vector<Op>& makers) {
    if (!hasSchema(use.built))
        return;
    for (Op op : makers)
        for (const AttributeSchema& schema : attributesOf(op)) {
            if (attributeNamed(use.built, schema.name))
                continue;
            Diagnostic& d = error("E0214", use.span,
                                  std::string(rowOf(op).name) + " has the attribute `" +
                                      schema.name + "`, " + rowOf(use.built).name + " has not");
            d.notes.push_back(schemaText(use.built));
            d.fix = "write the attributes out: `" + std::string(rowOf(use.built).name) +
                    "(...)[name = " + m_rule->slots[use.slot].name + ".name]`";
            return;
        }
}

} // namespace fuselage::dsl
