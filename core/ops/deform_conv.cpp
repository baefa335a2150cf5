// SPDX-License-Identifier: Apache-2.0
#include "core/ops/deform_conv.h"

#include "core/ops/contraction_infer.h"
#include "core/ops/dense_product.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <cmath>

namespace fuselage {

namespace {

using Outputs = Result<std::vector<ReferenceValue>>;

/// The samples of kernel position k of one input channel, for all output pixels.
void sampleRow(const DeformGeometry& deform, ReferenceInputs inputs, int64_t image, int64_t channel,
               int64_t k, double* out) {
    const ReferenceValue* mask = inputAt(inputs, 4);
    const int64_t pixels = deform.window.outputCount(), kernel = deform.window.kernelCount();
    const int64_t group = channel / (deform.channels / deform.offsetGroups);
    const int64_t at = (image * deform.offsetGroups + group) * kernel + k;
    const double* dy = inputs[2]->floats.data() + at * 2 * pixels;
    const double* dx = dy + pixels;
    const double* weight = mask ? mask->floats.data() + at * pixels : nullptr;
    const double* plane =
        inputs[0]->floats.data() + (image * deform.channels + channel) * deform.window.inputCount();
    for (int64_t i = 0; i < pixels; ++i) {
        const auto [y, x] = deform.placeOf(i, k);
        const PlaneSample sample =
            samplePlane(deform.window.input[0], deform.window.input[1],
                        static_cast<double>(y) + dy[i], static_cast<double>(x) + dx[i]);
        double sum = 0;
        for (size_t corner = 0; corner < sample.count; ++corner)
            sum += sample.weight[corner] * plane[sample.at[corner]];
        out[i] = sum * (weight ? weight[i] : 1);
    }
}

Outputs runDeformConv(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    const auto deform = deformGeometry(node, inputs);
    if (!deform)
        return failure(deform.error());
    const ReferenceValue& w = *inputs[1];
    const ReferenceValue* bias = inputAt(inputs, 3);
    const int64_t pixels = deform->window.outputCount(), kernel = deform->window.kernelCount();
    const int64_t outChannels = w.extents[0] / deform->groups, inChannels = w.extents[1];
    const int64_t depth = inChannels * kernel;
    auto out = allocateResult(
        node, inputs[0]->dtype,
        {inputs[0]->extents[0], w.extents[0], deform->window.output[0], deform->window.output[1]});
    auto windows = allocateResult(node, DType::Float64, {depth, pixels});
    if (!out || !windows || pixels == 0)
        return out ? windows ? single(std::move(out)) : failure(windows.error())
                   : failure(out.error());
    for (int64_t slice = 0; slice < inputs[0]->extents[0] * deform->groups; ++slice) {
        const int64_t image = slice / deform->groups, group = slice % deform->groups;
        context.threads().forRange(static_cast<size_t>(depth), 1, [&](size_t begin, size_t end) {
            for (auto row = static_cast<int64_t>(begin); row < static_cast<int64_t>(end); ++row)
                sampleRow(*deform, inputs, image, group * inChannels + row / kernel, row % kernel,
                          windows->floats.data() + row * pixels);
        });
        double* to = out->floats.data() + slice * outChannels * pixels;
        multiply(Rows2d<const double>{w.floats.data() + group * outChannels * depth, depth},
                 Rows2d<const double>{windows->floats.data(), pixels}, Rows2d<double>{to, pixels},
                 outChannels, pixels, depth);
        for (int64_t i = 0; bias && i < outChannels * pixels; ++i)
            to[i] += bias->floats[static_cast<size_t>(group * outChannels + i / pixels)];
    }
    return single(std::move(out));
}

} // namespace

PlaneSample samplePlane(int64_t height, int64_t width, double y, double x) {
    PlaneSample out;
    if (!(y > -1 && x > -1 && y < static_cast<double>(height) && x < static_cast<double>(width)))
        return out;
    const double top = std::floor(y), left = std::floor(x);
    for (int corner = 0; corner < 4; ++corner) {
        const double row = top + corner / 2, column = left + corner % 2;
        auto i = static_cast<int64_t>(row), j = static_cast<int64_t>(column);
        if (i < 0 || i >= height || j < 0 || j >= width)
            continue;
        out.at[out.count] = i * width + j;
        out.weight[out.count++] = (1 - std::fabs(y - row)) * (1 - std::fabs(x - column));
    }
    return out;
}

std::pair<int64_t, int64_t> DeformGeometry::placeOf(int64_t pixel, int64_t k) const {
    const int64_t row = pixel / window.output[1], column = pixel % window.output[1];
    return {row * window.strides[0] - window.padsBegin[0] +
                k / window.kernel[1] * window.dilations[0],
            column * window.strides[1] - window.padsBegin[1] +
                k % window.kernel[1] * window.dilations[1]};
}

Result<DeformGeometry> deformGeometry(const Node& node, ReferenceInputs inputs) {
    const ReferenceValue &x = *inputs[0], &w = *inputs[1], &offset = *inputs[2];
    const ReferenceValue *bias = inputAt(inputs, 3), *mask = inputAt(inputs, 4);
    const int64_t groups = node.attributes.integer("group", 1);
    const int64_t offsetGroups = node.attributes.integer("offset_group", 1);
    for (const ReferenceValue* input : inputs)
        if (input && input->dtype != x.dtype)
            return badInput(node, "all inputs must have one type");
    if (x.extents.size() != 4 || w.extents.size() != 4 || !isFloat(x.dtype) || groups < 1 ||
        offsetGroups < 1 || x.extents[1] % offsetGroups != 0 || w.extents[0] % groups != 0 ||
        x.extents[1] != w.extents[1] * groups ||
        (bias && elementCount(bias->extents) != w.extents[0]))
        return badInput(
            node, fmt::format("X {} does not go with W {}", text(x.extents), text(w.extents)));
    auto window = windowGeometry(node, {x.extents[2], x.extents[3]}, {w.extents[2], w.extents[3]});
    if (!window)
        return failure(window.error());
    const Extents wanted{x.extents[0], offsetGroups * window->kernelCount() * 2, window->output[0],
                         window->output[1]};
    Extents maskWanted = wanted;
    maskWanted[1] /= 2;
    if (offset.extents != wanted || (mask && mask->extents != maskWanted))
        return badInput(node,
                        fmt::format("offset {} should be {}", text(offset.extents), text(wanted)));
    return DeformGeometry{*window, x.extents[1], groups, offsetGroups};
}

std::span<const OpRow> deformConvRows() {
    static constexpr OpRow rows[] = {
        {.op = Op::DeformConv,
         .name = "DeformConv",
         .since = 19,
         .minInputs = 3,
         .maxInputs = 5,
         .traits = ContractionOp,
         .inputs = "X W offset B mask",
         .attributes = "dilations:ints group:int=1 kernel_shape:ints offset_group:int=1 pads:ints "
                       "strides:ints",
         .infer = inferConv,
         .reference = onTensors<runDeformConv>},
    };
    return rows;
}

} // namespace fuselage
