// SPDX-License-Identifier: Apache-2.0
// Sizes of these results are known only from the data, except for TopK with a known k.
#include "core/ops/selection.h"

#include "core/ops/infer_support.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fuselage {

namespace {

using Results = Result<std::vector<ReferenceValue>>;

// --- TopK ---------------------------------------------------------------------------------

void inferTopK(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    std::optional<Shape> shape;
    if (x) {
        const auto axis =
            checkedAxis(context, context.node().attributes.integer("axis", -1), x->size());
        if (!axis)
            return;
        const auto k = partialContents(context, 1);
        shape = *x;
        const Dim taken = k && !k->empty() ? k->front() : Dim();
        const Dim& extent = (*x)[*axis];
        if (taken.isNumber() && extent.isNumber() && taken.value() > extent.value())
            return context.fail(
                fmt::format("cannot take {} of {} along the axis", taken.value(), text(*x)));
        (*shape)[*axis] = taken;
    }
    setTensor(context, 0, dtypeOf(context, 0), shape);
    setTensor(context, 1, DType::Int64, std::move(shape));
}

/// NaN counts as the largest number, as in numpy.
bool precedes(double a, double b) {
    return std::isnan(a) ? false : std::isnan(b) || a < b;
}

bool precedes(int64_t a, int64_t b) {
    return a < b;
}

bool precedes(const std::string& a, const std::string& b) {
    return a < b;
}

Results runTopK(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& x = *inputs[0];
    const auto axis = normalizedAxis(node.attributes.integer("axis", -1), x.extents.size());
    const int64_t k = inputs[1]->count() == 1 ? inputs[1]->intAt(0) : -1;
    if (!axis || k < 0 || k > x.extents[*axis])
        return badInput(node,
                        fmt::format("cannot take {} of {} along the axis", k, text(x.extents)));
    const bool largest = node.attributes.integer("largest", 1) != 0;
    const int64_t extent = x.extents[*axis];
    const int64_t inner = countOf(x.extents, *axis + 1, x.extents.size());
    const int64_t outer = countOf(x.extents, 0, *axis);
    Extents extents = x.extents;
    extents[*axis] = k;
    ReferenceValue values = ReferenceValue::tensor(x.dtype, extents);
    ReferenceValue indices = ReferenceValue::tensor(DType::Int64, extents);
    onElements(x, values, [&](const auto& from, auto& to) {
        std::vector<int64_t> order(static_cast<size_t>(extent));
        for (int64_t row = 0; row < outer * inner; ++row) {
            const int64_t origin = row / inner * extent * inner + row % inner;
            const auto element = [&](int64_t i) -> const auto& {
                return from[static_cast<size_t>(origin + i * inner)];
            };
            std::iota(order.begin(), order.end(), 0);
            // Ties keep their order; `sorted = 0` allows any order, so it is sorted too.
            const auto before = [&](int64_t a, int64_t b) {
                const auto& first = element(largest ? b : a);
                const auto& second = element(largest ? a : b);
                return precedes(first, second) || (!precedes(second, first) && a < b);
            };
            const auto end = order.begin() + static_cast<std::ptrdiff_t>(k);
            if (end != order.end())
                std::nth_element(order.begin(), end, order.end(), before);
            std::sort(order.begin(), end, before);
            for (int64_t i = 0; i < k; ++i) {
                const auto at =
                    static_cast<size_t>(row / inner * k * inner + row % inner + i * inner);
                to[at] = element(order[static_cast<size_t>(i)]);
                indices.ints[at] = order[static_cast<size_t>(i)];
            }
        }
    });
    std::vector<ReferenceValue> out;
    out.push_back(std::move(values));
    out.push_back(std::move(indices));
    return trimmed(node, std::move(out));
}

// --- NonZero, Compress --------------------------------------------------------------------

void inferNonZero(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    Shape shape(2);
    if (x)
        shape[0] = Dim(std::max<int64_t>(1, static_cast<int64_t>(x->size())));
    setTensor(context, 0, DType::Int64, std::move(shape));
}

/// Where the values differ from `nothing`.
template <typename Element>
std::vector<int64_t> positionsOther(const std::vector<Element>& values, const Element& nothing) {
    std::vector<int64_t> out;
    for (size_t i = 0; i < values.size(); ++i)
        if (values[i] != nothing)
            out.push_back(static_cast<int64_t>(i));
    return out;
}

Results runNonZero(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& x = *inputs[0];
    const std::vector<int64_t> found = x.dtype == DType::String ? positionsOther(x.strings, {})
                                       : isFloat(x.dtype)       ? positionsOther(x.floats, 0.0)
                                                                : positionsOther(x.ints, {0});
    const Extents extents = x.extents.empty() ? Extents{1} : x.extents;
    const auto rank = static_cast<int64_t>(extents.size());
    const auto count = static_cast<int64_t>(found.size());
    auto out = allocateResult(node, DType::Int64, {rank, count});
    if (!out)
        return single(std::move(out));
    if (rank == 1) {
        out->ints = found;
        return single(std::move(out));
    }
    for (int64_t i = 0; i < count; ++i) {
        int64_t rest = found[static_cast<size_t>(i)];
        for (int64_t axis = rank; axis-- > 0; rest /= extents[static_cast<size_t>(axis)])
            out->ints[static_cast<size_t>(axis * count + i)] =
                rest % extents[static_cast<size_t>(axis)];
    }
    return single(std::move(out));
}

/// As many elements, or slices along the axis, as the data decides.
void inferCompress(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    const auto& attributes = context.node().attributes;
    std::optional<Shape> shape;
    if (!attributes.has("axis")) {
        shape = Shape(1);
    } else if (x) {
        const auto axis = checkedAxis(context, attributes.integer("axis"), x->size());
        if (!axis)
            return;
        shape = *x;
        (*shape)[*axis] = Dim();
    }
    setTensor(context, 0, dtypeOf(context, 0), std::move(shape));
}

Results runCompress(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& x = *inputs[0];
    const ReferenceValue& condition = *inputs[1];
    Extents extents = x.extents;
    size_t axis = 0;
    if (!node.attributes.has("axis")) {
        extents = {x.count()};
    } else {
        const auto at = normalizedAxis(node.attributes.integer("axis"), extents.size());
        if (!at)
            return badInput(node,
                            fmt::format("the axis is out of range for rank {}", extents.size()));
        axis = *at;
    }
    if (condition.count() > extents[axis] || condition.dtype != DType::Bool)
        return badInput(
            node, fmt::format("{} conditions for {} elements", condition.count(), extents[axis]));
    std::vector<int64_t> kept;
    for (int64_t i = 0; i < condition.count(); ++i)
        if (condition.intAt(i) != 0)
            kept.push_back(i);
    const int64_t extent = extents[axis];
    const int64_t inner = countOf(extents, axis + 1, extents.size());
    const auto count = static_cast<int64_t>(kept.size());
    extents[axis] = count;
    return single(mapElements(node, x, std::move(extents), [&](int64_t i) {
        const int64_t row = i / (count * inner);
        const int64_t at = kept[static_cast<size_t>(i / inner % count)];
        return (row * extent + at) * inner + i % inner;
    }));
}

// --- Unique -------------------------------------------------------------------------------

void inferUnique(InferContext& context) {
    inferCompress(context);
    for (size_t i = 1; i < context.outputCount(); ++i)
        setTensor(context, i, DType::Int64, Shape(1));
}

/// Equal pieces of x along one axis, found by sorting.
struct Groups {
    std::vector<int64_t> first;   ///< first position of each group
    std::vector<int64_t> inverse; ///< group of each position
    std::vector<int64_t> counts;
};

/// `less` orders positions 0..extent-1; groups come sorted, or by first appearance.
template <typename Less> Groups groupsOf(int64_t extent, bool sorted, Less&& less) {
    std::vector<int64_t> order(static_cast<size_t>(extent));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), less);
    Groups out;
    out.inverse.resize(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
        if (i == 0 || less(order[i - 1], order[i])) {
            out.first.push_back(order[i]);
            out.counts.push_back(0);
        }
        ++out.counts.back();
        out.inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(out.first.size()) - 1;
    }
    if (sorted)
        return out;
    std::vector<int64_t> byAppearance(out.first.size());
    std::iota(byAppearance.begin(), byAppearance.end(), 0);
    std::sort(byAppearance.begin(), byAppearance.end(), [&](int64_t a, int64_t b) {
        return out.first[static_cast<size_t>(a)] < out.first[static_cast<size_t>(b)];
    });
    Groups renamed = out;
    std::vector<int64_t> newName(byAppearance.size());
    for (size_t i = 0; i < byAppearance.size(); ++i) {
        const auto old = static_cast<size_t>(byAppearance[i]);
        renamed.first[i] = out.first[old];
        renamed.counts[i] = out.counts[old];
        newName[old] = static_cast<int64_t>(i);
    }
    for (int64_t& group : renamed.inverse)
        group = newName[static_cast<size_t>(group)];
    return renamed;
}

Results runUnique(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& x = *inputs[0];
    Extents extents = x.extents;
    size_t axis = 0;
    if (!node.attributes.has("axis")) {
        extents = {x.count()};
    } else {
        const auto at = normalizedAxis(node.attributes.integer("axis"), extents.size());
        if (!at)
            return badInput(node,
                            fmt::format("the axis is out of range for rank {}", extents.size()));
        axis = *at;
    }
    const int64_t extent = extents[axis];
    const int64_t outer = countOf(extents, 0, axis);
    const int64_t inner = countOf(extents, axis + 1, extents.size());
    ReferenceValue probe = x; // only its class selects the vector below
    Groups groups;
    onElements(x, probe, [&](const auto& from, auto&) {
        groups =
            groupsOf(extent, node.attributes.integer("sorted", 1) != 0, [&](int64_t a, int64_t b) {
                for (int64_t i = 0; i < outer * inner; ++i) {
                    const int64_t row = i / inner * extent * inner + i % inner;
                    const auto& left = from[static_cast<size_t>(row + a * inner)];
                    const auto& right = from[static_cast<size_t>(row + b * inner)];
                    if (precedes(left, right) || precedes(right, left))
                        return precedes(left, right);
                }
                return false;
            });
    });
    const auto count = static_cast<int64_t>(groups.first.size());
    extents[axis] = count;
    auto values = mapElements(node, x, std::move(extents), [&](int64_t i) {
        const int64_t row = i / (count * inner);
        return (row * extent + groups.first[static_cast<size_t>(i / inner % count)]) * inner +
               i % inner;
    });
    if (!values)
        return failure(values.error());
    std::vector<ReferenceValue> out;
    out.push_back(std::move(*values));
    out.push_back(ReferenceValue::ofInts(std::move(groups.first)));
    out.push_back(ReferenceValue::ofInts(std::move(groups.inverse)));
    out.push_back(ReferenceValue::ofInts(std::move(groups.counts)));
    return trimmed(node, std::move(out));
}

} // namespace

std::span<const OpRow> selectionRows() {
    static const OpRow rows[] = {
        {.op = Op::Compress,
         .name = "Compress",
         .since = 9,
         .minInputs = 2,
         .maxInputs = 2,
         .traits = DataMovement,
         .inputs = "input condition",
         .attributes = "axis:int",
         .infer = inferCompress,
         .reference = onTensors<runCompress>},
        {.op = Op::NonZero,
         .name = "NonZero",
         .since = 9,
         .traits = Discontinuous,
         .infer = inferNonZero,
         .reference = onTensors<runNonZero>},
        {.op = Op::TopK,
         .name = "TopK",
         .minInputs = 2,
         .maxInputs = 2,
         .maxOutputs = 2,
         .traits = Discontinuous,
         .inputs = "X K",
         .attributes = "axis:int=-1 largest:int=1 sorted:int=1",
         .infer = inferTopK,
         .reference = onTensors<runTopK>},
        {.op = Op::Unique,
         .name = "Unique",
         .since = 11,
         .maxOutputs = 4,
         .traits = Discontinuous,
         .attributes = "axis:int sorted:int=1",
         .infer = inferUnique,
         .reference = onTensors<runUnique>},
    };
    return rows;
}

} // namespace fuselage
