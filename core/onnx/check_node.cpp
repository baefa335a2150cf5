// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/check_node_internal.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::model_io {

namespace {

/// The name of a value's kind as attribute schemas spell it.
const char* kindName(const AttributeValue& value) {
    static const char* const names[] = {"int",    "float",   "string", "ints",
                                        "floats", "strings", "tensor", "graph"};
    return names[value.index()];
}

/// The kind that an attribute has once it is read.
std::string_view readAs(const std::string& type) {
    return type == "sparse_tensor" ? "tensor" : type == "type" ? "string" : std::string_view(type);
}

/// An empty list says nothing about its element type.
bool isEmptyList(const AttributeValue& value) {
    const auto* ints = std::get_if<std::vector<int64_t>>(&value);
    return ints && ints->empty();
}

Failure arity(const NodeSpec& spec, const std::string& where, const char* what, size_t found,
              int least, int most) {
    std::string wanted = most == variadic ? fmt::format("at least {}", least)
                         : least == most  ? fmt::format("{}", least)
                                          : fmt::format("{} to {}", least, most);
    return failure(
        "load.arity",
        fmt::format("{} takes {} {}, the node has {}", nameOf(spec.op), wanted, what, found), where,
        "check the node against its operator's definition");
}

Result<void> checkAttribute(const NodeSpec& spec, const AttributeSchema& schema,
                            const std::string& where) {
    const AttributeValue* value = spec.attributes.find(schema.name);
    if (!value || (isEmptyList(*value) && schema.type.ends_with('s')))
        return {};
    return checkKind(nameOf(spec.op), schema, kindName(*value), where);
}

} // namespace

Result<void> checkKind(std::string_view op, const AttributeSchema& schema, std::string_view found,
                       const std::string& where) {
    const std::string_view wanted = readAs(schema.type);
    if (found == wanted)
        return {};
    return failure("load.attribute",
                   fmt::format("attribute `{}` of {} is of kind {}, expected {}", schema.name, op,
                               found, wanted),
                   where, "change the attribute's kind");
}

Result<void> checkKinds(const NodeSpec& spec, const OpSchema* published, const std::string& where) {
    if (published)
        for (const AttributeSchema& schema : published->attributes)
            if (auto ok = checkAttribute(spec, schema, where); !ok)
                return ok;
    for (const AttributeSchema& schema : attributesOf(spec.op))
        if (!published || !published->attribute(schema.name))
            if (auto ok = checkAttribute(spec, schema, where); !ok)
                return ok;
    return {};
}

Result<void> checkNode(NodeSpec& spec, const std::string& where) {
    const OpRow& row = rowOf(spec.op);
    const OpSchema* published = publishedSchema(spec.op);
    auto least = static_cast<size_t>(row.minInputs);
    while (spec.inputs.size() < least && published &&
           published->isOptionalInput(spec.inputs.size()))
        spec.inputs.emplace_back();
    size_t inputs = spec.inputs.size();
    size_t outputs = spec.outputs.size();
    if (inputs < least ||
        (row.maxInputs != variadic && inputs > static_cast<size_t>(row.maxInputs)))
        return arity(spec, where, "inputs", inputs, row.minInputs, row.maxInputs);
    if (outputs < static_cast<size_t>(row.minOutputs) ||
        (row.maxOutputs != variadic && outputs > static_cast<size_t>(row.maxOutputs)))
        return arity(spec, where, "outputs", outputs, row.minOutputs, row.maxOutputs);
    for (size_t i = 0; i < least; ++i)
        if (!spec.inputs[i].valid() && !(published && published->isOptionalInput(i)))
            return failure("load.arity", fmt::format("{} needs its input {}", nameOf(spec.op), i),
                           where, "connect the input");
    for (const AttributeSchema& schema : attributesOf(spec.op)) {
        const AttributeValue* value = spec.attributes.find(schema.name);
        if (!value && schema.required)
            return failure("load.attribute",
                           fmt::format("{} needs the attribute `{}`", nameOf(spec.op), schema.name),
                           where, "set the attribute");
        if (auto ok = checkAttribute(spec, schema, where); !ok)
            return ok;
    }
    return {};
}

void roundNumbers(Node& node) {
    std::vector<std::pair<std::string, AttributeValue>> rounded;
    for (const auto& [name, value] : node.attributes) {
        if (const auto* number = std::get_if<double>(&value))
            rounded.emplace_back(name, roundTo(DType::Float32, *number));
        if (const auto* numbers = std::get_if<std::vector<double>>(&value)) {
            std::vector<double> out = *numbers;
            for (double& number : out)
                number = roundTo(DType::Float32, number);
            rounded.emplace_back(name, std::move(out));
        }
    }
    for (auto& [name, value] : rounded)
        node.attributes.set(name, std::move(value));
}

} // namespace fuselage::model_io
