// SPDX-License-Identifier: Apache-2.0
// Graphs and subgraphs: opsets, initializers, inputs, outputs, nodes in readable order.
#include "core/onnx/metadata_internal.h"
#include "core/onnx/reader_internal.h"
#include "core/ops/op_schema.h"

#include <fmt/format.h>

#include <unordered_set>

namespace fuselage::model_io {

namespace {

OpsetVersions
versionsFrom(const google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto>& all) {
    OpsetVersions out;
    for (const auto& opset : all) {
        std::string domain = opset.domain() == "ai.onnx" ? "" : opset.domain();
        auto [at, added] = out.emplace(domain, opset.version());
        if (!added)
            at->second = std::max<int64_t>(at->second, opset.version());
    }
    return out;
}

std::string sentence(const std::string& text, const Noted& noted) {
    if (noted.node.empty())
        return noted.count == 1 ? text : fmt::format("{} ({} times)", text, noted.count);
    return noted.count == 1
               ? fmt::format("{} (node `{}`)", text, noted.node)
               : fmt::format("{} ({} nodes, the first is `{}`)", text, noted.count, noted.node);
}

} // namespace

Reader::Reader(::onnx::ModelProto& model, ExternalData& external, const LoadOptions& options,
               Progress& progress)
    : m_model(model), m_external(external), m_options(options), m_progress(progress) {}

Result<Graph> Reader::read() {
    if (auto ok = readOpsets(); !ok)
        return failure(ok.error());
    if (auto ok = indexFunctions(); !ok)
        return failure(ok.error());
    Graph graph(m_model.graph().name());
    Scope scope;
    scope.graph = &graph;
    scope.opsets = &m_opsets;
    if (auto ok = readGraph(*m_model.mutable_graph(), scope, true); !ok)
        return failure(ok.error());
    graph.opsetImports = m_opsets;
    graph.documentation = m_model.doc_string();
    if (m_model.training_info_size() != 0)
        note("training information is left out: the model is read for inference");
    for (const auto& entry : m_model.metadata_props())
        graph.metadata[entry.key()] = entry.value();
    if (m_options.notes)
        for (const auto& [text, noted] : m_notes)
            m_options.notes->push_back(sentence(text, noted));
    return graph;
}

Result<void> Reader::readOpsets() {
    m_opsets = versionsFrom(m_model.opset_import());
    if (m_opsets.empty() && m_model.ir_version() < 3)
        m_opsets[""] = 1; // the field came with IR version 3
    auto main = m_opsets.find("");
    if (main == m_opsets.end())
        return {};
    if (main->second < 1)
        return failure("load.opset", fmt::format("opset {} does not exist", main->second), {},
                       "export the model again");
    if (const int64_t newest = newestPublishedOpset(); main->second > newest)
        note(fmt::format("opset {} is newer than {}: operators are read as of opset {}",
                         main->second, newest, newest));
    return {};
}

void Reader::note(const std::string& text, const std::string& node) {
    Noted& noted = m_notes[text];
    if (noted.count++ == 0)
        noted.node = node;
}

Result<void> Reader::enter(const std::string& where) {
    if (++m_depth > maxDepth)
        return failure("load.depth",
                       fmt::format("subgraphs or functions are nested deeper than {}", maxDepth),
                       where, "flatten the model");
    return {};
}

Result<void> Reader::define(Scope& scope, const std::string& name, ValueId id) {
    if (!scope.names.emplace(name, id).second)
        return failure("load.duplicate", fmt::format("value `{}` is defined twice", name), {},
                       "give each value one name");
    return {};
}

Result<ValueId> Reader::resolve(Scope& scope, const std::string& name, const std::string& where) {
    auto own = scope.names.find(name);
    if (own != scope.names.end())
        return own->second;
    if (!scope.parent)
        return failure("load.undefined", fmt::format("value `{}` is read but never made", name),
                       where, "add an initializer, an input or a node that makes it");
    auto outer = resolve(*scope.parent, name, where);
    if (!outer || !outer->valid())
        return outer;
    const Value& value = scope.parent->graph->value(*outer);
    // A constant of the graph around is a constant in here too: rules and folding see it.
    ValueId id;
    if (value.constant)
        id = scope.graph->addConstant(name, value.constant);
    else {
        id = scope.graph->addCapture(name, value.type);
        scope.captures.emplace_back(*outer, id);
    }
    scope.names.emplace(name, id);
    return id;
}

Result<void> Reader::readGraph(::onnx::GraphProto& proto, Scope& scope, bool isMain) {
    if (auto ok = readInitializers(proto, scope); !ok)
        return ok;
    if (auto ok = readInputs(proto, scope, isMain); !ok)
        return ok;
    for (const auto& info : proto.value_info())
        scope.declared.emplace(info.name(), &info);
    for (const auto& info : proto.output())
        scope.declared.emplace(info.name(), &info);
    scope.graph->graphMetadata = metadataFrom(proto, graphMetadataField);
    if (proto.quantization_annotation_size() != 0)
        note("quantization annotations are left out: only nodes and tensors are read");
    if (isMain)
        m_totalNodes = static_cast<size_t>(proto.node_size());
    if (auto ok = readNodes(*proto.mutable_node(), scope); !ok)
        return ok;
    return readOutputs(proto, scope);
}

Result<void> Reader::readInitializers(::onnx::GraphProto& proto, Scope& scope) {
    auto add = [&](const std::string& name, Result<TensorPtr> tensor,
                   const Metadata& metadata) -> Result<void> {
        if (!tensor)
            return failure(tensor.error());
        if (name.empty())
            return failure("load.duplicate", "an initializer has no name");
        const ValueId id = scope.graph->addConstant(name, std::move(*tensor));
        scope.graph->setMetadata(id, metadata);
        return define(scope, name, id);
    };
    for (auto& tensor : *proto.mutable_initializer()) {
        std::string name = tensor.name();
        const Metadata metadata = metadataFrom(tensor, tensorMetadataField);
        auto read = readTensor(tensor, scope, name);
        const bool absent = m_options.absentData && !read &&
                            read.error().code == "load.external_missing" && !name.empty();
        if (auto ok = absent ? addAbsent(tensor, read.error().message, scope)
                             : add(name, std::move(read), metadata);
            !ok)
            return ok;
    }
    for (auto& sparse : *proto.mutable_sparse_initializer()) {
        std::string name = sparse.values().name();
        auto dense = tensorFrom(sparse, m_external, name);
        if (!dense)
            return failure(dense.error());
        if (auto ok = add(name, std::make_shared<const Tensor>(std::move(*dense)), {}); !ok)
            return ok;
    }
    return {};
}

Result<void> Reader::addAbsent(const ::onnx::TensorProto& tensor, const std::string& why,
                               Scope& scope) {
    NodeSpec spec;
    spec.op = Op::Unknown;
    spec.name = tensor.name();
    spec.outputs = {tensor.name()};
    for (const auto& entry : tensor.external_data())
        spec.attributes.set(entry.key(), entry.value());
    const NodeId id = scope.graph->addNode(std::move(spec));
    Node& node = scope.graph->edit(id);
    node.customDomain = absentDomain;
    node.customOp = absentOp;
    node.notComputed = why;
    Type type;
    type.dtype = dtypeFromOnnx(tensor.data_type()).value_or(DType::Undefined);
    type.shape = Shape(tensor.dims().begin(), tensor.dims().end());
    scope.graph->setType(node.outputs[0], std::move(type));
    note(why + ": shapes of its initializers are known, values are not", tensor.name());
    return define(scope, tensor.name(), node.outputs[0]);
}

Result<void> Reader::readInputs(const ::onnx::GraphProto& proto, Scope& scope, bool isMain) {
    std::unordered_set<std::string_view> seen;
    std::vector<std::string> defaults; // of inputs that a caller may leave out
    for (const auto& input : proto.input()) {
        const std::string& name = input.name();
        if (!seen.insert(name).second)
            return failure("load.duplicate", fmt::format("input `{}` is listed twice", name));
        auto type = typeFrom(input.type(), name);
        if (!type)
            return failure(type.error());
        auto initializer = scope.names.find(name);
        // Up to IR version 3 every initializer is listed as an input too.
        if (isMain && initializer != scope.names.end()) {
            if (m_model.ir_version() > 3)
                defaults.push_back(name);
            continue;
        }
        if (isMain && type->kind != TypeKind::Foreign && type->dtype == DType::Undefined)
            return failure("load.type", "the input has no element type", name,
                           "declare the type of each input");
        const ValueId id = scope.graph->addInput(name, std::move(*type));
        scope.graph->setMetadata(id, metadataFrom(input, valueMetadataField));
        if (auto ok = define(scope, name, id); !ok)
            return ok;
    }
    if (!defaults.empty())
        note(fmt::format("input `{}`{} has a value in the file: it is taken as a constant, which "
                         "a caller cannot replace",
                         defaults[0],
                         defaults.size() == 1 ? ""
                                              : fmt::format(", as {} more,", defaults.size() - 1)));
    return {};
}

Result<void> Reader::readNodes(google::protobuf::RepeatedPtrField<::onnx::NodeProto>& nodes,
                               Scope& scope) {
    auto order = m_order.sort(nodes);
    if (!order)
        return failure(order.error());
    for (int index : *order)
        if (auto ok = readNode(nodes[index], scope); !ok)
            return ok;
    return {};
}

Result<void> Reader::readOutputs(const ::onnx::GraphProto& proto, Scope& scope) {
    for (const auto& output : proto.output()) {
        auto id = resolve(scope, output.name(), "graph output");
        if (!id)
            return failure(id.error());
        if (!id->valid())
            return failure("load.undefined", "a graph output has no name");
        // A value added by normalisation may have taken the name first.
        ValueId taker = scope.graph->findValue(output.name());
        if (taker.valid() && taker != *id && scope.graph->value(*id).producer.valid())
            scope.graph->takeName(*id, taker);
        scope.graph->addOutput(*id);
    }
    return {};
}

} // namespace fuselage::model_io
