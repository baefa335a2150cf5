// SPDX-License-Identifier: Apache-2.0
// Which opset a saved model must declare.
#include "core/onnx/file_opset.h"
#include "core/onnx/writer_internal.h"
#include "core/ops/op_schema.h"

#include <algorithm>

namespace fuselage::model_io {

namespace {

/// From when on operators take this type; `quantises`: QuantizeLinear or DequantizeLinear.
int64_t typeSince(DType type, bool quantises) {
    switch (type) {
    case DType::Float8E4M3FN:
    case DType::Float8E5M2:
    case DType::Float8E4M3FNUZ:
    case DType::Float8E5M2FNUZ:
        return 19;
    case DType::Int4:
    case DType::UInt4:
        return 21;
    case DType::Float4E2M1:
        return 23;
    case DType::Float8E8M0:
        return 24;
    case DType::Int2:
    case DType::UInt2:
        return 25;
    case DType::Int16:
    case DType::UInt16:
        return quantises ? 21 : 1;
    default:
        return 1;
    }
}

int64_t typesSince(const Graph& graph, const Node& node) {
    const bool quantises = node.op == Op::QuantizeLinear || node.op == Op::DequantizeLinear;
    int64_t need = 1;
    for (const auto* values : {&node.inputs, &node.outputs})
        for (ValueId value : *values)
            if (value.valid())
                need = std::max(need, typeSince(graph.value(value).type.dtype, quantises));
    return need;
}

bool takesTypes(const OpSchema& form, const Graph& graph, const Node& node) {
    for (size_t slot = 0; slot < node.explicitInputs; ++slot) {
        if (!node.inputs[slot].valid())
            continue;
        const Type& type = graph.value(node.inputs[slot]).type;
        // One that is not known, behind an operator that is not, asks for nothing.
        if (type.kind == TypeKind::Tensor && type.dtype != DType::Undefined &&
            !form.inputTypes(slot).allows(type.dtype))
            return false;
    }
    return true;
}

/// The first opset from the normal one on whose form takes the operands' types: halves to quantise
/// (19), bfloat16 in a convolution (22). 1 where the normal one does, or none.
int64_t operandsSince(const Graph& graph, const Node& node) {
    const char* name = rowOf(node.op).name;
    const OpSchema* form = publishedSchema("", name, normalOpset);
    if (form && takesTypes(*form, graph, node))
        return 1;
    const int64_t newest = newestPublishedOpset();
    for (int64_t version = normalOpset + 1; version <= newest; ++version) {
        form = publishedSchema("", name, version);
        if (form && takesTypes(*form, graph, node))
            return form->since;
    }
    return 1;
}

/// Operators whose normal form is newer than their first opset.
int64_t formSince(const Graph& graph, const Node& node) {
    if (node.op == Op::GroupNormalization)
        return 21;
    if (node.op == Op::Pad && node.attributes.string("mode") == "wrap")
        return 19;
    // Axes that are not constant stay an input, which ReduceSum alone had before.
    if (hasTrait(node.op, Reduction) && node.op != Op::ReduceSum && node.explicitInputs > 1)
        return 18;
    if (node.op == Op::Pad && node.explicitInputs > 3)
        return 18;
    if (node.op == Op::DFT && node.explicitInputs > 2)
        return 20;
    const std::string coordinates = node.attributes.string("coordinate_transformation_mode");
    if (node.op == Op::Resize && coordinates == "half_pixel_symmetric")
        return 19;
    // Of what is no optional, or of nothing.
    const bool asks = node.op == Op::OptionalHasElement || node.op == Op::OptionalGetElement;
    if (asks && (node.explicitInputs == 0 || !node.inputs[0].valid() ||
                 graph.value(node.inputs[0]).type.kind != TypeKind::Optional))
        return 18;
    std::string reduction = node.attributes.string("reduction");
    if ((node.op == Op::ScatterElements || node.op == Op::ScatterND) &&
        (reduction == "max" || reduction == "min"))
        return 18;
    // Opset 16 to 19 sample images only.
    const Type* data = node.op == Op::GridSample ? &graph.value(node.inputs[0]).type : nullptr;
    return data && data->shape && data->shape->size() != 4 ? 20 : 1;
}

/// Whether a form of before the normal one means the same: it knows the operands with their types,
/// and the attributes that say anything.
bool fitsForm(const OpSchema& form, const Graph& graph, const Node& node) {
    auto fits = [](const std::vector<OperandSchema>& known, size_t count) {
        return count <= known.size() || (!known.empty() && known.back().variadic);
    };
    if (!fits(form.inputs, node.explicitInputs) || !fits(form.outputs, node.outputs.size()))
        return false;
    for (size_t slot = 0; slot < node.explicitInputs; ++slot)
        if (node.inputs[slot].valid() &&
            graph.value(node.inputs[slot]).type.kind != TypeKind::Tensor)
            return false;
    return takesTypes(form, graph, node) &&
           std::none_of(node.attributes.begin(), node.attributes.end(),
                        [&](const Attributes::Entry& entry) {
                            return !isSchemaDefault(node.op, entry.name, entry.value) &&
                                   !form.attribute(entry.name);
                        });
}

/// The first opset from `least` on with a form in which the node can be written as it is.
int64_t olderForm(const Graph& graph, const Node& node, int64_t least) {
    // Since opset 16 its coordinates are shifted by half a pixel where nothing is said.
    if (node.op == Op::RoiAlign)
        return normalOpset;
    const char* name = rowOf(node.op).name;
    const OpSchema* normal = publishedSchema("", name, normalOpset);
    for (int64_t version = least; version < normalOpset; ++version) {
        const OpSchema* form = publishedSchema("", name, version);
        if (form && normal && (form->since == normal->since || fitsForm(*form, graph, node)))
            return version;
    }
    return normalOpset;
}

int64_t needOf(const Graph& graph, const Node& node, int64_t least) {
    if (node.op == Op::Fused || isOwnOperator(node.op))
        return normalOpset;
    if (node.op == Op::Unknown) {
        if (!node.customDomain.empty())
            return 1;
        // Not known here: it means what it meant in the file it came from; one that a rule made has
        // to exist.
        auto imported = graph.opsetImports.find("");
        return std::max(imported == graph.opsetImports.end() ? 1 : imported->second,
                        firstOpset(node.customOp));
    }
    const OpRow& row = rowOf(node.op);
    if (row.domain[0] != '\0')
        return 1;
    int64_t need = std::max<int64_t>(
        {row.since, formSince(graph, node), typesSince(graph, node), operandsSince(graph, node)});
    if (least < normalOpset)
        need = std::max(need, olderForm(graph, node, least));
    for (const Attributes::Entry& entry : node.attributes)
        if (!isSchemaDefault(node.op, entry.name, entry.value))
            need = std::max(need, attributeSince(node.op, entry.name));
    return need;
}

int64_t opsetWithin(const Graph& graph, bool isFunction, int64_t least) {
    int64_t need = least;
    for (NodeId id : graph.nodes()) {
        const Node& node = graph.node(id);
        need = std::max(need, needOf(graph, node, least));
        // ONNX Runtime's own operator in ONNX's domain: in a function it ends the process there.
        if (isFunction && node.op == Op::SimplifiedLayerNormalization)
            need = std::max<int64_t>(need, rowOf(Op::RMSNormalization).since);
        forSubgraphs(node, [&](const std::string&, const Graph& subgraph) {
            need = std::max(need, opsetWithin(subgraph, isFunction, least));
        });
        if (node.body)
            need = std::max(need, opsetWithin(*node.body, true, least));
    }
    return need;
}

} // namespace

int64_t opsetFor(const Graph& graph, int64_t least) {
    return opsetWithin(graph, false, std::clamp(least, oldestOpset, normalOpset));
}

int64_t ownOpset(const Graph& graph) {
    const auto imported = graph.opsetImports.find("");
    return opsetFor(graph, imported == graph.opsetImports.end() ? normalOpset : imported->second);
}

int64_t irVersionFor(int64_t opset) {
    if (opset <= 14)
        return 7;
    if (opset <= 18)
        return 8;
    if (opset <= 20)
        return 9;
    if (opset <= 22)
        return 10;
    if (opset == 23)
        return 11;
    return opset == 24 ? 12 : 13;
}

} // namespace fuselage::model_io
