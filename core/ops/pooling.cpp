// SPDX-License-Identifier: Apache-2.0
#include "core/ops/pooling.h"

#include "core/ops/infer_support.h"
#include "core/ops/roi_pooling_internal.h"
#include "core/ops/tensor_index.h"
#include "core/ops/window.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace fuselage {

namespace {

using Outputs = Result<std::vector<ReferenceValue>>;

Extents spatial(const Extents& extents) {
    return {extents.begin() + 2, extents.end()};
}

Result<WindowGeometry> poolGeometry(const Node& node, const ReferenceValue& x, bool global) {
    if (x.extents.size() < 3 || x.dtype == DType::String)
        return badInput(node, "X must be [N,C,...], is " + text(x.extents));
    Extents plane = spatial(x.extents);
    if (global && std::find(plane.begin(), plane.end(), 0) != plane.end()) { // nothing in it
        const Extents ones(plane.size(), 1), none(plane.size(), 0);
        WindowGeometry empty;
        empty.input = empty.kernel = plane;
        empty.output = empty.strides = empty.dilations = ones;
        empty.padsBegin = empty.padsEnd = none;
        return empty;
    }
    Node whole; // global pooling has one window without any parameter
    whole.op = node.op;
    whole.name = node.name;
    auto out = windowGeometry(global ? whole : node, plane,
                              global ? plane : node.attributes.integers("kernel_shape"));
    if (out && out->outputCount() > maxReferenceElements)
        return badInput(node, "cannot pool " + text(x.extents));
    return out;
}

Extents pooledExtents(const ReferenceValue& x, const WindowGeometry& window) {
    Extents out{x.extents[0], x.extents[1]};
    out.insert(out.end(), window.output.begin(), window.output.end());
    return out;
}

/// Calls visit(plane, pixel, offset) for every window element that lies inside the input, kernel
/// positions in order.
template <typename Visit>
void forEachWindowElement(const WindowGeometry& window, size_t planes, ThreadPool& threads,
                          const Visit& visit) {
    threads.forRange(planes, 1, [&](size_t begin, size_t end) {
        std::vector<int64_t> offsets(static_cast<size_t>(window.outputCount()));
        for (int64_t k = 0; k < window.kernelCount(); ++k) {
            windowOffsets(window, k, 0, offsets);
            for (size_t plane = begin; plane < end; ++plane)
                for (size_t i = 0; i < offsets.size(); ++i)
                    if (offsets[i] >= 0)
                        visit(plane, i, offsets[i]);
        }
    });
}

size_t planesOf(const ReferenceValue& x) {
    return static_cast<size_t>(x.extents[0] * x.extents[1]);
}

/// Window elements per output pixel that the average is over; the padding counts if asked, what
/// lies beyond it never does.
std::vector<double> averageCounts(const WindowGeometry& w, bool includePads) {
    std::vector<double> out;
    for (StridedWalk walk(w.output); walk.valid(); walk.next()) {
        double count = 1;
        for (size_t d = 0; d < w.output.size(); ++d) {
            int64_t low = includePads ? -w.padsBegin[d] : 0;
            int64_t high = w.input[d] + (includePads ? w.padsEnd[d] : 0);
            int64_t inside = 0;
            for (int64_t k = 0; k < w.kernel[d]; ++k) {
                int64_t at = walk.index()[d] * w.strides[d] - w.padsBegin[d] + k * w.dilations[d];
                inside += at >= low && at < high;
            }
            count *= static_cast<double>(inside);
        }
        out.push_back(count);
    }
    return out;
}

struct PooledSums {
    WindowGeometry window;
    ReferenceValue out;
};

/// Sums of term(element) over the elements of each window.
template <typename Term>
Result<PooledSums> sumWindows(const Node& node, const ReferenceValue& x, bool global,
                              ReferenceContext& context, const Term& term) {
    auto window = poolGeometry(node, x, global);
    if (!window)
        return failure(window.error());
    if (!isFloat(x.dtype))
        return badInput(node, "X must be floats");
    auto out = allocateResult(node, x.dtype, pooledExtents(x, *window));
    if (!out)
        return failure(out.error());
    auto pixels = static_cast<size_t>(window->outputCount());
    auto plane = static_cast<size_t>(window->inputCount());
    forEachWindowElement(
        *window, planesOf(x), context.threads(), [&](size_t p, size_t i, int64_t offset) {
            out->floats[p * pixels + i] += term(x.floats[p * plane + static_cast<size_t>(offset)]);
        });
    return PooledSums{std::move(*window), std::move(*out)};
}

Outputs average(const Node& node, const ReferenceValue& x, bool global, ReferenceContext& context) {
    auto sums = sumWindows(node, x, global, context, [](double value) { return value; });
    if (!sums)
        return failure(sums.error());
    bool includePads = node.attributes.integer("count_include_pad") != 0;
    std::vector<double> counts = averageCounts(sums->window, includePads);
    for (size_t i = 0; i < sums->out.floats.size(); ++i)
        sums->out.floats[i] /= counts[i % counts.size()];
    return single(std::move(sums->out));
}

Outputs lpNorm(const Node& node, const ReferenceValue& x, bool global, ReferenceContext& context) {
    const auto p = static_cast<double>(node.attributes.integer("p", 2));
    auto sums = sumWindows(node, x, global, context,
                           [p](double value) { return std::pow(std::fabs(value), p); });
    if (!sums)
        return failure(sums.error());
    for (double& value : sums->out.floats)
        value = std::pow(value, 1 / p);
    return single(std::move(sums->out));
}

/// Index of a plane's element when the first spatial dimension runs fastest.
int64_t columnMajor(const WindowGeometry& window, int64_t offset) {
    int64_t out = 0;
    Extents index(window.input.size());
    for (size_t d = window.input.size(); d-- > 0; offset /= window.input[d])
        index[d] = offset % window.input[d];
    for (size_t d = window.input.size(); d-- > 0;)
        out = out * window.input[d] + index[d];
    return out;
}

template <typename T>
void takeMaxima(const WindowGeometry& window, size_t planes, const std::vector<T>& x,
                std::vector<T>& y, std::vector<int64_t>& chosen, ThreadPool& threads) {
    auto pixels = static_cast<size_t>(window.outputCount());
    auto plane = static_cast<size_t>(window.inputCount());
    forEachWindowElement(window, planes, threads, [&](size_t p, size_t i, int64_t offset) {
        T value = x[p * plane + static_cast<size_t>(offset)];
        size_t at = p * pixels + i;
        if (chosen[at] < 0 || value > y[at] || (value != value && y[at] == y[at])) {
            y[at] = value;
            chosen[at] = offset;
        }
    });
}

Outputs maximum(const Node& node, const ReferenceValue& x, bool global, ReferenceContext& context) {
    auto window = poolGeometry(node, x, global);
    if (!window)
        return failure(window.error());
    auto out = allocateResult(node, x.dtype, pooledExtents(x, *window));
    if (!out)
        return failure(out.error());
    auto chosen = ReferenceValue::tensor(DType::Int64, out->extents);
    std::fill(chosen.ints.begin(), chosen.ints.end(), -1);
    std::fill(out->floats.begin(), out->floats.end(), -std::numeric_limits<double>::infinity());
    if (isFloat(x.dtype))
        takeMaxima(*window, planesOf(x), x.floats, out->floats, chosen.ints, context.threads());
    else
        takeMaxima(*window, planesOf(x), x.ints, out->ints, chosen.ints, context.threads());
    bool columns = node.attributes.integer("storage_order") != 0;
    for (size_t i = 0; i < chosen.ints.size(); ++i) {
        auto plane = static_cast<int64_t>(i) / window->outputCount();
        int64_t offset = chosen.ints[i];
        if (offset >= 0)
            chosen.ints[i] =
                plane * window->inputCount() + (columns ? columnMajor(*window, offset) : offset);
    }
    std::vector<ReferenceValue> results;
    results.push_back(std::move(*out));
    results.push_back(std::move(chosen));
    return trimmed(node, std::move(results));
}

template <Outputs (*pool)(const Node&, const ReferenceValue&, bool, ReferenceContext&), bool global>
Outputs runPool(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    return pool(node, *inputs[0], global, context);
}

// --- shapes -------------------------------------------------------------------------------

void inferPool(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    std::optional<Shape> shape;
    if (x && x->size() < 3)
        context.fail(
            fmt::format("{}: X must be [N,C,...], is {}", nameOf(context.node().op), text(*x)));
    else if (x) {
        Extents kernel = context.node().attributes.integers("kernel_shape");
        shape = Shape{(*x)[0], (*x)[1]};
        Shape window = windowShape(context, Shape(x->begin() + 2, x->end()), toShape(kernel));
        shape->insert(shape->end(), window.begin(), window.end());
    }
    setTensor(context, 0, dtypeOf(context, 0), shape);
    if (context.outputCount() > 1)
        setTensor(context, 1, DType::Int64, shape);
}

void inferGlobal(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    std::optional<Shape> shape;
    if (x && x->size() < 3)
        context.fail(
            fmt::format("{}: X must be [N,C,...], is {}", nameOf(context.node().op), text(*x)));
    else if (x) {
        shape = Shape(x->size(), 1);
        std::copy_n(x->begin(), 2, shape->begin());
    }
    setTensor(context, 0, dtypeOf(context, 0), std::move(shape));
}

constexpr OpRow globalRow(Op op, const char* name, ReferenceFunction reference,
                          const char* attributes = "") {
    return {.op = op,
            .name = name,
            .traits = WindowOp | Pooling,
            .attributes = attributes,
            .infer = inferGlobal,
            .reference = reference};
}

} // namespace

std::span<const OpRow> poolingRows() {
    static constexpr OpRow rows[] = {
        {.op = Op::AveragePool,
         .name = "AveragePool",
         .traits = WindowOp | Pooling,
         .attributes = "auto_pad:string='NOTSET' ceil_mode:int=0 count_include_pad:int=0 "
                       "dilations:ints kernel_shape:ints! pads:ints strides:ints",
         .infer = inferPool,
         .reference = onTensors<runPool<average, false>>},
        {.op = Op::MaxPool,
         .name = "MaxPool",
         .maxOutputs = 2,
         .traits = WindowOp | Pooling,
         .attributes = "auto_pad:string='NOTSET' ceil_mode:int=0 dilations:ints "
                       "kernel_shape:ints! pads:ints storage_order:int=0 strides:ints",
         .infer = inferPool,
         .reference = onTensors<runPool<maximum, false>>},
        {.op = Op::LpPool,
         .name = "LpPool",
         .traits = WindowOp | Pooling,
         .attributes = "auto_pad:string='NOTSET' ceil_mode:int dilations:ints "
                       "kernel_shape:ints! p:int=2 pads:ints strides:ints",
         .infer = inferPool,
         .reference = onTensors<runPool<lpNorm, false>>},
        globalRow(Op::GlobalAveragePool, "GlobalAveragePool", onTensors<runPool<average, true>>),
        globalRow(Op::GlobalMaxPool, "GlobalMaxPool", onTensors<runPool<maximum, true>>),
        globalRow(Op::GlobalLpPool, "GlobalLpPool", onTensors<runPool<lpNorm, true>>, "p:int=2"),
        {.op = Op::MaxUnpool,
         .name = "MaxUnpool",
         .since = 9,
         .minInputs = 2,
         .maxInputs = 3,
         .traits = WindowOp,
         .inputs = "X I output_shape",
         .attributes = "kernel_shape:ints! pads:ints strides:ints",
         .infer = inferMaxUnpool,
         .reference = onTensors<runMaxUnpool>},
        {.op = Op::MaxRoiPool,
         .name = "MaxRoiPool",
         .minInputs = 2,
         .maxInputs = 2,
         .traits = WindowOp,
         .inputs = "X rois",
         .attributes = "pooled_shape:ints! spatial_scale:float=1.0",
         .infer = inferMaxRoiPool,
         .reference = onTensors<runMaxRoiPool>},
    };
    return rows;
}

} // namespace fuselage
