// SPDX-License-Identifier: Apache-2.0
#include "core/plan/views.h"

#include "core/ops/op_table.h"
#include "core/ops/tensor_index.h"

#include <algorithm>

namespace fuselage {

namespace {

bool isStridedView(Op op) {
    return op == Op::Transpose || op == Op::Slice || op == Op::Split;
}

std::optional<std::vector<int64_t>> constantInts(const Graph& graph, const Node& node,
                                                 size_t slot) {
    if (slot >= node.inputs.size() || !node.inputs[slot].valid())
        return std::nullopt;
    const TensorPtr& data = graph.value(node.inputs[slot]).constant;
    return data ? std::optional(data->toInts()) : std::nullopt;
}

std::optional<ViewOf> transposed(const Node& node, const ViewOf& operand) {
    std::vector<int64_t> perm = node.attributes.integers("perm");
    size_t rank = operand.extents.size();
    if (perm.empty())
        for (size_t i = rank; i-- > 0;)
            perm.push_back(static_cast<int64_t>(i));
    auto order = normalizedAxes(perm, rank); // counted from the end where negative
    if (!order || order->size() != rank)
        return std::nullopt;
    ViewOf out{operand.offset, {}, {}};
    for (size_t axis : *order) {
        out.extents.push_back(operand.extents[axis]);
        out.strides.push_back(operand.strides[axis]);
    }
    return out;
}

std::optional<ViewOf> sliced(const Graph& graph, const Node& node, const Extents& result,
                             const ViewOf& operand) {
    auto starts = constantInts(graph, node, 1);
    if (!starts)
        return std::nullopt;
    auto rank = static_cast<int64_t>(operand.extents.size());
    std::vector<int64_t> axes;
    if (node.inputs.size() > 3 && node.inputs[3].valid()) {
        auto given = constantInts(graph, node, 3);
        if (!given)
            return std::nullopt;
        axes = *given;
    } else {
        for (size_t i = 0; i < starts->size(); ++i)
            axes.push_back(static_cast<int64_t>(i));
    }
    std::vector<int64_t> steps(axes.size(), 1);
    if (node.inputs.size() > 4 && node.inputs[4].valid()) {
        auto given = constantInts(graph, node, 4);
        if (!given)
            return std::nullopt;
        steps = *given;
    }
    if (axes.size() != starts->size() || steps.size() != starts->size() ||
        result.size() != operand.extents.size())
        return std::nullopt;
    ViewOf out{operand.offset, result, operand.strides};
    for (size_t i = 0; i < axes.size(); ++i) {
        if (axes[i] < -rank || axes[i] >= rank)
            return std::nullopt;
        auto axis = static_cast<size_t>(axes[i] < 0 ? axes[i] + rank : axes[i]);
        int64_t extent = operand.extents[axis];
        int64_t start = (*starts)[i] < 0 ? (*starts)[i] + extent : (*starts)[i];
        if (result[axis] == 0)
            continue;
        start = std::clamp<int64_t>(start, 0, steps[i] < 0 ? extent - 1 : extent);
        out.offset += start * operand.strides[axis];
        // With one element left the step is never taken.
        int64_t stride = 0;
        if (result[axis] > 1 && __builtin_mul_overflow(operand.strides[axis], steps[i], &stride))
            return std::nullopt;
        out.strides[axis] = stride;
    }
    return out;
}

std::optional<ViewOf> splitPart(const Graph& graph, const Node& node, uint32_t slot,
                                const Extents& result, const ViewOf& operand) {
    int64_t axis = node.attributes.integer("axis");
    const auto rank = static_cast<int64_t>(operand.extents.size());
    if (axis < -rank || axis >= rank || result.size() != operand.extents.size())
        return std::nullopt;
    if (axis < 0)
        axis += rank;
    int64_t before = 0;
    for (uint32_t i = 0; i < slot; ++i) {
        auto extents =
            node.outputs[i].valid() ? graph.value(node.outputs[i]).type.extents() : std::nullopt;
        if (!extents || extents->size() != operand.extents.size())
            return std::nullopt;
        before += (*extents)[static_cast<size_t>(axis)];
    }
    return ViewOf{operand.offset + before * operand.strides[static_cast<size_t>(axis)], result,
                  operand.strides};
}

/// Gather of one index that is known.
bool selectsOne(const Graph& graph, const Node& node) {
    if (node.op != Op::Gather)
        return false;
    auto indices = constantInts(graph, node, 1);
    return indices && indices->size() == 1;
}

std::optional<ViewOf> selected(const Graph& graph, const Node& node, const Extents& result,
                               const ViewOf& operand) {
    const auto rank = static_cast<int64_t>(operand.extents.size());
    int64_t axis = node.attributes.integer("axis");
    if (axis < -rank || axis >= rank || result.size() + 1 < operand.extents.size())
        return std::nullopt;
    axis += axis < 0 ? rank : 0;
    const int64_t extent = operand.extents[static_cast<size_t>(axis)];
    int64_t index = constantInts(graph, node, 1)->front();
    index += index < 0 ? extent : 0;
    if (index < 0 || index >= extent) // the routine of the operator reports it
        return std::nullopt;
    ViewOf out{operand.offset + index * operand.strides[static_cast<size_t>(axis)], result,
               operand.strides};
    // The dims of the index, all of extent 1, stand in place of the axis.
    const size_t indexRank = result.size() + 1 - operand.extents.size();
    auto at = out.strides.erase(out.strides.begin() + axis);
    out.strides.insert(at, indexRank, 1);
    return out;
}

} // namespace

std::optional<Extents> reshapeStrides(const Extents& extents, const Extents& strides,
                                      const Extents& newExtents) {
    // Walk both shapes from the inside; a group of old dims that is dense among itself may be cut
    // into any new dims with the same product.
    Extents out(newExtents.size(), 0);
    size_t oldEnd = extents.size(), newEnd = newExtents.size();
    while (oldEnd > 0 || newEnd > 0) {
        if (newEnd > 0 && newExtents[newEnd - 1] == 1) {
            out[--newEnd] = 1;
            continue;
        }
        if (oldEnd > 0 && extents[oldEnd - 1] == 1) {
            --oldEnd;
            continue;
        }
        if (oldEnd == 0 || newEnd == 0)
            return std::nullopt;
        int64_t unit = strides[oldEnd - 1];
        int64_t oldProduct = extents[--oldEnd];
        size_t newBegin = newEnd - 1;
        int64_t newProduct = newExtents[newBegin];
        while (oldProduct != newProduct) {
            if (newProduct < oldProduct) {
                if (newBegin == 0)
                    return std::nullopt;
                newProduct *= newExtents[--newBegin];
            } else {
                if (oldEnd == 0)
                    return std::nullopt;
                bool dense = extents[oldEnd - 1] == 1 || strides[oldEnd - 1] == unit * oldProduct;
                if (!dense)
                    return std::nullopt;
                oldProduct *= extents[--oldEnd];
            }
        }
        int64_t stride = unit;
        while (newEnd > newBegin) {
            --newEnd;
            out[newEnd] = stride;
            stride *= newExtents[newEnd];
        }
    }
    return out;
}

namespace {

/// Lowest and highest element that a view reaches; none when it has no elements.
struct Reach {
    __int128 low = 0, high = 0;
};

std::optional<Reach> reachOf(const ViewOf& view) {
    Reach out{view.offset, view.offset};
    for (size_t d = 0; d < view.extents.size(); ++d) {
        if (view.extents[d] == 0)
            return std::nullopt;
        const __int128 step = static_cast<__int128>(view.extents[d] - 1) * view.strides[d];
        (step < 0 ? out.low : out.high) += step;
    }
    return out;
}

/// Files may declare larger results than their operators give.
bool staysInside(const ViewOf& view, const ViewOf& operand) {
    const auto mine = reachOf(view), all = reachOf(operand);
    return !mine || (all && mine->low >= all->low && mine->high <= all->high);
}

std::optional<ViewOf> anyView(const Graph& graph, const Node& node, uint32_t slot,
                              const Extents& result, const ViewOf& operand) {
    if (node.op == Op::Transpose)
        return transposed(node, operand);
    if (node.op == Op::Slice)
        return sliced(graph, node, result, operand);
    if (node.op == Op::Split)
        return splitPart(graph, node, slot, result, operand);
    if (node.op == Op::Gather)
        return selected(graph, node, result, operand);
    auto strides = reshapeStrides(operand.extents, operand.strides, result);
    return strides ? std::optional(ViewOf{operand.offset, result, *strides}) : std::nullopt;
}

} // namespace

bool mayBeView(const Graph& graph, const Node& node, ViewKinds kinds) {
    return hasTrait(node.op, Trait::View) ||
           (kinds == ViewKinds::Strided && (isStridedView(node.op) || selectsOne(graph, node)));
}

std::optional<ViewOf> viewOf(const Graph& graph, const Node& node, uint32_t slot,
                             const ViewOf& operand, ViewKinds kinds) {
    if (!mayBeView(graph, node, kinds) || !node.outputs[slot].valid())
        return std::nullopt;
    auto result = graph.value(node.outputs[slot]).type.extents();
    if (!result)
        return std::nullopt;
    auto view = anyView(graph, node, slot, *result, operand);
    return view && staysInside(*view, operand) ? view : std::nullopt;
}

std::optional<Extents> stridesBefore(const Graph& graph, const Node& node, const Extents& operand,
                                     const Extents& result, const Extents& strides,
                                     ViewKinds kinds) {
    if (!mayBeView(graph, node, kinds))
        return std::nullopt;
    if (hasTrait(node.op, Trait::View))
        return reshapeStrides(result, strides, operand);
    if (node.op != Op::Transpose)
        return std::nullopt;
    // Where the Transpose puts each of the operand's dimensions.
    Extents places;
    for (size_t d = 0; d < operand.size(); ++d)
        places.push_back(static_cast<int64_t>(d));
    const auto view = transposed(node, {0, operand, places});
    if (!view || view->strides.size() != strides.size())
        return std::nullopt;
    Extents out(operand.size(), 0);
    for (size_t d = 0; d < strides.size(); ++d)
        out[static_cast<size_t>(view->strides[d])] = strides[d];
    return out;
}

bool nestAlike(const Extents& extents, const Extents& a, const Extents& b) {
    for (size_t d = 0; d < extents.size(); ++d)
        for (size_t e = d + 1; e < extents.size(); ++e)
            if (extents[d] > 1 && extents[e] > 1 && (a[d] < a[e]) != (b[d] < b[e]))
                return false;
    return true;
}

} // namespace fuselage
