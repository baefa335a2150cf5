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
    NodeId anchor = m_facts.makerOf(value);
    bool isStep = !term.arguments.empty();
    bool fits = anchor.valid() && isOneOf(id, anchor) && m_used[anchor.index()] == 0 &&
                !isClaimed(anchor) && m_facts.makers[value.index()].slot == position;
    if (!fits && term.least == 0 && isStep)
        return matchTerm(term.arguments[0].term, value, position, hole, next);
    if (!fits)
        return miss(code::otherOp, &term, anchor, value, [&] {
            return std::pair(anchor.valid() ? opText(m_graph.node(anchor)) : "no operator",
                             "`" + term.text + "`");
        });
    Mark before = mark();
    const VectorPool<NodeId>::Loan loan(m_scratch.nodes);
    std::vector<NodeId>& nodes = *loan;
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
    addRegion({value, nodes});
    if (!isStep) {
        if (next())
            return true;
        undo(before);
        return false;
    }
    // The chain enters through one of the values that the region reads.
    const VectorPool<ValueId>::Loan triedLoan(m_scratch.values);
    std::vector<ValueId>& tried = *triedLoan;
    for (NodeId node : nodes)
        for (ValueId input : m_graph.node(node).inputs) {
            NodeId maker = m_facts.makerOf(input);
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

void Search::joinRegion(NodeId node, std::vector<NodeId>& nodes) {
    m_scratch.inRegion[node.index()] = m_scratch.regionStamp;
    nodes.push_back(node);
}

bool Search::inRegion(NodeId node) const {
    return m_scratch.inRegion[node.index()] == m_scratch.regionStamp;
}

/// How the number of values read outside changes when the node joins the region.
int Search::outputChange(NodeId id) const {
    auto isLive = [&](ValueId value, bool withNode) {
        if (m_facts.isOutput[value.index()] != 0)
            return true;
        const std::vector<Use>& uses = m_graph.value(value).uses;
        return std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
            return use.node == id ? !withNode : !inRegion(use.node);
        });
    };
    int change = 0;
    const Node& node = m_graph.node(id);
    for (ValueId output : node.outputs)
        if (output.valid() && isLive(output, true))
            ++change;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
        ValueId input = node.inputs[i];
        NodeId maker = m_facts.makerOf(input);
        bool again =
            std::find(node.inputs.begin(), node.inputs.begin() + static_cast<std::ptrdiff_t>(i),
                      input) != node.inputs.begin() + static_cast<std::ptrdiff_t>(i);
        if (maker.valid() && inRegion(maker) && !again && !isLive(input, true))
            --change;
    }
    return change;
}

/// True when no path between the node and the region runs outside of both.
bool Search::staysConvex(NodeId id, const std::vector<NodeId>& nodes, bool isProducer) const {
    std::vector<ValueId>& leaving = m_scratch.leaving;
    leaving.clear();
    if (isProducer) {
        int64_t bound = 0;
        for (NodeId node : nodes)
            bound = std::max(bound, m_convexity.level(node));
        for (ValueId output : m_graph.node(id).outputs)
            if (output.valid())
                leaving.push_back(output);
        auto target = [&](NodeId node) { return inRegion(node); };
        return !m_convexity.leadsBack(leaving, target, bound);
    }
    auto target = [&](NodeId node) { return node == id || inRegion(node); };
    for (NodeId node : nodes)
        for (ValueId output : m_graph.node(node).outputs) {
            if (!output.valid())
                continue;
            const std::vector<Use>& uses = m_graph.value(output).uses;
            if (!std::all_of(uses.begin(), uses.end(),
                             [&](const Use& use) { return target(use.node); }))
                leaving.push_back(output);
        }
    return !m_convexity.leadsBack(leaving, target, m_convexity.level(id));
}

/// Nodes next to the region that may join, those that leave the fewest outputs first, then the
/// latest: the same for every order of the file.
const std::vector<Search::Neighbour>& Search::neighboursOf(const std::vector<NodeId>& nodes,
                                                           TermId region, bool forward) {
    std::vector<Neighbour>& out = m_neighbours;
    out.clear();
    beginWalk();
    auto add = [&](NodeId node, bool isProducer) {
        if (!inRegion(node) && isOneOf(region, node) && m_used[node.index()] == 0 &&
            !isClaimed(node) && firstVisit(node))
            out.push_back({node, isProducer, outputChange(node)});
    };
    for (NodeId node : nodes) {
        for (ValueId input : m_graph.node(node).inputs)
            if (NodeId maker = m_facts.makerOf(input); maker.valid())
                add(maker, true);
        for (ValueId output : m_graph.node(node).outputs)
            if (forward && output.valid())
                for (const Use& use : m_graph.value(output).uses)
                    add(use.node, false);
    }
    std::sort(out.begin(), out.end(), [&](const Neighbour& a, const Neighbour& b) {
        return a.change != b.change ? a.change < b.change
                                    : m_facts.rank(a.node) > m_facts.rank(b.node);
    });
    return out;
}

bool Search::growRegion(TermId id, NodeId anchor, bool forward, std::vector<NodeId>& nodes) {
    const Term& term = m_rule.term(id);
    auto most = static_cast<int>(term.maxOutputs);
    ++m_scratch.regionStamp;
    int outputs = outputChange(anchor);
    joinRegion(anchor, nodes);
    while (nodes.size() < term.most && spend()) {
        const std::vector<Neighbour>& around = neighboursOf(nodes, id, forward);
        auto fits = [&](const Neighbour& n) {
            return (n.change <= 0 || outputs + n.change <= most) &&
                   staysConvex(n.node, nodes, n.isProducer);
        };
        auto next = std::find_if(around.begin(), around.end(), fits);
        if (next == around.end())
            break;
        outputs += next->change;
        joinRegion(next->node, nodes);
    }
    return outputs <= most;
}

} // namespace fuselage
