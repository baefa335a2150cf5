// SPDX-License-Identifier: Apache-2.0
#include "core/graph/bodies.h"

#include "core/graph/subgraph.h"

#include <algorithm>
#include <unordered_map>

namespace fuselage {

std::string bodyPath(const std::string& outer, const std::string& node,
                     const std::string& attribute) {
    return outer + node + "/" + attribute + "/";
}

namespace {

/// Most graphs have none, and their order costs more than to ask.
bool hasBodies(const Graph& graph) {
    const std::vector<NodeId> nodes = graph.nodes();
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](NodeId id) { return !subgraphsOf(graph.node(id)).empty(); });
}

void collect(const Graph& graph, const std::string& path, std::vector<BodyPlace>& out) {
    if (!hasBodies(graph))
        return;
    for (NodeId id : topologicalOrder(graph))
        for (const SubgraphRef& ref : subgraphsOf(graph.node(id))) {
            std::string inner = bodyPath(path, graph.node(id).name, ref.attribute);
            collect(*ref.graph, inner, out);
            out.push_back(
                {std::move(inner), ref.graph.get(), &graph, id, ref.attribute, ref.firstCapture});
        }
}

Result<bool> changeIn(Graph& graph, const std::string& path, ChangeBody change) {
    bool changed = false;
    if (!hasBodies(graph))
        return changed;
    for (NodeId id : topologicalOrder(graph))
        for (const SubgraphRef& ref : subgraphsOf(graph.node(id))) {
            const std::string inner = bodyPath(path, graph.node(id).name, ref.attribute);
            auto body = std::make_shared<Graph>(*ref.graph);
            Result<bool> within = changeIn(*body, inner, change);
            if (!within)
                return within;
            Result<bool> here = change(*body, inner, id);
            if (!here)
                return here;
            if (!*within && !*here)
                continue;
            graph.edit(id).attributes.set(ref.attribute, std::move(body));
            changed = true;
        }
    return changed;
}

/// Calls `change(body, captured)` for each body of the graph with the constants that it captures,
/// parallel to its captures and null where they are none; a body that it says to have changed
/// replaces the old one.
template <typename Change> bool forCaptured(Graph& graph, Change change) {
    bool changed = false;
    for (NodeId id : graph.nodes())
        for (const SubgraphRef& ref : subgraphsOf(graph.node(id))) {
            std::vector<TensorPtr> captured;
            for (size_t i = 0; i < ref.graph->captures().size(); ++i) {
                const ValueId outside = graph.node(id).inputs[ref.firstCapture + i];
                captured.push_back(outside.valid() ? graph.value(outside).constant : nullptr);
            }
            auto body = std::make_shared<Graph>(*ref.graph);
            if (!change(*body, captured))
                continue;
            graph.edit(id).attributes.set(ref.attribute, std::move(body));
            changed = true;
        }
    return changed;
}

bool isUsed(const Graph& graph, ValueId id) {
    return !graph.value(id).uses.empty() || graph.isGraphOutput(id);
}

bool takeIn(Graph& graph) {
    return forCaptured(graph, [](Graph& body, const std::vector<TensorPtr>& captured) {
        bool changed = false;
        const std::vector<ValueId> captures = body.captures();
        for (size_t i = 0; i < captures.size(); ++i) {
            if (!captured[i] || !isUsed(body, captures[i]))
                continue;
            const Value& value = body.value(captures[i]);
            const ValueId own = body.addConstant(body.freshName(value.name), captured[i]);
            body.replaceUses(captures[i], own);
            body.takeName(own, captures[i]);
            changed = true;
        }
        return takeIn(body) || changed;
    });
}

bool returnIn(Graph& graph) {
    return forCaptured(graph, [](Graph& body, const std::vector<TensorPtr>& captured) {
        bool changed = returnIn(body);
        std::unordered_map<const Tensor*, ValueId> own;
        for (ValueId id : body.values())
            if (body.isConstant(id))
                own.emplace(body.value(id).constant.get(), id);
        const std::vector<ValueId> captures = body.captures();
        for (size_t i = 0; i < captures.size(); ++i) {
            const auto found = captured[i] ? own.find(captured[i].get()) : own.end();
            if (found == own.end() || isUsed(body, captures[i]))
                continue;
            body.replaceUses(found->second, captures[i]);
            body.takeName(captures[i], found->second);
            body.removeValue(found->second);
            own.erase(found);
            changed = true;
        }
        return changed;
    });
}

} // namespace

std::vector<BodyPlace> bodiesOf(const Graph& graph) {
    std::vector<BodyPlace> out;
    collect(graph, "", out);
    return out;
}

size_t countNodes(const Graph& graph) {
    size_t out = graph.nodeCount();
    for (const BodyPlace& body : bodiesOf(graph))
        out += body.graph->nodeCount();
    return out;
}

NodePlace findByPath(const Graph& graph, std::string_view path) {
    if (const NodeId node = graph.findNode(path); node.valid())
        return {&graph, node, {}};
    for (NodeId id : graph.nodes())
        for (const SubgraphRef& ref : subgraphsOf(graph.node(id))) {
            const std::string inner = bodyPath("", graph.node(id).name, ref.attribute);
            if (!path.starts_with(inner))
                continue;
            NodePlace found = findByPath(*ref.graph, path.substr(inner.size()));
            if (!found.graph)
                continue;
            found.path = inner + found.path;
            return found;
        }
    return {};
}

Result<bool> changeBodies(Graph& graph, ChangeBody change) {
    return changeIn(graph, "", change);
}

Graph standaloneBody(const Graph& body, const std::vector<Type>& inputs,
                     const std::vector<Type>& captured, const std::vector<TensorPtr>& constants) {
    Graph out("body");
    std::vector<ValueId> explicitly, captures;
    for (size_t i = 0; i < inputs.size(); ++i)
        explicitly.push_back(out.addInput(body.value(body.inputs()[i]).name, inputs[i]));
    for (size_t i = 0; i < captured.size(); ++i) {
        const std::string& name = body.value(body.captures()[i]).name;
        captures.push_back(constants[i] ? out.addConstant(name, constants[i])
                                        : out.addInput(name, captured[i]));
    }
    for (ValueId output : inlineBody(out, body, explicitly, captures))
        out.addOutput(output);
    out.opsetImports = body.opsetImports;
    return out;
}

bool isReadAnywhere(const Graph& graph, ValueId value) {
    if (graph.isGraphOutput(value))
        return true;
    for (const Use& use : graph.value(value).uses) {
        const Node& node = graph.node(use.node);
        if (use.slot < node.explicitInputs)
            return true;
        for (const SubgraphRef& ref : subgraphsOf(node)) {
            const size_t position = size_t{use.slot} - ref.firstCapture;
            if (use.slot >= ref.firstCapture && position < ref.graph->captures().size() &&
                isReadAnywhere(*ref.graph, ref.graph->captures()[position]))
                return true;
        }
    }
    return false;
}

void takeCapturedConstants(Graph& graph) {
    takeIn(graph);
}

void returnCapturedConstants(Graph& graph) {
    returnIn(graph);
}

} // namespace fuselage
