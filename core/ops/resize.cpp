// SPDX-License-Identifier: Apache-2.0
// The arithmetic of Resize and Upsample. Interpolation is separable: each axis has a table of taps
// for every output position, and axes are resampled one after the other.
#include "core/ops/resample_internal.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fuselage {

using resample::Results;
using resample::Tap;
using Axis = resample::ResizedAxis;

void resample::cubicWeights(double fraction, double a, double weights[4]) {
    for (int i = 0; i < 4; ++i) {
        const double x = std::abs(fraction - (i - 1));
        weights[i] = x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1
                            : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
    }
}

namespace {

enum class Mode : uint8_t { Nearest, Linear, Cubic };

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
template <typename Number>
std::optional<Number> sourcePosition(const Settings& settings, const Axis& axis, Number x) {
    const std::string& mode = settings.coordinates;
    const auto scale = static_cast<Number>(axis.scale);
    const auto from = static_cast<Number>(axis.from);
    const auto half = static_cast<Number>(0.5);
    const Number width = scale * from;
    if (mode == "half_pixel")
        return (x + half) / scale - half;
    if (mode == "pytorch_half_pixel")
        return axis.to == 1 ? 0 : (x + half) / scale - half;
    if (mode == "align_corners")
        return axis.to == 1 || width == 1 ? 0 : x * (from - 1) / (width - 1);
    if (mode == "asymmetric")
        return x / scale;
    if (mode == "tf_half_pixel_for_nn")
        return (x + half) / scale;
    if (mode == "half_pixel_symmetric") {
        const Number adjustment = static_cast<Number>(axis.to) / width;
        return from / 2 * (1 - adjustment) + (x + half) / scale - half;
    }
    if (mode == "tf_crop_and_resize") {
        const auto start = static_cast<Number>(axis.roiStart);
        const Number span = (static_cast<Number>(axis.roiEnd) - start) * (from - 1);
        return start * (from - 1) + (axis.to == 1 ? span / 2 : x * span / (width - 1));
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
        std::optional<double> position = sourcePosition(settings, axis, static_cast<double>(i));
        // Which neighbour is nearest is decided in float, as the runtimes do: 11.5 / 2.3 - 0.5 is
        // a tie there and none in double.
        if (settings.mode == Mode::Nearest)
            position = sourcePosition(settings, axis, static_cast<float>(i));
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
                                 const ResizedAxisTable& axis) {
    const int64_t outer = countOf(extents, 0, axis.axis);
    const int64_t inner = countOf(extents, axis.axis + 1, extents.size());
    std::vector<double> out(static_cast<size_t>(outer * axis.to * inner));
    for (int64_t i = 0; i < axis.to; ++i)
        for (const Tap& tap : axis.taps[static_cast<size_t>(i)])
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

Result<ReferenceValue> resampleNearest(const Node& node, const ReferenceValue& x,
                                       const ResizeTable& table) {
    const Extents strides = rowMajorStrides(x.extents);
    std::vector<std::vector<int64_t>> offsets(x.extents.size());
    for (size_t d = 0; d < x.extents.size(); ++d)
        for (int64_t i = 0; i < table.extents[d]; ++i)
            offsets[d].push_back(i * strides[d]);
    for (const ResizedAxisTable& axis : table.axes)
        for (size_t i = 0; i < axis.taps.size(); ++i)
            offsets[axis.axis][i] = axis.taps[i][0].index * strides[axis.axis];
    StridedWalk walk(table.extents);
    return mapElements(node, x, table.extents, [&](int64_t) {
        int64_t at = 0;
        for (size_t d = 0; d < offsets.size(); ++d)
            at += offsets[d][static_cast<size_t>(walk.index()[d])];
        walk.next();
        return at;
    });
}

Result<ResizedAxisTable> tableOf(const Node& node, const Settings& settings, const Axis& axis) {
    const auto positions = positionsOf(node, settings, axis);
    if (!positions)
        return failure(positions.error());
    ResizedAxisTable out{axis.axis, axis.from, axis.to, {}, {}};
    for (double position : *positions) {
        if (settings.mode == Mode::Nearest)
            out.taps.push_back(
                {{std::clamp<int64_t>(nearestOf(settings.nearest, position), 0, axis.from - 1),
                  1}});
        else
            out.taps.push_back(tapsOf(settings, axis, position));
        out.outside.push_back(isOutside(settings, axis, position));
    }
    if (std::find(out.outside.begin(), out.outside.end(), true) == out.outside.end())
        out.outside.clear();
    return out;
}

} // namespace

Result<ResizeTable> resample::makeTable(const Node& node, DType dtype, const Extents& extents,
                                        const std::vector<Axis>& axes) {
    const auto settings = settingsOf(node);
    if (!settings || dtype == DType::String)
        return badInput(node, fmt::format("mode `{}` cannot be used for {}",
                                          node.attributes.string("mode"), nameOf(dtype)));
    ResizeTable out{extents, settings->mode == Mode::Nearest, settings->extrapolation, {}};
    for (const Axis& axis : axes)
        out.extents[axis.axis] = axis.to;
    const auto count = elementCount(out.extents);
    if (!count || *count > maxReferenceElements)
        return badInput(node, fmt::format("a result of {} is too large", text(out.extents)));
    if (*count == 0)
        return out;
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
    for (const Axis& axis : moved) {
        auto table = tableOf(node, *settings, axis);
        if (!table)
            return failure(table.error());
        out.axes.push_back(std::move(*table));
    }
    return out;
}

Results resample::resize(const Node& node, const ReferenceValue& x, const ResizeTable& table) {
    if (elementCount(table.extents) == 0)
        return single(allocateResult(node, x.dtype, table.extents));
    ReferenceValue out;
    if (table.nearest) {
        auto nearest = resampleNearest(node, x, table);
        if (!nearest)
            return failure(nearest.error());
        out = std::move(*nearest);
    } else {
        std::vector<double> values = x.floats;
        if (!isFloat(x.dtype))
            values.assign(x.ints.begin(), x.ints.end());
        Extents current = x.extents;
        for (const ResizedAxisTable& axis : table.axes) {
            values = resampleAxis(values, current, axis);
            current[axis.axis] = axis.to;
        }
        out = ReferenceValue::tensor(x.dtype, table.extents);
        if (isFloat(x.dtype))
            out.floats = std::move(values);
        for (size_t i = 0; i < out.ints.size(); ++i)
            out.ints[i] = wrapTo(x.dtype, static_cast<int64_t>(values[i]));
    }
    for (const ResizedAxisTable& axis : table.axes)
        if (!axis.outside.empty())
            fillOutside(out, axis.axis, axis.outside, table.extrapolation);
    return single(std::move(out));
}

} // namespace fuselage
