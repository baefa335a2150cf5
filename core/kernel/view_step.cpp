// SPDX-License-Identifier: Apache-2.0
// Walking backwards through one data movement node: the index map of its operand from the index
// map of its result. A node whose parameters are not known, or not affine, is no view.
#include "core/kernel/lower_body_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace fuselage {

namespace {

/// First index and step of constant indices in arithmetic progression.
struct Progression {
    int64_t start = 0;
    int64_t step = 1;
};

std::optional<Progression> progressionOf(const Tensor& indices, int64_t extent) {
    if (indices.rank() > 1 || indices.elementCount() == 0 || isFloat(indices.dtype()))
        return std::nullopt;
    auto at = [&](int64_t i) {
        const int64_t index = indices.intAt(i);
        return index < 0 ? index + extent : index;
    };
    Progression out{at(0), indices.elementCount() > 1 ? at(1) - at(0) : 1};
    for (int64_t i = 0; i < indices.elementCount(); ++i)
        if (at(i) != out.start + i * out.step || at(i) < 0 || at(i) >= extent)
            return std::nullopt;
    return out;
}

std::optional<Progression> gatherProgression(const LowerBody& body, const Node& node) {
    const Tensor* indices = body.constant(LowerBody::input(node, 1));
    auto axis =
        normalizedAxis(node.attributes.integer("axis"), body.extents(node.inputs[0]).size());
    if (!indices || !axis)
        return std::nullopt;
    return progressionOf(*indices, body.extents(node.inputs[0])[*axis]);
}

struct SliceDim {
    int64_t start = 0;
    int64_t step = 1;
};

std::optional<std::vector<SliceDim>> sliceDims(const LowerBody& body, const Node& node) {
    const Extents& from = body.extents(node.inputs[0]);
    auto starts = body.integers(node, "starts");
    auto axes = body.integers(node, "axes");
    auto steps = body.integers(node, "steps");
    const bool axesGiven = LowerBody::input(node, 3).valid() || node.attributes.has("axes");
    const bool stepsGiven = LowerBody::input(node, 4).valid() || node.attributes.has("steps");
    if (!starts || (axesGiven && !axes) || (stepsGiven && !steps))
        return std::nullopt;
    std::vector<SliceDim> out(from.size());
    for (size_t i = 0; i < starts->size(); ++i) {
        auto axis = normalizedAxis(axes && i < axes->size() ? (*axes)[i] : static_cast<int64_t>(i),
                                   from.size());
        const int64_t step = steps && i < steps->size() ? (*steps)[i] : 1;
        if (!axis || step == 0)
            return std::nullopt;
        const int64_t extent = from[*axis];
        int64_t start = (*starts)[i];
        start = start < 0 ? std::max<int64_t>(start + extent, step < 0 ? -1 : 0) : start;
        out[*axis] = {std::min(start, step < 0 ? extent - 1 : extent), step};
    }
    return out;
}

/// Offset of each output of Split along the axis.
int64_t splitOffset(const LowerBody& body, const Node& node, uint32_t slot, size_t axis) {
    int64_t out = 0;
    for (uint32_t i = 0; i < slot; ++i)
        if (node.outputs[i].valid())
            out += body.extents(node.outputs[i])[axis];
    return out;
}

bool allOutputsPresent(const Node& node) {
    return std::all_of(node.outputs.begin(), node.outputs.end(),
                       [](ValueId id) { return id.valid(); });
}

/// DepthToSpace and SpaceToDepth are Reshape, Transpose, Reshape; the middle two shapes.
struct BlockShuffle {
    Extents before; ///< the operand, blocks as dims of their own
    std::vector<size_t> order;
};

std::optional<BlockShuffle> blockShuffle(const LowerBody& body, const Node& node) {
    const Extents& x = body.extents(node.inputs[0]);
    const int64_t b = node.attributes.integer("blocksize");
    if (x.size() != 4 || b <= 0 || b > INT32_MAX) // its square must fit
        return std::nullopt;
    if (node.op == Op::SpaceToDepth) {
        if (x[2] % b != 0 || x[3] % b != 0)
            return std::nullopt;
        return BlockShuffle{{x[0], x[1], x[2] / b, b, x[3] / b, b}, {0, 3, 5, 1, 2, 4}};
    }
    if (x[1] % (b * b) != 0)
        return std::nullopt;
    if (node.attributes.string("mode", "DCR") == "DCR")
        return BlockShuffle{{x[0], b, b, x[1] / (b * b), x[2], x[3]}, {0, 3, 4, 1, 5, 2}};
    return BlockShuffle{{x[0], x[1] / (b * b), b, b, x[2], x[3]}, {0, 1, 4, 2, 5, 3}};
}

std::vector<size_t> transposeOrder(const Node& node, size_t rank) {
    auto axes = axesOf(node.attributes.integers("perm"), rank);
    std::vector<size_t> out(rank);
    std::iota(out.rbegin(), out.rend(), size_t(0));
    if (axes && axes->size() == rank)
        for (size_t d = 0; d < rank; ++d)
            out[d] = *normalizedAxis(node.attributes.integers("perm")[d], rank);
    return out;
}

/// Map of X where `map` is of Transpose(X).
IndexMap untransposed(const IndexMap& map, const std::vector<size_t>& order) {
    IndexMap out(map.size());
    for (size_t d = 0; d < order.size(); ++d)
        out[order[d]] = map[d];
    return out;
}

void scaleIndex(DimIndex& index, int64_t start, int64_t step) {
    index.offset = start + step * index.offset;
    for (IndexTerm& term : index.terms)
        term.scale *= step;
}

MapResult throughBlocks(const BlockShuffle& shuffle, const IndexMap& map, const Extents& result,
                        const Extents& operand, const Extents& space) {
    Extents after;
    for (size_t d : shuffle.order)
        after.push_back(shuffle.before[d]);
    MapResult middle = reshapeMap(map, result, after, space);
    if (auto* at = std::get_if<IndexMap>(&middle))
        return reshapeMap(untransposed(*at, shuffle.order), shuffle.before, operand, space);
    return middle;
}

/// Repeats along each dim: the index modulo the operand's extent, which is one part of a split.
MapResult throughTile(const IndexMap& map, const Extents& result, const Extents& operand,
                      const Extents& space) {
    Extents parted;
    for (size_t d = 0; d < result.size(); ++d) {
        if (operand[d] != 0 && result[d] % operand[d] != 0)
            return MapFailure{text(result), text(operand)};
        parted.push_back(operand[d] == 0 ? 0 : result[d] / operand[d]);
        parted.push_back(operand[d]);
    }
    MapResult middle = reshapeMap(map, result, parted, space);
    if (auto* at = std::get_if<IndexMap>(&middle)) {
        IndexMap out(operand.size());
        for (size_t d = 0; d < operand.size(); ++d)
            out[d] = (*at)[2 * d + 1];
        return out;
    }
    return middle;
}

IndexMap throughGather(const IndexMap& map, const Progression& p, size_t axis, bool scalarIndex) {
    IndexMap out = map;
    if (scalarIndex) {
        out.insert(out.begin() + static_cast<std::ptrdiff_t>(axis), DimIndex{p.start, {}});
        return out;
    }
    scaleIndex(out[axis], p.start, p.step);
    return out;
}

MapResult operandMap(const LowerBody& body, const Node& node, uint32_t slot, const IndexMap& map,
                     const Extents& space) {
    const Extents& from = body.extents(node.outputs[slot]);
    const Extents& to = body.extents(node.inputs[0]);
    switch (node.op) {
    case Op::Transpose:
        return untransposed(map, transposeOrder(node, to.size()));
    case Op::Expand:
        return broadcastMap(map, from, to);
    case Op::Slice: {
        IndexMap out = map;
        auto dims = sliceDims(body, node);
        for (size_t d = 0; dims && d < out.size(); ++d)
            scaleIndex(out[d], (*dims)[d].start, (*dims)[d].step);
        return out;
    }
    case Op::Split: {
        IndexMap out = map;
        size_t axis = *normalizedAxis(node.attributes.integer("axis"), to.size());
        out[axis].offset += splitOffset(body, node, slot, axis);
        return out;
    }
    case Op::Gather:
        return throughGather(map, *gatherProgression(body, node),
                             *normalizedAxis(node.attributes.integer("axis"), to.size()),
                             body.extents(node.inputs[1]).empty());
    case Op::Tile:
        return throughTile(map, from, to, space);
    case Op::DepthToSpace:
    case Op::SpaceToDepth:
        return throughBlocks(*blockShuffle(body, node), map, from, to, space);
    default:
        return reshapeMap(map, from, to, space);
    }
}

} // namespace

bool isViewNode(const LowerBody& body, const Node& node) {
    if (node.inputs.empty() || !LowerBody::input(node, 0).valid())
        return false;
    const size_t rank = body.extents(node.inputs[0]).size();
    switch (node.op) {
    case Op::Identity:
    case Op::Reshape:
    case Op::Flatten:
    case Op::Squeeze:
    case Op::Unsqueeze:
    case Op::Transpose:
    case Op::Expand:
    case Op::Tile:
        return true;
    case Op::Dropout: { // inference: the mask output and training need a routine of their own
        const Tensor* training = body.constant(LowerBody::input(node, 2));
        const bool off = !LowerBody::input(node, 2).valid() ||
                         (training && training->elementCount() == 1 && training->at(0) == 0);
        return node.outputs.size() == 1 && off && node.attributes.integer("training_mode") == 0;
    }
    case Op::Slice:
        return sliceDims(body, node).has_value();
    case Op::Split:
        return normalizedAxis(node.attributes.integer("axis"), rank) && allOutputsPresent(node);
    case Op::Gather:
        return gatherProgression(body, node).has_value();
    case Op::DepthToSpace:
    case Op::SpaceToDepth:
        return blockShuffle(body, node).has_value();
    default:
        return false;
    }
}

ViewStepResult stepThroughView(const LowerBody& body, NodeId id, uint32_t slot, const IndexMap& map,
                               const Extents& space) {
    const Node& node = body.node(id);
    MapResult result = operandMap(body, node, slot, map, space);
    if (auto* split = std::get_if<DimSplit>(&result))
        return *split;
    if (auto* failed = std::get_if<MapFailure>(&result))
        return shapeReason(failed->left, failed->right,
                           fmt::format("{} turns {} into {}, which is not affine over {}",
                                       describe(node), failed->right, failed->left, text(space)),
                           "leave it out of the match");
    IndexMap& out = std::get<IndexMap>(result);
    const Extents& extents = body.extents(node.inputs[0]);
    for (size_t d = 0; d < out.size(); ++d) { // a dim of extent 1 has one index
        if (largestIndex(out[d], space) >= extents[d] || smallestIndex(out[d], space) < 0)
            return shapeReason(text(extents), text(out),
                               fmt::format("{} reads beyond {}", describe(node), text(extents)));
        if (extents[d] == 1)
            out[d] = DimIndex{};
    }
    return ViewStep{node.inputs[0], std::move(out)};
}

} // namespace fuselage
