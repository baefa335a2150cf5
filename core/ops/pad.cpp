// SPDX-License-Identifier: Apache-2.0
// Pad and CenterCropPad: each axis of the result maps to an axis of the input, shifted; what lies
// outside is filled, mirrored, clamped or wrapped.
#include "core/ops/infer_support.h"
#include "core/ops/movement_internal.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::movement {

namespace {

enum class Outside : uint8_t { Fill, Reflect, Edge, Wrap };

std::optional<Outside> outsideOf(const std::string& mode) {
    if (mode == "constant")
        return Outside::Fill;
    if (mode == "reflect")
        return Outside::Reflect;
    if (mode == "edge")
        return Outside::Edge;
    return mode == "wrap" ? std::optional(Outside::Wrap) : std::nullopt;
}

/// The position in an axis of `extent` elements that stands at `at`, or -1 for the fill value.
int64_t sourceOf(int64_t at, int64_t extent, Outside outside) {
    if (at >= 0 && at < extent)
        return at;
    switch (outside) {
    case Outside::Fill:
        return -1;
    case Outside::Edge:
        return std::clamp<int64_t>(at, 0, extent - 1);
    case Outside::Wrap:
        return (at % extent + extent) % extent;
    case Outside::Reflect: {
        const int64_t period = std::max<int64_t>(1, 2 * (extent - 1));
        const int64_t phase = (at % period + period) % period;
        return phase < extent ? phase : period - phase;
    }
    }
    return -1;
}

/// A tensor of `extents` in which element 0 of each axis of x stands at begins[axis].
Results padded(const Node& node, const ReferenceValue& x, const Extents& extents,
               const Extents& begins, Outside outside, const ReferenceValue* fill) {
    auto out = allocateResult(node, x.dtype, extents);
    if (!out || out->count() == 0)
        return single(std::move(out));
    const Extents strides = rowMajorStrides(x.extents);
    std::vector<Extents> sources(extents.size());
    for (size_t axis = 0; axis < extents.size(); ++axis) {
        if (x.extents[axis] == 0 && outside != Outside::Fill)
            return badInput(node, fmt::format("axis {} is empty and has nothing to repeat", axis));
        for (int64_t i = 0; i < extents[axis]; ++i) {
            const int64_t at = sourceOf(i - begins[axis], x.extents[axis], outside);
            sources[axis].push_back(at < 0 ? -1 : at * strides[axis]);
        }
    }
    StridedWalk walk(extents);
    const auto copy = [&](const auto& from, auto& to, const auto& value) {
        for (; walk.valid(); walk.next()) {
            int64_t at = 0;
            for (size_t axis = 0; axis < extents.size() && at >= 0; ++axis) {
                const int64_t part = sources[axis][static_cast<size_t>(walk.index()[axis])];
                at = part < 0 ? -1 : at + part;
            }
            to[static_cast<size_t>(walk.position())] =
                at < 0 ? value : from[static_cast<size_t>(at)];
        }
    };
    if (x.dtype == DType::String)
        copy(x.strings, out->strings, fill ? fill->strings[0] : std::string());
    else if (isFloat(x.dtype))
        copy(x.floats, out->floats, fill ? fill->at(0) : 0.0);
    else
        copy(x.ints, out->ints, fill ? fill->intAt(0) : int64_t(0));
    return single(std::move(out));
}

/// The axes of an optional list; all of them when it is absent.
std::optional<std::vector<size_t>> axesOrAll(const std::optional<std::vector<int64_t>>& axes,
                                             size_t rank) {
    if (axes)
        return normalizedAxes(*axes, rank);
    std::vector<size_t> all(rank);
    for (size_t i = 0; i < rank; ++i)
        all[i] = i;
    return all;
}

} // namespace

void inferPad(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    if (!x)
        return setTensor(context, 0, dtypeOf(context, 0), std::nullopt);
    Shape shape(x->size());
    const auto pads = partialContents(context, 1);
    const auto axes = context.has(3) ? numbersOf(context, 3) : std::nullopt;
    if (pads && (axes || !context.has(3))) {
        const auto at = axesOrAll(axes, x->size());
        if (!at || pads->size() != 2 * at->size())
            return context.fail(fmt::format("{} pads do not fit rank {}", pads->size(), x->size()));
        shape = *x;
        for (size_t i = 0; i < at->size(); ++i)
            shape[(*at)[i]] = (*x)[(*at)[i]] + (*pads)[i] + (*pads)[i + at->size()];
    }
    setTensor(context, 0, dtypeOf(context, 0), std::move(shape));
}

Results runPad(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& x = *inputs[0];
    const std::vector<int64_t> pads = intsOf(*inputs[1]);
    const ReferenceValue* fill = inputAt(inputs, 2);
    std::optional<std::vector<int64_t>> axes;
    if (const ReferenceValue* given = inputAt(inputs, 3))
        axes = intsOf(*given);
    const auto at = axesOrAll(axes, x.extents.size());
    const auto outside = outsideOf(node.attributes.string("mode", "constant"));
    if (!outside)
        return badInput(node, fmt::format("mode `{}` is unknown", node.attributes.string("mode")));
    if (!at || pads.size() != 2 * at->size())
        return badInput(node,
                        fmt::format("{} pads do not fit rank {}", pads.size(), x.extents.size()));
    if (fill && (fill->count() != 1 || !sameClass(*fill, x)))
        return badInput(node, "the fill value must be one element of the input's type");
    Extents extents = x.extents;
    Extents begins(extents.size(), 0);
    for (size_t i = 0; i < at->size(); ++i) {
        begins[(*at)[i]] = pads[i];
        int64_t& extent = extents[(*at)[i]];
        if (__builtin_add_overflow(extent, pads[i], &extent) ||
            __builtin_add_overflow(extent, pads[i + at->size()], &extent) || extent < 0)
            return badInput(node, fmt::format("pads {} are out of range", text(pads)));
        // Keeps the index arithmetic of hostile files far from overflow.
        if (pads[i] > maxReferenceElements || pads[i] < -maxReferenceElements)
            return badInput(node, fmt::format("pad {} is out of range", pads[i]));
    }
    return padded(node, x, extents, begins, *outside, fill);
}

void inferCenterCropPad(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    const auto target = partialContents(context, 1);
    if (!x)
        return setTensor(context, 0, dtypeOf(context, 0), std::nullopt);
    const auto& attributes = context.node().attributes;
    const auto at = axesOrAll(attributes.has("axes") ? std::optional(attributes.integers("axes"))
                                                     : std::nullopt,
                              x->size());
    if (!at || (target && target->size() != at->size()))
        return context.fail(fmt::format("`axes` or the target do not fit rank {}", x->size()));
    Shape shape = *x;
    for (size_t i = 0; i < at->size(); ++i)
        shape[(*at)[i]] = target ? (*target)[i] : Dim();
    setTensor(context, 0, dtypeOf(context, 0), std::move(shape));
}

Results runCenterCropPad(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& x = *inputs[0];
    const std::vector<int64_t> target = intsOf(*inputs[1]);
    const auto at =
        axesOrAll(node.attributes.has("axes") ? std::optional(node.attributes.integers("axes"))
                                              : std::nullopt,
                  x.extents.size());
    if (!at || target.size() != at->size())
        return badInput(node,
                        fmt::format("`axes` or the target do not fit rank {}", x.extents.size()));
    Extents extents = x.extents;
    Extents begins(extents.size(), 0);
    for (size_t i = 0; i < at->size(); ++i) {
        const int64_t extent = x.extents[(*at)[i]];
        if (target[i] < 0)
            return badInput(node, fmt::format("target {} is negative", target[i]));
        extents[(*at)[i]] = target[i];
        // Both halves round down: an odd rest goes to the end.
        begins[(*at)[i]] =
            target[i] >= extent ? (target[i] - extent) / 2 : -((extent - target[i]) / 2);
    }
    return padded(node, x, extents, begins, Outside::Fill, nullptr);
}

} // namespace fuselage::movement
