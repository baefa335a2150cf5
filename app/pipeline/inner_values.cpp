// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/inner_values.h"

#include "core/graph/bodies.h"
#include "core/support/wildcard.h"
#include "dsl/suggest.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::app {

namespace {

bool isTensor(const Value& value) {
    return value.type.kind == TypeKind::Tensor;
}

/// A node of that name, or a value that one of the nodes makes.
bool makes(const Graph& graph, const std::string& name) {
    return graph.findNode(name).valid() || graph.producer(graph.findValue(name)).valid();
}

/// Why no node makes a value of that name.
Failure noSuchValue(const Graph& graph, const std::string& name) {
    if (graph.findValue(name).valid())
        return failure("run.value", fmt::format("`{}` is given to the graph, not computed", name),
                       "", "name what a node makes");
    std::vector<std::string> known;
    for (NodeId id : graph.nodes()) {
        const Node& node = graph.node(id);
        known.push_back(node.name);
        for (ValueId output : node.outputs)
            if (output.valid())
                known.push_back(graph.value(output).name);
        if (node.body && makes(*node.body, name))
            return failure(
                "run.value",
                fmt::format("`{}` is computed inside of the fused node `{}`, which keeps "
                            "it to itself",
                            name, node.name),
                "", "run without --fuse, or name what the fused node gives: `" + node.name + "`");
    }
    for (const BodyPlace& body : bodiesOf(graph))
        if (makes(*body.graph, name))
            return failure("run.value",
                           fmt::format("`{}` is computed in the body `{}`, and bodies of If, Loop "
                                       "and Scan are not entered",
                                       name, body.path),
                           "", "name what the node around it gives");
    return failure(
        "run.value", fmt::format("the graph has no value and no node `{}`", name), "",
        dsl::didYouMean(dsl::closest(name, known), "`fuselage inspect MODEL --graph` lists them"));
}

} // namespace

Result<std::vector<std::string>> giveOut(Graph& graph, const std::vector<std::string>& names) {
    std::vector<bool> used(names.size(), false);
    std::vector<ValueId> found;
    const auto fits = [&](const std::string& text) {
        bool any = false;
        for (size_t i = 0; i < names.size(); ++i)
            if (fitsWildcard(names[i], text))
                any = used[i] = true;
        return any;
    };
    for (NodeId id : topologicalOrder(graph)) {
        const bool whole = fits(graph.node(id).name);
        for (ValueId output : graph.node(id).outputs)
            if (output.valid() && (fits(graph.value(output).name) || whole))
                found.push_back(output);
    }
    for (size_t i = 0; i < names.size(); ++i)
        if (!used[i])
            return noSuchValue(graph, names[i]);
    std::vector<std::string> out;
    for (ValueId id : found)
        if (isTensor(graph.value(id)) && !graph.isGraphOutput(id)) {
            graph.addOutput(id);
            out.push_back(graph.value(id).name);
        }
    return out;
}

std::vector<bool> giveOutKnown(Graph& graph, const std::vector<std::string>& values) {
    std::vector<bool> out;
    for (const std::string& name : values) {
        const ValueId id = graph.findValue(name);
        out.push_back(id.valid());
        if (id.valid() && !graph.isGraphOutput(id))
            graph.addOutput(id);
    }
    return out;
}

} // namespace fuselage::app
