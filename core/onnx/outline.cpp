// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/outline.h"

#include "core/onnx/file_internal.h"
#include "core/onnx/mapped_file_internal.h"
#include "core/onnx/proto_internal.h"

#include <climits>
#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <set>

namespace fuselage::model_io {

namespace {

constexpr size_t maxFileBytes = 2ULL << 30; // protobuf's own limit
constexpr int longestList = 16;             ///< numbers of an attribute that are written out

template <typename Dims, typename Text>
std::string typeText(int32_t elementType, const Dims& dims, Text text) {
    std::string out = protoDtypeName(elementType) + "[";
    for (int i = 0; i < dims.size(); ++i)
        out += (i ? "," : "") + text(dims[i]);
    return out + "]";
}

Outline::Value valueOf(const ::onnx::ValueInfoProto& proto) {
    Outline::Value out{proto.name(), {}, {}, false};
    if (!proto.type().has_tensor_type())
        return out;
    const auto& tensor = proto.type().tensor_type();
    out.dtype = protoDtypeName(tensor.elem_type());
    out.type = out.dtype;
    if (tensor.has_shape())
        out.type = typeText(tensor.elem_type(), tensor.shape().dim(), [](const auto& dim) {
            return dim.has_dim_value() ? std::to_string(dim.dim_value())
                   : dim.has_dim_param() && !dim.dim_param().empty() ? dim.dim_param()
                                                                     : std::string("?");
        });
    return out;
}

Outline::Value constantOf(const ::onnx::TensorProto& proto) {
    return {proto.name(),
            typeText(proto.data_type(), proto.dims(),
                     [](int64_t extent) { return std::to_string(extent); }),
            protoDtypeName(proto.data_type()), true};
}

template <typename List, typename Text> std::string listText(const List& list, Text text) {
    std::string out = "[";
    for (int i = 0; i < list.size() && i < longestList; ++i)
        out += (i ? ", " : "") + text(list[i]);
    return out + (list.size() > longestList ? ", ...]" : "]");
}

std::string attributeText(const ::onnx::AttributeProto& proto) {
    const auto number = [](auto value) { return fmt::format("{}", value); };
    switch (proto.type()) {
    case ::onnx::AttributeProto::FLOAT:
        return number(proto.f());
    case ::onnx::AttributeProto::INT:
        return number(proto.i());
    case ::onnx::AttributeProto::STRING:
        return proto.s();
    case ::onnx::AttributeProto::FLOATS:
        return listText(proto.floats(), number);
    case ::onnx::AttributeProto::INTS:
        return listText(proto.ints(), number);
    case ::onnx::AttributeProto::TENSOR:
        return constantOf(proto.t()).type;
    case ::onnx::AttributeProto::GRAPH:
        return fmt::format("{{{} nodes}}", proto.g().node_size());
    default:
        return "...";
    }
}

std::string operatorName(const std::string& domain, const std::string& name) {
    return domain.empty() || domain == "ai.onnx" ? name : domain + "." + name;
}

/// Walks over the fields of the outermost message only. True also where that cannot be told.
bool mayHoldFunctions(const std::string& path) {
    using google::protobuf::internal::WireFormatLite;
    const auto file = MappedFile::open(path);
    if (!file || file->size() > INT_MAX)
        return true;
    google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(file->data()),
                                                  static_cast<int>(file->size()));
    while (const uint32_t tag = stream.ReadTag())
        if (WireFormatLite::GetTagFieldNumber(tag) == ::onnx::ModelProto::kFunctionsFieldNumber ||
            !WireFormatLite::SkipField(&stream, tag))
            return true;
    return false;
}

class CallCount {
public:
    explicit CallCount(std::vector<FunctionOutline>& functions) : m_functions(functions) {}

    template <typename Nodes> void count(const Nodes& nodes, bool outermost) {
        for (const ::onnx::NodeProto& node : nodes) {
            const std::string called = operatorName(node.domain(), node.op_type());
            for (FunctionOutline& function : m_functions) {
                if (function.name != called)
                    continue;
                ++function.calls;
                if (outermost && function.firstCall.empty())
                    function.firstCall = node.name();
            }
            for (const ::onnx::AttributeProto& attribute : node.attribute())
                if (attribute.has_g())
                    count(attribute.g().node(), false);
        }
    }

private:
    std::vector<FunctionOutline>& m_functions;
};

} // namespace

Result<std::vector<FunctionOutline>> functionsOf(const std::string& path) {
    std::vector<FunctionOutline> out;
    if (!mayHoldFunctions(path))
        return out;
    ::onnx::ModelProto model;
    if (auto read = parseFile(path, maxFileBytes, model); !read)
        return failure(read.error());
    for (const ::onnx::FunctionProto& function : model.functions())
        if (function.domain() != "fuselage")
            out.push_back({operatorName(function.domain(), function.name()),
                           static_cast<size_t>(function.node_size()),
                           0,
                           {}});
    CallCount calls(out);
    calls.count(model.graph().node(), true);
    for (const ::onnx::FunctionProto& function : model.functions())
        calls.count(function.node(), false);
    return out;
}

Result<Outline> outlineOf(const std::string& path) {
    ::onnx::ModelProto model;
    if (auto read = parseFile(path, maxFileBytes, model); !read)
        return failure(read.error());
    const ::onnx::GraphProto& graph = model.graph();
    if (graph.node_size() == 0)
        return failure("load.not_onnx", "the file holds no graph with nodes", path,
                       "give the path of an .onnx file");
    Outline out;
    out.name = graph.name();
    std::set<std::string> constants, names;
    for (const auto& initializer : graph.initializer()) {
        constants.insert(initializer.name());
        out.values.push_back(constantOf(initializer));
    }
    for (const auto& input : graph.input())
        if (!constants.contains(input.name())) { // older files list weights as inputs
            out.inputs.push_back(input.name());
            out.values.push_back(valueOf(input));
        }
    for (const auto& value : graph.value_info())
        out.values.push_back(valueOf(value));
    for (const auto& output : graph.output()) {
        out.outputs.push_back(output.name());
        out.values.push_back(valueOf(output));
    }
    for (const auto& proto : graph.node()) {
        Outline::Node node;
        node.op = operatorName(proto.domain(), proto.op_type());
        node.name = proto.name();
        for (size_t number = out.nodes.size(); node.name.empty() || names.contains(node.name);
             ++number)
            node.name = fmt::format("{}_{}", proto.op_type(), number);
        names.insert(node.name);
        node.inputs.assign(proto.input().begin(), proto.input().end());
        node.outputs.assign(proto.output().begin(), proto.output().end());
        for (const auto& attribute : proto.attribute())
            node.attributes.emplace_back(attribute.name(), attributeText(attribute));
        out.nodes.push_back(std::move(node));
    }
    return out;
}

} // namespace fuselage::model_io
