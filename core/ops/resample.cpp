// SPDX-License-Identifier: Apache-2.0
// Rows of the family; sizes of Resize and Upsample. What they compute is in resize.cpp.
#include "core/ops/resample.h"

#include "core/ops/infer_support.h"
#include "core/ops/resample_internal.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fuselage {

using resample::Results;

namespace {

using Axis = resample::ResizedAxis;

// --- sizes --------------------------------------------------------------------------------

/// Sizes are computed in float, as the runtimes do: 10 * 0.7 is 7 there and 6.99 in double.
std::optional<int64_t> scaledExtent(int64_t extent, double scale) {
    const float size = std::floor(static_cast<float>(extent) * static_cast<float>(scale));
    return scale > 0 && size < static_cast<float>(maxReferenceElements)
               ? std::optional(static_cast<int64_t>(size))
               : std::nullopt;
}

/// One size for all axes: the ratio that fits inside or covers what is asked for.
void keepAspectRatio(std::vector<Axis>& axes, const std::string& policy) {
    if (policy != "not_larger" && policy != "not_smaller")
        return;
    double scale = axes.empty() ? 1 : axes[0].scale;
    for (const Axis& axis : axes)
        scale = policy == "not_larger" ? std::min(scale, axis.scale) : std::max(scale, axis.scale);
    for (Axis& axis : axes) {
        axis.scale = scale;
        axis.to = static_cast<int64_t>(std::floor(scale * static_cast<double>(axis.from) + 0.5));
    }
}

std::optional<std::vector<size_t>> resizedAxes(const Node& node, size_t rank) {
    if (node.attributes.has("axes"))
        return normalizedAxes(node.attributes.integers("axes"), rank);
    std::vector<size_t> all(rank);
    std::iota(all.begin(), all.end(), size_t(0));
    return all;
}

const ReferenceValue* nonEmpty(ReferenceInputs inputs, size_t index) {
    const ReferenceValue* value = inputAt(inputs, index);
    return value && value->count() > 0 && value->dtype != DType::String ? value : nullptr;
}

Result<std::vector<Axis>> axesOfResize(const Node& node, ReferenceInputs inputs) {
    const ReferenceValue& x = *inputs[0];
    const auto which = resizedAxes(node, x.extents.size());
    const ReferenceValue* roi = nonEmpty(inputs, 1);
    const ReferenceValue* scales = nonEmpty(inputs, 2);
    const ReferenceValue* sizes = nonEmpty(inputs, 3);
    const ReferenceValue* given = sizes ? sizes : scales;
    if (!which || (given && given->count() != static_cast<int64_t>(which->size())) ||
        (!given && !which->empty()) ||
        (roi && roi->count() != 2 * static_cast<int64_t>(which->size())))
        return badInput(node,
                        fmt::format("scales, sizes or roi do not fit rank {}", x.extents.size()));
    std::vector<Axis> axes;
    for (size_t i = 0; i < which->size(); ++i) {
        const auto at = static_cast<int64_t>(i);
        Axis axis{(*which)[i], x.extents[(*which)[i]]};
        if (sizes) {
            axis.to = sizes->intAt(at);
            axis.scale =
                axis.from ? static_cast<double>(axis.to) / static_cast<double>(axis.from) : 1;
        } else {
            axis.scale = scales->at(at);
            axis.to = scaledExtent(axis.from, axis.scale).value_or(-1);
        }
        if (axis.to < 0 || axis.to > maxReferenceElements)
            return badInput(node, fmt::format("scale or size {} is out of range", i));
        if (roi) {
            axis.roiStart = roi->at(at);
            axis.roiEnd = roi->at(at + static_cast<int64_t>(which->size()));
        }
        axes.push_back(axis);
    }
    if (sizes)
        keepAspectRatio(axes, node.attributes.string("keep_aspect_ratio_policy", "stretch"));
    return axes;
}

Result<std::vector<Axis>> axesOfUpsample(const Node& node, ReferenceInputs inputs) {
    const ReferenceValue& x = *inputs[0];
    std::vector<double> scales = node.attributes.numbers("scales");
    if (const ReferenceValue* given = nonEmpty(inputs, 1)) {
        scales.clear();
        for (int64_t i = 0; i < given->count(); ++i)
            scales.push_back(given->at(i));
    }
    if (scales.size() != x.extents.size())
        return badInput(node,
                        fmt::format("{} scales for rank {}", scales.size(), x.extents.size()));
    std::vector<Axis> axes;
    for (size_t i = 0; i < scales.size(); ++i) {
        const auto size = scaledExtent(x.extents[i], scales[i]);
        if (!size)
            return badInput(node, fmt::format("scale {} is out of range", i));
        axes.push_back({i, x.extents[i], *size, scales[i]});
    }
    return axes;
}

Results runResize(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    auto table = resizeTable(node, inputs);
    if (!table)
        return failure(table.error());
    return resample::resize(node, *inputs[0], *table);
}

// --- inference ----------------------------------------------------------------------------

/// floor(dim * scale) for a symbol, when the scale is a ratio of small numbers.
Dim scaledDim(const Dim& dim, double scale) {
    if (dim.isNumber()) {
        const auto size = scaledExtent(dim.value(), scale);
        return size ? Dim(*size) : Dim();
    }
    for (int64_t divisor = 1; divisor <= 64; ++divisor) {
        const double product = scale * static_cast<double>(divisor);
        if (product >= 0.5 && product < 1e6 && std::abs(product - std::round(product)) < 1e-6)
            return Dim::divide(dim * Dim(static_cast<int64_t>(std::round(product))), divisor);
    }
    return {};
}

void inferScaled(InferContext& context, Shape shape, const std::vector<size_t>& axes,
                 const Tensor* scales) {
    for (size_t i = 0; i < axes.size(); ++i)
        shape[axes[i]] =
            scales ? scaledDim(shape[axes[i]], scales->at(static_cast<int64_t>(i))) : Dim();
    setTensor(context, 0, dtypeOf(context, 0), std::move(shape));
}

void inferResize(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    if (!x)
        return setTensor(context, 0, dtypeOf(context, 0), std::nullopt);
    const auto axes = resizedAxes(context.node(), x->size());
    if (!axes)
        return context.fail(fmt::format("`axes` do not fit rank {}", x->size()));
    if (!context.has(3)) {
        const Tensor* scales = context.has(2) ? context.constant(2) : nullptr;
        if (scales && scales->elementCount() != static_cast<int64_t>(axes->size()))
            return context.fail(
                fmt::format("{} scales for {} axes", scales->elementCount(), axes->size()));
        return inferScaled(context, *x, *axes, scales);
    }
    if (const Tensor* scales = context.has(2) ? context.constant(2) : nullptr;
        scales && scales->elementCount() > 0)
        context.fail("scales and sizes are both given");
    const auto sizes = partialContents(context, 3);
    Shape shape = *x;
    if (sizes && sizes->size() != axes->size())
        return context.fail(fmt::format("{} sizes for {} axes", sizes->size(), axes->size()));
    const std::string policy =
        context.node().attributes.string("keep_aspect_ratio_policy", "stretch");
    std::vector<Axis> known;
    for (size_t i = 0; i < axes->size(); ++i) {
        const Dim from = (*x)[(*axes)[i]];
        const Dim to = sizes ? (*sizes)[i] : Dim();
        shape[(*axes)[i]] = policy == "stretch" ? to : Dim();
        if (from.isNumber() && to.isNumber() && from.value() > 0)
            known.push_back({(*axes)[i], from.value(), to.value(),
                             static_cast<double>(to.value()) / static_cast<double>(from.value())});
    }
    if (policy != "stretch" && known.size() == axes->size()) {
        keepAspectRatio(known, policy);
        for (const Axis& axis : known)
            shape[axis.axis] = axis.to;
    }
    setTensor(context, 0, dtypeOf(context, 0), std::move(shape));
}

void inferUpsample(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    if (!x)
        return setTensor(context, 0, dtypeOf(context, 0), std::nullopt);
    std::vector<size_t> axes(x->size());
    std::iota(axes.begin(), axes.end(), size_t(0));
    const Tensor* scales = context.has(1) ? context.constant(1) : nullptr;
    Tensor fromAttribute;
    if (const auto values = context.node().attributes.numbers("scales"); !values.empty()) {
        fromAttribute =
            Tensor::ofFloats({static_cast<int64_t>(values.size())}, {values.begin(), values.end()});
        scales = &fromAttribute;
    }
    if (scales && scales->elementCount() != static_cast<int64_t>(axes.size()))
        return context.fail(
            fmt::format("{} scales for rank {}", scales->elementCount(), axes.size()));
    inferScaled(context, *x, axes, scales);
}

} // namespace

Result<ResizeTable> resizeTable(const Node& node, ReferenceInputs inputs) {
    auto axes = node.op == Op::Upsample ? axesOfUpsample(node, inputs) : axesOfResize(node, inputs);
    if (!axes)
        return failure(axes.error());
    return resample::makeTable(node, inputs[0]->dtype, inputs[0]->extents, *axes);
}

std::span<const OpRow> resampleRows() {
    static const OpRow rows[] = {
        {.op = Op::AffineGrid,
         .name = "AffineGrid",
         .since = 20,
         .minInputs = 2,
         .maxInputs = 2,
         .inputs = "theta size",
         .attributes = "align_corners:int=0",
         .infer = resample::inferAffineGrid,
         .reference = onTensors<resample::runAffineGrid>},
        {.op = Op::GridSample,
         .name = "GridSample",
         .since = 16,
         .minInputs = 2,
         .maxInputs = 2,
         .traits = WindowOp,
         .inputs = "X grid",
         .attributes = "align_corners:int=0 mode:string='bilinear' padding_mode:string='zeros'",
         .infer = resample::inferGridSample,
         .reference = onTensors<resample::runGridSample>},
        {.op = Op::Resize,
         .name = "Resize",
         .since = 10,
         .maxInputs = 4,
         .traits = WindowOp,
         .inputs = "X roi scales sizes",
         .attributes =
             "antialias:int=0 axes:ints "
             "coordinate_transformation_mode:string='half_pixel' cubic_coeff_a:float=-0.75 "
             "exclude_outside:int=0 extrapolation_value:float=0 "
             "keep_aspect_ratio_policy:string='stretch' mode:string='nearest' "
             "nearest_mode:string='round_prefer_floor'",
         .infer = inferResize,
         .reference = onTensors<runResize>},
        {.op = Op::Upsample,
         .name = "Upsample",
         .since = 7,
         .maxInputs = 2,
         .traits = WindowOp,
         .inputs = "X scales",
         .attributes = "mode:string='nearest' scales:floats",
         .infer = inferUpsample,
         .reference = onTensors<runResize>},
    };
    return rows;
}

} // namespace fuselage
