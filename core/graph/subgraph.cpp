// SPDX-License-Identifier: Apache-2.0
#include "core/graph/subgraph.h"

#include <algorithm>
#include <cassert>
#include <unordered_map>
#include <unordered_set>

namespace fuselage {

namespace {

/// Matches have a few nodes: going through them all is quicker than any table.
constexpr size_t mostToGoThrough = 24;

/// Values of one graph for those of another.
class ValueMap {
public:
    bool contains(ValueId from) { return find(from) != nullptr; }

    ValueId at(ValueId from) {
        const ValueId* known = find(from);
        assert(known && "the value is not in the map");
        return *known;
    }

    ValueId& operator[](ValueId from) {
        if (ValueId* known = find(from))
            return *known;
        if (m_few.size() < mostToGoThrough)
            return m_few.emplace_back(from, ValueId()).second;
        return m_more[from];
    }

private:
    ValueId* find(ValueId from) {
        for (auto& [known, to] : m_few)
            if (known == from)
                return &to;
        const auto found = m_more.find(from);
        return found == m_more.end() ? nullptr : &found->second;
    }

    std::vector<std::pair<ValueId, ValueId>> m_few;
    std::unordered_map<ValueId, ValueId> m_more;
};

/// Nodes with a mark each.
class NodeMarks {
public:
    explicit NodeMarks(const std::vector<NodeId>& nodes) : m_nodes(nodes), m_marks(nodes.size()) {
        if (nodes.size() > mostToGoThrough)
            for (size_t i = 0; i < nodes.size(); ++i)
                m_places.emplace(nodes[i], i);
    }

    /// Of a node that is none of them true.
    bool isMarked(NodeId node) const {
        const size_t place = placeOf(node);
        return place == m_nodes.size() || m_marks[place];
    }

    void mark(NodeId node) { m_marks[placeOf(node)] = true; }

private:
    size_t placeOf(NodeId node) const {
        if (m_places.empty())
            return static_cast<size_t>(std::find(m_nodes.begin(), m_nodes.end(), node) -
                                       m_nodes.begin());
        const auto found = m_places.find(node);
        return found == m_places.end() ? m_nodes.size() : found->second;
    }

    const std::vector<NodeId>& m_nodes;
    std::vector<bool> m_marks;
    std::unordered_map<NodeId, size_t> m_places;
};

/// The set in an order where producers come first; depends on the structure only.
std::vector<NodeId> ordered(const Graph& graph, const std::vector<NodeId>& nodes) {
    NodeMarks done(nodes);
    std::vector<NodeId> out;
    out.reserve(nodes.size());
    struct Frame {
        NodeId node;
        size_t next;
    };
    std::vector<NodeId> roots(nodes);
    std::sort(roots.begin(), roots.end(),
              [&](NodeId a, NodeId b) { return graph.node(a).name < graph.node(b).name; });
    std::vector<Frame> stack;
    for (NodeId root : roots) {
        if (done.isMarked(root))
            continue;
        done.mark(root);
        stack.push_back({root, 0});
        while (!stack.empty()) {
            Frame& frame = stack.back();
            const Node& node = graph.node(frame.node);
            if (frame.next == node.inputs.size()) {
                out.push_back(frame.node);
                stack.pop_back();
                continue;
            }
            NodeId maker = graph.producer(node.inputs[frame.next++]);
            if (maker.valid() && !done.isMarked(maker)) {
                done.mark(maker);
                stack.push_back({maker, 0});
            }
        }
    }
    return out;
}

void copyValueFacts(Graph& to, ValueId target, const Value& source) {
    to.setType(target, source.type);
    to.setSymbolicContents(target, source.symbolicContents);
    if (!source.metadata.empty())
        to.setMetadata(target, source.metadata);
}

/// Copies one node; its inputs must be in the map, its outputs are added to it.
NodeId copyNode(const Graph& from, const Node& node, Graph& to, ValueMap& map) {
    NodeSpec spec{node.op, node.name, {}, {}, node.attributes, node.provenance};
    for (ValueId input : node.inputs)
        spec.inputs.push_back(input.valid() ? map.at(input) : ValueId());
    for (ValueId output : node.outputs)
        spec.outputs.push_back(output.valid() ? from.value(output).name : "");
    NodeId copied = to.addNode(std::move(spec));
    Node& target = to.edit(copied);
    target.customDomain = node.customDomain;
    target.customOp = node.customOp;
    target.notComputed = node.notComputed;
    target.explicitInputs = node.explicitInputs;
    target.body = node.body;
    for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
        if (!node.outputs[slot].valid())
            continue;
        map[node.outputs[slot]] = target.outputs[slot];
        copyValueFacts(to, target.outputs[slot], from.value(node.outputs[slot]));
    }
    return copied;
}

} // namespace

std::vector<ValueId> escapingValues(const Graph& graph, const std::vector<NodeId>& nodes) {
    const std::unordered_set<NodeId> inside(nodes.begin(), nodes.end());
    std::vector<ValueId> out;
    for (NodeId id : ordered(graph, nodes))
        for (ValueId output : graph.node(id).outputs) {
            if (!output.valid())
                continue;
            const auto& uses = graph.value(output).uses;
            bool escapes = graph.isGraphOutput(output) ||
                           std::any_of(uses.begin(), uses.end(),
                                       [&](const Use& use) { return !inside.contains(use.node); });
            if (escapes)
                out.push_back(output);
        }
    return out;
}

Cut cutOut(const Graph& graph, const std::vector<NodeId>& nodes,
           const std::vector<ValueId>& outputs, const CutOptions& options) {
    Cut cut;
    cut.outputs = outputs;
    ValueMap map;
    const auto addInput = [&](ValueId input) {
        const Value& value = graph.value(input);
        const ValueId made = cut.body.addInput(value.name, value.type);
        copyValueFacts(cut.body, made, value);
        cut.inputs.push_back(input);
        if (!map.contains(input))
            map[input] = made;
    };
    for (ValueId input : options.first)
        addInput(input);
    for (NodeId id : ordered(graph, nodes)) {
        const Node& node = graph.node(id);
        for (ValueId input : node.inputs) {
            if (!input.valid() || map.contains(input))
                continue;
            const Value& value = graph.value(input);
            bool embed = value.constant && value.constant->rank() <= 1 &&
                         value.constant->elementCount() <= options.maxEmbeddedElements &&
                         (value.constant->elementCount() == 1 ||
                          !isFloat(value.constant->dtype())); // a small bias is still an operand
            if (embed) {
                map[input] = cut.body.addConstant(value.name, value.constant);
                continue;
            }
            addInput(input);
        }
        copyNode(graph, node, cut.body, map);
    }
    for (ValueId output : outputs)
        cut.body.addOutput(map.at(output));
    cut.body.opsetImports = graph.opsetImports;
    return cut;
}

NodeId replaceByFused(Graph& graph, const std::vector<NodeId>& nodes, Cut cut,
                      const std::string& name, Provenance provenance) {
    NodeSpec spec{Op::Fused, name, cut.inputs, {}, {}, std::move(provenance)};
    spec.outputs.resize(cut.outputs.size()); // theirs are moved here
    NodeId fused = graph.addNode(std::move(spec));
    graph.edit(fused).customOp = name;
    cut.body.setName(name);
    graph.edit(fused).body = std::make_shared<const Graph>(std::move(cut.body));
    for (uint32_t i = 0; i < cut.outputs.size(); ++i)
        graph.moveOutput(cut.outputs[i], fused, i);
    // Readers go before what they read; nodes that are still read outside stay.
    std::vector<NodeId> order = ordered(graph, nodes);
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
        const std::vector<ValueId>& outputs = graph.node(*it).outputs;
        bool read = std::any_of(outputs.begin(), outputs.end(), [&](ValueId output) {
            return output.valid() &&
                   (!graph.value(output).uses.empty() || graph.isGraphOutput(output));
        });
        if (!read)
            graph.removeNode(*it);
    }
    return fused;
}

std::vector<ValueId> inlineBody(Graph& graph, const Graph& body, const std::vector<ValueId>& inputs,
                                const std::vector<ValueId>& captures) {
    assert(inputs.size() == body.inputs().size() && "one value for each input of the body");
    assert(captures.size() == body.captures().size() && "one value for each capture of the body");
    ValueMap map;
    for (size_t i = 0; i < inputs.size(); ++i)
        map[body.inputs()[i]] = inputs[i];
    for (size_t i = 0; i < captures.size(); ++i)
        map[body.captures()[i]] = captures[i];
    for (ValueId id : body.values())
        if (body.isConstant(id) && !map.contains(id))
            map[id] = graph.addConstant(body.value(id).name, body.value(id).constant);
    for (NodeId id : topologicalOrder(body))
        copyNode(body, body.node(id), graph, map);
    std::vector<ValueId> outputs;
    for (ValueId output : body.outputs())
        outputs.push_back(map.at(output));
    return outputs;
}

void inlineFused(Graph& graph, NodeId fused) {
    const Node node = graph.node(fused);
    auto firstNew = static_cast<uint32_t>(graph.valueBound());
    std::vector<ValueId> results = inlineBody(graph, *node.body, node.inputs);
    std::vector<bool> named(results.size(), false);
    for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
        ValueId old = node.outputs[slot];
        if (!old.valid())
            continue;
        // A value that was there before keeps its name: outputs of the graph need one of their own.
        ValueId result = results[slot];
        bool taken = result.index() < firstNew;
        for (size_t other = 0; other < slot; ++other)
            taken = taken || (named[other] && results[other] == result);
        if (taken && graph.isGraphOutput(old)) {
            NodeId copy = graph.addNode({Op::Identity, node.name, {result}, {"copy"}});
            result = graph.node(copy).outputs[0];
            taken = false;
        }
        Type type = graph.value(old).type;
        graph.replaceUses(old, result);
        if (taken)
            continue;
        graph.takeName(result, old);
        if (type.dtype != DType::Undefined)
            graph.setType(result, std::move(type));
        named[slot] = true;
    }
    graph.removeNode(fused);
}

std::shared_ptr<const Graph> withoutFused(std::shared_ptr<const Graph> body) {
    const std::vector<NodeId> nodes = body->nodes();
    auto isFused = [&](NodeId id) { return body->node(id).op == Op::Fused; };
    if (std::none_of(nodes.begin(), nodes.end(), isFused))
        return body;
    Graph out = body->clone();
    for (uint32_t index = 0; index < out.nodeBound(); ++index) // new nodes too
        if (const NodeId id(index); out.alive(id) && out.node(id).op == Op::Fused)
            inlineFused(out, id);
    return std::make_shared<const Graph>(std::move(out));
}

} // namespace fuselage
