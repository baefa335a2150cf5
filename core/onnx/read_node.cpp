// SPDX-License-Identifier: Apache-2.0
// Nodes and their attributes, subgraphs included.
#include "core/onnx/check_node_internal.h"
#include "core/onnx/metadata_internal.h"
#include "core/onnx/normalise_internal.h"
#include "core/onnx/provenance_internal.h"
#include "core/onnx/reader_internal.h"
#include "core/onnx/understand_internal.h"
#include "core/ops/op_schema.h"
#include "core/ops/op_table.h"

#include <fmt/format.h>

namespace fuselage::model_io {

namespace {

using ::onnx::AttributeProto;

std::string normalisedDomain(const std::string& domain) {
    return domain == "ai.onnx" ? std::string() : domain;
}

} // namespace

Result<TensorPtr> Reader::readTensor(::onnx::TensorProto& proto, Scope& scope,
                                     const std::string& where) {
    if (scope.repeated)
        if (auto known = m_tensors.find(&proto); known != m_tensors.end())
            return known->second;
    auto tensor = tensorFrom(proto, m_external, where);
    if (!tensor)
        return failure(tensor.error());
    auto shared = std::make_shared<const Tensor>(std::move(*tensor));
    if (scope.repeated)
        m_tensors.emplace(&proto, shared);
    return TensorPtr(shared);
}

Result<std::shared_ptr<Graph>> Reader::readSubgraph(::onnx::GraphProto& proto, Scope& parent,
                                                    std::vector<ValueId>& captured,
                                                    const std::string& where) {
    if (auto ok = enter(where); !ok)
        return failure(ok.error());
    const InnerGraph reading(*this, proto.name());
    const std::shared_ptr<Graph>& graph = reading.graph();
    Scope scope;
    scope.graph = graph.get();
    scope.parent = &parent;
    scope.opsets = parent.opsets;
    scope.attributes = parent.attributes; // nodes in here may refer to the function's, too
    scope.repeated = parent.repeated;
    const Result<void> read = readGraph(proto, scope, false);
    --m_depth;
    if (!read)
        return failure(read.error());
    for (const auto& [outer, inner] : scope.captures)
        captured.push_back(outer);
    return graph;
}

Result<AttributeValue> Reader::readAttribute(AttributeProto& proto, Scope& scope,
                                             std::vector<ValueId>& captured,
                                             const std::string& where) {
    switch (kindOf(proto)) {
    case AttributeProto::FLOAT:
        return AttributeValue(static_cast<double>(proto.f()));
    case AttributeProto::INT:
        return AttributeValue(static_cast<int64_t>(proto.i()));
    case AttributeProto::STRING:
        return AttributeValue(proto.s());
    case AttributeProto::FLOATS:
        return AttributeValue(std::vector<double>(proto.floats().begin(), proto.floats().end()));
    case AttributeProto::INTS:
        return AttributeValue(std::vector<int64_t>(proto.ints().begin(), proto.ints().end()));
    case AttributeProto::STRINGS:
        return AttributeValue(
            std::vector<std::string>(proto.strings().begin(), proto.strings().end()));
    case AttributeProto::TENSOR: {
        auto tensor = readTensor(*proto.mutable_t(), scope, where);
        if (!tensor)
            return failure(tensor.error());
        return AttributeValue(std::move(*tensor));
    }
    case AttributeProto::SPARSE_TENSOR: {
        ::onnx::SparseTensorProto copy = proto.sparse_tensor();
        auto dense = tensorFrom(copy, m_external, where);
        if (!dense)
            return failure(dense.error());
        return AttributeValue(TensorPtr(std::make_shared<const Tensor>(std::move(*dense))));
    }
    case AttributeProto::GRAPH: {
        auto graph = readSubgraph(*proto.mutable_g(), scope, captured, where);
        if (!graph)
            return failure(graph.error());
        return AttributeValue(std::move(*graph));
    }
    case AttributeProto::TYPE_PROTO: {
        auto type = typeFrom(proto.tp(), where);
        if (!type)
            return failure(type.error());
        return AttributeValue(type->text());
    }
    default:
        return failure("load.attribute",
                       fmt::format("attribute `{}` has a kind that is not supported", proto.name()),
                       where, "export the model again");
    }
}

Result<void> Reader::readAttributes(::onnx::NodeProto& proto, Scope& scope, NodeSpec& spec,
                                    Captured& captured) {
    std::string where = nodeLabel(proto);
    for (auto& attribute : *proto.mutable_attribute()) {
        if (spec.attributes.has(attribute.name()))
            return failure("load.attribute",
                           fmt::format("attribute `{}` is given twice", attribute.name()), where,
                           "keep one of them");
        AttributeProto* source = &attribute;
        Scope* names = &scope;
        if (!attribute.ref_attr_name().empty()) {
            auto bound = scope.attributes.find(attribute.ref_attr_name());
            if (bound == scope.attributes.end())
                continue; // the caller leaves it out: so does the node
            source = const_cast<AttributeProto*>(bound->second.proto);
            // Only subgraphs read names; tensors are read as the function's own, more than once.
            if (source->has_g() && bound->second.scope)
                names = bound->second.scope;
            if (names->graph != scope.graph)
                return failure(
                    "load.function",
                    fmt::format("subgraph `{}` is passed into a nested graph", attribute.name()),
                    where, "inline the function before loading");
        }
        std::vector<ValueId> outer;
        auto value = readAttribute(*source, *names, outer, where);
        if (!value)
            return failure(value.error());
        if (std::holds_alternative<std::shared_ptr<Graph>>(*value))
            captured[attribute.name()] = std::move(outer);
        spec.attributes.set(attribute.name(), std::move(*value));
    }
    return {};
}

Result<int64_t> Reader::versionOf(const std::string& domain, const Scope& scope,
                                  const std::string& where) {
    auto found = scope.opsets->find(domain);
    if (found != scope.opsets->end())
        return found->second;
    if (domain.empty())
        return failure("load.opset", "the model does not say which opset it uses", where,
                       "add an opset_import of the default domain");
    note(fmt::format("domain `{}` is used but not imported", domain));
    return int64_t(1);
}

Result<void> Reader::readNode(::onnx::NodeProto& proto, Scope& scope) {
    if (++m_nodes > m_options.maxNodes)
        return failure("load.too_large",
                       fmt::format("the model exceeds the limit maxNodes = {}", m_options.maxNodes),
                       {}, "raise the limit");
    if (m_nodes % 1024 == 0) {
        if (m_progress.cancelled())
            return cancelledFailure("load");
        m_progress.report("load", m_nodes, std::max(m_nodes, m_totalNodes));
    }
    ::onnx::FunctionProto* function = functionFor(proto);
    std::string refused;
    if (!function && m_options.inlineFunctions) {
        auto body = bodyFor(proto, scope, refused);
        if (!body)
            return failure(body.error());
        if (*body && isNamed(proto) && !isPlainCall(proto, **body))
            refused = "a rule names it, and an operand is left out";
        else if (*body)
            if (auto ok = readBody(proto, **body, scope, refused); !ok || refused.empty())
                return ok;
        if (!refused.empty() && proto.domain() == bodyDomain)
            return failure(bodyRefused, refused, nodeLabel(proto));
    }
    if (!function)
        return addOperator(proto, scope, refused);
    if (m_options.restoreFused)
        if (auto op = ownOperatorOf(proto, *function, scope)) {
            proto.set_op_type(nameOf(*op));
            return addOperator(proto, scope, refused);
        }
    if (m_options.restoreFused && isFusedCall(proto, *function))
        return restoreFused(proto, *function, scope);
    if (m_options.inlineFunctions && isNamed(proto) && isPlainCall(proto, *function))
        return readWhole(proto, *function, scope);
    if (m_options.inlineFunctions)
        return inlineCall(proto, *function, scope);
    return addOperator(proto, scope, refused);
}

Result<void> Reader::addOperator(::onnx::NodeProto& proto, Scope& scope,
                                 const std::string& refused) {
    std::string where = nodeLabel(proto);
    std::string domain = normalisedDomain(proto.domain());
    auto version = versionOf(domain, scope, where);
    if (!version)
        return failure(version.error());
    auto op = opFromName(domain, proto.op_type());
    NodeSpec spec;
    spec.op = op.value_or(Op::Unknown);
    spec.name = scope.prefix + (proto.name().empty() ? proto.op_type() : proto.name());
    spec.provenance = provenanceFrom(proto.doc_string());
    spec.provenance.metadata = metadataOf(proto, scope);
    for (const std::string& name : proto.input()) {
        auto id = name.empty() ? Result<ValueId>(ValueId()) : resolve(scope, name, where);
        if (!id)
            return failure(id.error());
        spec.inputs.push_back(*id);
    }
    while (!spec.inputs.empty() && !spec.inputs.back().valid())
        spec.inputs.pop_back();
    for (const std::string& name : proto.output()) {
        auto renamed = scope.rename.find(name);
        spec.outputs.push_back(renamed != scope.rename.end() ? renamed->second
                               : name.empty()                ? name
                                                             : scope.prefix + name);
    }
    while (!spec.outputs.empty() && spec.outputs.back().empty())
        spec.outputs.pop_back();
    if (!newerField(proto, nodeDevicesField).empty())
        note("device configurations are left out", spec.name);
    Captured captured;
    if (auto ok = readAttributes(proto, scope, spec, captured); !ok)
        return ok;
    if (spec.op == Op::Unknown && domain == "com.microsoft")
        writeOutQuantized(*scope.graph, spec, proto.op_type(), where);
    const std::string called = domain + (domain.empty() ? "" : ".") + proto.op_type();
    std::string notComputed;
    if (spec.op == Op::Unknown && !refused.empty()) {
        notComputed = refused;
    } else if (spec.op == Op::Unknown) {
        if (!m_options.declared.contains(called))
            note(fmt::format("operator `{}` of opset {} is not {}: kept as it is", called, *version,
                             publishedSchema(domain, proto.op_type(), *version) ? "computed here"
                                                                                : "known"),
                 spec.name);
    } else {
        auto reason = understand(*scope.graph, spec, domain, *version, where);
        if (!reason)
            return failure(reason.error());
        notComputed = std::move(*reason);
    }
    if (!notComputed.empty())
        note(fmt::format("`{}` is kept and not computed: {}", called, notComputed), spec.name);
    if (auto ok = checkNode(spec, where); !ok)
        return ok;
    bool unknown = spec.op == Op::Unknown;
    NodeId id = scope.graph->addNode(std::move(spec));
    Node& node = scope.graph->edit(id);
    if (unknown) {
        node.customDomain = domain;
        node.customOp = proto.op_type();
        node.notComputed = std::move(notComputed);
    }
    fillDefaults(node);
    roundNumbers(node);
    if (TensorPtr value = node.op == Op::Constant ? node.attributes.tensor("value") : nullptr)
        if (node.outputs.size() == 1 && node.outputs[0].valid())
            scope.graph->setType(node.outputs[0], value->type());
    for (const auto& [name, values] : captured)
        if (node.attributes.has(name)) // no form of the operator may have it
            for (ValueId value : values)
                scope.graph->appendCapturedInput(id, value);
    if (auto ok = defineOutputs(proto, scope, id); !ok)
        return ok;
    return {};
}

Result<void> Reader::defineValue(Scope& scope, const std::string& name, ValueId id) {
    if (auto ok = define(scope, name, id); !ok)
        return ok;
    auto declared = scope.declared.find(name);
    if (declared == scope.declared.end())
        return {};
    auto type = typeFrom(declared->second->type(), name);
    if (!type)
        return failure(type.error());
    scope.graph->setType(id, std::move(*type));
    scope.graph->setMetadata(id, metadataFrom(*declared->second, valueMetadataField));
    return {};
}

Result<void> Reader::defineOutputs(const ::onnx::NodeProto& proto, Scope& scope, NodeId id) {
    const std::vector<ValueId>& outputs = scope.graph->node(id).outputs;
    for (size_t slot = 0; slot < outputs.size(); ++slot)
        if (outputs[slot].valid())
            if (auto ok = defineValue(scope, proto.output(static_cast<int>(slot)), outputs[slot]);
                !ok)
                return ok;
    return {};
}

} // namespace fuselage::model_io
