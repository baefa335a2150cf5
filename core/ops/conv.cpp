// SPDX-License-Identifier: Apache-2.0
#include "core/ops/conv.h"

#include "core/ops/contraction_infer.h"
#include "core/ops/dense_product.h"
#include "core/ops/fused_activation.h"
#include "core/ops/tensor_index.h"
#include "core/ops/window.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage {

namespace {

using Outputs = Result<std::vector<ReferenceValue>>;

// Elements of the matrix of gathered windows that a thread keeps at a time.
constexpr int64_t gatherElements = int64_t(1) << 19;

Extents spatial(const Extents& extents) {
    return {extents.begin() + 2, extents.end()};
}

/// The sizes of one convolution; channels are those of one group.
struct Problem {
    WindowGeometry window;
    int64_t batch, groups, inChannels, outChannels;
};

/// Where the windows of a block of output pixels read: [kernel, count] offsets in an input plane.
/// They are the same for all channels, so a thread keeps those of its last block.
struct WindowBlock {
    int64_t first = -1, count = 0;
    std::vector<int64_t> offsets;

    void moveTo(const WindowGeometry& window, int64_t begin, int64_t pixels) {
        if (begin == first)
            return;
        first = begin;
        count = pixels;
        offsets.resize(static_cast<size_t>(window.kernelCount() * count));
        for (int64_t k = 0; k < window.kernelCount(); ++k)
            windowOffsets(window, k, first,
                          {offsets.data() + k * count, static_cast<size_t>(count)});
    }
};

/// Gathers a block's windows as rows of a [channels * kernel, count] matrix.
template <typename T>
void gatherWindows(const Problem& p, const WindowBlock& block, const T* x, T* out) {
    const auto rows = static_cast<int64_t>(block.offsets.size());
    for (int64_t c = 0; c < p.inChannels; ++c) {
        const T* from = x + c * p.window.inputCount();
        T* to = out + c * rows;
        for (int64_t i = 0; i < rows; ++i) {
            int64_t offset = block.offsets[static_cast<size_t>(i)];
            to[i] = offset < 0 ? T(0) : from[offset];
        }
    }
}

template <typename T>
void convolveAll(const Problem& p, const std::vector<T>& x, const std::vector<T>& w,
                 const std::vector<T>* bias, std::vector<T>& y, ThreadPool& threads) {
    const int64_t pixels = p.window.outputCount(), plane = p.window.inputCount();
    const int64_t depth = p.inChannels * p.window.kernelCount(), slices = p.batch * p.groups;
    if (pixels == 0 || y.empty())
        return;
    const int64_t room =
        std::clamp<int64_t>(gatherElements / std::max<int64_t>(depth, 1), 32, 2048);
    const int64_t size = std::min(room, pixels), blocks = (pixels + size - 1) / size;
    threads.forRange(static_cast<size_t>(blocks * slices), 1, [&](size_t begin, size_t end) {
        std::vector<T> windows(static_cast<size_t>(depth * size));
        WindowBlock block;
        for (auto item = static_cast<int64_t>(begin); item < static_cast<int64_t>(end); ++item) {
            const int64_t slice = item % slices, group = slice % p.groups; // image and group
            const int64_t first = item / slices * size;
            block.moveTo(p.window, first, std::min(size, pixels - first));
            gatherWindows(p, block, x.data() + slice * p.inChannels * plane, windows.data());
            T* out = y.data() + slice * p.outChannels * pixels + first;
            multiply(Rows2d<const T>{w.data() + group * p.outChannels * depth, depth},
                     Rows2d<const T>{windows.data(), block.count}, Rows2d<T>{out, pixels},
                     p.outChannels, block.count, depth);
            for (int64_t m = 0; bias && m < p.outChannels; ++m)
                for (int64_t i = 0; i < block.count; ++i)
                    out[m * pixels + i] += (*bias)[static_cast<size_t>(group * p.outChannels + m)];
        }
    });
}

Outputs runConv(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    return single(convolve(node, *inputs[0], *inputs[1], inputAt(inputs, 2), inputs[0]->dtype,
                           context.threads()));
}

Outputs runFusedConv(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    auto out = convolve(node, *inputs[0], *inputs[1], inputAt(inputs, 2), inputs[0]->dtype,
                        context.threads());
    if (!out)
        return failure(out.error());
    if (const ReferenceValue* z = inputAt(inputs, 3)) {
        if (z->extents != out->extents || z->dtype != out->dtype)
            return badInput(node, "Z must have the result's shape and type");
        for (size_t i = 0; i < out->floats.size(); ++i)
            out->floats[i] += z->floats[i];
    }
    return single(withActivation(node, std::move(*out), context));
}

/// One output channel of one image: its windows' products are added where they overlap.
void scatterChannel(const Problem& p, const double* x, const std::vector<double>& weights,
                    double* out) {
    const int64_t pixels = p.window.outputCount(), kernel = p.window.kernelCount();
    std::vector<double> products(static_cast<size_t>(kernel * pixels));
    multiply({weights.data(), p.inChannels}, {x, pixels}, {products.data(), pixels}, kernel, pixels,
             p.inChannels);
    std::vector<int64_t> offsets(static_cast<size_t>(pixels));
    for (int64_t k = 0; k < kernel; ++k) {
        windowOffsets(p.window, k, 0, offsets);
        for (size_t i = 0; i < offsets.size(); ++i)
            if (offsets[i] >= 0)
                out[offsets[i]] += products[static_cast<size_t>(k * pixels) + i];
    }
}

/// W [C, M/group, kernel...] as [kernel, C/group] for one output channel of one group.
std::vector<double> channelWeights(const Problem& p, const ReferenceValue& w, int64_t group,
                                   int64_t channel) {
    const int64_t kernel = p.window.kernelCount();
    std::vector<double> out(static_cast<size_t>(kernel * p.inChannels));
    for (int64_t c = 0; c < p.inChannels; ++c)
        for (int64_t k = 0; k < kernel; ++k) {
            int64_t row = (group * p.inChannels + c) * p.outChannels + channel;
            out[static_cast<size_t>(k * p.inChannels + c)] =
                w.floats[static_cast<size_t>(row * kernel + k)];
        }
    return out;
}

void transposeAll(const Problem& p, const ReferenceValue& x, const ReferenceValue& w,
                  const ReferenceValue* bias, ReferenceValue& y, ThreadPool& threads) {
    const int64_t pixels = p.window.outputCount(), plane = p.window.inputCount();
    const auto items = static_cast<size_t>(p.batch * p.groups * p.outChannels);
    if (plane == 0)
        return;
    threads.forRange(items, 1, [&](size_t begin, size_t end) {
        for (size_t item = begin; item < end; ++item) {
            auto index = static_cast<int64_t>(item);
            int64_t channel = index % p.outChannels, slice = index / p.outChannels;
            int64_t group = slice % p.groups;
            double* out = y.floats.data() + index * plane;
            double start =
                bias ? bias->floats[static_cast<size_t>(group * p.outChannels + channel)] : 0;
            std::fill_n(out, plane, start);
            if (pixels > 0)
                scatterChannel(p, x.floats.data() + slice * p.inChannels * pixels,
                               channelWeights(p, w, group, channel), out);
        }
    });
}

bool biasFits(const ReferenceValue* bias, int64_t channels, bool floats) {
    return !bias || (bias->count() == channels && isFloat(bias->dtype) == floats &&
                     bias->dtype != DType::String);
}

Outputs runConvTranspose(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    const ReferenceValue &x = *inputs[0], &w = *inputs[1];
    const int64_t groups = node.attributes.integer("group", 1);
    const size_t rank = x.extents.size();
    if (rank < 3 || w.extents.size() != rank || !isFloat(x.dtype) || w.dtype != x.dtype)
        return badInput(node, fmt::format("X of shape {} does not go with W of shape {}",
                                          text(x.extents), text(w.extents)));
    if (groups < 1 || x.extents[1] % groups != 0 || w.extents[0] != x.extents[1])
        return badInput(node, fmt::format("X has {} channels in {} groups, W has {}", x.extents[1],
                                          groups, w.extents[0]));
    auto window = transposedGeometry(node, spatial(x.extents), spatial(w.extents));
    if (!window)
        return failure(window.error());
    Problem p{*window, x.extents[0], groups, x.extents[1] / groups, w.extents[1]};
    Extents extents{p.batch, p.outChannels * groups};
    extents.insert(extents.end(), p.window.input.begin(), p.window.input.end());
    const ReferenceValue* bias = inputAt(inputs, 2);
    if (!biasFits(bias, p.outChannels * groups, true))
        return badInput(node, fmt::format("B must have {} numbers", p.outChannels * groups));
    auto out = allocateResult(node, x.dtype, extents);
    if (!out)
        return failure(out.error());
    transposeAll(p, x, w, bias, *out, context.threads());
    return single(std::move(out));
}

} // namespace

Result<ReferenceValue> convolve(const Node& node, const ReferenceValue& x, const ReferenceValue& w,
                                const ReferenceValue* bias, DType dtype, ThreadPool& threads) {
    const int64_t groups = node.attributes.integer("group", 1);
    const size_t rank = x.extents.size();
    if (rank < 3 || w.extents.size() != rank || !sameClass(x, w) || x.dtype == DType::String)
        return badInput(node, fmt::format("X of shape {} does not go with W of shape {}",
                                          text(x.extents), text(w.extents)));
    if (groups < 1 || w.extents[1] * groups != x.extents[1] || w.extents[0] % groups != 0)
        return badInput(node, fmt::format("X has {} channels, W has {} times {} groups",
                                          x.extents[1], w.extents[1], groups));
    auto window = windowGeometry(node, spatial(x.extents), spatial(w.extents));
    if (!window)
        return failure(window.error());
    Problem p{*window, x.extents[0], groups, w.extents[1], w.extents[0] / groups};
    if (!biasFits(bias, w.extents[0], isFloat(x.dtype)))
        return badInput(node, fmt::format("B must have {} numbers", w.extents[0]));
    Extents extents{p.batch, w.extents[0]};
    extents.insert(extents.end(), p.window.output.begin(), p.window.output.end());
    auto out = allocateResult(node, dtype, extents);
    if (!out)
        return out;
    if (isFloat(x.dtype))
        convolveAll(p, x.floats, w.floats, bias ? &bias->floats : nullptr, out->floats, threads);
    else
        convolveAll(p, x.ints, w.ints, bias ? &bias->ints : nullptr, out->ints, threads);
    return out;
}

std::span<const OpRow> convRows() {
    static const OpRow rows[] = {
        {.op = Op::Conv,
         .name = "Conv",
         .minInputs = 2,
         .maxInputs = 3,
         .traits = ContractionOp,
         .inputs = "X W B",
         .attributes = "auto_pad:string='NOTSET' dilations:ints group:int=1 kernel_shape:ints "
                       "pads:ints strides:ints",
         .infer = inferConv,
         .reference = onTensors<runConv>},
        {.op = Op::ConvTranspose,
         .name = "ConvTranspose",
         .minInputs = 2,
         .maxInputs = 3,
         .traits = ContractionOp,
         .inputs = "X W B",
         .attributes = "auto_pad:string='NOTSET' dilations:ints group:int=1 kernel_shape:ints "
                       "output_padding:ints output_shape:ints pads:ints strides:ints",
         .infer = inferConvTranspose,
         .reference = onTensors<runConvTranspose>},
        {.op = Op::FusedConv,
         .name = "FusedConv",
         .domain = "com.microsoft",
         .minInputs = 2,
         .maxInputs = 4,
         .traits = ContractionOp,
         .inputs = "X W B Z",
         .attributes = "auto_pad:string='NOTSET' dilations:ints group:int=1 kernel_shape:ints "
                       "pads:ints strides:ints activation:string activation_params:floats",
         .infer = inferConv,
         .reference = onTensors<runFusedConv>},
    };
    return rows;
}

} // namespace fuselage
