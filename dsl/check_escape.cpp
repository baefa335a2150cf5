// SPDX-License-Identifier: Apache-2.0
// `escape` clauses against each other and against the match: each is about values that the match
// makes and reads itself, and each value has one.
#include "core/rewrite/matcher_index.h"
#include "dsl/compile_internal.h"

#include <map>
#include <numeric>
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

/// The names that a value gets wherever it matches the term.
void addNames(const Rule& rule, TermId id, std::vector<SlotIndex>& out) {
    const Term& term = rule.term(id);
    if (term.slot)
        out.push_back(*term.slot);
    const bool isStep = term.kind == Term::Kind::Value || term.kind == Term::Kind::Pipe;
    if (isStep && term.step.valid())
        addNames(rule, term.step, out);
}

/// Slots that stand for one value in every match, as far as the pattern alone tells.
class OneValue {
public:
    explicit OneValue(const PreparedRule& prepared) : m_first(prepared.rule.slots.size()) {
        std::iota(m_first.begin(), m_first.end(), SlotIndex{0});
        addBlock(prepared.rule, prepared.plan);
        for (uint32_t i = 0; i < prepared.rule.terms.size(); ++i)
            if (const Term& term = prepared.rule.terms[i]; term.kind == Term::Kind::Value)
                join(prepared.rule, TermId(i), {});
    }

    /// The same for all names of one value.
    SlotIndex of(SlotIndex slot) const {
        while (m_first[slot] != slot)
            slot = m_first[slot];
        return slot;
    }

private:
    void addBlock(const Rule& rule, const BlockPlan& plan) {
        for (const Definition& definition : plan.block->definitions)
            if (definition.slots.size() == 1)
                join(rule, definition.term, definition.slots);
        for (const BlockPlan& many : plan.manys)
            addBlock(rule, many);
    }

    void join(const Rule& rule, TermId term, std::vector<SlotIndex> names) {
        addNames(rule, term, names);
        for (SlotIndex name : names)
            m_first[of(name)] = of(names.front());
    }

    std::vector<SlotIndex> m_first;
};

} // namespace

void RuleCompiler::checkEscapes(const ast::Rule& item) {
    if (m_rule->escapes.empty())
        return;
    auto prepared = prepareRule(*m_rule);
    const std::set<SlotIndex> results = resultsOf(*m_rule, *prepared), made = madeIn(*prepared);
    const OneValue oneValue(*prepared);
    std::map<SlotIndex, std::pair<const ast::Escape*, const ast::Name*>> clauses; ///< by value
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
            auto [known, isNew] = clauses.try_emplace(oneValue.of(*slot), escape, &name);
            const auto& [clause, first] = known->second;
            const std::string quoted = "`" + name.text + "`";
            if (!isNew && (first->text == name.text || clause != escape)) {
                Diagnostic& d = error("E0235", name.span,
                                      first->text == name.text
                                          ? quoted + " has two `escape` clauses"
                                          : quoted + " and `" + first->text +
                                                "` are one value, which has two `escape` clauses");
                d.labels.push_back({first->span, "the first one"});
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
