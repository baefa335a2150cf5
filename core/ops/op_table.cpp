// SPDX-License-Identifier: Apache-2.0
// Puts the families' rows in the order of the enum and answers questions about them.
#include "core/ops/op_table.h"

#include "core/ops/attribute_schema.h"
#include "core/ops/op_table_internal.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <unordered_map>

namespace fuselage {

namespace {

constexpr auto opCount = static_cast<size_t>(Op::Count_);

/// A second domain or name under which files spell an operator.
struct Alias {
    const char* domain;
    const char* name;
    Op op;
};

constexpr Alias aliases[] = {
    {"com.microsoft", "SimplifiedLayerNormalization", Op::SimplifiedLayerNormalization},
    {"com.microsoft", "Gelu", Op::Gelu},
};

/// What parsing the rows' text gives, once per program.
struct Table {
    std::vector<OpRow> rows;
    std::vector<std::vector<AttributeSchema>> attributes;
    std::vector<std::vector<std::string>> inputNames;
    std::unordered_map<std::string, Op> byName; ///< "domain:name"
};

std::vector<std::string> splitWords(std::string_view text) {
    std::vector<std::string> out;
    while (!text.empty()) {
        size_t end = std::min(text.find(' '), text.size());
        if (end > 0)
            out.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

std::string key(std::string_view domain, std::string_view name) {
    return std::string(domain == "ai.onnx" ? "" : domain) + ":" + std::string(name);
}

// A name alone says nothing about arity, so anything is accepted.
OpRow nameOnly(Op op, const char* name, const char* domain) {
    OpRow row{op, name, domain};
    row.minInputs = row.minOutputs = 0;
    row.maxInputs = row.maxOutputs = variadic;
    return row;
}

std::vector<OpRow> collectRows() {
    std::vector<OpRow> rows(opCount, OpRow{Op::Count_, nullptr});
    auto at = [&](Op op) -> OpRow& { return rows[static_cast<size_t>(op)]; };
    at(Op::Unknown) = nameOnly(Op::Unknown, "Unknown", "");
    at(Op::Fused) = nameOnly(Op::Fused, "Fused", "");
    for (OpRows family : opFamilies())
        for (const OpRow& row : family()) {
            assert(at(row.op).op == Op::Count_ && "operator with two rows");
            at(row.op) = row;
        }
    for ([[maybe_unused]] const OpRow& row : rows)
        assert(row.op != Op::Count_ && "operator without a row");
    return rows;
}

Table buildTable() {
    Table table;
    table.rows = collectRows();
    for (const OpRow& row : table.rows) {
        table.attributes.push_back(parseAttributeSchemas(row.attributes));
        table.inputNames.push_back(splitWords(row.inputs));
        if (row.op != Op::Unknown && row.op != Op::Fused)
            table.byName.emplace(key(row.domain, row.name), row.op);
    }
    for (const Alias& alias : aliases)
        table.byName.emplace(key(alias.domain, alias.name), alias.op);
    return table;
}

const Table& table() {
    static const Table built = buildTable();
    return built;
}

struct TraitName {
    Trait trait;
    const char* name;
};

constexpr TraitName traitNames[] = {
    {Elementwise, "elementwise"},
    {Commutative, "commutative"},
    {Associative, "associative"},
    {Reduction, "reduction"},
    {View, "view"},
    {DataMovement, "movement"},
    {ContractionOp, "contraction"},
    {WindowOp, "window"},
    {Normalization, "norm"},
    {Discontinuous, "discontinuous"},
    {Nondeterministic, "random"},
    {ControlFlow, "control"},
    {ShapeQuery, "shape"},
    {Pooling, "pooling"},
    {DataMovement, "datamovement"},
    {Normalization, "normalization"},
};

// Larger rank-1 constants are data, not parameters.
constexpr int64_t maxParameterElements = 1024;

AttributeValue contentsOf(const TensorPtr& tensor) {
    bool scalar = tensor->rank() == 0;
    if (tensor->rank() > 1 || tensor->elementCount() > maxParameterElements ||
        tensor->dtype() == DType::Undefined)
        return tensor;
    if (tensor->dtype() == DType::String)
        return scalar ? AttributeValue(tensor->strings()[0]) : AttributeValue(tensor->strings());
    if (!isFloat(tensor->dtype()))
        return scalar ? AttributeValue(tensor->intAt(0)) : AttributeValue(tensor->toInts());
    if (scalar)
        return tensor->at(0);
    std::vector<double> numbers;
    for (int64_t i = 0; i < tensor->elementCount(); ++i)
        numbers.push_back(tensor->at(i));
    return numbers;
}

} // namespace

const OpRow& rowOf(Op op) {
    return table().rows[static_cast<size_t>(op)];
}

const char* nameOf(Op op) {
    return rowOf(op).name;
}

std::optional<Op> opFromName(std::string_view domain, std::string_view name) {
    auto found = table().byName.find(key(domain, name));
    return found == table().byName.end() ? std::nullopt : std::optional(found->second);
}

const std::vector<AttributeSchema>& attributesOf(Op op) {
    return table().attributes[static_cast<size_t>(op)];
}

const std::vector<std::string>& inputNamesOf(Op op) {
    return table().inputNames[static_cast<size_t>(op)];
}

std::vector<Op> opsWithTrait(uint32_t traits) {
    std::vector<Op> out;
    for (const OpRow& row : allRows())
        if ((row.traits & traits) != 0)
            out.push_back(row.op);
    return out;
}

std::optional<Trait> traitFromName(std::string_view name) {
    for (const TraitName& candidate : traitNames)
        if (name == candidate.name)
            return candidate.trait;
    return std::nullopt;
}

std::span<const OpRow> allRows() {
    return table().rows;
}

namespace {

/// What a convolution or pooling without this attribute does; its length is the number of spatial
/// dimensions, so no schema holds it.
std::optional<AttributeValue> windowDefault(const Graph& graph, const Node& node,
                                            std::string_view name) {
    auto has = [&](std::string_view wanted) {
        const auto& schemas = attributesOf(node.op);
        return std::any_of(schemas.begin(), schemas.end(),
                           [&](const AttributeSchema& schema) { return schema.name == wanted; });
    };
    if (!has("kernel_shape") || !has(name) || node.inputs.empty() || !node.inputs[0].valid())
        return std::nullopt;
    const Type& image = graph.value(node.inputs[0]).type;
    if (!image.shape || image.rank() < 3)
        return std::nullopt;
    const size_t spatial = image.rank() - 2;
    if (name == "strides" || name == "dilations")
        return std::vector<int64_t>(spatial, 1);
    const std::string autoPad = node.attributes.string("auto_pad", "NOTSET");
    if (name == "pads" && (autoPad == "NOTSET" || autoPad == "VALID"))
        return std::vector<int64_t>(2 * spatial, 0);
    if (name == "output_padding")
        return std::vector<int64_t>(spatial, 0);
    if (name != "kernel_shape" || node.explicitInputs < 2 || !node.inputs[1].valid())
        return std::nullopt;
    auto weight = graph.value(node.inputs[1]).type.extents();
    if (!weight || weight->size() != spatial + 2)
        return std::nullopt;
    return std::vector<int64_t>(weight->begin() + 2, weight->end());
}

/// Transpose without `perm` turns the order of the dimensions round.
std::optional<AttributeValue> transposeDefault(const Graph& graph, const Node& node) {
    if (node.inputs.empty() || !node.inputs[0].valid())
        return std::nullopt;
    const Type& type = graph.value(node.inputs[0]).type;
    if (!type.hasRank())
        return std::nullopt;
    std::vector<int64_t> perm(type.rank());
    std::iota(perm.rbegin(), perm.rend(), int64_t{0});
    return perm;
}

} // namespace

std::optional<AttributeValue> parameterOf(const Graph& graph, const Node& node,
                                          std::string_view name) {
    if (const AttributeValue* attribute = node.attributes.find(name))
        return *attribute;
    const std::vector<std::string>& names = inputNamesOf(node.op);
    size_t count = std::min<size_t>(names.size(), node.explicitInputs);
    for (size_t i = 0; i < count; ++i)
        if (names[i] == name && graph.isConstant(node.inputs[i]))
            return contentsOf(graph.value(node.inputs[i]).constant);
    if (node.op == Op::Transpose && name == "perm")
        return transposeDefault(graph, node);
    return windowDefault(graph, node, name);
}

void fillDefaults(Node& node) {
    for (const AttributeSchema& schema : attributesOf(node.op))
        if (schema.fallback && !node.attributes.has(schema.name))
            node.attributes.set(schema.name, *schema.fallback);
}

} // namespace fuselage
