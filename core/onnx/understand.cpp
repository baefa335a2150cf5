// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/check_node_internal.h"
#include "core/onnx/normalise_internal.h"
#include "core/onnx/understand_internal.h"
#include "core/ops/op_schema.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::model_io {

namespace {

bool inRow(Op op, const std::string& name) {
    const auto& schemas = attributesOf(op);
    return std::any_of(schemas.begin(), schemas.end(),
                       [&](const AttributeSchema& schema) { return schema.name == name; });
}

/// Says what the operator does anyway.
bool isPublishedDefault(const OpSchema* published, const Attributes::Entry& entry) {
    const AttributeSchema* schema = published ? published->attribute(entry.name) : nullptr;
    return schema && schema->fallback && equal(*schema->fallback, entry.value);
}

/// Attributes that the row does not have; those with their default go away.
std::string firstForeign(NodeSpec& spec, const OpSchema* published) {
    std::vector<std::string> idle;
    std::string foreign;
    for (const Attributes::Entry& entry : spec.attributes) {
        if (inRow(spec.op, entry.name))
            continue;
        if (isPublishedDefault(published, entry))
            idle.push_back(entry.name);
        else if (foreign.empty())
            foreign = entry.name;
    }
    for (const std::string& name : idle)
        spec.attributes.erase(name);
    return foreign;
}

/// Takes away what normalising a node added before it.
void removeFrom(Graph& graph, size_t nodes, size_t values) {
    for (size_t i = graph.nodeBound(); i-- > nodes;)
        if (NodeId id(static_cast<uint32_t>(i)); graph.alive(id))
            graph.removeNode(id);
    for (size_t i = graph.valueBound(); i-- > values;)
        if (ValueId id(static_cast<uint32_t>(i)); graph.alive(id))
            graph.removeValue(id);
}

} // namespace

Result<std::string> understand(Graph& graph, NodeSpec& spec, const std::string& domain,
                               int64_t version, const std::string& where) {
    const OpSchema* published = publishedSchema(domain, nameOf(spec.op), version);
    if (auto ok = checkKinds(spec, published, where); !ok)
        return failure(ok.error());
    const bool plain = std::all_of(spec.attributes.begin(), spec.attributes.end(),
                                   [&](const auto& entry) { return inRow(spec.op, entry.name); });
    const NodeSpec written = plain ? NodeSpec{} : spec;
    const size_t nodes = graph.nodeBound(), values = graph.valueBound();
    if (auto ok = normalise(graph, spec, domain, version, where); !ok)
        return failure(ok.error());
    if (spec.op == Op::Unknown)
        return fmt::format("opset {} means something that opset 17 cannot say", version);
    const std::string foreign = plain ? "" : firstForeign(spec, published);
    if (foreign.empty())
        return std::string();
    removeFrom(graph, nodes, values);
    spec = written;
    spec.op = Op::Unknown;
    return fmt::format("attribute `{}` is not known", foreign);
}

} // namespace fuselage::model_io
