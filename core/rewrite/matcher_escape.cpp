// SPDX-License-Identifier: Apache-2.0
// What a match makes that others read: its outputs, and inner values that escape. `escape` clauses
// decide about the latter; without one they forbid the match.
#include "core/ops/op_table.h"
#include "core/rewrite/matcher_internal.h"

#include <algorithm>

namespace fuselage {

namespace {

bool bindsValue(const Binding& binding, ValueId value) {
    if (binding.kind == Binding::Kind::List)
        return std::any_of(binding.items.begin(), binding.items.end(),
                           [&](const Binding& item) { return bindsValue(item, value); });
    return binding.kind == Binding::Kind::Value && binding.value == value;
}

const char* wordOf(EscapePolicy policy) {
    return policy == EscapePolicy::Export      ? "export"
           : policy == EscapePolicy::Duplicate ? "duplicate"
                                               : "forbid";
}

} // namespace

void Search::addBinding(const Binding& binding) {
    if (binding.kind == Binding::Kind::Value)
        m_declared.push_back(binding.value);
    for (const Binding& item : binding.items)
        addBinding(item);
}

/// The values of the results of a block and of the blocks that it collects.
void Search::addDeclared(const BlockPlan& plan) {
    for (uint32_t root : plan.results) {
        const Definition& definition = plan.block->definitions[root];
        for (SlotIndex slot : definition.slots)
            addBinding(m_slots[slot]);
        const Term& term = m_rule.term(definition.term);
        if (!definition.slots.empty())
            continue;
        if (term.slot)
            addBinding(m_slots[*term.slot]);
        // A root statement without a name: what its first node makes.
        if (root == plan.roots[0] && !m_nodes.empty())
            for (ValueId output : m_graph.node(m_nodes.front()).outputs)
                if (output.valid())
                    m_declared.push_back(output);
    }
    for (const BlockPlan& many : plan.manys)
        addDeclared(many);
}

std::optional<SlotIndex> Search::slotOf(const Escape& escape, ValueId value) const {
    for (SlotIndex slot : escape.slots)
        if (bindsValue(m_slots[slot], value))
            return slot;
    return std::nullopt;
}

const Escape* Search::escapeOf(ValueId value) const {
    for (const Escape& escape : m_rule.escapes)
        if (slotOf(escape, value))
            return &escape;
    return nullptr;
}

/// What the clauses of the rule say of a value. Several of its names may have one: an optional step
/// that is absent gives its name to the value before it. Refuses when they differ.
std::optional<EscapeRuling> Search::rulingOn(ValueId value) {
    EscapeRuling out;
    for (const Escape& escape : m_rule.escapes) {
        const std::optional<SlotIndex> slot = slotOf(escape, value);
        if (!slot)
            continue;
        const Truth holds =
            escape.condition ? evaluate(context(), *escape.condition).truth() : Truth::True;
        if (holds == Truth::Unknown) {
            refuse(
                {code::unknown,
                 "the condition of `escape` for `" + m_graph.value(value).name + "` is not known",
                 "give the dimension a number in the model",
                 {}});
            return std::nullopt;
        }
        const EscapeRuling one{&escape, *slot,
                               holds == Truth::True ? escape.policy : EscapePolicy::Forbid};
        if (out.clause && out.policy != one.policy) {
            refuseRulings(value, out, one);
            return std::nullopt;
        }
        if (!out.clause)
            out = one;
    }
    return out;
}

void Search::refuseRulings(ValueId value, const EscapeRuling& first, const EscapeRuling& other) {
    auto nameOf = [&](const EscapeRuling& ruling) { return m_rule.slots[ruling.slot].name; };
    auto clauseOf = [&](const EscapeRuling& ruling) {
        return "`escape " + nameOf(ruling) + ": " + wordOf(ruling.clause->policy) +
               (ruling.conditionFails() ? " if ...`, whose condition is false" : "`");
    };
    const std::string names = nameOf(first) + ", " + nameOf(other);
    refuse({code::escape,
            "value `" + m_graph.value(value).name +
                "` is also read outside, and two clauses about it differ: " + clauseOf(first) +
                " and " + clauseOf(other),
            "write one clause for both names: `escape " + names + ": ...;`",
            {{"value", m_graph.value(value).name}, {"clauses", names}}});
}

bool Search::readOutside(ValueId value) const {
    if (m_facts.isOutput[value.index()] != 0)
        return true;
    const std::vector<Use>& uses = m_graph.value(value).uses;
    return std::any_of(uses.begin(), uses.end(),
                       [&](const Use& use) { return m_used[use.node.index()] == 0; });
}

/// The values that the block may be read for, by what its names stand for now.
void Search::declareResults(const BlockPlan& plan) {
    m_declared.clear();
    if (m_rule.isRewrite) {
        for (const Assignment& assignment : m_rule.rewrite)
            for (SlotIndex target : assignment.targets)
                addBinding(m_slots[target]);
    } else {
        addDeclared(plan);
    }
}

/// Whether an instance of a `many`, with what is matched by now, has a value that others read
/// although no clause lets them.
bool Search::instanceEscapes(const BlockPlan& plan, NodeId root, const std::vector<NodeId>& nodes) {
    declareResults(plan);
    if (!m_rule.isRewrite)
        for (ValueId output : m_graph.node(root).outputs)
            m_declared.push_back(output);
    auto isInner = [&](ValueId value) {
        return std::find(m_declared.begin(), m_declared.end(), value) == m_declared.end();
    };
    auto mayNot = [&](ValueId value) {
        if (!value.valid() || !isInner(value) || !readOutside(value))
            return false;
        ++m_quiet;
        const std::optional<EscapeRuling> ruling = rulingOn(value);
        --m_quiet;
        return !ruling || ruling->policy == EscapePolicy::Forbid;
    };
    return std::any_of(nodes.begin(), nodes.end(), [&](NodeId node) {
        const std::vector<ValueId>& outputs = m_graph.node(node).outputs;
        return std::any_of(outputs.begin(), outputs.end(), mayNot);
    });
}

/// Fills in outputs and kept nodes; refuses when an inner value may not escape.
bool Search::settleOutputs(Match& match) {
    declareResults(m_prepared.plan);
    if (!m_rule.isRewrite) {
        // A region may have several live outputs; the one that the match reads on is inner.
        for (const RegionBinding& region : m_regions)
            for (NodeId node : region.nodes)
                for (ValueId output : m_graph.node(node).outputs)
                    if (output.valid() && output != region.value)
                        m_declared.push_back(output);
    }
    for (NodeId node : match.nodes)
        for (ValueId output : m_graph.node(node).outputs)
            if (output.valid() && !settleOne(match, output))
                return false;
    // Readers outside also need what the kept nodes read.
    for (size_t i = 0; i < match.kept.size(); ++i)
        for (ValueId input : m_graph.node(match.kept[i]).inputs) {
            NodeId maker = m_facts.makerOf(input);
            if (maker.valid() && m_used[maker.index()] != 0 &&
                std::find(match.kept.begin(), match.kept.end(), maker) == match.kept.end())
                match.kept.push_back(maker);
        }
    return true;
}

bool Search::settleOne(Match& match, ValueId value) {
    bool declared = std::find(m_declared.begin(), m_declared.end(), value) != m_declared.end();
    if (!readOutside(value))
        return true;
    if (declared) {
        match.outputs.push_back(value);
        return true;
    }
    const std::optional<EscapeRuling> ruling = rulingOn(value);
    if (!ruling)
        return false;
    const EscapePolicy policy = ruling->policy;
    NodeId maker = m_facts.makerOf(value);
    bool random = hasTrait(m_facts.opOf(maker), Nondeterministic);
    if (policy == EscapePolicy::Export && !m_rule.isRewrite) {
        match.outputs.push_back(value);
        return true;
    }
    if (policy != EscapePolicy::Forbid && !random) {
        if (std::find(match.kept.begin(), match.kept.end(), maker) == match.kept.end())
            match.kept.push_back(maker);
        return true;
    }
    std::string users = m_facts.isOutput[value.index()] != 0 ? "the graph's outputs" : "";
    for (const Use& use : m_graph.value(value).uses)
        if (m_used[use.node.index()] == 0)
            users += (users.empty() ? "`" : ", `") + m_graph.node(use.node).name + "`";
    return suggestEscape(
        value,
        {code::escape,
         "value `" + m_graph.value(value).name + "` is also read by " + users +
             (ruling->conditionFails() ? ", and the condition of its `escape` is false" : ""),
         "name the value in the pattern and write `escape ...: export`",
         {{"value", m_graph.value(value).name}, {"users", users}}});
}

} // namespace fuselage
