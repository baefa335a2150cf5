// SPDX-License-Identifier: Apache-2.0
// Rows of the family, Resize and Upsample. Interpolation is separable: each axis has a table of
// taps for every output position, and axes are resampled one after the other.
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
using resample::Tap;

void resample::cubicWeights(double fraction, double a, double weights[4]) {
    for (int i = 0; i < 4; ++i) {
        const double x = std::abs(fraction - (i - 1));
        weights[i] = x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1
                            : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
    }
}

namespace {

enum class Mode : uint8_t { Nearest, Linear, Cubic };

/// What a Resize does along one axis.
struct Axis {
    size_t axis = 0;
    int64_t from = 0;
    int64_t to = 0;
    double scale = 1;
    double roiStart = 0;
    double roiEnd = 1;
};

struct Settings {
    Mode mode = Mode::Nearest;
    std::string coordinates = "half_pixel";
    std::string nearest = "round_prefer_floor";
    double cubicA = -0.75;
    double extrapolation = 0;
    bool excludeOutside = false;
    bool antialias = false;
};

std::optional<Settings> settingsOf(const Node& node) {
    const Attributes& attributes = node.attributes;
    Settings out;
    const std::string mode = attributes.string("mode", "nearest");
    if (mode == "linear" || mode == "bilinear")
        out.mode = Mode::Linear;
    else if (mode == "cubic")
        out.mode = Mode::Cubic;
    else if (mode != "nearest")
        return std::nullopt;
    if (node.op == Op::Upsample) {
        out.coordinates = "asymmetric";
        out.nearest = "floor";
        return out;
    }
    out.coordinates = attributes.string("coordinate_transformation_mode", "half_pixel");
    out.nearest = attributes.string("nearest_mode", "round_prefer_floor");
    out.cubicA = attributes.number("cubic_coeff_a", -0.75);
    out.extrapolation = attributes.number("extrapolation_value");
    out.excludeOutside = attributes.integer("exclude_outside") != 0;
    out.antialias = attributes.integer("antialias") != 0;
    return out;
}

// --- coordinates --------------------------------------------------------------------------

/// The position in the source that output position x stands for; none for an unknown mode.
std::optional<double> sourcePosition(const Settings& settings, const Axis& axis, double x) {
    const std::string& mode = settings.coordinates;
    const double width = axis.scale * static_cast<double>(axis.from);
    const double last = static_cast<double>(axis.from) - 1;
    if (mode == "half_pixel")
        return (x + 0.5) / axis.scale - 0.5;
    if (mode == "pytorch_half_pixel")
        return axis.to == 1 ? -0.5 : (x + 0.5) / axis.scale - 0.5;
    if (mode == "align_corners")
        return axis.to == 1 || width == 1 ? 0 : x * last / (width - 1);
    if (mode == "asymmetric")
        return x / axis.scale;
    if (mode == "tf_half_pixel_for_nn")
        return (x + 0.5) / axis.scale;
    if (mode == "half_pixel_symmetric") {
        const double adjustment = static_cast<double>(axis.to) / width;
        const double offset = static_cast<double>(axis.from) / 2 * (1 - adjustment);
        return offset + (x + 0.5) / axis.scale - 0.5;
    }
    if (mode == "tf_crop_and_resize") {
        const double span = (axis.roiEnd - axis.roiStart) * last;
        const double step = axis.to == 1 ? span / 2 : x * span / (width - 1);
        return axis.roiStart * last + step;
    }
    return std::nullopt;
}

bool isOutside(const Settings& settings, const Axis& axis, double position) {
    return settings.coordinates == "tf_crop_and_resize" &&
           (position < 0 || position > static_cast<double>(axis.from) - 1);
}

int64_t nearestOf(const std::string& mode, double position) {
    const double low = std::floor(position);
    const double fraction = position - low;
    bool up = false;
    if (mode == "round_prefer_floor")
        up = fraction > 0.5;
    else if (mode == "round_prefer_ceil")
        up = fraction >= 0.5;
    else if (mode == "ceil")
        up = fraction > 0;
    return static_cast<int64_t>(low) + (up ? 1 : 0);
}

std::vector<double> coefficients(const Settings& settings, const Axis& axis, double fraction,
                                 int64_t& first) {
    std::vector<double> out;
    if (settings.antialias && axis.scale < 1) {
        // The kernel is stretched, so that every source element has its share.
        const double support = settings.mode == Mode::Linear ? 1 : 2;
        first = static_cast<int64_t>(std::floor(-support / axis.scale)) + 1;
        const int64_t count = 2 - 2 * first;
        for (int64_t i = 0; i < count; ++i) {
            const double x = std::abs((static_cast<double>(first + i) - fraction) * axis.scale);
            const double a = settings.cubicA;
            if (settings.mode == Mode::Linear)
                out.push_back(std::max(0.0, 1 - x));
            else
                out.push_back(x <= 1  ? ((a + 2) * x - (a + 3)) * x * x + 1
                              : x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
                                      : 0.0);
        }
        const double sum = std::accumulate(out.begin(), out.end(), 0.0);
        for (double& value : out)
            value /= sum;
        return out;
    }
    if (settings.mode == Mode::Linear) {
        first = 0;
        return {1 - fraction, fraction};
    }
    first = -1;
    out.resize(4);
    resample::cubicWeights(fraction, settings.cubicA, out.data());
    return out;
}

/// The taps of one output position; out-of-range neighbours repeat the edge or are left out.
std::vector<Tap> tapsOf(const Settings& settings, const Axis& axis, double position) {
    const double low = std::floor(position);
    int64_t first = 0;
    const std::vector<double> weights = coefficients(settings, axis, position - low, first);
    std::vector<Tap> out;
    double sum = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
        const int64_t index = static_cast<int64_t>(low) + first + static_cast<int64_t>(i);
        const bool inside = index >= 0 && index < axis.from;
        if (settings.excludeOutside && !inside)
            continue;
        out.push_back({std::clamp<int64_t>(index, 0, axis.from - 1), weights[i]});
        sum += weights[i];
    }
    if (settings.excludeOutside)
        for (Tap& tap : out)
            tap.weight /= sum;
    return out;
}

// --- running ------------------------------------------------------------------------------

constexpr double positionLimit = 1e15; ///< beyond it doubles no longer count single elements

/// Source position of every output position along an axis.
Result<std::vector<double>> positionsOf(const Node& node, const Settings& settings,
                                        const Axis& axis) {
    std::vector<double> out;
    for (int64_t i = 0; i < axis.to; ++i) {
        const auto position = sourcePosition(settings, axis, static_cast<double>(i));
        if (!position)
            return badInput(node, fmt::format("coordinate transformation `{}` is unknown",
                                              settings.coordinates));
        if (!(std::abs(*position) < positionLimit))
            return badInput(node, "a source position is out of range");
        out.push_back(*position);
    }
    return out;
}

/// Resamples one axis of a row-major array in double.
std::vector<double> resampleAxis(const std::vector<double>& from, const Extents& extents,
                                 const Settings& settings, const Axis& axis,
                                 const std::vector<double>& positions) {
    const int64_t outer = countOf(extents, 0, axis.axis);
    const int64_t inner = countOf(extents, axis.axis + 1, extents.size());
    std::vector<double> out(static_cast<size_t>(outer * axis.to * inner));
    for (int64_t i = 0; i < axis.to; ++i)
        for (const Tap& tap : tapsOf(settings, axis, positions[static_cast<size_t>(i)]))
            for (int64_t row = 0; row < outer; ++row) {
                const double* source = from.data() + (row * axis.from + tap.index) * inner;
                double* target = out.data() + (row * axis.to + i) * inner;
                for (int64_t k = 0; k < inner; ++k)
                    target[k] += tap.weight * source[k];
            }
    return out;
}

/// Writes the extrapolation value where an axis points outside of the source.
void fillOutside(ReferenceValue& out, size_t axis, const std::vector<bool>& outside, double value) {
    const int64_t inner = countOf(out.extents, axis + 1, out.extents.size());
    for (int64_t i = 0; i < out.count(); ++i) {
        if (!outside[static_cast<size_t>(i / inner % out.extents[axis])])
            continue;
        if (isFloat(out.dtype))
            out.floats[static_cast<size_t>(i)] = value;
        else
            out.ints[static_cast<size_t>(i)] = wrapTo(out.dtype, static_cast<int64_t>(value));
    }
}

Result<ReferenceValue> resampleNearest(const Node& node, const ReferenceValue& x, Extents extents,
                                       const Settings& settings, const std::vector<Axis>& axes,
                                       const std::vector<std::vector<double>>& positions) {
    const Extents strides = rowMajorStrides(x.extents);
    std::vector<std::vector<int64_t>> offsets(extents.size());
    for (size_t d = 0; d < extents.size(); ++d)
        for (int64_t i = 0; i < extents[d]; ++i)
            offsets[d].push_back(i * strides[d]);
    for (size_t k = 0; k < axes.size(); ++k)
        for (size_t i = 0; i < positions[k].size(); ++i)
            offsets[axes[k].axis][i] =
                std::clamp<int64_t>(nearestOf(settings.nearest, positions[k][i]), 0,
                                    axes[k].from - 1) *
                strides[axes[k].axis];
    StridedWalk walk(extents);
    return mapElements(node, x, extents, [&](int64_t) {
        int64_t at = 0;
        for (size_t d = 0; d < offsets.size(); ++d)
            at += offsets[d][static_cast<size_t>(walk.index()[d])];
        walk.next();
        return at;
    });
}

Results resize(const Node& node, const ReferenceValue& x, const std::vector<Axis>& axes) {
    const auto settings = settingsOf(node);
    if (!settings || x.dtype == DType::String)
        return badInput(node, fmt::format("mode `{}` cannot be used for {}",
                                          node.attributes.string("mode"), nameOf(x.dtype)));
    Extents extents = x.extents;
    for (const Axis& axis : axes)
        extents[axis.axis] = axis.to;
    const auto count = elementCount(extents);
    if (!count || *count > maxReferenceElements)
        return badInput(node, fmt::format("a result of {} is too large", text(extents)));
    if (*count == 0)
        return single(allocateResult(node, x.dtype, extents));
    std::vector<Axis> moved; // axes that change; smallest ratio first keeps intermediates small
    for (const Axis& axis : axes) {
        if (axis.from == 0)
            return badInput(node, "an empty axis cannot be resized");
        if (axis.from != axis.to || axis.scale != 1 ||
            settings->coordinates == "tf_crop_and_resize")
            moved.push_back(axis);
    }
    std::sort(moved.begin(), moved.end(),
              [](const Axis& a, const Axis& b) { return a.to * b.from < b.to * a.from; });
    std::vector<std::vector<double>> positions;
    for (const Axis& axis : moved) {
        auto along = positionsOf(node, *settings, axis);
        if (!along)
            return failure(along.error());
        positions.push_back(std::move(*along));
    }
    ReferenceValue out;
    if (settings->mode == Mode::Nearest) {
        auto nearest = resampleNearest(node, x, extents, *settings, moved, positions);
        if (!nearest)
            return failure(nearest.error());
        out = std::move(*nearest);
    } else {
        std::vector<double> values = x.floats;
        if (!isFloat(x.dtype))
            values.assign(x.ints.begin(), x.ints.end());
        Extents current = x.extents;
        for (size_t k = 0; k < moved.size(); ++k) {
            values = resampleAxis(values, current, *settings, moved[k], positions[k]);
            current[moved[k].axis] = moved[k].to;
        }
        out = ReferenceValue::tensor(x.dtype, extents);
        if (isFloat(x.dtype))
            out.floats = std::move(values);
        for (size_t i = 0; i < out.ints.size(); ++i)
            out.ints[i] = wrapTo(x.dtype, static_cast<int64_t>(values[i]));
    }
    for (size_t k = 0; k < moved.size(); ++k) {
        std::vector<bool> outside;
        for (double position : positions[k])
            outside.push_back(isOutside(*settings, moved[k], position));
        if (std::find(outside.begin(), outside.end(), true) != outside.end())
            fillOutside(out, moved[k].axis, outside, settings->extrapolation);
    }
    return single(std::move(out));
}

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

Results runResize(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
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
    return resize(node, x, axes);
}

Results runUpsample(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
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
    return resize(node, x, axes);
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

const OpRow rows[] = {
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
     .attributes = "antialias:int=0 axes:ints "
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
     .reference = onTensors<runUpsample>},
};

} // namespace

std::span<const OpRow> resampleRows() {
    return rows;
}

} // namespace fuselage
