// SPDX-License-Identifier: Apache-2.0
// Slice. Shapes are exact for numbers; with symbols, a symbolic bound is taken to lie within the
// axis, which is what exported models mean by it.
#include "core/ops/infer_support.h"
#include "core/ops/movement_internal.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage {

namespace movement {

namespace {

struct Cut {
    int64_t start = 0;
    int64_t step = 1;
    int64_t count = 0;
};

/// ONNX's clamping of bounds to an axis of `extent` elements. The step is not 0.
Cut cutOf(int64_t extent, int64_t start, int64_t end, int64_t step) {
    if (extent == 0)
        return {0, 1, 0};
    // Longer steps than the axis reach one element whatever their length.
    step = std::clamp(step, -maxReferenceElements, maxReferenceElements);
    start = start < 0 ? start + extent : start;
    end = end < 0 ? end + extent : end;
    if (step > 0) {
        start = std::clamp<int64_t>(start, 0, extent);
        end = std::clamp<int64_t>(end, 0, extent);
        return {start, step, std::max<int64_t>(0, (end - start + step - 1) / step)};
    }
    start = std::clamp<int64_t>(start, 0, extent - 1);
    end = std::clamp<int64_t>(end, -1, extent - 1);
    return {start, step, std::max<int64_t>(0, (start - end - step - 1) / -step)};
}

/// Bounds that mean "to the end" in models are the largest 32- or 64-bit integers, or near them.
constexpr int64_t openEnd = INT32_MAX - 1;

/// Symbols stand for sizes, so a polynomial that prints a minus first is counted from the end.
bool countsFromEnd(const Dim& bound) {
    return bound.isNumber() ? bound.value() < 0 : bound.text().front() == '-';
}

Dim boundOf(const Dim& extent, const Dim& bound) {
    if (bound.isUnknown())
        return {};
    if (countsFromEnd(bound)) {
        if (bound.isNumber() && bound.value() < -openEnd)
            return 0;
        const Dim at = extent + bound;
        return at.isNumber() && at.value() < 0 ? Dim(0) : at;
    }
    if (bound.isNumber() && bound.value() >= openEnd)
        return extent;
    const Dim beyond = bound - extent;
    if (beyond.isNumber())
        return beyond.value() >= 0 ? extent : bound;
    if (bound.isNumber() && bound.value() > 1 && !extent.isUnknown() && extent.text().size() < 1024)
        return Dim::symbol("min(" + extent.text() + "," + bound.text() + ")");
    return bound;
}

Dim slicedDim(const Dim& extent, const Dim& start, const Dim& end, const Dim& step) {
    if (!step.isNumber() || step.value() == 0)
        return {};
    if (extent.isNumber() && start.isNumber() && end.isNumber())
        return cutOf(extent.value(), start.value(), end.value(), step.value()).count;
    if (step.value() > 0) {
        const bool whole = end.isNumber() && end.value() >= openEnd;
        const Dim first = start.isNumber() && start.value() >= 0 ? start : boundOf(extent, start);
        const Dim last = whole ? extent : boundOf(extent, end);
        Dim length = last - first;
        if (length.isNumber() && length.value() < 0)
            length = 0;
        return Dim::ceilDivide(length, step);
    }
    const bool fromLast = start == Dim(-1) || start == extent - Dim(1) ||
                          (start.isNumber() && start.value() >= openEnd);
    const bool toFirst = end.isNumber() && end.value() <= -openEnd;
    return fromLast && toFirst ? Dim::ceilDivide(extent, Dim(-step.value())) : Dim();
}

void passSlicedContents(InferContext& context, const Dim& start, const Dim& end, const Dim& step) {
    const auto contents = context.contents(0);
    if (!contents || !start.isNumber() || !end.isNumber() || !step.isNumber() || step.value() == 0)
        return;
    const Cut cut =
        cutOf(static_cast<int64_t>(contents->size()), start.value(), end.value(), step.value());
    Shape out;
    for (int64_t i = 0; i < cut.count; ++i)
        out.push_back((*contents)[static_cast<size_t>(cut.start + i * cut.step)]);
    context.setContents(0, std::move(out));
}

} // namespace

void inferSlice(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    const auto starts = partialContents(context, 1);
    const auto ends = partialContents(context, 2);
    auto axes = numbersOf(context, 3);
    auto steps = context.has(4) ? partialContents(context, 4) : std::nullopt;
    if (!x)
        return setTensor(context, 0, dtypeOf(context, 0), std::nullopt);
    Shape shape(x->size());
    if (starts && !context.has(3)) {
        axes.emplace();
        for (size_t i = 0; i < starts->size(); ++i)
            axes->push_back(static_cast<int64_t>(i));
    }
    if (starts && !context.has(4))
        steps = Shape(starts->size(), Dim(1));
    if (!starts || !ends || !axes || !steps)
        return setTensor(context, 0, dtypeOf(context, 0), std::move(shape));
    const auto at = normalizedAxes(*axes, x->size());
    if (!at || starts->size() != at->size() || ends->size() != at->size() ||
        steps->size() != at->size())
        return context.fail(fmt::format("axes {} with {} starts and {} ends do not fit rank {}",
                                        text(*axes), starts->size(), ends->size(), x->size()));
    shape = *x;
    for (size_t i = 0; i < at->size(); ++i)
        shape[(*at)[i]] = slicedDim((*x)[(*at)[i]], (*starts)[i], (*ends)[i], (*steps)[i]);
    if (x->size() == 1 && at->size() == 1)
        passSlicedContents(context, starts->front(), ends->front(), steps->front());
    setTensor(context, 0, dtypeOf(context, 0), std::move(shape));
}

Results runSlice(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    auto window = sliceWindow(node, inputs[0]->extents, inputs);
    if (!window)
        return failure(window.error());
    return windowElements(node, *inputs[0], *window);
}

} // namespace movement

Result<ElementWindow> sliceWindow(const Node& node, const Extents& x, ReferenceInputs inputs) {
    const std::vector<int64_t> starts = intsOf(*inputs[1]);
    const std::vector<int64_t> ends = intsOf(*inputs[2]);
    std::vector<int64_t> axes;
    if (const ReferenceValue* given = inputAt(inputs, 3))
        axes = intsOf(*given);
    else
        for (size_t i = 0; i < starts.size(); ++i)
            axes.push_back(static_cast<int64_t>(i));
    const ReferenceValue* given = inputAt(inputs, 4);
    const std::vector<int64_t> steps =
        given ? intsOf(*given) : std::vector<int64_t>(starts.size(), 1);
    const auto at = normalizedAxes(axes, x.size());
    if (!at || starts.size() != at->size() || ends.size() != at->size() ||
        steps.size() != at->size())
        return badInput(node, fmt::format("axes {} with {} starts, {} ends and {} steps do not fit "
                                          "rank {}",
                                          text(axes), starts.size(), ends.size(), steps.size(),
                                          x.size()));
    ElementWindow out{x, rowMajorStrides(x), 0};
    for (size_t i = 0; i < at->size(); ++i) {
        if (steps[i] == 0)
            return badInput(node, "a step is 0");
        const size_t axis = (*at)[i];
        const movement::Cut cut = movement::cutOf(x[axis], starts[i], ends[i], steps[i]);
        out.extents[axis] = cut.count;
        out.origin += cut.start * out.strides[axis];
        // With one element left the step is never taken and could overflow.
        out.strides[axis] = cut.count > 1 ? out.strides[axis] * cut.step : 0;
    }
    return out;
}

} // namespace fuselage
