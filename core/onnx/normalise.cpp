// SPDX-License-Identifier: Apache-2.0
// The table of changes between opsets, and the tools that its functions share.
#include "core/onnx/normalise_internal.h"
#include "core/ops/op_table.h"

#include <climits>

namespace fuselage::model_io {

namespace {

constexpr int always = INT_MAX;

/// `apply` brings nodes of opsets from..until-1 nearer to the normal form.
struct Change {
    Op op;
    int from;
    int until;
    Normaliser apply;
};

// Rows of one operator apply in this order.
constexpr Change changes[] = {
    {Op::Add, 1, 7, normaliseOldBroadcast},
    {Op::And, 1, 7, normaliseOldBroadcast},
    {Op::Div, 1, 7, normaliseOldBroadcast},
    {Op::Equal, 1, 7, normaliseOldBroadcast},
    {Op::Greater, 1, 7, normaliseOldBroadcast},
    {Op::Less, 1, 7, normaliseOldBroadcast},
    {Op::Mul, 1, 7, normaliseOldBroadcast},
    {Op::Or, 1, 7, normaliseOldBroadcast},
    {Op::Pow, 1, 7, normaliseOldBroadcast},
    {Op::Sub, 1, 7, normaliseOldBroadcast},
    {Op::Xor, 1, 7, normaliseOldBroadcast},
    {Op::PRelu, 1, 7, normalisePRelu},
    {Op::Clip, 1, 11, normaliseClip},
    {Op::Cast, 1, 6, normaliseCastName},
    {Op::Dropout, 1, 12, normaliseDropout},
    {Op::Selu, 1, 6, normaliseOldSelu},
    {Op::Constant, 1, always, normaliseConstant},

    {Op::Reshape, 1, 5, normaliseReshape},
    {Op::Squeeze, 1, 13, normaliseAxesToInput},
    {Op::Unsqueeze, 1, 13, normaliseAxesToInput},
    {Op::ReduceSum, 1, 13, normaliseAxesToInput},
    {Op::ReduceL1, 18, always, normaliseAxesToAttribute},
    {Op::ReduceL2, 18, always, normaliseAxesToAttribute},
    {Op::ReduceLogSum, 18, always, normaliseAxesToAttribute},
    {Op::ReduceLogSumExp, 18, always, normaliseAxesToAttribute},
    {Op::ReduceMax, 18, always, normaliseAxesToAttribute},
    {Op::ReduceMean, 18, always, normaliseAxesToAttribute},
    {Op::ReduceMin, 18, always, normaliseAxesToAttribute},
    {Op::ReduceProd, 18, always, normaliseAxesToAttribute},
    {Op::ReduceSumSquare, 18, always, normaliseAxesToAttribute},
    {Op::Slice, 1, 10, normaliseSlice},
    {Op::Split, 1, 13, normaliseSplit},
    {Op::Pad, 1, 11, normalisePad},
    {Op::Pad, 18, always, normalisePadAxes},
    {Op::TopK, 1, 10, normaliseTopK},
    {Op::Concat, 1, 4, normaliseOldConcat},
    {Op::Scatter, 1, always, normaliseScatter},

    {Op::Softmax, 1, 13, normaliseFlatSoftmax},
    {Op::LogSoftmax, 1, 13, normaliseFlatSoftmax},
    {Op::Hardmax, 1, 13, normaliseFlatSoftmax},
    {Op::BatchNormalization, 1, 14, normaliseBatchNormalization},
    {Op::Gemm, 1, 7, normaliseOldGemm},
    {Op::Upsample, 1, always, normaliseUpsample},
    {Op::Resize, 10, 11, normaliseResize10},
    {Op::Resize, 11, always, normaliseResizeInputs},
    {Op::RoiAlign, 1, 16, normaliseRoiAlign},
    {Op::RoiAlign, 10, 16, normaliseRoiAlign10},
    {Op::LpPool, 1, 2, normaliseOldPower},
    {Op::GlobalLpPool, 1, 2, normaliseOldPower},
    {Op::RNN, 1, 7, normaliseOldRecurrent},
    {Op::GRU, 1, 7, normaliseOldRecurrent},
    {Op::LSTM, 1, 7, normaliseOldRecurrent},
    {Op::DFT, 20, always, normaliseDft20},
    {Op::GridSample, 20, always, normaliseGridSample20},
    {Op::GroupNormalization, 18, 21, normaliseGroupNormalization18},
    {Op::Tile, 1, 6, keepUnknown},
};

std::string baseName(const NodeSpec& spec) {
    for (const std::string& output : spec.outputs)
        if (!output.empty())
            return output;
    return spec.name;
}

} // namespace

void Draft::setInput(size_t slot, ValueId value) {
    if (spec.inputs.size() <= slot)
        spec.inputs.resize(slot + 1);
    spec.inputs[slot] = value;
}

ValueId Draft::constant(Tensor tensor, const char* suffix) {
    return graph.addConstant(baseName(spec) + "_" + suffix,
                             std::make_shared<const Tensor>(std::move(tensor)));
}

ValueId Draft::ints(const std::vector<int64_t>& values, const char* suffix) {
    return constant(Tensor::ofInts(values), suffix);
}

ValueId Draft::intScalar(int64_t value, const char* suffix) {
    Tensor scalar(DType::Int64, {});
    scalar.setInt(0, value);
    return constant(std::move(scalar), suffix);
}

ValueId Draft::scalarLike(double value, ValueId like, const char* suffix) {
    DType dtype = dtypeOf(graph, like);
    bool numeric = dtype != DType::Undefined && dtype != DType::String;
    Tensor scalar(numeric ? dtype : DType::Float32, {});
    scalar.set(0, value);
    return constant(std::move(scalar), suffix);
}

ValueId Draft::before(Op op, std::vector<ValueId> inputs, Attributes attributes,
                      const char* suffix) {
    NodeId id = graph.addNode({op,
                               spec.name + "_" + suffix,
                               std::move(inputs),
                               {baseName(spec) + "_" + suffix},
                               std::move(attributes)});
    fillDefaults(graph.edit(id));
    return graph.node(id).outputs[0];
}

void Draft::intsToInput(const char* attribute, size_t slot) {
    if (!spec.attributes.has(attribute))
        return;
    std::vector<int64_t> values = spec.attributes.integers(attribute);
    spec.attributes.erase(attribute);
    if (!hasInput(slot))
        setInput(slot, ints(values, attribute));
}

std::optional<std::vector<int64_t>> Draft::constantInts(size_t slot) const {
    TensorPtr tensor = hasInput(slot) ? constantOf(graph, spec.inputs[slot]) : nullptr;
    if (!tensor || !isInteger(tensor->dtype()))
        return std::nullopt;
    return tensor->toInts();
}

Result<void> keepUnknown(Draft& draft) {
    draft.spec.op = Op::Unknown;
    return {};
}

Result<void> normalise(Graph& graph, NodeSpec& spec, const std::string& domain, int64_t version,
                       const std::string& where) {
    if (!domain.empty())
        return {};
    if (version < 6)
        spec.attributes.erase("consumed_inputs"); // a hint of the first runtimes
    Draft draft{graph, spec, where};
    Op op = spec.op;
    for (const Change& change : changes)
        if (change.op == op && version >= change.from && version < change.until) {
            if (auto ok = change.apply(draft); !ok)
                return ok;
        }
    while (!spec.inputs.empty() && !spec.inputs.back().valid())
        spec.inputs.pop_back();
    return {};
}

} // namespace fuselage::model_io
