// SPDX-License-Identifier: Apache-2.0
#include "core/ops/infer_support.h"
#include "core/ops/roi_pooling_internal.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuselage {

namespace {

using Outputs = Result<std::vector<ReferenceValue>>;

/// What the pooling that MaxUnpool undoes had as its input, when no output_shape is given.
Shape unpooledShape(const Node& node, const Shape& x) {
    const size_t rank = x.size() - 2;
    auto list = [&](const char* name, size_t count, int64_t fallback) {
        Extents out = node.attributes.integers(name);
        return out.size() == count ? out : Extents(count, fallback);
    };
    Extents kernel = list("kernel_shape", rank, 1), strides = list("strides", rank, 1);
    Extents pads = list("pads", 2 * rank, 0);
    Shape out{x[0], x[1]};
    for (size_t d = 0; d < rank; ++d)
        out.push_back((x[d + 2] - 1) * Dim(strides[d]) + Dim(kernel[d]) -
                      (Dim(pads[d]) + Dim(pads[rank + d])));
    return out;
}

/// The largest element of a cell of a region; 0 when the cell is empty.
double cellMaximum(const double* plane, int64_t width, const int64_t rows[2],
                   const int64_t columns[2]) {
    if (rows[0] >= rows[1] || columns[0] >= columns[1])
        return 0;
    double best = plane[rows[0] * width + columns[0]];
    for (int64_t y = rows[0]; y < rows[1]; ++y)
        for (int64_t x = columns[0]; x < columns[1]; ++x)
            best = std::max(best, plane[y * width + x]);
    return best;
}

/// Bounds of cell `index` of `cells` over [start, start + size), cut to [0, limit).
void cellBounds(int64_t index, int64_t cells, int64_t start, int64_t size, int64_t limit,
                int64_t bounds[2]) {
    double step = static_cast<double>(size) / static_cast<double>(cells);
    auto at = static_cast<double>(index);
    bounds[0] = std::clamp(static_cast<int64_t>(std::floor(at * step)) + start, int64_t(0), limit);
    bounds[1] =
        std::clamp(static_cast<int64_t>(std::ceil((at + 1) * step)) + start, int64_t(0), limit);
}

} // namespace

void inferMaxUnpool(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    std::optional<Shape> shape;
    if (context.has(2))
        shape = partialContents(context, 2);
    else if (x && x->size() >= 3)
        shape = unpooledShape(context.node(), *x);
    setTensor(context, 0, dtypeOf(context, 0), std::move(shape));
}

Outputs runMaxUnpool(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue &x = *inputs[0], &indices = *inputs[1];
    if (x.extents.size() < 3 || indices.extents != x.extents || !isInteger(indices.dtype) ||
        !isFloat(x.dtype))
        return badInput(node,
                        fmt::format("X is {}, I is {}", text(x.extents), text(indices.extents)));
    Type natural = tensorType(x.dtype, unpooledShape(node, toShape(x.extents)));
    auto inner = natural.extents();
    const ReferenceValue* wanted = inputAt(inputs, 2);
    Extents extents = wanted ? intsOf(*wanted) : inner.value_or(Extents{-1});
    auto out = allocateResult(node, x.dtype, extents);
    if (!out || !inner)
        return out ? Outputs(badInput(node, "window is too large")) : failure(out.error());
    if (extents.size() != x.extents.size())
        return badInput(node, "output_shape has another rank than X");
    // Indices count in the tensor that was pooled, even where a larger result is asked for.
    Extents strides = rowMajorStrides(extents);
    for (size_t i = 0; i < x.floats.size(); ++i) {
        int64_t rest = indices.ints[i], offset = 0;
        for (size_t d = inner->size(); d-- > 0; rest /= std::max<int64_t>((*inner)[d], 1))
            offset += rest % std::max<int64_t>((*inner)[d], 1) * strides[d];
        if (indices.ints[i] < 0 || offset >= out->count())
            return badInput(node, fmt::format("index {} is outside the result", indices.ints[i]));
        out->floats[static_cast<size_t>(offset)] = x.floats[i];
    }
    return single(std::move(out));
}

void inferMaxRoiPool(InferContext& context) {
    const Shape *x = shapeOf(context, 0), *rois = shapeOf(context, 1);
    Extents pooled = context.node().attributes.integers("pooled_shape");
    if (pooled.size() != 2) {
        context.fail("MaxRoiPool: `pooled_shape` needs 2 numbers");
        return setTensor(context, 0, dtypeOf(context, 0), std::nullopt);
    }
    setTensor(context, 0, dtypeOf(context, 0),
              Shape{rois && !rois->empty() ? (*rois)[0] : Dim(),
                    x && x->size() == 4 ? (*x)[1] : Dim(), pooled[0], pooled[1]});
}

Outputs runMaxRoiPool(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue &x = *inputs[0], &rois = *inputs[1];
    Extents pooled = node.attributes.integers("pooled_shape");
    const double scale = node.attributes.number("spatial_scale", 1.0);
    if (x.extents.size() != 4 || rois.extents.size() != 2 || rois.extents[1] != 5 ||
        pooled.size() != 2 || pooled[0] < 1 || pooled[1] < 1 || !isFloat(x.dtype) ||
        !isFloat(rois.dtype))
        return badInput(node,
                        fmt::format("X is {}, rois are {}", text(x.extents), text(rois.extents)));
    auto out = allocateResult(node, x.dtype, {rois.extents[0], x.extents[1], pooled[0], pooled[1]});
    if (!out)
        return failure(out.error());
    const int64_t height = x.extents[2], width = x.extents[3];
    size_t next = 0;
    for (int64_t r = 0; r < rois.extents[0]; ++r) {
        const double* roi = rois.floats.data() + r * 5;
        int64_t corner[4];
        for (int k = 0; k < 4; ++k) {
            double at = std::round(roi[k + 1] * scale);
            if (!(std::fabs(at) < 1e9))
                return badInput(node, fmt::format("region {} is not a rectangle", r));
            corner[k] = static_cast<int64_t>(at);
        }
        if (!(roi[0] >= 0 && roi[0] < static_cast<double>(x.extents[0])))
            return badInput(node, fmt::format("region {} is in image {}", r, roi[0]));
        int64_t rows = std::max<int64_t>(corner[3] - corner[1] + 1, 1);
        int64_t columns = std::max<int64_t>(corner[2] - corner[0] + 1, 1);
        for (int64_t c = 0; c < x.extents[1]; ++c) {
            const double* plane =
                x.floats.data() +
                (static_cast<int64_t>(roi[0]) * x.extents[1] + c) * height * width;
            for (int64_t i = 0; i < pooled[0] * pooled[1]; ++i) {
                int64_t y[2], across[2];
                cellBounds(i / pooled[1], pooled[0], corner[1], rows, height, y);
                cellBounds(i % pooled[1], pooled[1], corner[0], columns, width, across);
                out->floats[next++] = cellMaximum(plane, width, y, across);
            }
        }
    }
    return single(std::move(out));
}

} // namespace fuselage
