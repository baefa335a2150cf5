// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/outline.h"

#include "core/onnx/file_internal.h"
#include "core/onnx/proto_internal.h"

#include <fmt/format.h>

#include <set>

namespace fuselage::model_io {

namespace {

constexpr size_t maxFileBytes = 16ULL << 30;
constexpr int longestList = 16; ///< numbers of an attribute that are written out

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

} // namespace

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
        const bool standard = proto.domain().empty() || proto.domain() == "ai.onnx";
        node.op = standard ? proto.op_type() : proto.domain() + "." + proto.op_type();
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
