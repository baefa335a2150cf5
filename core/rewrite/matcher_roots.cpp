// SPDX-License-Identifier: Apache-2.0
// Which operators can stand at the root of a term, and how many levels of nodes stand above what it
// reads: both known before a graph is.
#include "core/rewrite/matcher_index_internal.h"

#include <algorithm>

namespace fuselage {

namespace {

RootSet unite(RootSet a, const RootSet& b) {
    a.ops |= b.ops;
    a.any = a.any || b.any;
    return a;
}

RootSet rootsAt(const PreparedRule& rule, TermId id, const RootSet* hole, int depth) {
    const Term& term = rule.rule.term(id);
    RootSet any{{}, true};
    if (depth > maxTermDepth)
        return any;
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
            out = rule.made[*term.slot];
        else if (term.step.valid())
            out = rootsAt(rule, term.step, hole, depth + 1);
        out.any = out.any || term.mayBeAbsent;
        return out;
    }
    case Term::Kind::Node:
        return {rule.ops[id.index()], false};
    case Term::Kind::Region: {
        RootSet out{rule.ops[id.index()], false};
        bool mayVanish = term.least == 0 && !term.arguments.empty();
        return mayVanish ? unite(out, rootsAt(rule, term.arguments[0].term, hole, depth + 1)) : out;
    }
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
    if (depth > maxTermDepth)
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
    if (depth > maxTermDepth)
        return;
    if (term.slot && term.kind == Term::Kind::Value) {
        // One name may be read at many places: what is above it is walked once for each level.
        Reach reach{*term.slot, levels};
        if (std::find(out.begin(), out.end(), reach) != out.end())
            return;
        out.push_back(reach);
    }
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

void fillMade(PreparedRule& rule) {
    rule.made.assign(rule.definitions.size(), {});
    // Definitions read each other in any order: sets grow until they hold what they read.
    for (bool grown = true; grown;) {
        grown = false;
        for (size_t slot = 0; slot < rule.made.size(); ++slot)
            if (const Definition* definition = rule.definitions[slot].definition) {
                RootSet roots = rootsAt(rule, definition->term, nullptr, 0);
                grown =
                    grown || roots.any != rule.made[slot].any || roots.ops != rule.made[slot].ops;
                rule.made[slot] = roots;
            }
    }
}

RootSet holeOf(const PreparedRule& rule, const Term& step, const RootSet* around) {
    RootSet source = rootsOf(rule, step.source, around);
    if (step.kind != Term::Kind::Repeat || step.most < 2)
        return source;
    return unite(source, rootsOf(rule, step.step, &source));
}

RootSet rootsOf(const PreparedRule& rule, TermId term, const RootSet* hole) {
    return rootsAt(rule, term, hole, 0);
}

std::vector<Reach> reachesOf(const PreparedRule& rule, TermId term) {
    std::vector<Reach> out;
    addReaches(rule, term, 0, out, 0);
    return out;
}

} // namespace fuselage
