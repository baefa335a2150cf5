// SPDX-License-Identifier: Apache-2.0
// Reductions and normalizations in terms of sums, products and extrema over the inner dims.
#include "core/kernel/row_internal.h"
#include "core/ops/layer_norm.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace fuselage {

namespace {

std::vector<size_t> axesFrom(size_t axis, size_t rank) {
    std::vector<size_t> out(rank - axis);
    std::iota(out.begin(), out.end(), axis);
    return out;
}

int64_t countOf(const Extents& extents, const std::vector<size_t>& axes) {
    int64_t out = 1;
    for (size_t axis : axes)
        out *= extents[axis];
    return out;
}

IndexMap picked(const IndexMap& map, const std::vector<size_t>& axes) {
    IndexMap out;
    for (size_t axis : axes)
        out.push_back(map[axis]);
    return out;
}

/// Axes of a reducing node; none when they are not known.
std::optional<std::vector<size_t>> reducedAxes(const LowerBody& body, const Node& node,
                                               size_t rank) {
    switch (node.op) {
    case Op::GlobalAveragePool:
    case Op::GlobalMaxPool:
        return axesFrom(std::min<size_t>(2, rank), rank);
    case Op::ArgMax:
    case Op::ArgMin:
        return axesOf({node.attributes.integer("axis")}, rank);
    default:
        break;
    }
    auto axes = body.integers(node, "axes");
    if (!axes && LowerBody::input(node, 1).valid())
        return std::nullopt;
    if (!axes || axes->empty()) {
        if (node.attributes.integer("noop_with_empty_axes") != 0)
            return std::vector<size_t>{};
        return axesFrom(0, rank);
    }
    return axesOf(*axes, rank);
}

} // namespace

Scalar RowReducers::refuse(const Node& node, std::string why, const std::string& left,
                           const std::string& right) {
    Reason reason = kindReason("Row", "Row", fmt::format("{} {}", describe(node), why),
                               "match reductions over the same dims only");
    reason.facts.push_back({"a", left});
    reason.facts.push_back({"b", right});
    return m_composer.fail(std::move(reason));
}

Scalar RowReducers::reduce(ReduceKind kind, Scalar source) {
    for (const RowReduction& made : m_reductions)
        if (made.kind == kind && made.source.reg() == source.reg())
            return made.result;
    const DType type = kind >= ReduceKind::ArgMax ? DType::Int64 : source.type();
    Scalar result = m_composer.taggedInput(type, static_cast<int>(m_reductions.size()));
    m_reductions.push_back({kind, source, result});
    return result;
}

/// The source of a reduction is computed per element whoever asks for its result.
Scalar RowReducers::elementOf(ValueId id, const IndexMap& map) {
    const int scope = m_composer.scope();
    m_composer.setScope(0);
    Scalar out = m_composer.value(id, map);
    m_composer.setScope(scope);
    return out;
}

Scalar RowReducers::operand(const Node& node, size_t slot, const IndexMap& map,
                            const Extents& extents) {
    ValueId id = LowerBody::input(node, slot);
    MapResult broadcast = broadcastMap(map, extents, m_composer.body().extents(id));
    const IndexMap* at = m_composer.unwrap(broadcast, node);
    return at ? elementOf(id, *at) : m_composer.fail(Reason{});
}

bool RowReducers::place(const Node& node, const IndexMap& map, const Extents& extents,
                        const std::vector<size_t>& axes) {
    if (m_composer.failed())
        return false;
    if (!m_space.outerRank) {
        m_choice = InnerChoice{dimsInOrder(picked(map, axes)), {}};
        m_composer.fail(Reason{"restart", "inner dims are known now", {}, {}});
        return false;
    }
    IndexMap inner;
    Extents reducedExtents, innerSpace = m_composer.space();
    std::fill_n(innerSpace.begin(), *m_space.outerRank, 1);
    bool outerOnly = true;
    for (size_t d = 0; d < extents.size(); ++d) {
        if (std::find(axes.begin(), axes.end(), d) != axes.end()) {
            inner.push_back(map[d]);
            reducedExtents.push_back(extents[d]);
        } else {
            for (const IndexTerm& term : map[d].terms)
                outerOnly = outerOnly && term.dim < *m_space.outerRank;
        }
    }
    if (outerOnly && coversOnce(inner, reducedExtents, innerSpace))
        return true;
    refuse(node,
           fmt::format("normalises {} of {}, the rows of this program are {}", text(reducedExtents),
                       text(extents), text(innerSpace)),
           text(reducedExtents), text(innerSpace));
    return false;
}

std::optional<IndexMap> RowReducers::unreduced(const Node& node, const IndexMap& map,
                                               const Extents& extents,
                                               const std::vector<size_t>& axes, bool keepDims) {
    const Extents& space = m_composer.space();
    Extents reducedExtents;
    for (size_t axis : axes)
        reducedExtents.push_back(extents[axis]);
    const int64_t count = countOf(extents, axes);
    const std::vector<uint32_t> kept = dimsOf(map);
    if (!m_space.outerRank) {
        InnerChoice choice;
        int64_t free = 1;
        for (uint32_t dim = 0; dim < space.size(); ++dim)
            if (space[dim] != 1 && std::find(kept.begin(), kept.end(), dim) == kept.end()) {
                choice.dims.push_back(dim);
                free *= space[dim];
            }
        if (choice.dims.empty())
            choice.appended = reducedExtents;
        else if (free != count) {
            refuse(node,
                   fmt::format("reduces {} elements, its result is repeated {} times", count, free),
                   std::to_string(count), std::to_string(free));
            return std::nullopt;
        }
        m_choice = std::move(choice);
        m_composer.fail(Reason{"restart", "inner dims are known now", {}, {}});
        return std::nullopt;
    }
    const size_t outer = *m_space.outerRank;
    Extents innerExtents(space.begin() + static_cast<std::ptrdiff_t>(outer), space.end());
    const bool crosses =
        std::any_of(kept.begin(), kept.end(), [&](uint32_t dim) { return dim >= outer; });
    if (crosses || elementCount(innerExtents) != count) {
        refuse(node,
               fmt::format("reduces {} of {}, the rows of this program are {}",
                           text(reducedExtents), text(extents), text(innerExtents)),
               text(reducedExtents), text(innerExtents));
        return std::nullopt;
    }
    MapResult inner = reshapeMap(identityMap(innerExtents, static_cast<uint32_t>(outer)),
                                 innerExtents, reducedExtents, space);
    const IndexMap* innerMap = m_composer.unwrap(inner, node);
    if (!innerMap)
        return std::nullopt;
    IndexMap out(extents.size());
    size_t nextKept = 0, nextReduced = 0;
    for (size_t d = 0; d < extents.size(); ++d) {
        const bool isReduced = std::find(axes.begin(), axes.end(), d) != axes.end();
        if (isReduced)
            out[d] = (*innerMap)[nextReduced++];
        else
            out[d] = map[keepDims ? d : nextKept];
        nextKept += isReduced ? 0 : 1;
    }
    return out;
}

Scalar RowReducers::softmax(const Node& node, const IndexMap& map) {
    const Extents& extents = m_composer.body().extents(node.inputs[0]);
    auto axis = normalizedAxis(node.attributes.integer("axis", -1), extents.size());
    if (!axis || !place(node, map, extents, {*axis}))
        return m_composer.fail(Reason{"unsupported-op", "softmax without an axis", {}, {}});
    Scalar x = elementOf(node.inputs[0], map);
    if (m_composer.failed())
        return x;
    Scalar shifted = x - reduce(ReduceKind::Max, x);
    Scalar power = unary(TapeOp::Exp, shifted);
    Scalar sum = reduce(ReduceKind::Sum, power);
    return node.op == Op::LogSoftmax ? shifted - unary(TapeOp::Log, sum) : power / sum;
}

RowReducers::Moments RowReducers::moments(Scalar x, int64_t count, double epsilon) {
    Moments out;
    out.mean = mean(x, count);
    out.centred = x - out.mean;
    Scalar variance = mean(out.centred * out.centred, count);
    out.inverse = 1.0 / unary(TapeOp::Sqrt, variance + epsilon);
    return out;
}

/// LayerNormalization and its relatives: x, then scale, then bias over the innermost dims.
Scalar RowReducers::normalization(const Node& node, uint32_t slot, const IndexMap& map) {
    const LowerBody& body = m_composer.body();
    const Extents& extents = body.extents(node.inputs[0]);
    const bool skips =
        node.op == Op::SkipLayerNormalization || node.op == Op::SkipSimplifiedLayerNormalization;
    const bool centres = node.op == Op::LayerNormalization || node.op == Op::SkipLayerNormalization;
    auto axis = normalizedAxis(skips ? -1 : node.attributes.integer("axis", -1), extents.size());
    if (!axis)
        return m_composer.fail(Reason{"unsupported-op", "axis out of range", {}, {}});
    const std::vector<size_t> axes = axesFrom(*axis, extents.size());
    IndexMap at = map;
    const bool perElement = slot == 0 || slot == 3;
    if (!perElement) {
        auto full = unreduced(node, map, extents, axes, true);
        if (!full)
            return m_composer.fail(Reason{});
        at = std::move(*full);
    } else if (slot == 0 && !place(node, at, extents, axes)) {
        return m_composer.fail(Reason{});
    }
    Scalar x = elementOf(node.inputs[0], at);
    if (skips) {
        const size_t bias = centres ? 4 : 3;
        x = m_composer.failed() ? x : x + operand(node, 1, at, extents);
        if (LowerBody::input(node, bias).valid() && !m_composer.failed())
            x = x + operand(node, bias, at, extents);
        m_composer.noteVisited(LowerBody::output(node, 3), at);
    }
    if (m_composer.failed() || slot == 3)
        return x;
    const int64_t count = countOf(extents, axes);
    const double epsilon = layerNormEpsilon(node);
    Moments m;
    if (centres) {
        m = moments(x, count, epsilon);
    } else {
        m.centred = x;
        m.inverse = 1.0 / unary(TapeOp::Sqrt, mean(x * x, count) + epsilon);
    }
    if (!perElement)
        return slot == 1 && centres ? m.mean : m.inverse;
    IndexMap keptMap = at;
    for (size_t reducedAxis : axes)
        keptMap[reducedAxis] = DimIndex{};
    for (size_t extra : {1, 2})
        if (LowerBody::output(node, extra).valid())
            m_composer.noteVisited(LowerBody::output(node, extra), keptMap);
    const size_t scaleSlot = skips ? 2 : 1, biasSlot = scaleSlot + 1;
    Scalar scale = operand(node, scaleSlot, at, extents);
    if (m_composer.failed())
        return x;
    Scalar out = m.centred * m.inverse * cast(scale, x.type());
    if (centres && LowerBody::input(node, biasSlot).valid()) {
        Scalar bias = operand(node, biasSlot, at, extents);
        out = m_composer.failed() ? out : out + cast(bias, x.type());
    }
    return out;
}

/// InstanceNormalization, GroupNormalization, MeanVarianceNormalization.
Scalar RowReducers::channelNormalization(const Node& node, const IndexMap& map) {
    const LowerBody& body = m_composer.body();
    const Extents& extents = body.extents(node.inputs[0]);
    Extents viewed = extents; // in which whole dims are normalised
    std::vector<size_t> axes;
    if (node.op == Op::MeanVarianceNormalization) {
        auto given = axesOf(node.attributes.integers("axes", {0, 2, 3}), extents.size());
        axes = given.value_or(std::vector<size_t>{});
    } else if (extents.size() >= 2) {
        const int64_t groups =
            node.op == Op::GroupNormalization ? node.attributes.integer("num_groups") : extents[1];
        if (groups > 0 && extents[0] > 0 && extents[1] > 0 && extents[1] % groups == 0) {
            viewed = {extents[0], groups, *elementCount(extents) / (extents[0] * groups)};
            axes = {2};
        }
    }
    if (axes.empty())
        return m_composer.fail(Reason{"unsupported-op", "no dims to normalise", {}, {}});
    MapResult reshaped = reshapeMap(map, extents, viewed, m_composer.space());
    // Merging dims is affine as long as the map is one of whole dims; otherwise it asks for a
    // split.
    const IndexMap* viewedMap = m_composer.unwrap(reshaped, node);
    if (!viewedMap || !place(node, *viewedMap, viewed, axes))
        return m_composer.fail(Reason{});
    Scalar x = elementOf(node.inputs[0], map);
    if (m_composer.failed())
        return x;
    const int64_t count = countOf(viewed, axes);
    if (node.op == Op::MeanVarianceNormalization) {
        Scalar centred = x - mean(x, count);
        return centred / (unary(TapeOp::Sqrt, mean(centred * centred, count)) + 1e-9);
    }
    Moments m = moments(x, count, node.attributes.number("epsilon", 1e-5));
    auto perChannel = [&](size_t slot) {
        const bool perGroup = body.extents(node.inputs[slot])[0] != extents[1];
        return cast(elementOf(node.inputs[slot], {perGroup ? (*viewedMap)[1] : map[1]}), x.type());
    };
    Scalar scale = perChannel(1), bias = perChannel(2);
    return m_composer.failed() ? x : m.centred * m.inverse * scale + bias;
}

Scalar RowReducers::lpNormalization(const Node& node, const IndexMap& map) {
    const Extents& extents = m_composer.body().extents(node.inputs[0]);
    auto axis = normalizedAxis(node.attributes.integer("axis", -1), extents.size());
    if (!axis || !place(node, map, extents, {*axis}))
        return m_composer.fail(Reason{"unsupported-op", "axis out of range", {}, {}});
    Scalar x = elementOf(node.inputs[0], map);
    if (m_composer.failed())
        return x;
    const Scalar sum = node.attributes.integer("p", 2) == 1
                           ? reduce(ReduceKind::Sum, unary(TapeOp::Abs, x))
                           : reduce(ReduceKind::Sum, x * x);
    const Scalar norm = node.attributes.integer("p", 2) == 1 ? sum : unary(TapeOp::Sqrt, sum);
    const Scalar zero = x.tape().constant(x.type(), 0);
    return select(equal(norm, zero), x, x / norm); // a row of zeros stays one
}

Scalar RowReducers::reducedElement(const Node& node, Scalar x, int64_t count) {
    const bool last = node.attributes.integer("select_last_index") != 0;
    auto sum = [&](Scalar source) { return reduce(ReduceKind::Sum, source); };
    switch (node.op) {
    case Op::ArgMax:
        return reduce(last ? ReduceKind::ArgMaxLast : ReduceKind::ArgMax, x);
    case Op::ArgMin:
        return reduce(last ? ReduceKind::ArgMinLast : ReduceKind::ArgMin, x);
    case Op::ReduceMax:
    case Op::GlobalMaxPool:
        return reduce(ReduceKind::Max, x);
    case Op::ReduceMin:
        return reduce(ReduceKind::Min, x);
    case Op::ReduceProd:
        return reduce(ReduceKind::Product, x);
    case Op::ReduceMean:
    case Op::GlobalAveragePool:
        return mean(x, count);
    case Op::ReduceL1:
        return sum(unary(TapeOp::Abs, x));
    case Op::ReduceL2:
        return unary(TapeOp::Sqrt, sum(x * x));
    case Op::ReduceSumSquare:
        return sum(x * x);
    case Op::ReduceLogSum:
        return unary(TapeOp::Log, sum(x));
    case Op::ReduceLogSumExp: {
        // Shifted by the largest element, so that exp does not overflow; not where that is
        // infinite.
        Scalar top = reduce(ReduceKind::Max, x);
        Scalar infinite = top.tape().apply(TapeOp::IsInf, DType::Bool, {top});
        Scalar shift = select(infinite, top.tape().constant(top.type(), 0), top);
        return unary(TapeOp::Log, sum(unary(TapeOp::Exp, x - shift))) + shift;
    }
    default:
        return sum(x);
    }
}

Scalar RowReducers::reduced(const Node& node, const IndexMap& map) {
    const LowerBody& body = m_composer.body();
    const Extents& extents = body.extents(node.inputs[0]);
    auto axes = reducedAxes(body, node, extents.size());
    const bool keepDims = node.op == Op::GlobalAveragePool || node.op == Op::GlobalMaxPool ||
                          node.attributes.integer("keepdims", 1) != 0;
    if (!axes || axes->empty())
        return m_composer.fail(Reason{"unsupported-op",
                                      fmt::format("{} has no known axes", describe(node)),
                                      "make its axes constant",
                                      {{"node", node.name}}});
    const bool floatOnly =
        node.op == Op::ReduceL2 || node.op == Op::ReduceLogSum || node.op == Op::ReduceLogSumExp;
    if (body.dtype(node.inputs[0]) == DType::Bool ||
        (floatOnly && !isFloat(body.dtype(node.inputs[0]))))
        return m_composer.fail(Reason{"unsupported-op",
                                      fmt::format("{} of {} has no scalar code", describe(node),
                                                  nameOf(body.dtype(node.inputs[0]))),
                                      "leave it out of the match",
                                      {{"node", node.name}}});
    auto at = unreduced(node, map, extents, *axes, keepDims);
    if (!at)
        return m_composer.fail(Reason{});
    Scalar x = elementOf(node.inputs[0], *at);
    if (m_composer.failed())
        return x;
    const bool isArg = node.op == Op::ArgMax || node.op == Op::ArgMin;
    if (isArg && isNarrowFloat(body.dtype(node.inputs[0]))) // ties are those of the stored values
        x = cast(cast(x, body.dtype(node.inputs[0])), DType::Float32);
    return reducedElement(node, x, countOf(extents, *axes));
}

Scalar RowReducers::result(const Node& node, uint32_t slot, const IndexMap& map) {
    switch (node.op) {
    case Op::Softmax:
    case Op::LogSoftmax:
        return softmax(node, map);
    case Op::LayerNormalization:
    case Op::RMSNormalization:
    case Op::SimplifiedLayerNormalization:
    case Op::SkipLayerNormalization:
    case Op::SkipSimplifiedLayerNormalization:
        return normalization(node, slot, map);
    case Op::GroupNormalization:
    case Op::InstanceNormalization:
    case Op::MeanVarianceNormalization:
        return channelNormalization(node, map);
    case Op::LpNormalization:
        return lpNormalization(node, map);
    default:
        return reduced(node, map);
    }
}

std::optional<Scalar> RowReducers::answer(NodeId id, uint32_t slot, const IndexMap& map) {
    if (m_composer.body().classOf(id) != NodeClass::Reduction)
        return std::nullopt;
    return result(m_composer.body().node(id), slot, map);
}

} // namespace fuselage
