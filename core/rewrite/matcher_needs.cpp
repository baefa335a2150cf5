// SPDX-License-Identifier: Apache-2.0
// Which operators a graph must have for a rule to match at all: told from the rule's terms alone,
// so that a rule which cannot match is neither prepared nor searched. May ask for too little, never
// for too much.
#include "core/rewrite/matcher_index_internal.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace fuselage {

namespace {

using Needs = std::vector<OpSet>;

class NeedsOfRule {
public:
    explicit NeedsOfRule(const Rule& rule) : m_rule(rule), m_known(rule.terms.size()) {}

    Needs run() {
        Needs out;
        addBlock(m_rule.match, out);
        return out;
    }

private:
    void addBlock(const Block& block, Needs& out) {
        for (const Definition& definition : block.definitions)
            for (uint32_t i = 0; i < definition.slots.size(); ++i)
                m_definitions.emplace(definition.slots[i], &definition);
        const std::vector<bool> isRead = readByOthers(block);
        for (size_t i = 0; i < block.definitions.size(); ++i)
            if (!isRead[i])
                append(out, of(block.definitions[i].term, 0));
        for (const Many& many : block.manys)
            if (many.least > 0)
                addBlock(many.block, out);
    }

    /// Definitions that hold only where another one reads them.
    std::vector<bool> readByOthers(const Block& block) const {
        std::vector<bool> out(block.definitions.size(), false);
        for (size_t reader = 0; block.definitions.size() > 1 && reader < out.size(); ++reader) {
            std::vector<bool> seen(m_rule.terms.size(), false);
            std::set<SlotIndex> reads;
            collect(block.definitions[reader].term, seen, reads);
            for (size_t i = 0; i < out.size(); ++i)
                out[i] = out[i] || (i != reader && std::any_of(block.definitions[i].slots.begin(),
                                                               block.definitions[i].slots.end(),
                                                               [&](SlotIndex slot) {
                                                                   return reads.contains(slot);
                                                               }));
        }
        return out;
    }

    void collect(TermId id, std::vector<bool>& seen, std::set<SlotIndex>& slots) const {
        if (seen[id.index()])
            return;
        seen[id.index()] = true;
        if (m_rule.term(id).slot)
            slots.insert(*m_rule.term(id).slot);
        forChildren(m_rule.term(id), [&](TermId child) { collect(child, seen, slots); });
    }

    const Needs& of(TermId id, int depth) {
        static const Needs nothing;
        std::optional<Needs>& known = m_known[id.index()];
        if (known || depth > maxTermDepth)
            return known ? *known : nothing;
        known.emplace(); // of a term that stands in itself nothing is asked
        Needs found = find(m_rule.term(id), depth + 1);
        *known = std::move(found);
        return *known;
    }

    Needs find(const Term& term, int depth) {
        Needs out;
        switch (term.kind) {
        case Term::Kind::Any:
        case Term::Kind::Hole:
        case Term::Kind::Number:
            break;
        case Term::Kind::Value:
            if (term.mayBeAbsent || term.rest)
                break;
            if (auto made = term.slot ? m_definitions.find(*term.slot) : m_definitions.end();
                made != m_definitions.end())
                out = of(made->second->term, depth);
            else if (term.step.valid())
                out = of(term.step, depth);
            break;
        case Term::Kind::Node:
            out.push_back(opsOf(term));
            for (const Argument& argument : term.arguments)
                append(out, of(argument.term, depth));
            break;
        case Term::Kind::Region:
            if (term.least > 0)
                out.push_back(opsOf(term));
            for (const Argument& argument : term.arguments)
                append(out, of(argument.term, depth));
            break;
        case Term::Kind::Choice:
            out = ofEither(term, depth);
            break;
        case Term::Kind::Pipe:
            out = of(term.step, depth);
            append(out, of(term.source, depth));
            break;
        case Term::Kind::Optional:
            out = of(term.source, depth);
            break;
        case Term::Kind::Repeat:
            out = of(term.source, depth);
            if (term.least > 0)
                append(out, of(term.step, depth));
            break;
        }
        return out;
    }

    /// One alternative must hold: of each the set that asks for most, together.
    Needs ofEither(const Term& term, int depth) {
        OpSet any;
        for (const Term::Alternative& alternative : term.alternatives) {
            const Needs& needs = of(alternative.term, depth);
            if (needs.empty())
                return {};
            any |=
                *std::min_element(needs.begin(), needs.end(), [](const OpSet& a, const OpSet& b) {
                    return a.count() < b.count();
                });
        }
        return term.alternatives.empty() ? Needs() : Needs{any};
    }

    static OpSet opsOf(const Term& term) {
        OpSet out;
        for (Op op : term.ops)
            out.set(static_cast<size_t>(op));
        return out;
    }

    static void append(Needs& to, const Needs& more) {
        for (const OpSet& each : more)
            if (std::find(to.begin(), to.end(), each) == to.end())
                to.push_back(each);
    }

    const Rule& m_rule;
    std::map<SlotIndex, const Definition*> m_definitions;
    std::vector<std::optional<Needs>> m_known; ///< per term
};

} // namespace

std::vector<OpSet> neededOps(const Rule& rule) {
    return NeedsOfRule(rule).run();
}

} // namespace fuselage
