// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/inner_values.h"

#include "core/graph/bodies.h"
#include "core/passes/body_results.h"
#include "core/support/function_ref.h"
#include "core/support/wildcard.h"
#include "dsl/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <unordered_map>

namespace fuselage::app {

namespace {

/// How many values of a name nodes make, in the graph and its bodies.
using NameCounts = std::unordered_map<std::string, int>;

void countNames(const Graph& graph, NameCounts& counts) {
    for (NodeId id : graph.nodes())
        for (ValueId output : graph.node(id).outputs)
            if (output.valid())
                ++counts[graph.value(output).name];
}

NameCounts namesIn(const Graph& graph) {
    NameCounts counts;
    countNames(graph, counts);
    for (const BodyPlace& body : bodiesOf(graph))
        countNames(*body.graph, counts);
    return counts;
}

/// A tensor that a node makes.
struct Inner {
    ValueId id;             ///< brought out, in the graph around all bodies
    std::string path;       ///< of the body that makes it; empty outside
    std::string node, name; ///< there
    std::string called;
};

/// Its own name, or its path where other values have that name too.
std::string calledAs(const NameCounts& names, const std::string& path, const std::string& name) {
    return (names.at(name) > 1 ? path : "") + name;
}

/// The tensors that `takes` wants, brought out of the bodies that they are in.
class Search {
public:
    Search(Graph& graph, FunctionRef<bool(const Inner&)> takes)
        : m_takes(takes), m_names(namesIn(graph)) {
        m_found = in(graph, {}, Op::If);
    }

    /// In topological order.
    const std::vector<Inner>& found() const { return m_found; }

    /// Wanted, but of another shape in each iteration.
    const std::vector<Inner>& changing() const { return m_changing; }

private:
    /// `around`: what has the graph as its body.
    std::vector<Inner> in(Graph& graph, const std::string& path, Op around) {
        std::vector<Inner> out;
        for (NodeId id : topologicalOrder(graph)) {
            const std::vector<ValueId> own = graph.node(id).outputs; // none that is brought out
            if (around == Op::If)
                for (const SubgraphRef& body : subgraphsOf(graph.node(id)))
                    bringOut(graph, id, body.attribute, path, out);
            for (ValueId value : own) {
                if (!value.valid() || graph.value(value).type.kind != TypeKind::Tensor)
                    continue;
                Inner inner{value, path, graph.node(id).name, graph.value(value).name, {}};
                inner.called = calledAs(m_names, path, inner.name);
                if (m_takes(inner))
                    out.push_back(std::move(inner));
            }
        }
        return out;
    }

    void bringOut(Graph& graph, NodeId node, const std::string& attribute, const std::string& path,
                  std::vector<Inner>& out) {
        auto body = std::make_shared<Graph>(*graph.node(node).attributes.graph(attribute));
        std::vector<Inner> inside =
            in(*body, bodyPath(path, graph.node(node).name, attribute), graph.node(node).op);
        if (inside.empty())
            return;
        graph.edit(node).attributes.set(attribute, body);
        for (Inner& each : inside) {
            if (!canBeResult(graph, node, *body, each.id)) {
                m_changing.push_back(std::move(each));
                continue;
            }
            each.id = resultOf(graph, node, attribute, each.id, each.called);
            out.push_back(std::move(each));
        }
    }

    FunctionRef<bool(const Inner&)> m_takes;
    NameCounts m_names;
    std::vector<Inner> m_found, m_changing;
};

/// Its own name or its path, or one of the node that makes it.
bool fits(const std::string& pattern, const Inner& value) {
    return fitsWildcard(pattern, value.name) || fitsWildcard(pattern, value.node) ||
           (!value.path.empty() && (fitsWildcard(pattern, value.path + value.name) ||
                                    fitsWildcard(pattern, value.path + value.node)));
}

/// A node of that name, or a value that one of the nodes makes.
bool makes(const Graph& graph, const std::string& name) {
    return graph.findNode(name).valid() || graph.producer(graph.findValue(name)).valid();
}

Failure noValue(std::string message, std::string help) {
    return failure("run.value", std::move(message), "", std::move(help));
}

/// Why nothing of that name is given out.
Failure whyNot(const Graph& graph, const Search& search, const std::string& name) {
    for (const Inner& each : search.changing())
        if (fits(name, each))
            return noValue(fmt::format("`{}` is computed in each iteration of `{}`, and may have "
                                       "another shape in each",
                                       name, each.path),
                           "name what the node around it gives");
    if (const ValueId id = graph.findValue(name); id.valid() && !graph.producer(id).valid())
        return noValue(fmt::format("`{}` is given to the graph, not computed", name),
                       "name what a node makes");
    std::vector<BodyPlace> places = bodiesOf(graph);
    places.push_back({"", &graph});
    std::vector<std::string> known;
    for (const BodyPlace& place : places) {
        const std::string inside =
            name.starts_with(place.path) ? name.substr(place.path.size()) : name;
        for (NodeId id : place.graph->nodes()) {
            const Node& node = place.graph->node(id);
            known.push_back(node.name);
            for (ValueId output : node.outputs)
                if (output.valid())
                    known.push_back(place.graph->value(output).name);
            if (const std::string fused = place.path + node.name;
                node.body && makes(*node.body, inside))
                return noValue(fmt::format("`{}` is computed inside of the fused node `{}`, which "
                                           "keeps it to itself",
                                           name, fused),
                               "run without --fuse, or name what the fused node gives: `" + fused +
                                   "`");
        }
        if (!place.path.empty() && makes(*place.graph, inside))
            return noValue(fmt::format("`{}` is computed in the body `{}`, and bodies inside of a "
                                       "Loop or Scan are not entered",
                                       name, place.path),
                           "name what the node around it gives");
    }
    return noValue(
        fmt::format("the graph has no value and no node `{}`", name),
        dsl::didYouMean(dsl::closest(name, known), "`fuselage inspect MODEL --graph` lists them"));
}

} // namespace

Result<std::vector<std::string>> giveOut(Graph& graph, const std::vector<std::string>& names) {
    if (names.empty())
        return std::vector<std::string>();
    const auto takes = [&](const Inner& value) {
        return std::any_of(names.begin(), names.end(),
                           [&](const std::string& name) { return fits(name, value); });
    };
    const Search search(graph, takes);
    for (const std::string& name : names)
        if (std::none_of(search.found().begin(), search.found().end(),
                         [&](const Inner& value) { return fits(name, value); }))
            return whyNot(graph, search, name);
    std::vector<std::string> out;
    for (const Inner& each : search.found())
        if (!graph.isGraphOutput(each.id)) {
            graph.addOutput(each.id);
            out.push_back(each.called);
        }
    return out;
}

std::vector<bool> giveOutKnown(Graph& graph, const std::vector<std::string>& values) {
    std::unordered_map<std::string, ValueId> found;
    const auto takes = [&](const Inner& value) {
        return std::find(values.begin(), values.end(), value.called) != values.end();
    };
    if (!values.empty()) {
        const Search search(graph, takes);
        for (const Inner& each : search.found())
            found.emplace(each.called, each.id);
    }
    std::vector<bool> out;
    for (const std::string& value : values) {
        const auto it = found.find(value);
        out.push_back(it != found.end());
        if (it != found.end() && !graph.isGraphOutput(it->second))
            graph.addOutput(it->second);
    }
    return out;
}

std::vector<std::string> namesOfResults(const Graph& graph, const std::string& node) {
    const NodePlace place = findByPath(graph, node);
    std::vector<std::string> out;
    if (!place.graph)
        return out;
    const bool isInBody = !place.path.empty(); // others are called by their own names
    const NameCounts names = isInBody ? namesIn(graph) : NameCounts();
    for (ValueId output : place.graph->node(place.node).outputs)
        if (output.valid() && place.graph->value(output).type.kind == TypeKind::Tensor) {
            const std::string& own = place.graph->value(output).name;
            out.push_back(isInBody ? calledAs(names, place.path, own) : own);
        }
    return out;
}

bool makesValue(const Graph& graph, const std::string& called) {
    if (graph.producer(graph.findValue(called)).valid())
        return true;
    const std::vector<BodyPlace> bodies = bodiesOf(graph);
    return std::any_of(bodies.begin(), bodies.end(), [&](const BodyPlace& body) {
        const std::string own =
            called.starts_with(body.path) ? called.substr(body.path.size()) : called;
        return body.graph->producer(body.graph->findValue(own)).valid();
    });
}

} // namespace fuselage::app
