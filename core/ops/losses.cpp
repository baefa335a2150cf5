// SPDX-License-Identifier: Apache-2.0
// Both losses pick one class for each position; SoftmaxCrossEntropyLoss takes the logarithm of the
// softmax first.
#include "core/ops/losses.h"

#include "core/ops/infer_support.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuselage {

namespace {

using Results = Result<std::vector<ReferenceValue>>;

void inferLoss(InferContext& context) {
    const Shape* labels = shapeOf(context, 1);
    const bool none = context.node().attributes.string("reduction", "mean") == "none";
    std::optional<Shape> shape = Shape{};
    if (none)
        shape = labels ? std::optional(*labels) : std::nullopt;
    setTensor(context, 0, dtypeOf(context, 0), std::move(shape));
    const Shape* scores = shapeOf(context, 0);
    setTensor(context, 1, dtypeOf(context, 0), scores ? std::optional(*scores) : std::nullopt);
}

/// Log-softmax along axis 1 of [N, C, inner].
void logSoftmax(std::vector<double>& values, int64_t outer, int64_t classes, int64_t inner) {
    for (int64_t row = 0; row < outer * inner; ++row) {
        double* first = values.data() + row / inner * classes * inner + row % inner;
        double largest = first[0];
        for (int64_t c = 1; c < classes; ++c)
            largest = std::max(largest, first[c * inner]);
        double sum = 0;
        for (int64_t c = 0; c < classes; ++c)
            sum += std::exp(first[c * inner] - largest);
        const double shift = largest + std::log(sum);
        for (int64_t c = 0; c < classes; ++c)
            first[c * inner] -= shift;
    }
}

/// The loss from log-probabilities [N, C, inner...] and labels [N, inner...].
Result<ReferenceValue> lossOf(const Node& node, const ReferenceValue& logs,
                              const ReferenceValue& labels, const ReferenceValue* weights) {
    const int64_t classes = logs.extents[1];
    const int64_t inner = countOf(logs.extents, 2, logs.extents.size());
    const std::string reduction = node.attributes.string("reduction", "mean");
    const bool ignores = node.attributes.has("ignore_index");
    const int64_t ignored = node.attributes.integer("ignore_index");
    ReferenceValue out = ReferenceValue::tensor(logs.dtype, labels.extents);
    double total = 0;
    double weightSum = 0;
    for (int64_t i = 0; i < labels.count(); ++i) {
        const int64_t label = labels.intAt(i);
        if (ignores && label == ignored)
            continue;
        if (label < 0 || label >= classes)
            return badInput(node, fmt::format("label {} is not within 0..{}", label, classes - 1));
        const double weight = weights ? weights->at(label) : 1;
        const int64_t at = (i / inner * classes + label) * inner + i % inner;
        const double loss = -weight * logs.floats[static_cast<size_t>(at)];
        out.floats[static_cast<size_t>(i)] = loss;
        total += loss;
        weightSum += weight;
    }
    if (reduction == "none")
        return out;
    ReferenceValue scalar = ReferenceValue::tensor(logs.dtype, {});
    scalar.floats[0] = reduction == "sum" ? total : total / weightSum;
    return scalar;
}

Result<void> checkOperands(const Node& node, const ReferenceValue& scores,
                           const ReferenceValue& labels, const ReferenceValue* weights) {
    const size_t rank = scores.extents.size();
    Extents expected = scores.extents;
    if (rank >= 2)
        expected.erase(expected.begin() + 1);
    if (rank < 2 || labels.extents != expected || !isFloat(scores.dtype) || isFloat(labels.dtype) ||
        labels.dtype == DType::String)
        return badInput(node, fmt::format("labels {} do not fit scores {}", text(labels.extents),
                                          text(scores.extents)));
    if (weights && (weights->count() != scores.extents[1] || !isFloat(weights->dtype)))
        return badInput(
            node, fmt::format("{} weights for {} classes", weights->count(), scores.extents[1]));
    return {};
}

Results runLoss(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue* weights = inputAt(inputs, 2);
    if (auto checked = checkOperands(node, *inputs[0], *inputs[1], weights); !checked)
        return failure(checked.error());
    ReferenceValue logs = *inputs[0];
    if (node.op == Op::SoftmaxCrossEntropyLoss && logs.count() > 0)
        logSoftmax(logs.floats, logs.extents[0], logs.extents[1],
                   countOf(logs.extents, 2, logs.extents.size()));
    auto loss = lossOf(node, logs, *inputs[1], weights);
    if (!loss)
        return failure(loss.error());
    std::vector<ReferenceValue> out;
    out.push_back(std::move(*loss));
    if (node.op == Op::SoftmaxCrossEntropyLoss)
        out.push_back(std::move(logs));
    return trimmed(node, std::move(out));
}

} // namespace

std::span<const OpRow> lossesRows() {
    static const OpRow rows[] = {
        {.op = Op::NegativeLogLikelihoodLoss,
         .name = "NegativeLogLikelihoodLoss",
         .since = 12,
         .minInputs = 2,
         .maxInputs = 3,
         .inputs = "input target weight",
         .attributes = "ignore_index:int reduction:string='mean'",
         .infer = inferLoss,
         .reference = onTensors<runLoss>},
        {.op = Op::SoftmaxCrossEntropyLoss,
         .name = "SoftmaxCrossEntropyLoss",
         .since = 12,
         .minInputs = 2,
         .maxInputs = 3,
         .maxOutputs = 2,
         .inputs = "scores labels weights",
         .attributes = "ignore_index:int reduction:string='mean'",
         .infer = inferLoss,
         .reference = onTensors<runLoss>},
    };
    return rows;
}

} // namespace fuselage
