// SPDX-License-Identifier: Apache-2.0
// A graph as plain data for drawings.
#include "app/pipeline/source_place.h"
#include "app/pipeline/summary.h"
#include "core/graph/text.h"

#include <fmt/format.h>

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

} // namespace

GraphReport summariseGraph(const Graph& graph) {
    GraphReport out;
    out.name = graph.name();
    std::vector<uint32_t> index(graph.valueBound(), GraphNodeReport::omitted);
    for (ValueId id : graph.values()) {
        index[id.index()] = static_cast<uint32_t>(out.values.size());
        out.values.push_back(reportOf(graph.value(id)));
    }
    auto indices = [&](const std::vector<ValueId>& ids) {
        std::vector<uint32_t> of;
        for (ValueId id : ids)
            of.push_back(id.valid() ? index[id.index()] : GraphNodeReport::omitted);
        return of;
    };
    for (NodeId id : topologicalOrder(graph)) {
        const Node& node = graph.node(id);
        out.nodes.push_back(reportOf(node));
        out.nodes.back().inputs = indices(node.inputs);
        out.nodes.back().outputs = indices(node.outputs);
    }
    out.inputs = indices(graph.inputs());
    out.outputs = indices(graph.outputs());
    return out;
}

} // namespace fuselage::app
