// SPDX-License-Identifier: Apache-2.0
// A graph as plain data for drawings.
#include "app/pipeline/opened.h"
#include "app/pipeline/source_place.h"
#include "app/pipeline/summary.h"
#include "core/graph/captures.h"
#include "core/graph/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace fuselage::app {

namespace {

constexpr size_t longestAttribute = 80;

std::string literalOf(const Tensor& tensor) {
    if (tensor.elementCount() != 1 || !tensor.defined() || tensor.dtype() == DType::String)
        return {};
    return isFloat(tensor.dtype()) ? fmt::format("{:.6g}", tensor.at(0))
                                   : std::to_string(tensor.intAt(0));
}

GraphValueReport reportOf(const Value& value) {
    GraphValueReport out;
    out.name = value.name;
    out.type = value.type.text();
    out.dtype = nameOf(value.type.dtype);
    out.bytes = value.type.byteCount().value_or(-1);
    out.constant = value.constant != nullptr;
    if (out.constant)
        out.literal = literalOf(*value.constant);
    return out;
}

GraphNodeReport reportOf(const Node& node) {
    GraphNodeReport out;
    out.name = node.name;
    out.op = opText(node);
    out.fused = node.op == Op::Fused;
    out.rule = node.provenance.rule;
    out.file = node.provenance.file;
    out.line = node.provenance.line;
    out.sources = node.provenance.sources;
    out.origins = sourcePlaces(node);
    out.notComputed = node.notComputed;
    for (const auto& entry : node.attributes) {
        if (isSchemaDefault(node.op, entry.name, entry.value))
            continue;
        std::string value = text(entry.value);
        if (value.size() > longestAttribute)
            value = value.substr(0, longestAttribute) + "...";
        out.attributes.emplace_back(entry.name, std::move(value));
    }
    return out;
}

/// Writes a graph and the bodies inside it as one.
class Flattening {
public:
    /// `open`: fused nodes, by path, that are shown as what is in them.
    explicit Flattening(GraphReport& out, const std::set<std::string>& open = {})
        : m_out(out), m_open(open) {}

    using Places = std::vector<uint32_t>; ///< of a graph's values in the report, by id

    /// `places` has the values that are known from outside. `home`: where nodes of the graph are in
    /// the model, which is not where they are in the report when a fused node is around them.
    void add(const Graph& graph, const std::string& path, const std::string& home, Places& places);

    /// What is in a fused node in its place.
    void addOpened(const Node& node, const std::string& home, const GraphNodeReport& shown);

    static std::vector<uint32_t> of(const std::vector<ValueId>& ids, const Places& places) {
        std::vector<uint32_t> out;
        for (ValueId id : ids)
            out.push_back(id.valid() ? places[id.index()] : GraphNodeReport::omitted);
        return out;
    }

private:
    void addBodies(const Node& node, const std::string& path, const std::string& home,
                   const Places& around, GraphNodeReport& report);

    GraphReport& m_out;
    std::set<std::string> m_open;
};

void Flattening::add(const Graph& graph, const std::string& path, const std::string& home,
                     Places& places) {
    for (ValueId id : graph.values()) {
        if (places[id.index()] != GraphNodeReport::omitted)
            continue;
        places[id.index()] = static_cast<uint32_t>(m_out.values.size());
        m_out.values.push_back(reportOf(graph.value(id)));
        m_out.values.back().name.insert(0, path);
    }
    for (NodeId id : topologicalOrder(graph)) {
        const Node& node = graph.node(id);
        GraphNodeReport report = reportOf(node);
        report.inputs = of(node.inputs, places);
        report.outputs = of(node.outputs, places);
        addBodies(node, path, home, places, report);
        report.name.insert(0, path);
        for (std::string& source : report.sources)
            if (!source.starts_with(home))
                source.insert(0, home);
        if (m_open.contains(report.name) && node.body)
            addOpened(node, home, report);
        else
            m_out.nodes.push_back(std::move(report));
    }
}

/// What a body reads from outside it reads there; the node itself joins what its bodies make.
void Flattening::addBodies(const Node& node, const std::string& path, const std::string& home,
                           const Places& around, GraphNodeReport& report) {
    const std::vector<SubgraphRef> bodies = subgraphsOf(node);
    if (bodies.empty())
        return;
    report.inputs.resize(std::min<size_t>(report.inputs.size(), node.explicitInputs));
    std::vector<bool> readInside(report.inputs.size(), false);
    std::vector<uint32_t> results;
    for (const SubgraphRef& ref : bodies) {
        const Graph& body = *ref.graph;
        Places places(body.valueBound(), GraphNodeReport::omitted);
        for (size_t i = 0; i < body.captures().size(); ++i)
            if (ValueId outside = node.inputs[ref.firstCapture + i]; outside.valid())
                places[body.captures()[i].index()] = around[outside.index()];
        // What goes from round to round starts as an input of the node; a Loop counts rounds first.
        const size_t first = node.op == Op::Loop ? 1 : 0;
        const bool carries = node.op == Op::Loop || node.op == Op::Scan;
        for (size_t i = first; carries && i < body.inputs().size(); ++i) {
            if (i >= readInside.size() || !node.inputs[i].valid())
                continue;
            const ValueId inside = body.inputs()[i];
            places[inside.index()] = around[node.inputs[i].index()];
            readInside[i] = readInside[i] || !body.value(inside).uses.empty();
        }
        const std::string below = node.name + '/' + ref.attribute + '/';
        add(body, path + below, home + below, places);
        for (uint32_t result : of(body.outputs(), places))
            results.push_back(result);
    }
    size_t at = 0;
    std::erase_if(report.inputs, [&](uint32_t) { return readInside[at++]; });
    report.inputs.insert(report.inputs.end(), results.begin(), results.end());
}

void Flattening::addOpened(const Node& node, const std::string& home,
                           const GraphNodeReport& shown) {
    const Graph& body = *node.body;
    Places places(body.valueBound(), GraphNodeReport::omitted);
    for (size_t i = 0; i < body.inputs().size() && i < shown.inputs.size(); ++i)
        places[body.inputs()[i].index()] = shown.inputs[i];
    for (size_t i = 0; i < body.outputs().size() && i < shown.outputs.size(); ++i)
        if (uint32_t& place = places[body.outputs()[i].index()]; place == GraphNodeReport::omitted)
            place = shown.outputs[i];
    const std::string path = shown.name + "/body/";
    const bool made = !shown.sources.empty(); // by a rule, not read from the file
    const size_t first = m_out.nodes.size();
    add(body, path, home, places);
    for (size_t n = first; n < m_out.nodes.size(); ++n) {
        GraphNodeReport& inner = m_out.nodes[n];
        if (!made)
            inner.sources.clear();
        else if (inner.sources.empty())
            inner.sources = {home + inner.name.substr(path.size())};
        if (inner.inside.empty()) // else it is in one that is open in there
            inner.inside = shown.name;
        if (inner.rule.empty()) {
            inner.rule = shown.rule;
            inner.file = shown.file;
            inner.line = shown.line;
        }
    }
}

/// A node and the path of the graph that it is in.
struct Place {
    const Node* node = nullptr;
    std::string home;
};

void findFused(const Graph& graph, const std::string& home, const std::set<std::string>& names,
               std::map<std::string, Place>& out) {
    for (NodeId id : graph.nodes()) {
        const Node& node = graph.node(id);
        if (node.op == Op::Fused && node.body && names.contains(home + node.name))
            out[home + node.name] = {&node, home};
        for (const SubgraphRef& ref : subgraphsOf(node))
            findFused(*ref.graph, home + node.name + '/' + ref.attribute + '/', names, out);
    }
}

} // namespace

GraphReport withBodies(const GraphReport& report, const Graph& graph,
                       const std::set<std::string>& fused) {
    std::map<std::string, Place> places;
    findFused(graph, {}, fused, places);
    GraphReport out = report;
    out.nodes.clear();
    Flattening flattening(out, fused);
    for (const GraphNodeReport& node : report.nodes)
        if (auto found = places.find(node.name); found != places.end())
            flattening.addOpened(*found->second.node, found->second.home, node);
        else
            out.nodes.push_back(node);
    return out;
}

GraphReport summariseGraph(const Graph& graph) {
    GraphReport out;
    out.name = graph.name();
    out.nodes.reserve(graph.nodeCount());
    out.values.reserve(graph.valueBound());
    Flattening::Places places(graph.valueBound(), GraphNodeReport::omitted);
    Flattening(out).add(graph, {}, {}, places);
    out.inputs = Flattening::of(graph.inputs(), places);
    out.outputs = Flattening::of(graph.outputs(), places);
    return out;
}

} // namespace fuselage::app
