// SPDX-License-Identifier: Apache-2.0
// Regions: a maximal convex set of nodes with few live outputs, grown from one node. A chain step
// grows towards producers only; a statement of its own also grows towards readers.
#include "core/graph/text.h"
#include "core/rewrite/matcher_internal.h"

#include <algorithm>

namespace fuselage {

bool Search::matchRegion(TermId id, ValueId value, uint32_t position, const HoleFrame* hole,
                         Next next) {
    if (!spend())
        return true;
    const Term& term = m_rule.term(id);
    NodeId anchor = m_graph.producer(value);
    bool isStep = !term.arguments.empty();
    bool fits = anchor.valid() && contains(m_prepared.ops[id.index()], m_graph.node(anchor).op) &&
                m_used[anchor.index()] == 0 && m_claimed[anchor.index()] == 0 &&
                m_graph.value(value).outputSlot == position;
    if (!fits && term.least == 0 && isStep)
        return matchTerm(term.arguments[0].term, value, position, hole, next);
    if (!fits)
        return miss(code::otherOp, &term, anchor, value, [&] {
            return std::pair(anchor.valid() ? opText(m_graph.node(anchor)) : "no operator",
                             "`" + term.text + "`");
        });
    Mark before = mark();
    std::vector<NodeId> nodes;
    bool fewOutputs = growRegion(id, anchor, !isStep, nodes);
    if (!fewOutputs || nodes.size() < std::max(term.least, 1U))
        return miss(code::region, &term, anchor, value, [&] {
            return std::pair(std::to_string(nodes.size()) + " nodes",
                             std::to_string(term.least) + " or more with " +
                                 std::to_string(term.maxOutputs) + " live outputs at most");
        });
    for (NodeId node : nodes)
        take(node);
    if ((term.slot && !bindValue(*term.slot, value, term)) || !checkType(term, value)) {
        undo(before);
        return false;
    }
    m_regions.push_back({value, nodes});
    if (!isStep) {
        if (next())
            return true;
        undo(before);
        return false;
    }
    // The chain enters through one of the values that the region reads.
    std::vector<ValueId> tried;
    for (NodeId node : nodes)
        for (ValueId input : m_graph.node(node).inputs) {
            NodeId maker = m_graph.producer(input);
            bool inner =
                maker.valid() && std::find(nodes.begin(), nodes.end(), maker) != nodes.end();
            if (!input.valid() || inner ||
                std::find(tried.begin(), tried.end(), input) != tried.end())
                continue;
            tried.push_back(input);
            if (matchTerm(term.arguments[0].term, input, 0, hole, next))
                return true;
        }
    undo(before);
    return false;
}

/// How the number of values read outside changes when the node joins the set.
int Search::outputChange(NodeId id, const std::vector<NodeId>& set) const {
    auto inSet = [&](NodeId node) {
        return node == id || std::find(set.begin(), set.end(), node) != set.end();
    };
    auto isLive = [&](ValueId value, bool withNode) {
        if (m_facts.isOutput[value.index()] != 0)
            return true;
        const std::vector<Use>& uses = m_graph.value(value).uses;
        return std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
            return !inSet(use.node) || (!withNode && use.node == id);
        });
    };
    int change = 0;
    const Node& node = m_graph.node(id);
    for (ValueId output : node.outputs)
        if (output.valid() && isLive(output, true))
            ++change;
    std::vector<ValueId> seen;
    for (ValueId input : node.inputs) {
        NodeId maker = m_graph.producer(input);
        if (!maker.valid() || maker == id || !inSet(maker) ||
            std::find(seen.begin(), seen.end(), input) != seen.end())
            continue;
        seen.push_back(input);
        if (isLive(input, false) && !isLive(input, true))
            --change;
    }
    return change;
}

/// True when no path between the node and the set runs outside of both.
bool Search::staysConvex(NodeId id, const std::vector<NodeId>& set, bool isProducer) const {
    auto inSet = [&](NodeId node) { return std::find(set.begin(), set.end(), node) != set.end(); };
    std::vector<ValueId> from;
    if (isProducer) {
        int64_t bound = 0;
        for (NodeId node : set)
            bound = std::max(bound, m_convexity.level(node));
        for (ValueId output : m_graph.node(id).outputs)
            if (output.valid())
                from.push_back(output);
        return m_convexity.pathBack(from, inSet, bound).empty();
    }
    for (NodeId node : set)
        for (ValueId output : m_graph.node(node).outputs)
            if (output.valid())
                from.push_back(output);
    // Readers within the set are no way out of it.
    int64_t bound = m_convexity.level(id);
    std::vector<ValueId> leaving;
    for (ValueId value : from) {
        const std::vector<Use>& uses = m_graph.value(value).uses;
        if (std::any_of(uses.begin(), uses.end(),
                        [&](const Use& use) { return use.node != id && !inSet(use.node); }))
            leaving.push_back(value);
    }
    auto target = [&](NodeId node) { return node == id || inSet(node); };
    return m_convexity.pathBack(leaving, target, bound).empty();
}

bool Search::growRegion(TermId id, NodeId anchor, bool forward, std::vector<NodeId>& nodes) {
    const Term& term = m_rule.term(id);
    auto joins = [&](NodeId node) {
        return contains(m_prepared.ops[id.index()], m_graph.node(node).op) &&
               m_used[node.index()] == 0 && m_claimed[node.index()] == 0;
    };
    struct Neighbour {
        NodeId node;
        bool isProducer;
    };
    nodes = {anchor};
    int outputs = outputChange(anchor, {});
    while (nodes.size() < term.most && spend()) {
        std::vector<Neighbour> around;
        auto add = [&](NodeId node, bool isProducer) {
            bool known = std::find(nodes.begin(), nodes.end(), node) != nodes.end() ||
                         std::any_of(around.begin(), around.end(),
                                     [&](const Neighbour& n) { return n.node == node; });
            if (!known && joins(node))
                around.push_back({node, isProducer});
        };
        for (NodeId node : nodes) {
            for (ValueId input : m_graph.node(node).inputs)
                if (NodeId maker = m_graph.producer(input); maker.valid())
                    add(maker, true);
            for (ValueId output : m_graph.node(node).outputs)
                if (forward && output.valid())
                    for (const Use& use : m_graph.value(output).uses)
                        add(use.node, false);
        }
        // Those that leave the fewest outputs first, then the latest: the same for every file
        // order.
        auto better = [&](const Neighbour& a, const Neighbour& b) {
            int left = outputChange(a.node, nodes);
            int right = outputChange(b.node, nodes);
            return left != right ? left < right : m_facts.rank(a.node) > m_facts.rank(b.node);
        };
        std::sort(around.begin(), around.end(), better);
        auto fits = [&](const Neighbour& n) {
            int change = outputChange(n.node, nodes);
            return (change <= 0 || outputs + change <= static_cast<int>(term.maxOutputs)) &&
                   staysConvex(n.node, nodes, n.isProducer);
        };
        auto next = std::find_if(around.begin(), around.end(), fits);
        if (next == around.end())
            break;
        outputs += outputChange(next->node, nodes);
        nodes.push_back(next->node);
    }
    return outputs <= static_cast<int>(term.maxOutputs);
}

} // namespace fuselage
