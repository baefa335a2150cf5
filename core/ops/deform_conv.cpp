// SPDX-License-Identifier: Apache-2.0
#include "core/ops/deform_conv.h"

#include "core/ops/contraction_infer.h"
#include "core/ops/dense_product.h"
#include "core/ops/tensor_index.h"
#include "core/ops/window.h"

#include <fmt/format.h>

#include <cmath>

namespace fuselage {

namespace {

using Outputs = Result<std::vector<ReferenceValue>>;

/// Bilinear sample of a plane; zero outside.
double sample(const double* plane, int64_t height, int64_t width, double y, double x) {
    if (!(y > -1 && x > -1 && y < static_cast<double>(height) && x < static_cast<double>(width)))
        return 0;
    const double top = std::floor(y), left = std::floor(x);
    double sum = 0;
    for (int corner = 0; corner < 4; ++corner) {
        const double row = top + corner / 2, column = left + corner % 2;
        const double weight = (1 - std::fabs(y - row)) * (1 - std::fabs(x - column));
        auto i = static_cast<int64_t>(row), j = static_cast<int64_t>(column);
        if (i >= 0 && i < height && j >= 0 && j < width)
            sum += weight * plane[i * width + j];
    }
    return sum;
}

struct Deform {
    WindowGeometry window;
    int64_t channels, groups, offsetGroups; ///< of X, of W, of the offsets
    const ReferenceValue *x, *offset, *mask;

    /// The samples of kernel position k of one input channel, for all output pixels.
    void sampleRow(int64_t image, int64_t channel, int64_t k, double* out) const {
        const int64_t pixels = window.outputCount(), kernel = window.kernelCount();
        const int64_t group = channel / (channels / offsetGroups);
        const int64_t at = (image * offsetGroups + group) * kernel + k;
        const double* dy = offset->floats.data() + at * 2 * pixels;
        const double* dx = dy + pixels;
        const double* weight = mask ? mask->floats.data() + at * pixels : nullptr;
        const double* plane = x->floats.data() + (image * channels + channel) * window.inputCount();
        for (int64_t i = 0; i < pixels; ++i) {
            int64_t row = i / window.output[1], column = i % window.output[1];
            int64_t y = row * window.strides[0] - window.padsBegin[0] +
                        k / window.kernel[1] * window.dilations[0];
            int64_t across = column * window.strides[1] - window.padsBegin[1] +
                             k % window.kernel[1] * window.dilations[1];
            out[i] = sample(plane, window.input[0], window.input[1], static_cast<double>(y) + dy[i],
                            static_cast<double>(across) + dx[i]) *
                     (weight ? weight[i] : 1);
        }
    }
};

Result<Deform> deformOf(const Node& node, ReferenceInputs inputs) {
    const ReferenceValue &x = *inputs[0], &w = *inputs[1], &offset = *inputs[2];
    const ReferenceValue *bias = inputAt(inputs, 3), *mask = inputAt(inputs, 4);
    const int64_t groups = node.attributes.integer("group", 1);
    const int64_t offsetGroups = node.attributes.integer("offset_group", 1);
    for (const ReferenceValue* input : inputs)
        if (input && input->dtype != x.dtype)
            return badInput(node, "all inputs must have one type");
    if (x.extents.size() != 4 || w.extents.size() != 4 || !isFloat(x.dtype) || groups < 1 ||
        offsetGroups < 1 || x.extents[1] % offsetGroups != 0 || w.extents[0] % groups != 0 ||
        x.extents[1] != w.extents[1] * groups || (bias && bias->count() != w.extents[0]))
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
    return Deform{*window, x.extents[1], groups, offsetGroups, &x, &offset, mask};
}

Outputs runDeformConv(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    auto deform = deformOf(node, inputs);
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
                deform->sampleRow(image, group * inChannels + row / kernel, row % kernel,
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
