// SPDX-License-Identifier: Apache-2.0
// GridSample in any number of dimensions, and the grids that AffineGrid makes for it.
#include "core/ops/infer_support.h"
#include "core/ops/resample_internal.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuselage {

namespace {

/// Folds a position back between two mirrors.
double reflected(double x, double low, double high) {
    const double range = high - low;
    if (range <= 0)
        return low;
    double distance = std::fmod(std::abs(x - low), 2 * range);
    return low + (distance > range ? 2 * range - distance : distance);
}

double mirrorLow(const GridSettings& settings) {
    return settings.alignCorners ? 0 : -0.5;
}

double mirrorHigh(const GridSettings& settings, int64_t extent) {
    return static_cast<double>(extent) - (settings.alignCorners ? 1 : 0.5);
}

/// The source element for a tap, or -1 where zeros are read.
int64_t sourceIndex(const GridSettings& settings, int64_t index, int64_t extent) {
    if (index >= 0 && index < extent)
        return index;
    if (settings.padding == GridSettings::Padding::Zeros)
        return -1;
    if (settings.padding == GridSettings::Padding::Reflection)
        index = static_cast<int64_t>(reflected(static_cast<double>(index), mirrorLow(settings),
                                               mirrorHigh(settings, extent)));
    return std::clamp<int64_t>(index, 0, extent - 1);
}

} // namespace

std::optional<GridSettings> gridSettings(const Node& node) {
    const std::string mode = node.attributes.string("mode", "bilinear");
    const std::string padding = node.attributes.string("padding_mode", "zeros");
    GridSettings out;
    out.alignCorners = node.attributes.integer("align_corners") != 0;
    if (mode == "nearest")
        out.mode = GridSettings::Mode::Nearest;
    else if (mode == "bicubic" || mode == "cubic")
        out.mode = GridSettings::Mode::Cubic;
    else if (mode != "bilinear" && mode != "linear")
        return std::nullopt;
    if (padding == "border")
        out.padding = GridSettings::Padding::Border;
    else if (padding == "reflection")
        out.padding = GridSettings::Padding::Reflection;
    else if (padding != "zeros")
        return std::nullopt;
    return out;
}

std::string gridMisfit(const Extents& x, const Extents& grid) {
    const size_t rank = x.size();
    if (rank < 3 || grid.size() != rank || grid[0] != x[0] ||
        grid.back() != static_cast<int64_t>(rank) - 2)
        return fmt::format("a grid of {} does not fit {}", text(grid), text(x));
    return "";
}

void gridTaps(const GridSettings& settings, double coordinate, int64_t extent,
              std::vector<ResizeTap>& taps) {
    taps.clear();
    const auto length = static_cast<double>(extent);
    double x = settings.alignCorners ? (coordinate + 1) / 2 * (length - 1)
                                     : ((coordinate + 1) * length - 1) / 2;
    if (!std::isfinite(x))
        return; // a coordinate that is no number reads nothing
    if (settings.mode == GridSettings::Mode::Nearest)
        x = std::nearbyint(x);
    // The wide cubic kernel still sees the border from outside, so only its taps are clamped.
    if (settings.padding == GridSettings::Padding::Border &&
        settings.mode != GridSettings::Mode::Cubic)
        x = std::clamp(x, 0.0, length - 1);
    else if (settings.padding == GridSettings::Padding::Reflection)
        x = reflected(x, mirrorLow(settings), mirrorHigh(settings, extent));
    x = std::clamp(x, -4.0, length + 4); // farther away nothing changes
    const double low = std::floor(x);
    const auto add = [&](int64_t index, double weight) {
        const int64_t source = sourceIndex(settings, index, extent);
        if (source >= 0)
            taps.push_back({source, weight});
    };
    const auto first = static_cast<int64_t>(low);
    if (settings.mode == GridSettings::Mode::Nearest) {
        add(static_cast<int64_t>(std::nearbyint(x)), 1);
    } else if (settings.mode == GridSettings::Mode::Linear) {
        add(first, 1 - (x - low));
        add(first + 1, x - low);
    } else {
        double weights[4];
        resample::cubicWeights(x - low, -0.75, weights);
        for (int i = 0; i < 4; ++i)
            add(first - 1 + i, weights[i]);
    }
}

namespace resample {

namespace {

/// Sum over all combinations of taps, one list a dimension.
double sampled(const double* plane, const std::vector<std::vector<Tap>>& taps,
               const Extents& strides, size_t dimension) {
    double sum = 0;
    for (const Tap& tap : taps[dimension]) {
        const double* at = plane + tap.index * strides[dimension];
        sum += tap.weight *
               (dimension + 1 == taps.size() ? *at : sampled(at, taps, strides, dimension + 1));
    }
    return sum;
}

} // namespace

void inferGridSample(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    const Shape* grid = shapeOf(context, 1);
    std::optional<Shape> shape;
    if (x && grid) {
        if (x->size() < 3 || grid->size() != x->size())
            return context.fail(
                fmt::format("X has {} dimensions and the grid {}", x->size(), grid->size()));
        shape = Shape{(*x)[0], (*x)[1]};
        shape->insert(shape->end(), grid->begin() + 1, grid->end() - 1);
    }
    setTensor(context, 0, dtypeOf(context, 0), std::move(shape));
}

Results runGridSample(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& x = *inputs[0];
    const ReferenceValue& grid = *inputs[1];
    const auto settings = gridSettings(node);
    if (!settings || !isFloat(x.dtype) || !isFloat(grid.dtype))
        return badInput(node, "the mode or the element types cannot be used");
    if (const std::string misfit = gridMisfit(x.extents, grid.extents); !misfit.empty())
        return badInput(node, misfit);
    Extents extents{x.extents[0], x.extents[1]};
    extents.insert(extents.end(), grid.extents.begin() + 1, grid.extents.end() - 1);
    auto out = allocateResult(node, x.dtype, extents);
    if (!out || out->count() == 0)
        return single(std::move(out));
    const Extents image(x.extents.begin() + 2, x.extents.end());
    if (std::find(image.begin(), image.end(), 0) != image.end())
        return badInput(node, "the image is empty");
    const Extents strides = rowMajorStrides(image);
    const int64_t imageSize = countOf(image, 0, image.size());
    const int64_t points = countOf(extents, 2, extents.size());
    std::vector<std::vector<Tap>> taps(image.size());
    for (int64_t n = 0; n < extents[0]; ++n)
        for (int64_t p = 0; p < points; ++p) {
            // The grid holds the innermost coordinate first.
            for (size_t d = 0; d < image.size(); ++d) {
                const size_t at =
                    static_cast<size_t>(n * points + p) * image.size() + (image.size() - 1 - d);
                gridTaps(*settings, grid.floats[at], image[d], taps[d]);
            }
            for (int64_t c = 0; c < extents[1]; ++c) {
                const int64_t plane = n * extents[1] + c;
                out->floats[static_cast<size_t>(plane * points + p)] =
                    sampled(x.floats.data() + plane * imageSize, taps, strides, 0);
            }
        }
    return single(std::move(out));
}

void inferAffineGrid(InferContext& context) {
    const auto size = partialContents(context, 1);
    std::optional<Shape> shape;
    if (size) {
        if (size->size() != 4 && size->size() != 5)
            return context.fail(
                fmt::format("the size has {} dimensions, not 4 or 5", size->size()));
        shape = Shape{size->front()};
        shape->insert(shape->end(), size->begin() + 2, size->end());
        shape->push_back(static_cast<int64_t>(size->size()) - 2);
    }
    setTensor(context, 0, dtypeOf(context, 0), std::move(shape));
}

Results runAffineGrid(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& theta = *inputs[0];
    const std::vector<int64_t> size = intsOf(*inputs[1]);
    const size_t dims = size.size() < 2 ? 0 : size.size() - 2;
    const auto width = static_cast<int64_t>(dims);
    if ((dims != 2 && dims != 3) || !isFloat(theta.dtype) ||
        theta.extents != Extents{size[0], width, width + 1})
        return badInput(node, fmt::format("a theta of {} does not fit the size {}",
                                          text(theta.extents), text(size)));
    const bool align = node.attributes.integer("align_corners") != 0;
    Extents extents{size[0]};
    extents.insert(extents.end(), size.begin() + 2, size.end());
    const Extents space = extents;
    extents.push_back(width);
    auto out = allocateResult(node, theta.dtype, extents);
    if (!out || out->count() == 0)
        return single(std::move(out));
    for (StridedWalk walk(space); walk.valid(); walk.next()) {
        double point[4] = {0, 0, 0, 1}; // innermost coordinate first, then one
        point[dims] = 1;
        for (size_t d = 0; d < dims; ++d) {
            const auto extent = static_cast<double>(space[dims - d]);
            const auto i = static_cast<double>(walk.index()[dims - d]);
            point[d] =
                align ? (extent > 1 ? 2 * i / (extent - 1) - 1 : 0) : (2 * i + 1) / extent - 1;
        }
        for (size_t row = 0; row < dims; ++row) {
            double sum = 0;
            for (size_t k = 0; k <= dims; ++k)
                sum +=
                    point[k] *
                    theta.floats[(static_cast<size_t>(walk.index()[0]) * dims + row) * (dims + 1) +
                                 k];
            out->floats[static_cast<size_t>(walk.position()) * dims + row] = sum;
        }
    }
    return single(std::move(out));
}

} // namespace resample

} // namespace fuselage
