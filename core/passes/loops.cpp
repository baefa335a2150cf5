// SPDX-License-Identifier: Apache-2.0
#include "core/passes/loops.h"

#include "core/graph/captures.h"
#include "core/graph/makers.h"

#include <algorithm>
#include <unordered_set>

namespace fuselage {

namespace {

/// The body of a Loop that has an output for each of the node's and an input for each operand; null
/// for other nodes.
std::shared_ptr<Graph> bodyOfLoop(const Graph& graph, NodeId id) {
    const Node& loop = graph.node(id);
    if (loop.op != Op::Loop || loop.explicitInputs < carriedInput)
        return nullptr;
    const std::vector<SubgraphRef> refs = subgraphsOf(loop);
    if (refs.size() != 1 || refs[0].graph->inputs().size() != loop.explicitInputs ||
        refs[0].graph->outputs().size() < carriedOutput + loop.explicitInputs - carriedInput ||
        refs[0].graph->outputs().size() < carriedOutput + loop.outputs.size())
        return nullptr;
    return refs[0].graph;
}

/// Results of a Loop, by place, that go: nobody reads them, nor what the other ones are made of.
std::vector<bool> unreadOf(const Graph& graph, const Node& loop, const Graph& body) {
    const size_t carried = loop.explicitInputs - carriedInput;
    const size_t results = body.outputs().size() - carriedOutput;
    std::vector<bool> out(results, true);
    for (size_t i = 0; i < loop.outputs.size(); ++i) {
        const ValueId value = loop.outputs[i];
        out[i] = !value.valid() || (graph.value(value).uses.empty() && !graph.isGraphOutput(value));
    }
    for (bool changed = true; changed;) {
        changed = false;
        std::vector<ValueId> wanted{body.outputs()[0]};
        for (size_t i = 0; i < results; ++i)
            if (!out[i])
                wanted.push_back(body.outputs()[carriedOutput + i]);
        std::unordered_set<ValueId> read(wanted.begin(), wanted.end());
        for (NodeId id : makersOf(body, wanted))
            read.insert(body.node(id).inputs.begin(), body.node(id).inputs.end());
        for (size_t i = 0; i < carried; ++i)
            if (out[i] && read.contains(body.inputs()[carriedInput + i])) {
                out[i] = false;
                changed = true;
            }
    }
    return out;
}

} // namespace

bool dropUnread(Graph& graph, NodeId id) {
    const std::shared_ptr<Graph> kept = bodyOfLoop(graph, id);
    if (!kept)
        return false;
    const Node old = graph.node(id);
    const std::vector<bool> unread = unreadOf(graph, old, *kept);
    if (std::none_of(unread.begin(), unread.end(), [](bool each) { return each; }) ||
        std::all_of(unread.begin(), unread.end(), [](bool each) { return each; }))
        return false;
    auto body = std::make_shared<Graph>(*kept);
    NodeSpec spec{Op::Loop, old.name, {}, {}, old.attributes, old.provenance};
    for (size_t i = 0; i < old.explicitInputs; ++i)
        if (i < carriedInput || !unread[i - carriedInput])
            spec.inputs.push_back(old.inputs[i]);
    std::vector<ValueId> results;
    for (size_t i = 0; i < unread.size(); ++i)
        if (!unread[i]) {
            results.push_back(old.outputs[i]);
            spec.outputs.push_back(graph.value(old.outputs[i]).name);
        }
    for (size_t i = unread.size(); i-- > 0;)
        if (unread[i])
            body->removeOutput(carriedOutput + i);
    body->removeDead();
    for (size_t i = old.explicitInputs; i-- > carriedInput;)
        if (unread[i - carriedInput])
            body->removeInput(i);
    spec.attributes.set("body", body);
    const NodeId made = graph.addNode(std::move(spec));
    for (size_t i = old.explicitInputs; i < old.inputs.size(); ++i)
        graph.appendCapturedInput(made, old.inputs[i]);
    for (size_t i = 0; i < results.size(); ++i) {
        const ValueId result = graph.node(made).outputs[i];
        graph.setType(result, graph.value(results[i]).type);
        graph.replaceUses(results[i], result);
        graph.takeName(result, results[i]);
    }
    graph.takeName(made, id);
    graph.removeNode(id);
    return true;
}

ValueId appendedTo(const Graph& graph, NodeId loop, size_t carried) {
    const std::shared_ptr<Graph> body = bodyOfLoop(graph, loop);
    if (!body || body->outputs().size() != carriedOutput + graph.node(loop).outputs.size())
        return {};
    const ValueId given = body->inputs()[carriedInput + carried];
    const ValueId made = body->outputs()[carriedOutput + carried];
    const NodeId inserts = body->producer(made);
    if (!inserts.valid() || !body->value(made).uses.empty() || body->value(given).uses.size() != 1)
        return {};
    const Node& node = body->node(inserts);
    const auto& outputs = body->outputs();
    if (node.op != Op::SequenceInsert || node.inputs[0] != given ||
        (node.inputs.size() > 2 && node.inputs[2].valid()) ||
        std::find(outputs.begin(), outputs.end(), given) != outputs.end() ||
        std::count(outputs.begin(), outputs.end(), made) != 1)
        return {};
    const Type& type = body->value(node.inputs[1]).type;
    return type.kind == TypeKind::Tensor && type.elementCount().value_or(0) > 0 ? node.inputs[1]
                                                                                : ValueId();
}

} // namespace fuselage
