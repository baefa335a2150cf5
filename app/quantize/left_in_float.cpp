// SPDX-License-Identifier: Apache-2.0
#include "app/quantize/left_in_float.h"

#include "core/graph/text.h"
#include "core/ops/op_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace fuselage::quantize {

namespace {

bool hasWeights(Op op) {
    return hasTrait(op, ContractionOp) || op == Op::LSTM || op == Op::GRU || op == Op::RNN ||
           op == Op::Gather;
}

/// Whether a product of this operator sums integers.
bool multipliesIntegers(Op op) {
    return op == Op::MatMulInteger || op == Op::ConvInteger || op == Op::QLinearConv ||
           op == Op::QLinearMatMul || op == Op::DynamicQuantizeLSTM;
}

} // namespace

std::string unaskedNodes(const Graph& model, const Placement& placement) {
    std::set<NodeId> asked;
    std::set<std::string> named;
    for (const Place& place : placement.places)
        if (place.graph == &model)
            asked.insert(place.read.node);
    for (const LeftOut& out : placement.leftOut)
        named.insert(out.value);
    constexpr size_t mostShown = 4;
    std::string out;
    size_t count = 0;
    for (NodeId id : model.nodes()) {
        const Node& node = model.node(id);
        if (!hasWeights(node.op) || asked.contains(id))
            continue;
        bool isConstant = false, isNamed = false;
        for (ValueId input : node.inputs) {
            if (!input.valid())
                continue;
            const Value& value = model.value(input);
            isConstant = isConstant || (value.constant && value.type.dtype == DType::Float32 &&
                                        value.constant->rank() > 1);
            isNamed = isNamed || named.contains(value.name);
        }
        if (!isConstant || isNamed)
            continue;
        if (++count <= mostShown)
            out += fmt::format("{}{} `{}`", out.empty() ? "" : ", ", opText(node), node.name);
    }
    return count > mostShown ? fmt::format("{} and {} more", out, count - mostShown) : out;
}

Failure nothingToQuantise(const Graph& model, const Placement& placement, const std::string& path) {
    constexpr const char* code = "quantize.nothing";
    std::map<std::string, size_t> integers, reasons;
    for (NodeId id : model.nodes())
        if (const Node& node = model.node(id); multipliesIntegers(node.op))
            ++integers[opText(node)];
    for (const LeftOut& out : placement.leftOut)
        ++reasons[out.why];
    std::string list;
    for (const auto& [what, count] : integers.empty() ? reasons : integers)
        list += fmt::format("{}{} {}", list.empty() ? "" : ", ", count, what);
    if (!integers.empty())
        return failure(code, "the model's products sum integers already (" + list + ")", path,
                       "quantise the float model that it was made from");
    const auto nodes = model.nodes();
    const bool hasPairs = std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) {
        return model.node(id).op == Op::DequantizeLinear;
    });
    if (hasPairs && (reasons.empty() || reasons.contains(quantisedAlready)))
        return failure(code, "all that rules ask for is quantised already", path,
                       "--again takes the model's pairs out first and places new ones");
    const bool areOfOtherTypes =
        std::all_of(reasons.begin(), reasons.end(),
                    [](const auto& reason) { return reason.first.starts_with(notFloat); });
    if (!reasons.empty())
        return failure(code, "everything that rules ask for is left out: " + list, path,
                       hasPairs ? "--again takes the model's pairs out first and places new ones"
                       : areOfOtherTypes ? "quantise the float32 model that it was made from"
                                         : "fewer --skip and --keep-float, or other rules by -p");
    const std::string unasked = unaskedNodes(model, placement);
    return failure(code,
                   "no rule asks for a pair in this model" +
                       (unasked.empty() ? "" : ", not at " + unasked),
                   path, "give rules with a `qdq` clause by -p");
}

} // namespace fuselage::quantize
