// SPDX-License-Identifier: Apache-2.0
#include "core/ops/layer_norm.h"

#include "core/ops/infer_support.h"
#include "core/ops/moments.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace fuselage {

namespace {

using Outputs = Result<std::vector<ReferenceValue>>;

/// A normalised value with the statistics of its rows.
struct Normalized {
    ReferenceValue y, mean, inverse;
};

/// Normalises over the axes from `axis` on, by mean and variance or by the mean of squares.
Result<Normalized> normalize(const Node& node, const ReferenceValue& x, int64_t axis, bool centred,
                             const ReferenceValue* scale, const ReferenceValue* bias,
                             ReferenceContext& context) {
    auto first = normalizedAxis(axis, x.extents.size());
    if (!first || !isFloat(x.dtype))
        return badInput(node,
                        fmt::format("axis {} does not fit X of shape {}", axis, text(x.extents)));
    std::vector<size_t> axes(x.extents.size() - *first);
    std::iota(axes.begin(), axes.end(), *first);
    ReductionPlan plan = planReduction(x.extents, axes);
    Moments moments;
    if (centred)
        moments = momentsOf(x, plan, context.threads());
    else
        moments.variance = meanSquares(x, plan, context.threads());
    std::vector<double> factors = inverseDeviations(moments.variance, layerNormEpsilon(node));
    ReferenceValue y = x;
    scaleRows(y, plan, moments.mean, factors, context.threads());
    if ((scale && !applyAffine(y, scale, nullptr, scale->extents)) ||
        (bias && !applyAffine(y, nullptr, bias, bias->extents)))
        return badInput(node, "scale or bias does not fit X of shape " + text(x.extents));
    DType stash = dtypeFromOnnx(node.attributes.integer("stash_type", 1)).value_or(DType::Float32);
    if (!isFloat(stash))
        stash = DType::Float32;
    if (!centred)
        moments.mean.assign(factors.size(), 0);
    return Normalized{std::move(y), rowValues(stash, plan, std::move(moments.mean)),
                      rowValues(stash, plan, std::move(factors))};
}

Outputs runLayerNormalization(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    auto out = normalize(node, *inputs[0], node.attributes.integer("axis", -1), true, inputs[1],
                         inputAt(inputs, 2), context);
    if (!out)
        return failure(out.error());
    std::vector<ReferenceValue> results{std::move(out->y), std::move(out->mean),
                                        std::move(out->inverse)};
    return trimmed(node, std::move(results));
}

Outputs runRmsNormalization(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    auto out = normalize(node, *inputs[0], node.attributes.integer("axis", -1), false, inputs[1],
                         nullptr, context);
    if (!out)
        return failure(out.error());
    std::vector<ReferenceValue> results{std::move(out->y), std::move(out->inverse)};
    return trimmed(node, std::move(results));
}

/// a + b with numpy broadcasting to a's shape.
Result<ReferenceValue> added(const Node& node, const ReferenceValue& a, const ReferenceValue& b) {
    ReferenceValue out = a;
    if (!isFloat(a.dtype) || !applyAffine(out, nullptr, &b, b.extents))
        return badInput(node,
                        fmt::format("{} cannot be added to {}", text(b.extents), text(a.extents)));
    return out;
}

/// SkipLayerNormalization: input skip gamma [beta] [bias]; the simplified form has no beta.
template <bool centred>
Outputs runSkip(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    auto sum = added(node, *inputs[0], *inputs[1]);
    const ReferenceValue* bias = inputAt(inputs, centred ? 4 : 3);
    if (sum && bias)
        sum = added(node, *sum, *bias);
    if (!sum)
        return failure(sum.error());
    auto out = normalize(node, *sum, -1, centred, inputs[2], centred ? inputAt(inputs, 3) : nullptr,
                         context);
    if (!out)
        return failure(out.error());
    std::vector<ReferenceValue> results{std::move(out->y), std::move(out->mean),
                                        std::move(out->inverse), std::move(*sum)};
    return trimmed(node, std::move(results));
}

// --- EmbedLayerNormalization ----------------------------------------------------------------

/// Adds rows of a table, chosen by `id(position)`, to [batch, length, hidden].
template <typename Id>
Result<void> addRows(const Node& node, ReferenceValue& sum, const ReferenceValue& table, Id&& id) {
    const int64_t hidden = sum.extents[2];
    if (table.extents.size() != 2 || table.extents[1] != hidden || !isFloat(table.dtype))
        return badInput(node, "embedding of shape " + text(table.extents) + " does not fit");
    for (int64_t i = 0; i < sum.extents[0] * sum.extents[1]; ++i) {
        int64_t row = id(i);
        if (row < 0 || row >= table.extents[0])
            return badInput(node,
                            fmt::format("row {} of an embedding with {}", row, table.extents[0]));
        for (int64_t k = 0; k < hidden; ++k)
            sum.floats[static_cast<size_t>(i * hidden + k)] +=
                table.floats[static_cast<size_t>(row * hidden + k)];
    }
    return {};
}

// Segments and their table may both be omitted, so the row's arity does not check the inputs.
bool embedInputsArePresent(ReferenceInputs inputs) {
    for (size_t i : {0, 2, 3, 5, 6})
        if (!inputAt(inputs, i))
            return false;
    return std::all_of(inputs.begin(), inputs.end(), [](const ReferenceValue* input) {
        return !input || input->kind == TypeKind::Tensor;
    });
}

Outputs runEmbed(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    if (!embedInputsArePresent(inputs))
        return badInput(node, "input_ids, both embeddings, gamma and beta must be given");
    const ReferenceValue &ids = *inputs[0], &words = *inputs[2], &places = *inputs[3];
    const ReferenceValue *segments = inputs[1], *segmentTable = inputAt(inputs, 4);
    const ReferenceValue *gamma = inputAt(inputs, 5), *beta = inputAt(inputs, 6);
    const ReferenceValue *mask = inputAt(inputs, 7), *position = inputAt(inputs, 8);
    if (ids.extents.size() != 2 || isFloat(ids.dtype) || words.extents.size() != 2 ||
        (segments && (segments->extents != ids.extents || isFloat(segments->dtype))) ||
        (position && (isFloat(position->dtype) || position->extents.size() != 2 ||
                      position->extents[1] != ids.extents[1])))
        return badInput(node, "input_ids, segment_ids and embeddings do not fit together");
    const int64_t length = ids.extents[1];
    auto sum = allocateResult(node, words.dtype, {ids.extents[0], length, words.extents[1]});
    if (!sum)
        return failure(sum.error());
    auto done = addRows(node, *sum, words, [&](int64_t i) { return ids.intAt(i); });
    if (done)
        done = addRows(node, *sum, places, [&](int64_t i) {
            return position ? position->intAt(i % position->count()) : i % length;
        });
    if (done && segments && segmentTable)
        done = addRows(node, *sum, *segmentTable, [&](int64_t i) { return segments->intAt(i); });
    if (!done)
        return failure(done.error());
    auto out = normalize(node, *sum, -1, true, gamma, beta, context);
    if (!out)
        return failure(out.error());
    ReferenceValue lengths = ReferenceValue::tensor(DType::Int32, {ids.extents[0]});
    for (int64_t i = 0; mask && i < std::min(mask->count(), ids.count()); ++i)
        lengths.ints[static_cast<size_t>(i / length)] += mask->intAt(i) != 0;
    std::vector<ReferenceValue> results{std::move(out->y), std::move(lengths), std::move(*sum)};
    return trimmed(node, std::move(results));
}

// --- shapes -------------------------------------------------------------------------------

/// Type of the statistics that go with a normalisation from `axis` on.
void setStatistics(InferContext& context, size_t output, std::optional<size_t> axis) {
    const Shape* x = shapeOf(context, 0);
    auto stash = dtypeFromOnnx(context.node().attributes.integer("stash_type", 1));
    std::optional<Shape> shape;
    if (x && axis) {
        shape = *x;
        std::fill(shape->begin() + static_cast<std::ptrdiff_t>(*axis), shape->end(), Dim(1));
    }
    setTensor(context, output, stash.value_or(DType::Float32), std::move(shape));
}

void checkScale(InferContext& context, size_t input) {
    const Shape *x = shapeOf(context, 0), *scale = shapeOf(context, input);
    if (x && scale && !broadcastShapes(*x, *scale))
        context.fail(fmt::format("{}: input {} is {}, X is {}", nameOf(context.node().op), input,
                                 text(*scale), text(*x)));
}

void inferNormalized(InferContext& context) {
    setSameAs(context, 0, 0);
    const Shape* x = shapeOf(context, 0);
    auto axis = x ? checkedAxis(context, context.node().attributes.integer("axis", -1), x->size())
                  : std::nullopt;
    checkScale(context, 1);
    for (size_t output = 1; output < 3; ++output)
        setStatistics(context, output, axis);
}

void inferSkip(InferContext& context) {
    setSameAs(context, 0, 0);
    const Shape* x = shapeOf(context, 0);
    const size_t last = x && !x->empty() ? x->size() - 1 : 0;
    checkScale(context, 2);
    setStatistics(context, 1, last);
    setStatistics(context, 2, last);
    setSameAs(context, 3, 0);
}

void inferEmbed(InferContext& context) {
    const Shape *ids = shapeOf(context, 0), *words = shapeOf(context, 2);
    std::optional<Shape> shape, lengths;
    if (ids && ids->size() == 2) {
        shape = Shape{(*ids)[0], (*ids)[1], words && words->size() == 2 ? (*words)[1] : Dim()};
        lengths = Shape{(*ids)[0]};
    }
    setTensor(context, 0, dtypeOf(context, 2), shape);
    setTensor(context, 1, DType::Int32, lengths);
    setTensor(context, 2, dtypeOf(context, 2), shape);
}

} // namespace

double layerNormEpsilon(const Node& node) {
    const bool isPlain = node.op == Op::LayerNormalization || node.op == Op::RMSNormalization ||
                         node.op == Op::SimplifiedLayerNormalization;
    return node.attributes.number("epsilon", isPlain ? 1e-5 : 1e-12);
}

std::span<const OpRow> layerNormRows() {
    static constexpr OpRow rows[] = {
        {.op = Op::LayerNormalization,
         .name = "LayerNormalization",
         .since = 17,
         .minInputs = 2,
         .maxInputs = 3,
         .maxOutputs = 3,
         .traits = Normalization,
         .inputs = "X Scale B",
         .attributes = "axis:int=-1 epsilon:float=1e-5 stash_type:int=1",
         .infer = inferNormalized,
         .reference = onTensors<runLayerNormalization>},
        {.op = Op::RMSNormalization,
         .name = "RMSNormalization",
         .since = 23,
         .minInputs = 2,
         .maxInputs = 2,
         .traits = Normalization,
         .inputs = "X scale",
         .attributes = "axis:int=-1 epsilon:float=1e-5 stash_type:int=1",
         .infer = inferNormalized,
         .reference = onTensors<runRmsNormalization>},
        {.op = Op::SimplifiedLayerNormalization,
         .name = "SimplifiedLayerNormalization",
         .minInputs = 2,
         .maxInputs = 2,
         .maxOutputs = 2,
         .traits = Normalization,
         .inputs = "X scale",
         .attributes = "axis:int=-1 epsilon:float=1e-5 stash_type:int=1",
         .infer = inferNormalized,
         .reference = onTensors<runRmsNormalization>},
        {.op = Op::SkipLayerNormalization,
         .name = "SkipLayerNormalization",
         .domain = "com.microsoft",
         .minInputs = 3,
         .maxInputs = 5,
         .maxOutputs = 4,
         .traits = Normalization,
         .inputs = "input skip gamma beta bias",
         .attributes = "epsilon:float=1e-12",
         .infer = inferSkip,
         .reference = onTensors<runSkip<true>>},
        {.op = Op::SkipSimplifiedLayerNormalization,
         .name = "SkipSimplifiedLayerNormalization",
         .domain = "com.microsoft",
         .minInputs = 3,
         .maxInputs = 4,
         .maxOutputs = 4,
         .traits = Normalization,
         .inputs = "input skip gamma bias",
         .attributes = "epsilon:float=1e-12",
         .infer = inferSkip,
         .reference = onTensors<runSkip<false>>},
        {.op = Op::EmbedLayerNormalization,
         .name = "EmbedLayerNormalization",
         .domain = "com.microsoft",
         .minInputs = 1, // the second and fifth may be omitted, the function checks the others
         .maxInputs = 9,
         .maxOutputs = 3,
         .traits = Normalization,
         .inputs = "input_ids segment_ids word_embedding position_embedding segment_embedding "
                   "gamma beta mask position_ids",
         .attributes = "epsilon:float=1e-12 mask_index_type:int=0",
         .infer = inferEmbed,
         .reference = runEmbed},
    };
    return rows;
}

} // namespace fuselage
