// SPDX-License-Identifier: Apache-2.0
// DynamicQuantizeLSTM as ONNX Runtime runs it: weights are stored as integers; X is quantized once,
// in the range of all its sequences, and the states of all sequences at every step. Sums of
// products of integers times their scales are exact in double precision, so the layer runs on
// floats that are whole steps.
#include "core/ops/recurrent_internal.h"
#include "core/ops/tensor_index.h"

#include <algorithm>

namespace fuselage {

namespace {

/// [directions, columns, rows] of integers as the [directions, rows, columns] of floats that an
/// LSTM takes; none when the scales do not fit.
std::optional<ReferenceValue> dequantized(const ReferenceValue* weights,
                                          const ReferenceValue* scale, const ReferenceValue* zero) {
    if (!weights || !scale || weights->extents.size() != 3 || isFloat(weights->dtype) ||
        weights->dtype == DType::String || !isFloat(scale->dtype))
        return std::nullopt;
    const int64_t directions = weights->extents[0], columns = weights->extents[1],
                  rows = weights->extents[2];
    const bool perRow = scale->count() == directions * rows && rows != 1;
    if ((!perRow && scale->count() != directions) ||
        (zero && (zero->count() != scale->count() || zero->dtype == DType::String)))
        return std::nullopt;
    ReferenceValue out = ReferenceValue::tensor(DType::Float32, {directions, rows, columns});
    for (int64_t d = 0; d < directions; ++d)
        for (int64_t row = 0; row < rows; ++row)
            for (int64_t k = 0; k < columns; ++k) {
                const int64_t at = perRow ? d * rows + row : d;
                const double stored = weights->at((d * columns + k) * rows + row);
                out.floats[static_cast<size_t>((d * rows + row) * columns + k)] =
                    (stored - (zero ? zero->at(at) : 0.0)) * scale->at(at);
            }
    return out;
}

/// Steps that at least one sequence has.
int64_t longestOf(const ReferenceValue* lengths, int64_t all) {
    if (!lengths || lengths->ints.empty())
        return all;
    return std::clamp<int64_t>(*std::max_element(lengths->ints.begin(), lengths->ints.end()), 0,
                               all);
}

} // namespace

void requantize(const DynamicRange& range, std::vector<double>& values) {
    const double scale = range.scale();
    const auto zero = static_cast<double>(range.zeroPoint());
    for (double& value : values)
        value = (static_cast<double>(quantized(value, scale, zero, DType::UInt8)) - zero) * scale;
}

Result<std::vector<ReferenceValue>> runDynamicQuantizeLstm(const Node& node, ReferenceInputs inputs,
                                                           ReferenceContext& context) {
    const auto w = dequantized(inputAt(inputs, 1), inputAt(inputs, 8), inputAt(inputs, 9));
    const auto r = dequantized(inputAt(inputs, 2), inputAt(inputs, 10), inputAt(inputs, 11));
    const ReferenceValue* x = inputAt(inputs, 0);
    if (!w || !r || !x || x->kind != TypeKind::Tensor || !isFloat(x->dtype) ||
        x->extents.size() != 3)
        return badInput(node, "X, weights, scales and zero points do not go together");
    ReferenceValue steps = *x;
    const int64_t longest = longestOf(inputAt(inputs, 4), x->extents[0]);
    steps.floats.resize(static_cast<size_t>(longest * x->extents[1] * x->extents[2]));
    DynamicRange range;
    for (double value : steps.floats)
        range.add(value);
    requantize(range, steps.floats);
    steps.floats.resize(x->floats.size()); // what no sequence reads
    std::vector<const ReferenceValue*> plain{&steps, &*w, &*r};
    for (size_t i = 3; i < 8; ++i)
        plain.push_back(inputAt(inputs, i));
    return runRecurrent(node, plain, context);
}

} // namespace fuselage
