// SPDX-License-Identifier: Apache-2.0
// `escape` clauses against each other and against the match: each is about values that the match
// makes and reads itself, and each value has one.
#include "core/rewrite/matcher_index.h"
#include "dsl/compile_internal.h"

#include <set>

namespace fuselage::dsl {

namespace {

/// Slots of what the block makes for others.
void addResults(const Rule& rule, const BlockPlan& plan, std::set<SlotIndex>& out) {
    for (uint32_t root : plan.results) {
        const Definition& definition = plan.block->definitions[root];
        out.insert(definition.slots.begin(), definition.slots.end());
        if (const auto& capture = rule.term(definition.term).slot)
            out.insert(*capture);
    }
    for (const BlockPlan& many : plan.manys)
        addResults(rule, many, out);
}

std::set<SlotIndex> resultsOf(const Rule& rule, const PreparedRule& prepared) {
    std::set<SlotIndex> out;
    if (!rule.isRewrite)
        addResults(prepared.rule, prepared.plan, out);
    for (const Assignment& assignment : rule.rewrite)
        out.insert(assignment.targets.begin(), assignment.targets.end());
    return out;
}

/// Slots that some part of the match makes; the others stand for operands.
std::set<SlotIndex> madeIn(const PreparedRule& prepared) {
    std::set<SlotIndex> out;
    for (SlotIndex slot = 0; slot < prepared.definitions.size(); ++slot)
        if (prepared.definitions[slot].definition)
            out.insert(slot);
    for (const Term& term : prepared.rule.terms)
        if (term.slot && (term.kind != Term::Kind::Value || term.step.valid()))
            out.insert(*term.slot);
    return out;
}

} // namespace

void RuleCompiler::checkEscapes(const ast::Rule& item) {
    if (m_rule->escapes.empty())
        return;
    auto prepared = prepareRule(*m_rule, 0);
    const std::set<SlotIndex> results = resultsOf(*m_rule, *prepared), made = madeIn(*prepared);
    std::map<SlotIndex, Span> clauses;
    for (const ast::Clause& each : item.clauses) {
        const auto* escape = std::get_if<ast::Escape>(&each);
        if (!escape)
            continue;
        if (escape->policy.text == "forbid" && escape->condition) {
            Diagnostic& d = error("E0235", escape->condition->span,
                                  "`forbid` holds whether this is true or not");
            d.fix = "leave the condition out, or write `export` or `duplicate` with one";
        }
        for (const ast::Name& name : escape->names) {
            std::optional<SlotIndex> slot = slotNamed(name);
            if (!slot)
                continue;
            auto [first, isNew] = clauses.emplace(*slot, name.span);
            const std::string quoted = "`" + name.text + "`";
            if (!isNew) {
                Diagnostic& d = error("E0235", name.span, quoted + " has two `escape` clauses");
                d.labels.push_back({first->second, "the first one"});
                d.fix = "keep one of them";
            } else if (results.contains(*slot)) {
                Diagnostic& d = error("E0235", name.span,
                                      quoted + " is what the match makes: it is there to be read");
                d.fix = "name an inner value, or leave the clause out";
            } else if (!made.contains(*slot)) {
                Diagnostic& d = error("E0235", name.span,
                                      "the match reads " + quoted + " and does not make it");
                d.fix = "name an inner value, or leave the clause out";
            }
        }
    }
}

} // namespace fuselage::dsl
