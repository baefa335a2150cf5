// SPDX-License-Identifier: Apache-2.0
#include "core/ops/normalization.h"

#include "core/ops/infer_support.h"
#include "core/ops/moments.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuselage {

namespace {

using Outputs = Result<std::vector<ReferenceValue>>;

/// All axes but the given ones.
std::vector<size_t> axesBut(size_t rank, std::initializer_list<size_t> kept) {
    std::vector<size_t> out;
    for (size_t axis = 0; axis < rank; ++axis)
        if (std::find(kept.begin(), kept.end(), axis) == kept.end())
            out.push_back(axis);
    return out;
}

Failure parametersDoNotFit(const Node& node, const ReferenceValue& x) {
    return badInput(node, "scale and bias do not fit X of shape " + text(x.extents));
}

bool isImage(const ReferenceValue& x, size_t minRank) {
    return x.extents.size() >= minRank && isFloat(x.dtype);
}

// --- BatchNormalization -------------------------------------------------------------------

/// Running statistics after this batch, as training mode returns them.
ReferenceValue running(const ReferenceValue& before, const std::vector<double>& now,
                       double momentum) {
    ReferenceValue out = before;
    for (size_t i = 0; i < now.size(); ++i)
        out.floats[i] = before.floats[i] * momentum + now[i] * (1 - momentum);
    return out;
}

Outputs runBatchNormalization(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    const ReferenceValue& x = *inputs[0];
    if (!isImage(x, 1))
        return badInput(node, "X must be floats, is " + text(x.extents));
    // A rank-1 X is one channel for each image.
    const int64_t channels = x.extents.size() > 1 ? x.extents[1] : 1;
    for (size_t i = 1; i < 5; ++i)
        if (inputs[i]->count() != channels || !isFloat(inputs[i]->dtype))
            return badInput(node, fmt::format("input {} is {}, X has {} channels", i,
                                              text(inputs[i]->extents), channels));
    ReductionPlan plan = planReduction(x.extents, axesBut(x.extents.size(), {1}));
    const bool training = node.attributes.integer("training_mode") != 0;
    Moments moments = training ? momentsOf(x, plan, context.threads())
                               : Moments{inputs[3]->floats, inputs[4]->floats};
    ReferenceValue y = x;
    scaleRows(y, plan, moments.mean,
              inverseDeviations(moments.variance, node.attributes.number("epsilon", 1e-5)),
              context.threads());
    if (!applyAffine(y, inputs[1], inputs[2], channelExtents(x.extents.size(), channels)))
        return parametersDoNotFit(node, x);
    std::vector<ReferenceValue> results{std::move(y)};
    if (training) {
        const double momentum = node.attributes.number("momentum", 0.9);
        results.push_back(running(*inputs[3], moments.mean, momentum));
        results.push_back(running(*inputs[4], moments.variance, momentum));
    }
    return trimmed(node, std::move(results));
}

/// Inputs 1 to `last` are lists with one number a channel of input 0, or one a group of them.
void checkChannelLists(InferContext& context, size_t last, const Dim& groups) {
    const char* name = nameOf(context.node().op);
    const Shape* x = shapeOf(context, 0);
    const Dim channels = !x ? Dim() : x->size() > 1 ? (*x)[1] : Dim(1);
    for (size_t i = 1; i <= last; ++i) {
        const Shape* p = shapeOf(context, i);
        if (p && p->size() != 1)
            context.fail(
                fmt::format("{}: input {} is {}, not a list of numbers", name, i, text(*p)));
        else if (p && certainlyDifferent((*p)[0], channels) && certainlyDifferent((*p)[0], groups))
            context.fail(fmt::format("{}: input {} has {} numbers, X {} channels", name, i,
                                     (*p)[0].text(), channels.text()));
    }
}

void inferBatchNormalization(InferContext& context) {
    setSameAs(context, 0, 0);
    checkChannelLists(context, 4, Dim(-1));
    setSameAs(context, 1, 3);
    setSameAs(context, 2, 4);
}

// --- InstanceNormalization, GroupNormalization, MeanVarianceNormalization -------------------

Outputs runInstanceNormalization(const Node& node, ReferenceInputs inputs,
                                 ReferenceContext& context) {
    ReferenceValue y = *inputs[0];
    if (!isImage(y, 2))
        return badInput(node, "input must be [N,C,...], is " + text(y.extents));
    ReductionPlan plan = planReduction(y.extents, axesBut(y.extents.size(), {0, 1}));
    Moments moments = momentsOf(y, plan, context.threads());
    scaleRows(y, plan, moments.mean,
              inverseDeviations(moments.variance, node.attributes.number("epsilon", 1e-5)),
              context.threads());
    if (!applyAffine(y, inputs[1], inputs[2], channelExtents(y.extents.size(), y.extents[1])))
        return parametersDoNotFit(node, y);
    return std::vector<ReferenceValue>{std::move(y)};
}

/// Scale and bias are one for each group in opset 18, one for each channel from 21 on.
ReferenceValue perChannel(const ReferenceValue& p, int64_t channels) {
    ReferenceValue out = p;
    if (p.count() == 0 || p.count() == channels || channels % p.count() != 0)
        return out;
    out.extents = {channels};
    out.floats.clear();
    for (int64_t c = 0; c < channels; ++c)
        out.floats.push_back(p.at(c / (channels / p.count())));
    return out;
}

Outputs runGroupNormalization(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    ReferenceValue y = *inputs[0];
    const int64_t groups = node.attributes.integer("num_groups");
    if (!isImage(y, 2) || groups < 1 || y.extents[1] % groups != 0 || !isFloat(inputs[1]->dtype) ||
        !isFloat(inputs[2]->dtype))
        return badInput(node,
                        fmt::format("{} cannot be split in {} groups", text(y.extents), groups));
    const Extents extents = y.extents;
    int64_t perGroup = countOf(extents, 1, extents.size()) / groups;
    y.extents = {extents[0], groups, perGroup};
    ReductionPlan plan = planReduction(y.extents, {2});
    Moments moments = momentsOf(y, plan, context.threads());
    scaleRows(y, plan, moments.mean,
              inverseDeviations(moments.variance, node.attributes.number("epsilon", 1e-5)),
              context.threads());
    y.extents = extents;
    ReferenceValue scale = perChannel(*inputs[1], extents[1]);
    ReferenceValue bias = perChannel(*inputs[2], extents[1]);
    if (!applyAffine(y, &scale, &bias, channelExtents(extents.size(), extents[1])))
        return parametersDoNotFit(node, y);
    return std::vector<ReferenceValue>{std::move(y)};
}

Outputs runMeanVariance(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    ReferenceValue y = *inputs[0];
    auto axes = normalizedAxes(node.attributes.integers("axes", {0, 2, 3}), y.extents.size());
    if (!axes || !isFloat(y.dtype))
        return badInput(node, "axes do not fit X of shape " + text(y.extents));
    ReductionPlan plan = planReduction(y.extents, *axes);
    Moments moments = momentsOf(y, plan, context.threads());
    std::vector<double> factors;
    for (double variance : moments.variance)
        factors.push_back(1 / (std::sqrt(variance) + 1e-9));
    scaleRows(y, plan, moments.mean, factors, context.threads());
    return std::vector<ReferenceValue>{std::move(y)};
}

// --- LRN ----------------------------------------------------------------------------------

Outputs runLrn(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    const ReferenceValue& x = *inputs[0];
    const int64_t size = node.attributes.integer("size");
    if (!isImage(x, 2) || size < 1)
        return badInput(node, "X must be [N,C,...] and size positive");
    const double alpha = node.attributes.number("alpha", 1e-4);
    const double beta = node.attributes.number("beta", 0.75);
    const double bias = node.attributes.number("bias", 1.0);
    const int64_t channels = x.extents[1], inner = countOf(x.extents, 2, x.extents.size());
    ReferenceValue y = x;
    context.threads().forRange(
        static_cast<size_t>(x.extents[0] * channels), 1, [&](size_t begin, size_t end) {
            for (size_t plane = begin; plane < end; ++plane) {
                int64_t c = static_cast<int64_t>(plane) % channels;
                int64_t low = std::max<int64_t>(0, c - (size - 1) / 2) - c;
                int64_t high = std::min<int64_t>(channels - 1, c + size / 2) - c;
                int64_t base = static_cast<int64_t>(plane) * inner;
                for (int64_t i = base; i < base + inner; ++i) {
                    double squares = 0;
                    for (int64_t k = low; k <= high; ++k) {
                        double value = x.floats[static_cast<size_t>(i + k * inner)];
                        squares += value * value;
                    }
                    y.floats[static_cast<size_t>(i)] /=
                        std::pow(bias + alpha / static_cast<double>(size) * squares, beta);
                }
            }
        });
    return std::vector<ReferenceValue>{std::move(y)};
}

void inferSame(InferContext& context) {
    setSameAs(context, 0, 0);
}

void inferInstanceNormalization(InferContext& context) {
    setSameAs(context, 0, 0);
    checkChannelLists(context, 2, Dim(-1));
}

void inferGroupNormalization(InferContext& context) {
    setSameAs(context, 0, 0);
    checkChannelLists(context, 2, Dim(context.node().attributes.integer("num_groups")));
}

} // namespace

std::span<const OpRow> normalizationRows() {
    static constexpr OpRow rows[] = {
        {.op = Op::BatchNormalization,
         .name = "BatchNormalization",
         .minInputs = 5,
         .maxInputs = 5,
         .maxOutputs = 3,
         .traits = Normalization,
         .inputs = "X scale B input_mean input_var",
         .attributes = "epsilon:float=1e-5 momentum:float=0.9 training_mode:int=0",
         .infer = inferBatchNormalization,
         .reference = onTensors<runBatchNormalization>},
        {.op = Op::InstanceNormalization,
         .name = "InstanceNormalization",
         .minInputs = 3,
         .maxInputs = 3,
         .traits = Normalization,
         .inputs = "input scale B",
         .attributes = "epsilon:float=1e-5",
         .infer = inferInstanceNormalization,
         .reference = onTensors<runInstanceNormalization>},
        {.op = Op::GroupNormalization,
         .name = "GroupNormalization",
         .since = 18,
         .minInputs = 3,
         .maxInputs = 3,
         .traits = Normalization,
         .inputs = "X scale bias",
         .attributes = "epsilon:float=1e-5 num_groups:int! stash_type:int",
         .infer = inferGroupNormalization,
         .reference = onTensors<runGroupNormalization>},
        {.op = Op::MeanVarianceNormalization,
         .name = "MeanVarianceNormalization",
         .since = 9,
         .traits = Normalization,
         .attributes = "axes:ints=[0,2,3]",
         .infer = inferSame,
         .reference = onTensors<runMeanVariance>},
        {.op = Op::LRN,
         .name = "LRN",
         .traits = Normalization,
         .attributes = "alpha:float=1e-4 beta:float=0.75 bias:float=1.0 size:int!",
         .infer = inferSame,
         .reference = onTensors<runLrn>},
    };
    return rows;
}

} // namespace fuselage
