// SPDX-License-Identifier: Apache-2.0
// A graph as plain data for drawings.
#include "app/pipeline/source_place.h"
#include "app/pipeline/summary.h"
#include "core/graph/captures.h"
#include "core/graph/text.h"

#include <fmt/format.h>

#include <algorithm>

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
    explicit Flattening(GraphReport& out) : m_out(out) {}

    using Places = std::vector<uint32_t>; ///< of a graph's values in the report, by id

    /// `places` has the values that are known from outside.
    void add(const Graph& graph, const std::string& path, Places& places);

    static std::vector<uint32_t> of(const std::vector<ValueId>& ids, const Places& places) {
        std::vector<uint32_t> out;
        for (ValueId id : ids)
            out.push_back(id.valid() ? places[id.index()] : GraphNodeReport::omitted);
        return out;
    }

private:
    void addBodies(const Node& node, const std::string& path, const Places& around,
                   GraphNodeReport& report);

    GraphReport& m_out;
};

void Flattening::add(const Graph& graph, const std::string& path, Places& places) {
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
        addBodies(node, path, places, report);
        report.name.insert(0, path);
        for (std::string& source : report.sources)
            if (!source.starts_with(path))
                source.insert(0, path);
        m_out.nodes.push_back(std::move(report));
    }
}

/// What a body reads from outside it reads there; the node itself joins what its bodies make.
void Flattening::addBodies(const Node& node, const std::string& path, const Places& around,
                           GraphNodeReport& report) {
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
        add(body, path + node.name + '/' + ref.attribute + '/', places);
        for (uint32_t result : of(body.outputs(), places))
            results.push_back(result);
    }
    size_t at = 0;
    std::erase_if(report.inputs, [&](uint32_t) { return readInside[at++]; });
    report.inputs.insert(report.inputs.end(), results.begin(), results.end());
}

} // namespace

GraphReport summariseGraph(const Graph& graph) {
    GraphReport out;
    out.name = graph.name();
    Flattening::Places places(graph.valueBound(), GraphNodeReport::omitted);
    Flattening(out).add(graph, {}, places);
    out.inputs = Flattening::of(graph.inputs(), places);
    out.outputs = Flattening::of(graph.outputs(), places);
    return out;
}

} // namespace fuselage::app
