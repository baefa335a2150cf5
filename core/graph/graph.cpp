// SPDX-License-Identifier: Apache-2.0
#include "core/graph/graph.h"

#include "core/support/depth_first.h"

#include <algorithm>
#include <cassert>

namespace fuselage {

namespace {

template <typename Tag> std::vector<Id<Tag>> liveIds(const std::vector<bool>& alive) {
    std::vector<Id<Tag>> out;
    for (uint32_t i = 0; i < alive.size(); ++i)
        if (alive[i])
            out.emplace_back(i);
    return out;
}

/// `base`, or `base` with the first free suffix "_1", "_2" ...
std::string uniqueIn(const auto& names, std::unordered_map<std::string, uint32_t>& next,
                     const std::string& base) {
    if (!names.contains(base))
        return base;
    for (uint32_t& suffix = next[base];;) {
        std::string candidate = base + "_" + std::to_string(++suffix);
        if (!names.contains(candidate))
            return candidate;
    }
}

} // namespace

std::vector<NodeId> Graph::nodes() const {
    return liveIds<NodeTag>(m_nodeAlive);
}

std::vector<ValueId> Graph::values() const {
    return liveIds<ValueTag>(m_valueAlive);
}

ValueId Graph::findValue(std::string_view name) const {
    auto found = m_valueNames.find(std::string(name));
    return found == m_valueNames.end() ? ValueId() : found->second;
}

NodeId Graph::findNode(std::string_view name) const {
    auto found = m_nodeNames.find(std::string(name));
    return found == m_nodeNames.end() ? NodeId() : found->second;
}

bool Graph::isGraphOutput(ValueId id) const {
    return std::find(m_outputs.begin(), m_outputs.end(), id) != m_outputs.end();
}

std::string Graph::freshName(const std::string& base) const {
    return uniqueIn(m_valueNames, m_nextSuffix, base);
}

std::string Graph::uniqueNodeName(const std::string& base) const {
    return uniqueIn(m_nodeNames, m_nextSuffix, base);
}

ValueId Graph::addValue(std::string name) {
    ValueId id(static_cast<uint32_t>(m_values.size()));
    Value& added = m_values.emplace_back();
    m_valueAlive.push_back(true);
    added.name = freshName(name.empty() ? "v" : name);
    m_valueNames.emplace(added.name, id);
    return id;
}

ValueId Graph::addInput(std::string name, Type type) {
    ValueId id = addValue(std::move(name));
    m_values[id.index()].type = std::move(type);
    m_inputs.push_back(id);
    return id;
}

ValueId Graph::addCapture(std::string name, Type type) {
    ValueId id = addValue(std::move(name));
    m_values[id.index()].type = std::move(type);
    m_captures.push_back(id);
    return id;
}

ValueId Graph::addConstant(std::string name, TensorPtr data) {
    ValueId id = addValue(std::move(name));
    Value& added = m_values[id.index()];
    if (data) // else verify says that nothing makes the value
        added.type = data->type();
    added.constant = std::move(data);
    return id;
}

NodeId Graph::addNode(NodeSpec spec) {
    NodeId id(static_cast<uint32_t>(m_nodes.size()));
    Node& added = m_nodes.emplace_back();
    m_nodeAlive.push_back(true);
    ++m_liveNodes;
    added.op = spec.op;
    added.name = uniqueNodeName(spec.name.empty() ? nameOf(spec.op) : spec.name);
    added.attributes = std::move(spec.attributes);
    added.provenance = std::move(spec.provenance);
    added.inputs = std::move(spec.inputs);
    added.explicitInputs = static_cast<uint32_t>(added.inputs.size());
    m_nodeNames.emplace(added.name, id);
    for (uint32_t slot = 0; slot < added.inputs.size(); ++slot)
        addUse(added.inputs[slot], {id, slot});
    for (std::string& output : spec.outputs) {
        if (output.empty())
            m_nodes[id.index()].outputs.emplace_back();
        else
            appendOutput(id, std::move(output));
    }
    return id;
}

void Graph::addOutput(ValueId id) {
    m_outputs.push_back(id);
}

void Graph::addUse(ValueId id, Use use) {
    if (id.valid() && id.index() < m_values.size()) // verify refuses what no value has
        m_values[id.index()].uses.push_back(use);
}

void Graph::removeUse(ValueId id, Use use) {
    if (id.valid() && id.index() < m_values.size())
        std::erase(m_values[id.index()].uses, use);
}

void Graph::setInput(NodeId id, uint32_t slot, ValueId value) {
    Node& node = m_nodes[id.index()];
    removeUse(node.inputs[slot], {id, slot});
    node.inputs[slot] = value;
    addUse(value, {id, slot});
}

void Graph::appendInput(NodeId id, ValueId value) {
    Node& node = m_nodes[id.index()];
    assert(node.explicitInputs == node.inputs.size() && "node has captured inputs");
    appendCapturedInput(id, value);
    ++node.explicitInputs;
}

void Graph::appendCapturedInput(NodeId id, ValueId value) {
    Node& node = m_nodes[id.index()];
    node.inputs.push_back(value);
    addUse(value, {id, static_cast<uint32_t>(node.inputs.size() - 1)});
}

void Graph::eraseInputsFrom(NodeId id, uint32_t slot) {
    Node& node = m_nodes[id.index()];
    assert(node.explicitInputs == node.inputs.size() && "node has captured inputs");
    while (node.inputs.size() > slot) {
        removeUse(node.inputs.back(), {id, static_cast<uint32_t>(node.inputs.size() - 1)});
        node.inputs.pop_back();
    }
    node.explicitInputs = static_cast<uint32_t>(node.inputs.size());
}

ValueId Graph::appendOutput(NodeId id, std::string name) {
    ValueId value = addValue(std::move(name));
    Node& node = m_nodes[id.index()];
    m_values[value.index()].producer = id;
    m_values[value.index()].outputSlot = static_cast<uint32_t>(node.outputs.size());
    node.outputs.push_back(value);
    return value;
}

void Graph::moveOutput(ValueId value, NodeId id, uint32_t slot) {
    Value& moved = m_values[value.index()];
    if (moved.producer.valid())
        m_nodes[moved.producer.index()].outputs[moved.outputSlot] = ValueId();
    ValueId replaced = m_nodes[id.index()].outputs[slot];
    m_nodes[id.index()].outputs[slot] = value;
    moved.producer = id;
    moved.outputSlot = slot;
    if (!replaced.valid())
        return;
    m_values[replaced.index()].producer = NodeId();
    removeValue(replaced);
}

void Graph::replaceUses(ValueId from, ValueId to) {
    assert(from != to && "a value cannot replace itself");
    std::vector<Use> uses = std::move(m_values[from.index()].uses);
    m_values[from.index()].uses.clear();
    for (const Use& use : uses) {
        m_nodes[use.node.index()].inputs[use.slot] = to;
        addUse(to, use);
    }
    std::replace(m_outputs.begin(), m_outputs.end(), from, to);
}

void Graph::takeName(ValueId to, ValueId from) {
    std::string wanted = m_values[from.index()].name;
    m_valueNames.erase(wanted);
    m_valueNames.erase(m_values[to.index()].name);
    m_values[to.index()].name = wanted;
    m_valueNames.emplace(wanted, to);
    m_values[from.index()].name = freshName(wanted);
    m_valueNames.emplace(m_values[from.index()].name, from);
}

void Graph::takeName(NodeId to, NodeId from) {
    const std::string wanted = m_nodes[from.index()].name;
    m_nodeNames.erase(wanted);
    m_nodeNames.erase(m_nodes[to.index()].name);
    m_nodes[to.index()].name = wanted;
    m_nodeNames.emplace(wanted, to);
    m_nodes[from.index()].name = uniqueNodeName(wanted);
    m_nodeNames.emplace(m_nodes[from.index()].name, from);
}

void Graph::makeConstant(ValueId id, TensorPtr data) {
    Value& value = m_values[id.index()];
    if (value.producer.valid()) {
        m_nodes[value.producer.index()].outputs[value.outputSlot] = ValueId();
        value.producer = NodeId();
        value.outputSlot = 0;
    }
    value.type = data->type();
    value.constant = std::move(data);
}

void Graph::removeNode(NodeId id) {
    Node& node = m_nodes[id.index()];
    for (uint32_t slot = 0; slot < node.inputs.size(); ++slot)
        removeUse(node.inputs[slot], {id, slot});
    for (ValueId output : node.outputs) {
        if (!output.valid())
            continue;
        m_values[output.index()].producer = NodeId();
        removeValue(output);
    }
    m_nodeNames.erase(node.name);
    node = Node();
    m_nodeAlive[id.index()] = false;
    --m_liveNodes;
}

void Graph::removeValue(ValueId id) {
    Value& value = m_values[id.index()];
    assert(value.uses.empty() && !value.producer.valid() && "value is still in use");
    m_valueNames.erase(value.name);
    value = Value();
    m_valueAlive[id.index()] = false;
}

void Graph::removeInput(size_t position) {
    ValueId id = m_inputs[position];
    m_inputs.erase(m_inputs.begin() + static_cast<std::ptrdiff_t>(position));
    if (m_values[id.index()].uses.empty() && !isGraphOutput(id))
        removeValue(id);
}

void Graph::setOutput(size_t position, ValueId id) {
    m_outputs[position] = id;
}

void Graph::removeOutput(size_t position) {
    m_outputs.erase(m_outputs.begin() + static_cast<std::ptrdiff_t>(position));
}

size_t Graph::removeDead() {
    std::vector<bool> needed(m_nodes.size(), false);
    std::vector<NodeId> work;
    auto need = [&](ValueId id) {
        NodeId maker = producer(id);
        if (maker.valid() && !needed[maker.index()]) {
            needed[maker.index()] = true;
            work.push_back(maker);
        }
    };
    for (ValueId output : m_outputs)
        need(output);
    while (!work.empty()) {
        NodeId id = work.back();
        work.pop_back();
        for (ValueId input : m_nodes[id.index()].inputs)
            need(input);
    }
    // Uses go first, so that each dead node's outputs are unused when it is removed; all at once,
    // since a constant may have a reader in every node.
    std::vector<NodeId> dead;
    for (NodeId id : nodes())
        if (!needed[id.index()])
            dead.push_back(id);
    std::vector<bool> touched(m_values.size(), false);
    for (NodeId id : dead) {
        for (ValueId input : m_nodes[id.index()].inputs)
            if (input.valid())
                touched[input.index()] = true;
        m_nodes[id.index()].inputs.clear();
    }
    for (size_t i = 0; i < m_values.size(); ++i)
        if (touched[i])
            std::erase_if(m_values[i].uses,
                          [&](const Use& use) { return !needed[use.node.index()]; });
    for (NodeId id : dead)
        removeNode(id);
    std::vector<bool> pinned(m_values.size(), false);
    for (ValueId id : m_inputs)
        pinned[id.index()] = true;
    for (ValueId id : m_outputs)
        pinned[id.index()] = true;
    for (ValueId id : values()) {
        const Value& candidate = value(id);
        if (candidate.constant && candidate.uses.empty() && !pinned[id.index()])
            removeValue(id);
    }
    return dead.size();
}

namespace {

/// Who makes the inputs of each node, close together: a walk from node to node would fetch a whole
/// value for each.
class Makers {
public:
    static constexpr uint32_t none = UINT32_MAX;

    explicit Makers(const Graph& graph) : m_first(graph.nodeBound() + 1, 0) {
        std::vector<uint32_t> makerOf(graph.valueBound(), none);
        for (NodeId id : graph.nodes())
            for (ValueId output : graph.node(id).outputs)
                if (output.valid())
                    makerOf[output.index()] = id.index();
        uint32_t next = 0;
        for (NodeId id : graph.nodes()) {
            while (next <= id.index())
                m_first[next++] = static_cast<uint32_t>(m_makers.size());
            for (ValueId input : graph.node(id).inputs)
                m_makers.push_back(input.valid() ? makerOf[input.index()] : none);
        }
        while (next < m_first.size())
            m_first[next++] = static_cast<uint32_t>(m_makers.size());
    }

    size_t count(uint32_t node) const { return m_first[node + 1] - m_first[node]; }

    uint32_t of(uint32_t node, size_t input) const { return m_makers[m_first[node] + input]; }

private:
    std::vector<uint32_t> m_first, m_makers;
};

} // namespace

std::vector<NodeId> topologicalOrder(const Graph& graph) {
    auto numberOf = [](NodeId id) { return id.valid() ? id.index() : Makers::none; };
    const Makers makers(graph);
    DepthFirstOrder depthFirst(
        graph.nodeBound(), [&](uint32_t node) { return makers.count(node); },
        [&](uint32_t node, size_t input) { return makers.of(node, input); });
    for (ValueId output : graph.outputs())
        depthFirst.visit(numberOf(graph.producer(output)));
    std::vector<NodeId> rest;
    for (NodeId id : graph.nodes())
        if (!depthFirst.visited(id.index()))
            rest.push_back(id);
    std::sort(rest.begin(), rest.end(),
              [&](NodeId a, NodeId b) { return graph.node(a).name < graph.node(b).name; });
    for (NodeId id : rest)
        depthFirst.visit(id.index());
    std::vector<NodeId> order;
    order.reserve(depthFirst.order().size());
    for (uint32_t node : depthFirst.order())
        order.emplace_back(node);
    if (!depthFirst.hasCycle())
        return order;
    // With a cycle, depth-first order is no topological order: keep what Kahn's rule accepts.
    std::vector<bool> placed(graph.nodeBound(), false);
    std::vector<NodeId> sorted;
    sorted.reserve(order.size());
    for (NodeId id : order) {
        const Node& node = graph.node(id);
        bool ready = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
            NodeId maker = graph.producer(input);
            return !maker.valid() || placed[maker.index()];
        });
        if (!ready)
            continue;
        placed[id.index()] = true;
        sorted.push_back(id);
    }
    return sorted;
}

} // namespace fuselage
