// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/matcher_index.h"

#include "core/rewrite/spec_forms.h"

#include <algorithm>
#include <set>

namespace fuselage {

namespace {

// Definitions that read each other in a circle are refused by dsl; this only bounds the walk.
constexpr int maxDepth = 64;
constexpr uint32_t maxReach = 8;

bool isStep(const Term& term) {
    return term.kind == Term::Kind::Pipe || term.kind == Term::Kind::Optional ||
           term.kind == Term::Kind::Repeat;
}

/// Calls visit(child) for the terms directly under a term.
void forChildren(const Term& term, auto visit) {
    for (const Argument& argument : term.arguments)
        visit(argument.term);
    for (const Term::Alternative& alternative : term.alternatives)
        visit(alternative.term);
    if (term.step.valid())
        visit(term.step);
    if (term.source.valid())
        visit(term.source);
}

/// True when a Hole of this scope stands in the term (holes in the step of an inner pipe are that
/// pipe's own).
bool hasHole(const Rule& rule, TermId id) {
    const Term& term = rule.term(id);
    if (term.kind == Term::Kind::Hole)
        return true;
    if (isStep(term))
        return hasHole(rule, term.source);
    bool found = false;
    forChildren(term, [&](TermId child) { found = found || hasHole(rule, child); });
    return found;
}

/// Gives the heads of a chain step the implied operand.
void addHole(Rule& rule, TermId id) {
    if (hasHole(rule, id))
        return;
    switch (rule.term(id).kind) {
    case Term::Kind::Node:
    case Term::Kind::Region: { // a region reads its source through one of its inputs
        if (!rule.term(id).arguments.empty())
            return;
        Term hole;
        hole.kind = Term::Kind::Hole;
        hole.text = "_";
        TermId added(static_cast<uint32_t>(rule.terms.size()));
        rule.terms.push_back(std::move(hole));
        rule.terms[id.index()].arguments.push_back({"", added});
        return;
    }
    case Term::Kind::Choice:
        for (const Term::Alternative& alternative :
             std::vector<Term::Alternative>(rule.term(id).alternatives))
            addHole(rule, alternative.term);
        return;
    case Term::Kind::Pipe:
    case Term::Kind::Optional:
    case Term::Kind::Repeat:
        return addHole(rule, rule.term(id).source);
    default:
        return;
    }
}

/// Every term reachable from a term.
void collect(const Rule& rule, TermId id, std::vector<bool>& seen) {
    if (seen[id.index()])
        return;
    seen[id.index()] = true;
    forChildren(rule.term(id), [&](TermId child) { collect(rule, child, seen); });
}

std::set<SlotIndex> slotsIn(const Rule& rule, TermId id) {
    std::vector<bool> seen(rule.terms.size(), false);
    collect(rule, id, seen);
    std::set<SlotIndex> out;
    for (uint32_t i = 0; i < seen.size(); ++i)
        if (seen[i] && rule.terms[i].slot)
            out.insert(*rule.terms[i].slot);
    return out;
}

class Preparation {
public:
    explicit Preparation(PreparedRule& prepared) : m_prepared(prepared) {}

    void run() {
        Rule& rule = m_prepared.rule;
        writeOutSpecs(rule);
        // Terms may be added while the table is walked.
        for (uint32_t i = 0; i < rule.terms.size(); ++i)
            if (isStep(rule.terms[i]))
                addHole(rule, rule.terms[i].step);
        fillOps();
        m_prepared.definitions.resize(rule.slots.size());
        refer(rule.match);
        m_prepared.plan = planOf(rule.match, {});
        fillCaptures();
        fillSignatures();
    }

private:
    void fillOps() {
        for (const Term& term : m_prepared.rule.terms) {
            OpSet& ops = m_prepared.ops.emplace_back();
            for (Op op : term.ops)
                ops.set(static_cast<size_t>(op));
        }
    }

    void refer(const Block& block) {
        for (const Definition& definition : block.definitions)
            for (uint32_t i = 0; i < definition.slots.size(); ++i)
                m_prepared.definitions[definition.slots[i]] = {&definition, i};
        for (const Many& many : block.manys)
            refer(many.block);
        for (const Block& unless : block.unless)
            refer(unless);
    }

    /// Slots that the definitions of a block bind, without its inner blocks.
    std::set<SlotIndex> boundIn(const Block& block) const {
        std::set<SlotIndex> out;
        for (const Definition& definition : block.definitions) {
            out.insert(definition.slots.begin(), definition.slots.end());
            out.merge(slotsIn(m_prepared.rule, definition.term));
        }
        return out;
    }

    BlockPlan planOf(const Block& block, std::set<SlotIndex> around) {
        const Rule& rule = m_prepared.rule;
        BlockPlan plan;
        plan.block = &block;
        std::set<SlotIndex> readByOthers;
        for (const Definition& definition : block.definitions)
            for (SlotIndex slot : slotsIn(rule, definition.term))
                if (std::find(definition.slots.begin(), definition.slots.end(), slot) ==
                    definition.slots.end())
                    readByOthers.insert(slot);
        for (uint32_t i = 0; i < block.definitions.size(); ++i) {
            const auto& slots = block.definitions[i].slots;
            if (std::none_of(slots.begin(), slots.end(),
                             [&](SlotIndex slot) { return readByOthers.contains(slot); }))
                plan.roots.push_back(i);
        }
        anchorLast(plan);
        for (SlotIndex slot : boundIn(block))
            (around.contains(slot) ? plan.outside : plan.inside).push_back(slot);
        around.insert(plan.inside.begin(), plan.inside.end());
        for (const Many& many : block.manys)
            plan.manys.push_back(planOf(many.block, around));
        for (const BlockPlan& many : plan.manys)
            plan.inside.insert(plan.inside.end(), many.inside.begin(), many.inside.end());
        for (const Block& unless : block.unless)
            plan.unless.push_back(planOf(unless, around));
        return plan;
    }

    /// The search starts at the last root that a node can make; bare values come last.
    void anchorLast(BlockPlan& plan) const {
        auto isBare = [&](uint32_t root) {
            const Definition& definition = plan.block->definitions[root];
            return rootsOf(m_prepared, definition.term).ops.none();
        };
        std::stable_partition(plan.roots.begin(), plan.roots.end(),
                              [&](uint32_t root) { return !isBare(root); });
        auto firstBare = std::find_if(plan.roots.begin(), plan.roots.end(), isBare);
        if (firstBare != plan.roots.begin())
            std::rotate(plan.roots.begin(), firstBare - 1, firstBare);
        plan.anchoredByUsers = !plan.roots.empty() && isBare(plan.roots.front());
    }

    void fillCaptures() {
        const Rule& rule = m_prepared.rule;
        m_prepared.captures.resize(rule.terms.size());
        for (size_t i = 0; i < rule.terms.size(); ++i)
            if (rule.terms[i].kind == Term::Kind::Repeat) {
                std::vector<bool> inStep(rule.terms.size(), false);
                collect(rule, rule.terms[i].step, inStep);
                std::set<SlotIndex> slots = slotsIn(rule, rule.terms[i].step);
                // A name that is also used elsewhere is one value for all rounds.
                for (size_t other = 0; other < rule.terms.size(); ++other)
                    if (!inStep[other] && rule.terms[other].slot)
                        slots.erase(*rule.terms[other].slot);
                for (SlotIndex slot : slots)
                    if (!m_prepared.definitions[slot].definition)
                        m_prepared.captures[i].push_back(slot);
            }
    }

    void fillSignatures() {
        const BlockPlan* plan = &m_prepared.plan;
        if (plan->roots.empty() || plan->anchoredByUsers) {
            // The value is read somewhere in what the first `many` collects.
            if (plan->manys.empty() || plan->manys[0].roots.empty())
                return;
            const BlockPlan& inner = plan->manys[0];
            RootSet roots = rootsOf(m_prepared, inner.block->definitions[inner.roots[0]].term);
            m_prepared.anchors = roots.ops;
            m_prepared.signatures.push_back({roots.ops, {{}, true}});
            TermId root = inner.block->definitions[inner.roots[0]].term;
            for (const Reach& reach : reachesOf(m_prepared, root))
                m_prepared.reach = std::max(m_prepared.reach, std::min(reach.levels, maxReach));
            m_prepared.steps = inner.block->definitions.empty() ? 0 : 1;
            return;
        }
        TermId root = plan->block->definitions[plan->roots[0]].term;
        addSignatures(root, nullptr, 0);
        for (const Signature& signature : m_prepared.signatures)
            m_prepared.anchors |= signature.ops;
        for (const Definition& definition : plan->block->definitions)
            m_prepared.steps += stepsOf(definition.term, 0);
        m_prepared.regionRoot = m_prepared.rule.term(root).kind == Term::Kind::Region;
    }

    /// One signature for each Node or Region that can stand at the root.
    void addSignatures(TermId id, const RootSet* hole, int depth) {
        const Term& term = m_prepared.rule.term(id);
        if (depth > maxDepth)
            return;
        switch (term.kind) {
        case Term::Kind::Node: {
            Signature signature{m_prepared.ops[id.index()], {{}, true}};
            for (const Argument& argument : term.arguments) {
                RootSet made = rootsOf(m_prepared, argument.term, hole);
                bool narrower =
                    signature.producers.any || made.ops.count() < signature.producers.ops.count();
                // A flat tree's leaves may stand under more nodes of the tree.
                if (!made.any && narrower && term.order != OperandOrder::Flat)
                    signature.producers = made;
            }
            m_prepared.signatures.push_back(signature);
            return;
        }
        case Term::Kind::Region:
            m_prepared.signatures.push_back({m_prepared.ops[id.index()], {{}, true}});
            return;
        case Term::Kind::Choice:
            for (const Term::Alternative& alternative : term.alternatives)
                addSignatures(alternative.term, hole, depth + 1);
            return;
        case Term::Kind::Pipe:
        case Term::Kind::Optional:
        case Term::Kind::Repeat: {
            RootSet source = rootsOf(m_prepared, term.source, hole);
            if (term.kind == Term::Kind::Repeat && term.most > 1) {
                RootSet again = rootsOf(m_prepared, term.step, &source);
                source.ops |= again.ops;
                source.any = source.any || again.any;
            }
            addSignatures(term.step, &source, depth + 1);
            if (term.kind == Term::Kind::Optional ||
                (term.kind == Term::Kind::Repeat && term.least == 0))
                addSignatures(term.source, hole, depth + 1);
            return;
        }
        case Term::Kind::Value: {
            if (term.slot && m_prepared.definitions[*term.slot].definition)
                addSignatures(m_prepared.definitions[*term.slot].definition->term, nullptr,
                              depth + 1);
            else if (term.step.valid())
                addSignatures(term.step, hole, depth + 1);
            return;
        }
        default:
            return;
        }
    }

    /// Nodes of the shortest way through a term, counting what is optional as present.
    uint32_t stepsOf(TermId id, int depth) const {
        const Term& term = m_prepared.rule.term(id);
        if (depth > maxDepth)
            return 0;
        uint32_t sum = term.kind == Term::Kind::Node || term.kind == Term::Kind::Region ? 1 : 0;
        if (term.kind == Term::Kind::Choice) {
            uint32_t least = UINT32_MAX;
            for (const Term::Alternative& alternative : term.alternatives)
                least = std::min(least, stepsOf(alternative.term, depth + 1));
            return term.alternatives.empty() ? 0 : least;
        }
        forChildren(term, [&](TermId child) { sum += stepsOf(child, depth + 1); });
        return sum;
    }

    PreparedRule& m_prepared;
};

RootSet rootsAt(const PreparedRule& rule, TermId id, const RootSet* hole, int depth) {
    const Term& term = rule.rule.term(id);
    RootSet any{{}, true};
    if (depth > maxDepth)
        return any;
    auto unite = [](RootSet a, const RootSet& b) {
        a.ops |= b.ops;
        a.any = a.any || b.any;
        return a;
    };
    switch (term.kind) {
    case Term::Kind::Any:
    case Term::Kind::Number:
        return any;
    case Term::Kind::Hole:
        return hole ? *hole : any;
    case Term::Kind::Value: {
        RootSet out = any;
        if (term.slot && *term.slot < rule.definitions.size() &&
            rule.definitions[*term.slot].definition)
            out = rootsAt(rule, rule.definitions[*term.slot].definition->term, nullptr, depth + 1);
        else if (term.step.valid())
            out = rootsAt(rule, term.step, hole, depth + 1);
        out.any = out.any || term.mayBeAbsent;
        return out;
    }
    case Term::Kind::Node:
    case Term::Kind::Region:
        return {rule.ops[id.index()], false};
    case Term::Kind::Choice: {
        RootSet out;
        for (const Term::Alternative& alternative : term.alternatives)
            out = unite(out, rootsAt(rule, alternative.term, hole, depth + 1));
        return out;
    }
    case Term::Kind::Pipe:
    case Term::Kind::Optional:
    case Term::Kind::Repeat: {
        RootSet source = rootsAt(rule, term.source, hole, depth + 1);
        RootSet out = rootsAt(rule, term.step, &source, depth + 1);
        bool mayVanish = term.kind == Term::Kind::Optional ||
                         (term.kind == Term::Kind::Repeat && term.least == 0);
        return mayVanish ? unite(out, source) : out;
    }
    }
    return any;
}

/// Levels of nodes above the deepest Hole of a term; none without a hole of this scope.
std::optional<uint32_t> holeLevels(const Rule& rule, TermId id, int depth) {
    const Term& term = rule.term(id);
    if (term.kind == Term::Kind::Hole)
        return 0;
    if (depth > maxDepth)
        return std::nullopt;
    if (isStep(term)) {
        std::optional<uint32_t> source = holeLevels(rule, term.source, depth + 1);
        uint32_t step = holeLevels(rule, term.step, depth + 1).value_or(0);
        uint32_t rounds = term.kind == Term::Kind::Repeat ? term.most : 1;
        return source ? std::optional(*source + step * rounds) : std::nullopt;
    }
    uint32_t own = term.kind == Term::Kind::Node ? 1 : 0;
    if (term.kind == Term::Kind::Region)
        own = term.most;
    if (term.order == OperandOrder::Flat)
        own = std::max<uint32_t>(2, static_cast<uint32_t>(term.arguments.size())) - 1;
    std::optional<uint32_t> deepest;
    forChildren(term, [&](TermId child) {
        if (std::optional<uint32_t> levels = holeLevels(rule, child, depth + 1))
            deepest = std::max(deepest.value_or(0), *levels + own);
    });
    return deepest;
}

void addReaches(const PreparedRule& rule, TermId id, uint32_t levels, std::vector<Reach>& out,
                int depth) {
    const Term& term = rule.rule.term(id);
    if (depth > maxDepth)
        return;
    if (term.slot && term.kind == Term::Kind::Value)
        out.push_back({*term.slot, levels});
    if (term.kind == Term::Kind::Value && term.slot && rule.definitions[*term.slot].definition)
        addReaches(rule, rule.definitions[*term.slot].definition->term, levels, out, depth + 1);
    uint32_t own = 0;
    if (term.kind == Term::Kind::Node)
        own = term.order == OperandOrder::Flat
                  ? std::max<uint32_t>(2, static_cast<uint32_t>(term.arguments.size())) - 1
                  : 1;
    if (term.kind == Term::Kind::Region)
        own = term.most;
    for (const Argument& argument : term.arguments)
        addReaches(rule, argument.term, levels + own, out, depth + 1);
    for (const Term::Alternative& alternative : term.alternatives)
        addReaches(rule, alternative.term, levels, out, depth + 1);
    if (term.step.valid())
        addReaches(rule, term.step, levels, out, depth + 1);
    if (term.source.valid()) {
        uint32_t step = holeLevels(rule.rule, term.step, 0).value_or(0);
        uint32_t rounds = term.kind == Term::Kind::Repeat ? term.most : 1;
        addReaches(rule, term.source, levels + step * rounds, out, depth + 1);
    }
}

} // namespace

RootSet rootsOf(const PreparedRule& rule, TermId term, const RootSet* hole) {
    return rootsAt(rule, term, hole, 0);
}

std::vector<Reach> reachesOf(const PreparedRule& rule, TermId term) {
    std::vector<Reach> out;
    addReaches(rule, term, 0, out, 0);
    return out;
}

std::unique_ptr<PreparedRule> prepareRule(const Rule& rule, uint32_t position) {
    auto prepared = std::make_unique<PreparedRule>();
    prepared->rule = rule;
    prepared->position = position;
    Preparation(*prepared).run();
    return prepared;
}

RuleIndex::RuleIndex(const RuleSet& rules) {
    for (const Rule& rule : rules.rules)
        if (!rule.replaces.empty())
            m_replaced.push_back(rule.replaces);
    for (uint32_t i = 0; i < rules.rules.size(); ++i)
        if (std::find(m_replaced.begin(), m_replaced.end(), rules.rules[i].name) ==
            m_replaced.end())
            m_rules.push_back(prepareRule(rules.rules[i], i));
}

} // namespace fuselage
