// SPDX-License-Identifier: Apache-2.0
// Graphs, subgraphs and nodes as messages.
#include "core/graph/bodies.h"
#include "core/onnx/denormalise_internal.h"
#include "core/onnx/metadata_internal.h"
#include "core/onnx/parse_text_internal.h"
#include "core/onnx/writer_internal.h"
#include "core/ops/op_table.h"

#include <fmt/format.h>

namespace fuselage::model_io {

namespace {

bool isDeclarable(const Type& type) {
    return type.dtype != DType::Undefined || type.kind == TypeKind::Foreign;
}

using ::onnx::AttributeProto;

} // namespace

std::string functionDomain(const Node& node) {
    const bool isOnnx = node.customDomain.empty() || node.customDomain == "ai.onnx";
    return isOnnx ? fusedDomain : node.customDomain;
}

namespace {

std::string domainOfNode(const Node& node) {
    if (node.op == Op::Unknown)
        return node.customDomain;
    return node.op == Op::Fused ? functionDomain(node) : domainOf(node.op);
}

/// The kind that a schema gives to an attribute; it decides about empty lists.
std::string schemaKind(Op op, const std::string& name) {
    for (const AttributeSchema& schema : attributesOf(op))
        if (schema.name == name)
            return schema.type;
    return {};
}

/// The type attribute of Optional is kept as text, "seq(float[2])".
bool typeAttributeTo(const std::string& text, AttributeProto& proto) {
    std::string inner = text;
    auto* type = proto.mutable_tp();
    auto unwrap = [&](std::string_view word) {
        if (!inner.starts_with(word) || !inner.ends_with(')'))
            return false;
        inner = inner.substr(word.size(), inner.size() - word.size() - 1);
        return true;
    };
    if (unwrap("optional("))
        type = type->mutable_optional_type()->mutable_elem_type();
    if (unwrap("seq("))
        type = type->mutable_sequence_type()->mutable_elem_type();
    if (size_t dots = inner.find("..."); dots != std::string::npos)
        inner.erase(dots, 3); // "[...]" is "[]" in that syntax
    else if (inner.ends_with("[]"))
        inner.erase(inner.size() - 2);        // and no dimensions are no brackets
    if (parseProblem(*type, inner).empty()) { // else it is kept as text
        proto.set_type(AttributeProto::TYPE_PROTO);
        return true;
    }
    proto.clear_tp();
    return false;
}

/// Everything but graphs.
struct AttributeWriter {
    AttributeProto& proto;
    std::string kind; ///< of the schema, may be empty

    void operator()(int64_t value) const {
        proto.set_type(AttributeProto::INT);
        proto.set_i(value);
    }

    void operator()(double value) const {
        proto.set_type(AttributeProto::FLOAT);
        proto.set_f(static_cast<float>(value));
    }

    void operator()(const std::string& value) const {
        proto.set_type(AttributeProto::STRING);
        proto.set_s(value);
    }

    void operator()(const std::vector<int64_t>& values) const {
        proto.set_type(values.empty() && kind == "floats"    ? AttributeProto::FLOATS
                       : values.empty() && kind == "strings" ? AttributeProto::STRINGS
                                                             : AttributeProto::INTS);
        proto.mutable_ints()->Add(values.begin(), values.end());
    }

    void operator()(const std::vector<double>& values) const {
        proto.set_type(AttributeProto::FLOATS);
        for (double value : values)
            proto.add_floats(static_cast<float>(value));
    }

    void operator()(const std::vector<std::string>& values) const {
        proto.set_type(AttributeProto::STRINGS);
        for (const std::string& value : values)
            proto.add_strings(value);
    }

    void operator()(const TensorPtr& value) const {
        proto.set_type(AttributeProto::TENSOR);
        if (value)
            tensorTo(*value, *proto.mutable_t());
    }

    void operator()(const std::shared_ptr<Graph>&) const { proto.set_type(AttributeProto::GRAPH); }
};

} // namespace

::onnx::ModelProto Writer::write() {
    m_opset = opsetFor(m_graph, m_opset);
    m_model.set_producer_name("fuselage");
    m_model.set_doc_string(m_graph.documentation);
    for (const auto& [key, value] : m_graph.metadata) {
        auto* entry = m_model.add_metadata_props();
        entry->set_key(key);
        entry->set_value(value);
    }
    collectFunctions(m_graph);
    nameFunctions();
    WriteScope scope;
    scope.proto = m_model.mutable_graph();
    scope.nodes = scope.proto->mutable_node();
    writeGraph(m_graph, scope, {});
    import("");
    addImports(*m_model.mutable_opset_import());
    m_model.set_ir_version(std::max(irVersionFor(m_opset), m_hasOverloads ? overloadIrVersion : 0));
    return std::move(m_model);
}

void Writer::import(const std::string& domain) {
    m_domains.insert(domain);
}

std::string Writer::freshName(const WriteScope& scope, const std::string& base) const {
    auto taken = [&](const std::string& name) {
        for (const WriteScope* at = &scope; at; at = at->parent)
            if (at->used.contains(name) || at->graph->findValue(name).valid())
                return true;
        return false;
    };
    std::string name = base;
    for (int i = 1; taken(name); ++i)
        name = fmt::format("{}_{}", base, i);
    return name;
}

std::string Writer::nameOfValue(WriteScope& scope, ValueId id) {
    if (!id.valid())
        return {};
    auto known = scope.names.find(id);
    if (known != scope.names.end())
        return known->second;
    // A subgraph must not use a name of the graphs around it for a value of its own.
    std::string name = scope.graph->value(id).name;
    auto takenOutside = [&](const std::string& candidate) {
        for (const WriteScope* at = scope.parent; at; at = at->parent)
            if (at->used.contains(candidate) || at->graph->findValue(candidate).valid())
                return true;
        return false;
    };
    if (takenOutside(name))
        name = freshName(scope, name);
    scope.used.insert(name);
    scope.names.emplace(id, name);
    return name;
}

void Writer::addConstant(const Tensor& tensor, const std::string& name, WriteScope& scope,
                         const Metadata& metadata) {
    scope.used.insert(name);
    if (!scope.isFunction) {
        auto* initializer = scope.proto->add_initializer();
        if (scope.parent || !hasLargeData(tensor))
            tensorTo(tensor, *initializer);
        else
            m_large.push_back({initializer, headTo(tensor, *initializer)});
        initializer->set_name(name);
        metadataTo(metadata, *initializer, tensorMetadataField);
        return;
    }
    auto* node = scope.nodes->Add();
    node->set_op_type("Constant");
    node->add_output(name);
    auto* attribute = node->add_attribute();
    attribute->set_name("value");
    attribute->set_type(AttributeProto::TENSOR);
    tensorTo(tensor, *attribute->mutable_t());
}

/// Constants that something reads. One that a graph around has written is read from there.
void Writer::writeConstants(WriteScope& scope) {
    for (ValueId id : scope.graph->values()) {
        const Value& value = scope.graph->value(id);
        if (!value.constant || scope.names.contains(id) || !isReadAnywhere(*scope.graph, id))
            continue;
        const std::string* outside = nullptr;
        for (WriteScope* at = scope.parent; at && !outside; at = at->parent)
            if (auto found = at->constants.find(value.constant.get()); found != at->constants.end())
                outside = &found->second;
        if (outside && !scope.graph->isGraphOutput(id)) {
            scope.names.emplace(id, *outside);
            continue;
        }
        std::string name = nameOfValue(scope, id);
        scope.constants.emplace(value.constant.get(), name);
        addConstant(*value.constant, name, scope, value.metadata);
    }
}

void Writer::writeGraph(const Graph& graph, WriteScope& scope,
                        const std::vector<std::string>& outer) {
    scope.graph = &graph;
    scope.proto->set_name(graph.name().empty() ? "g" : graph.name());
    metadataTo(graph.graphMetadata, *scope.proto, graphMetadataField);
    for (size_t i = 0; i < graph.captures().size() && i < outer.size(); ++i)
        scope.names.emplace(graph.captures()[i], outer[i]);
    for (ValueId id : graph.inputs()) {
        auto* input = scope.proto->add_input();
        input->set_name(nameOfValue(scope, id));
        if (isDeclarable(graph.value(id).type))
            typeTo(graph.value(id).type, *input->mutable_type());
        metadataTo(graph.value(id).metadata, *input, valueMetadataField);
    }
    writeConstants(scope);
    writeNodes(scope, nullptr);
    for (ValueId id : graph.outputs()) {
        auto* output = scope.proto->add_output();
        output->set_name(nameOfValue(scope, id));
        if (isDeclarable(graph.value(id).type))
            typeTo(graph.value(id).type, *output->mutable_type());
        metadataTo(graph.value(id).metadata, *output, valueMetadataField);
    }
    writeTypes(scope);
}

/// Types of values between nodes, where they are known, and their metadata.
void Writer::writeTypes(const WriteScope& scope) {
    for (ValueId id : scope.graph->values()) {
        const Value& value = scope.graph->value(id);
        auto name = scope.names.find(id);
        const bool typed = value.type.shape && value.type.dtype != DType::Undefined &&
                           value.type.kind == TypeKind::Tensor;
        if (!value.producer.valid() || name == scope.names.end() ||
            (!typed && value.metadata.empty()) || scope.graph->isGraphOutput(id))
            continue;
        auto* info = scope.proto->add_value_info();
        info->set_name(name->second);
        if (typed)
            typeTo(value.type, *info->mutable_type());
        metadataTo(value.metadata, *info, valueMetadataField);
    }
}

void Writer::writeNodes(WriteScope& scope, BodyNames* names) {
    for (NodeId id : topologicalOrder(*scope.graph)) {
        const Node& node = scope.graph->node(id);
        size_t before = static_cast<size_t>(scope.nodes->size());
        writeNode(node, scope);
        if (!names)
            continue;
        // Constants that the file's form of the node needs come before it and have no name here.
        for (size_t i = before; i + 1 < static_cast<size_t>(scope.nodes->size()); ++i) {
            names->addNode("", {});
            names->addValue("", {});
        }
        names->addNode(node.name, node.provenance.metadata);
        for (ValueId output : node.outputs)
            if (output.valid())
                names->addValue(scope.graph->value(output).name,
                                scope.graph->value(output).metadata);
            else
                names->addValue("", {});
    }
}

/// The initializer as it was; its file may be there when the model is read next.
void Writer::writeAbsent(const Node& node, WriteScope& scope) {
    const Value& value = scope.graph->value(node.outputs[0]);
    auto& initializer = *scope.proto->add_initializer();
    initializer.set_name(nameOfValue(scope, node.outputs[0]));
    initializer.set_data_type(protoDtype(value.type.dtype));
    for (const Dim& dim : *value.type.shape)
        initializer.add_dims(dim.number().value_or(0));
    initializer.set_data_location(::onnx::TensorProto::EXTERNAL);
    for (const Attributes::Entry& entry : node.attributes) {
        auto* external = initializer.add_external_data();
        external->set_key(entry.name);
        external->set_value(node.attributes.string(entry.name));
    }
}

void Writer::writeNode(const Node& node, WriteScope& scope) {
    if (node.op == Op::Unknown && node.customDomain == absentDomain && node.customOp == absentOp &&
        scope.proto)
        return writeAbsent(node, scope);
    FileNode file = fileFormOf(node, m_opset, [&](Tensor tensor, const char* suffix) {
        ValueId first = node.outputs.empty() ? ValueId() : node.outputs[0];
        std::string base = first.valid() ? nameOfValue(scope, first) : node.name;
        std::string name = freshName(scope, base + "_" + suffix);
        addConstant(tensor, name, scope);
        return name;
    });
    for (size_t slot = 0; slot < node.explicitInputs; ++slot)
        if (slot < file.inputs.size() && file.inputs[slot].empty())
            file.inputs[slot] = nameOfValue(scope, node.inputs[slot]);
    auto* proto = scope.nodes->Add();
    std::string domain = domainOfNode(node);
    import(domain);
    proto->set_domain(domain);
    if (!scope.isFunction) {
        proto->set_name(node.name);
        metadataTo(node.provenance.metadata, *proto, nodeMetadataField);
    }
    for (const std::string& input : file.inputs)
        proto->add_input(input);
    for (ValueId output : node.outputs)
        proto->add_output(nameOfValue(scope, output));
    const Graph* called = calledBody(node);
    if (!called) {
        proto->set_op_type(node.op == Op::Unknown ? node.customOp : nameOf(file.op));
        proto->set_doc_string(scope.isFunction ? "" : documentationFor(node.provenance));
        writeAttributes(node, file.attributes, scope, *proto);
        return;
    }
    const Call& call = m_calls.at(called);
    nameCall(*proto, call.key);
    writeAttributes(node, node.attributes, scope, *proto);
    Provenance provenance = node.provenance;
    if (provenance.rule.empty() && node.op == Op::Fused)
        provenance.rule = node.customOp;
    // A call inside a function may be shared: it keeps no names.
    proto->set_doc_string(scope.isFunction ? documentationFor(provenance)
                                           : documentationFor(provenance, call.names));
}

void Writer::writeAttributes(const Node& node, const Attributes& attributes, WriteScope& scope,
                             ::onnx::NodeProto& proto) {
    size_t captured = node.explicitInputs;
    for (const auto& [name, value] : attributes) {
        auto* attribute = proto.add_attribute();
        attribute->set_name(name);
        const auto* text = std::get_if<std::string>(&value);
        if (node.op == Op::Optional && text && typeAttributeTo(*text, *attribute))
            continue;
        std::visit(AttributeWriter{*attribute, schemaKind(node.op, name)}, value);
        const auto* graph = std::get_if<std::shared_ptr<Graph>>(&value);
        if (!graph || !*graph)
            continue;
        std::vector<std::string> outer;
        for (size_t i = 0; i < (*graph)->captures().size(); ++i, ++captured)
            outer.push_back(nameOfValue(scope, node.inputs[captured]));
        WriteScope inner;
        inner.parent = &scope;
        inner.proto = attribute->mutable_g();
        inner.nodes = inner.proto->mutable_node();
        writeGraph(**graph, inner, outer);
    }
}

} // namespace fuselage::model_io
