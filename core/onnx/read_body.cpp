// SPDX-License-Identifier: Apache-2.0
// Calls of operators that have a body in resources/operators/bodies.txt: read as functions.
#include "core/onnx/check_node_internal.h"
#include "core/onnx/normalise_internal.h"
#include "core/onnx/operator_body_internal.h"
#include "core/onnx/parse_text_internal.h"
#include "core/onnx/reader_internal.h"
#include "core/ops/op_schema.h"
#include "core/ops/op_table.h"
#include "core/support/processor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace fuselage::model_io {

namespace {

using ::onnx::AttributeProto;

CallAttribute callAttribute(const AttributeProto& proto) {
    if (proto.has_i())
        return static_cast<int64_t>(proto.i());
    if (proto.has_f())
        return static_cast<double>(proto.f());
    if (proto.has_s())
        return proto.s();
    if (proto.ints_size() != 0)
        return std::vector<int64_t>(proto.ints().begin(), proto.ints().end());
    if (proto.floats_size() != 0)
        return std::vector<double>(proto.floats().begin(), proto.floats().end());
    return {};
}

/// As schemas spell kinds.
std::string kindName(const AttributeProto& proto) {
    std::string name = AttributeProto::AttributeType_Name(kindOf(proto));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    return name;
}

/// What is wrong with an attribute is said of the node, not of its body.
Result<void> checkAttribute(const OpSchema* published, const ::onnx::NodeProto& node,
                            const std::string& name, const AttributeProto& value) {
    const AttributeSchema* schema = published ? published->attribute(name) : nullptr;
    const bool isEmptyList = kindOf(value) == AttributeProto::INTS && value.ints_size() == 0;
    if (!schema || (isEmptyList && schema->type.ends_with('s')))
        return {};
    return checkKind(node.op_type(), *schema, kindName(value), nodeLabel(node));
}

/// Says what the operator does anyway.
bool isDefault(const OpSchema* published, const std::string& name, const CallAttribute& value) {
    const AttributeSchema* schema = published ? published->attribute(name) : nullptr;
    if (!schema || !schema->fallback)
        return false;
    const AttributeValue& fallback = *schema->fallback;
    if (const auto* number = std::get_if<int64_t>(&value))
        return std::holds_alternative<int64_t>(fallback) && std::get<int64_t>(fallback) == *number;
    if (const auto* number = std::get_if<double>(&value))
        return std::holds_alternative<double>(fallback) && std::get<double>(fallback) == *number;
    const auto* word = std::get_if<std::string>(&value);
    return word && std::holds_alternative<std::string>(fallback) &&
           std::get<std::string>(fallback) == *word;
}

/// Unknown ones are -1; none where the rank is not known.
std::optional<std::vector<int64_t>> extentsOf(const Type& type) {
    if (!type.shape)
        return std::nullopt;
    std::vector<int64_t> out;
    for (const Dim& dim : *type.shape)
        out.push_back(dim.number().value_or(-1));
    return out;
}

/// The file does not say for which processor its blocks are: it is read as ONNX Runtime would run
/// it on this one.
int64_t channelBlock() {
    static const bool isWide = cpuInfo("flags").find("avx512f") != std::string::npos;
    return isWide ? 16 : 8;
}

std::vector<bool> given(const google::protobuf::RepeatedPtrField<std::string>& names) {
    std::vector<bool> out;
    for (const std::string& name : names)
        out.push_back(!name.empty());
    while (!out.empty() && !out.back())
        out.pop_back();
    return out;
}

} // namespace

Result<::onnx::FunctionProto*> Reader::bodyFor(const ::onnx::NodeProto& node, Scope& scope,
                                               std::string& refused) {
    const std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
    auto imported = scope.opsets->find(domain);
    const int64_t version = imported == scope.opsets->end() ? 1 : imported->second;
    const OperatorBody* body = operatorBody(domain, node.op_type(), version);
    const bool named = isNamed(node);
    if (!body || (named && opFromName(domain, node.op_type())))
        return nullptr; // a rule that names an operator with a row means that row
    Call call;
    const OpSchema* published = publishedSchema(domain, node.op_type(), version);
    for (const AttributeProto& attribute : node.attribute()) {
        const AttributeProto* proto = &attribute;
        if (!attribute.ref_attr_name().empty()) {
            auto bound = scope.attributes.find(attribute.ref_attr_name());
            if (bound == scope.attributes.end())
                continue;
            proto = bound->second.proto;
        }
        if (auto ok = checkAttribute(published, node, attribute.name(), *proto); !ok)
            return failure(ok.error());
        CallAttribute value = callAttribute(*proto);
        if (body->attributes.contains(attribute.name()) ||
            !isDefault(published, attribute.name(), value))
            call.attributes.emplace(attribute.name(), std::move(value));
    }
    std::vector<ValueId> inputs;
    for (const std::string& name : node.input()) {
        auto id = name.empty() ? Result<ValueId>(ValueId()) : resolve(scope, name, nodeLabel(node));
        if (!id)
            return failure(id.error());
        call.inputs.push_back(id->valid());
        inputs.push_back(*id);
    }
    while (!call.inputs.empty() && !call.inputs.back())
        call.inputs.pop_back();
    for (size_t slot = 0; published && slot < published->inputs.size(); ++slot)
        if (!published->isOptionalInput(slot) &&
            (slot >= call.inputs.size() || !call.inputs[slot])) {
            if (!opFromName(domain, node.op_type())) // else its row says so
                refused = fmt::format("its input `{}` is missing", published->inputs[slot].name);
            return nullptr;
        }
    call.outputs = given(node.output());
    call.extents = [&](size_t input) {
        return input < inputs.size() && inputs[input].valid()
                   ? extentsOf(typeOf(*scope.graph, inputs[input]))
                   : std::nullopt;
    };
    call.type = [&](size_t input) {
        const DType type = input < inputs.size() && inputs[input].valid()
                               ? typeOf(*scope.graph, inputs[input]).dtype
                               : DType::Undefined;
        return type == DType::Undefined ? std::string() : std::string(nameOf(type));
    };
    call.channelBlock = channelBlock();
    WrittenBody written = writeBody(*body, call);
    refused = std::move(written.refused);
    if (!refused.empty())
        return nullptr;
    // One node takes and makes what the call has; inlined, the call says what there is.
    const std::string key =
        named ? fmt::format("{}#{} {}", written.text, node.input_size(), node.output_size())
              : written.text;
    auto [at, added] = m_bodies.try_emplace(key);
    ::onnx::FunctionProto& function = at->second;
    if (!added)
        return &function;
    if (const std::string problem = parseProblem(function, written.text); !problem.empty())
        return failure("load.body", problem, nodeLabel(node));
    while (named && function.input_size() > node.input_size())
        function.mutable_input()->RemoveLast();
    while (named && function.output_size() > node.output_size())
        function.mutable_output()->RemoveLast();
    OpsetVersions& opsets = m_functionOpsets[&function];
    for (const auto& opset : function.opset_import())
        opsets[opset.domain()] = opset.version();
    return &function;
}

const Type& Reader::typeOf(const Graph& graph, ValueId id) {
    return m_types.try_emplace(&graph, graph).first->second.of(id);
}

Result<void> Reader::readBody(::onnx::NodeProto& node, ::onnx::FunctionProto& body, Scope& scope,
                              std::string& refused) {
    Graph& graph = *scope.graph;
    const size_t before = graph.nodeBound();
    const bool isOfFile = m_bodiesAround == 0;
    ++m_bodiesAround;
    Result<void> read =
        isNamed(node) ? readWhole(node, body, scope) : inlineCall(node, body, scope);
    --m_bodiesAround;
    if (read && isOfFile && m_options.writtenOut && !isNamed(node) &&
        node.domain() == "com.microsoft")
        ++(*m_options.writtenOut)[node.domain() + "." + node.op_type()];
    if (read || read.error().code != bodyRefused)
        return read;
    for (size_t i = graph.nodeBound(); i-- > before;)
        if (const NodeId id(static_cast<uint32_t>(i)); graph.alive(id))
            graph.removeNode(id);
    refused = read.error().message;
    return {};
}

} // namespace fuselage::model_io
