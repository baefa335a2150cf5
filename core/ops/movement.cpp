// SPDX-License-Identifier: Apache-2.0
// Rows of the family, and the operators that permute, repeat, join and cut whole axes.
#include "core/ops/movement.h"

#include "core/ops/infer_support.h"
#include "core/ops/movement_internal.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace fuselage {

namespace {

using movement::Results;

// --- Transpose ----------------------------------------------------------------------------

std::optional<std::vector<size_t>> permutation(const Node& node, size_t rank) {
    std::vector<int64_t> perm = node.attributes.integers("perm");
    if (perm.empty()) {
        perm.resize(rank);
        std::iota(perm.rbegin(), perm.rend(), 0);
    }
    return perm.size() == rank ? normalizedAxes(perm, rank) : std::nullopt;
}

void inferTranspose(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    std::optional<Shape> shape;
    if (x) {
        const auto perm = permutation(context.node(), x->size());
        if (!perm)
            return context.fail(
                fmt::format("`perm` is not a permutation of {} dimensions", x->size()));
        shape.emplace();
        for (size_t axis : *perm)
            shape->push_back((*x)[axis]);
    } else if (const auto perm = context.node().attributes.integers("perm"); !perm.empty()) {
        shape = Shape(perm.size());
    }
    setTensor(context, 0, dtypeOf(context, 0), std::move(shape));
    if (x && x->size() <= 1)
        passContents(context, 0, 0);
}

Results runTranspose(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    auto window = transposeWindow(node, inputs[0]->extents);
    if (!window)
        return failure(window.error());
    return movement::windowElements(node, *inputs[0], *window);
}

// --- Expand, Tile -------------------------------------------------------------------------

void inferExpand(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    const auto target = partialContents(context, 1);
    std::optional<Shape> shape;
    if (x && target) {
        shape = broadcastShapes(*x, *target);
        if (!shape)
            return context.fail(
                fmt::format("{} cannot be expanded to {}", text(*x), text(*target)));
    }
    if (shape && shape->size() <= 1) {
        const auto contents = context.contents(0);
        const Dim count = shape->empty() ? Dim(1) : shape->front();
        if (contents && Dim(static_cast<int64_t>(contents->size())) == count)
            context.setContents(0, *contents);
        else if (contents && contents->size() == 1 && count.isNumber() && count.value() >= 0 &&
                 count.value() <= maxContents)
            context.setContents(0, Shape(static_cast<size_t>(count.value()), contents->front()));
    }
    setTensor(context, 0, dtypeOf(context, 0), std::move(shape));
}

Results runExpand(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& x = *inputs[0];
    const Extents target = intsOf(*inputs[1]);
    auto extents = broadcastExtents(x.extents, target);
    if (!extents)
        return badInput(node,
                        fmt::format("{} cannot be expanded to {}", text(x.extents), text(target)));
    Extents strides = broadcastStrides(x.extents, *extents);
    return movement::windowElements(node, x, {std::move(*extents), std::move(strides), 0});
}

void inferTile(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    const auto repeats = partialContents(context, 1);
    std::optional<Shape> shape = x ? std::optional(*x) : std::nullopt;
    if (x && repeats && repeats->size() != x->size())
        return context.fail(
            fmt::format("{} repeats for {} dimensions", repeats->size(), x->size()));
    for (size_t i = 0; x && i < x->size(); ++i)
        (*shape)[i] = repeats ? (*x)[i] * (*repeats)[i] : Dim();
    if (shape && shape->size() == 1 && shape->front().isNumber() &&
        shape->front().value() <= maxContents) {
        if (const auto contents = context.contents(0); contents && !contents->empty()) {
            Shape tiled;
            for (int64_t i = 0; i < shape->front().value(); ++i)
                tiled.push_back((*contents)[static_cast<size_t>(i) % contents->size()]);
            context.setContents(0, std::move(tiled));
        }
    }
    setTensor(context, 0, dtypeOf(context, 0), std::move(shape));
}

Results runTile(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& x = *inputs[0];
    const std::vector<int64_t> repeats = intsOf(*inputs[1]);
    if (repeats.size() != x.extents.size())
        return badInput(
            node, fmt::format("{} repeats for {} dimensions", repeats.size(), x.extents.size()));
    Extents extents = x.extents;
    for (size_t i = 0; i < extents.size(); ++i)
        if (repeats[i] < 0 || __builtin_mul_overflow(extents[i], repeats[i], &extents[i]))
            return badInput(node, fmt::format("repeat {} is out of range", repeats[i]));
    const Extents own = rowMajorStrides(x.extents);
    StridedWalk walk(extents);
    return single(mapElements(node, x, extents, [&](int64_t) {
        int64_t at = 0;
        for (size_t i = 0; i < own.size(); ++i)
            at += walk.index()[i] % x.extents[i] * own[i];
        walk.next();
        return at;
    }));
}

// --- Concat -------------------------------------------------------------------------------

void inferConcat(InferContext& context) {
    std::optional<Shape> shape;
    std::optional<Shape> contents = Shape();
    std::optional<size_t> axis;
    Dim total = 0;
    for (size_t i = 0; i < context.inputCount(); ++i) {
        const DType first = dtypeOf(context, 0), own = dtypeOf(context, i);
        if (first != DType::Undefined && own != DType::Undefined && own != first)
            return context.fail(
                fmt::format("inputs of element type {} and {}", nameOf(first), nameOf(own)));
        const Shape* x = shapeOf(context, i);
        const auto part = x && x->size() == 1 ? partialContents(context, i) : std::nullopt;
        if (contents && part)
            contents->insert(contents->end(), part->begin(), part->end());
        else
            contents.reset();
        if (!x) {
            total = Dim();
            continue;
        }
        if (!shape) {
            shape = *x;
            axis = checkedAxis(context, context.node().attributes.integer("axis"), x->size());
            if (!axis)
                return;
        }
        if (x->size() != shape->size())
            return context.fail(fmt::format("inputs of rank {} and {}", shape->size(), x->size()));
        total = total + (*x)[*axis];
        for (size_t d = 0; d < x->size(); ++d) {
            if (d == *axis)
                continue;
            if (certainlyDifferent((*x)[d], (*shape)[d]))
                context.fail(fmt::format("inputs have {} and {} along axis {}", (*shape)[d].text(),
                                         (*x)[d].text(), d));
            if ((*x)[d].isNumber() || (*shape)[d].isUnknown())
                (*shape)[d] = (*x)[d];
        }
    }
    if (shape)
        (*shape)[*axis] = total;
    setTensor(context, 0, dtypeOf(context, 0), std::move(shape));
    if (contents && isInteger(dtypeOf(context, 0)) &&
        static_cast<int64_t>(contents->size()) <= maxContents)
        context.setContents(0, std::move(*contents));
}

Results runConcat(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& first = *inputs[0];
    const auto axis = normalizedAxis(node.attributes.integer("axis"), first.extents.size());
    if (!axis)
        return badInput(node,
                        fmt::format("the axis is out of range for rank {}", first.extents.size()));
    Extents extents = first.extents;
    extents[*axis] = 0;
    for (const ReferenceValue* x : inputs) {
        if (!x)
            return badInput(node, "an input is missing");
        Extents others = x->extents;
        if (others.size() == extents.size())
            others[*axis] = extents[*axis];
        if (others != extents || x->dtype != first.dtype ||
            __builtin_add_overflow(extents[*axis], x->extents[*axis], &extents[*axis]))
            return badInput(node, fmt::format("{} cannot be joined to {} along axis {}",
                                              text(x->extents), text(first.extents), *axis));
    }
    return single(joinAlong(node, *axis, extents, {inputs.begin(), inputs.end()}));
}

// --- Split --------------------------------------------------------------------------------

/// Sizes of the pieces: given, or even with a smaller last one.
std::vector<int64_t> evenPieces(int64_t extent, int64_t count) {
    const int64_t piece = (extent + count - 1) / count;
    std::vector<int64_t> out;
    for (int64_t i = 0; i < count; ++i)
        out.push_back(std::clamp<int64_t>(extent - i * piece, 0, piece));
    return out;
}

void inferSplit(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    const size_t count = context.outputCount();
    std::optional<size_t> axis;
    if (x)
        axis = checkedAxis(context, context.node().attributes.integer("axis"), x->size());
    if (!x || !axis) {
        for (size_t i = 0; i < count; ++i)
            setTensor(context, i, dtypeOf(context, 0), std::nullopt);
        return;
    }
    std::optional<Shape> pieces;
    const Dim whole = (*x)[*axis];
    if (context.has(1)) {
        pieces = context.contents(1);
        if (pieces && pieces->size() != count)
            return context.fail(fmt::format("{} sizes for {} outputs", pieces->size(), count));
        Dim total = 0;
        for (size_t i = 0; pieces && i < count; ++i) {
            if ((*pieces)[i].isNumber() && (*pieces)[i].value() < 0)
                return context.fail(fmt::format("size {} is negative", (*pieces)[i].text()));
            total = total + (*pieces)[i];
        }
        if (pieces && total.isNumber() && whole.isNumber() && total.value() != whole.value())
            return context.fail(
                fmt::format("sizes {} do not cut {} elements", text(*pieces), whole.text()));
    } else if (whole.isNumber()) {
        pieces = toShape(evenPieces(whole.value(), static_cast<int64_t>(count)));
    } else if (!whole.isUnknown()) {
        pieces = Shape(count, Dim::ceilDivide(whole, Dim(static_cast<int64_t>(count))));
        pieces->back() = whole - Dim(static_cast<int64_t>(count) - 1) * pieces->front();
    }
    const auto contents = x->size() == 1 ? context.contents(0) : std::nullopt;
    size_t begin = 0;
    for (size_t i = 0; i < count; ++i) {
        Shape shape = *x;
        shape[*axis] = pieces ? (*pieces)[i] : Dim();
        if (contents && shape.front().isNumber() && shape.front().value() >= 0 &&
            begin + static_cast<size_t>(shape.front().value()) <= contents->size()) {
            const auto from = contents->begin() + static_cast<std::ptrdiff_t>(begin);
            context.setContents(i, Shape(from, from + shape.front().value()));
            begin += static_cast<size_t>(shape.front().value());
        }
        setTensor(context, i, dtypeOf(context, 0), std::move(shape));
    }
}

Results runSplit(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& x = *inputs[0];
    auto windows = splitWindows(node, x.extents, inputs);
    if (!windows)
        return failure(windows.error());
    const size_t axis = *normalizedAxis(node.attributes.integer("axis"), x.extents.size());
    const int64_t outer = countOf(x.extents, 0, axis);
    const int64_t row = countOf(x.extents, axis, x.extents.size());
    std::vector<ReferenceValue> out;
    for (const ElementWindow& window : *windows) {
        ReferenceValue part = ReferenceValue::tensor(x.dtype, window.extents);
        const int64_t piece = countOf(window.extents, axis, x.extents.size());
        onElements(x, part, [&](const auto& from, auto& to) {
            for (int64_t i = 0; i < outer; ++i)
                std::copy_n(from.begin() + i * row + window.origin, piece, to.begin() + i * piece);
        });
        out.push_back(std::move(part));
    }
    return out;
}

} // namespace

Result<ElementWindow> transposeWindow(const Node& node, const Extents& x) {
    const auto perm = permutation(node, x.size());
    if (!perm)
        return badInput(node,
                        fmt::format("`perm` is not a permutation of {} dimensions", x.size()));
    const Extents own = rowMajorStrides(x);
    ElementWindow out;
    for (size_t axis : *perm) {
        out.extents.push_back(x[axis]);
        out.strides.push_back(own[axis]);
    }
    return out;
}

Result<std::vector<ElementWindow>> splitWindows(const Node& node, const Extents& x,
                                                ReferenceInputs inputs) {
    const auto axis = normalizedAxis(node.attributes.integer("axis"), x.size());
    if (!axis)
        return badInput(node, fmt::format("the axis is out of range for rank {}", x.size()));
    const auto count = static_cast<int64_t>(node.outputs.size());
    if (count == 0)
        return std::vector<ElementWindow>();
    const ReferenceValue* given = inputAt(inputs, 1);
    const std::vector<int64_t> pieces = given ? intsOf(*given) : evenPieces(x[*axis], count);
    int64_t total = 0;
    for (int64_t piece : pieces)
        if (piece < 0 || __builtin_add_overflow(total, piece, &total))
            return badInput(node, fmt::format("size {} is out of range", piece));
    if (total != x[*axis] || static_cast<int64_t>(pieces.size()) != count)
        return badInput(node, fmt::format("sizes {} do not cut {} elements into {} outputs",
                                          text(pieces), x[*axis], count));
    std::vector<ElementWindow> out;
    ElementWindow next{x, rowMajorStrides(x)};
    for (int64_t piece : pieces) {
        next.extents[*axis] = piece;
        out.push_back(next);
        next.origin += piece * next.strides[*axis];
    }
    return out;
}

movement::Results movement::windowElements(const Node& node, const ReferenceValue& x,
                                           const ElementWindow& window) {
    StridedWalk walk(window.extents, {window.strides});
    return single(mapElements(node, x, window.extents, [&](int64_t) {
        const int64_t at = window.origin + walk.offset(0);
        walk.next();
        return at;
    }));
}

std::span<const OpRow> movementRows() {
    static const OpRow rows[] = {
        {.op = Op::CenterCropPad,
         .name = "CenterCropPad",
         .since = 18,
         .minInputs = 2,
         .maxInputs = 2,
         .traits = DataMovement,
         .inputs = "input_data shape",
         .attributes = "axes:ints",
         .infer = movement::inferCenterCropPad,
         .reference = onTensors<movement::runCenterCropPad>},
        {.op = Op::Col2Im,
         .name = "Col2Im",
         .since = 18,
         .minInputs = 3,
         .maxInputs = 3,
         .traits = WindowOp,
         .inputs = "input image_shape block_shape",
         .attributes = "dilations:ints pads:ints strides:ints",
         .infer = movement::inferCol2Im,
         .reference = onTensors<movement::runCol2Im>},
        {.op = Op::Concat,
         .name = "Concat",
         .maxInputs = variadic,
         .traits = DataMovement,
         .inputs = "inputs",
         .attributes = "axis:int!",
         .infer = inferConcat,
         .reference = onTensors<runConcat>},
        {.op = Op::DepthToSpace,
         .name = "DepthToSpace",
         .traits = DataMovement,
         .inputs = "input",
         .attributes = "blocksize:int! mode:string='DCR'",
         .infer = movement::inferDepthToSpace,
         .reference = onTensors<movement::runDepthToSpace>},
        {.op = Op::Expand,
         .name = "Expand",
         .since = 8,
         .minInputs = 2,
         .maxInputs = 2,
         .traits = DataMovement,
         .inputs = "input shape",
         .infer = inferExpand,
         .reference = onTensors<runExpand>},
        {.op = Op::Pad,
         .name = "Pad",
         .minInputs = 2,
         .maxInputs = 4,
         .traits = DataMovement,
         .inputs = "data pads constant_value axes",
         .attributes = "mode:string='constant'",
         .infer = movement::inferPad,
         .reference = onTensors<movement::runPad>},
        {.op = Op::ReverseSequence,
         .name = "ReverseSequence",
         .since = 10,
         .minInputs = 2,
         .maxInputs = 2,
         .traits = DataMovement,
         .inputs = "input sequence_lens",
         .attributes = "batch_axis:int=1 time_axis:int=0",
         .infer = movement::inferReverseSequence,
         .reference = onTensors<movement::runReverseSequence>},
        {.op = Op::Slice,
         .name = "Slice",
         .minInputs = 3,
         .maxInputs = 5,
         .traits = DataMovement,
         .inputs = "data starts ends axes steps",
         .infer = movement::inferSlice,
         .reference = onTensors<movement::runSlice>},
        {.op = Op::SpaceToDepth,
         .name = "SpaceToDepth",
         .traits = DataMovement,
         .inputs = "input",
         .attributes = "blocksize:int!",
         .infer = movement::inferSpaceToDepth,
         .reference = onTensors<movement::runSpaceToDepth>},
        {.op = Op::Split,
         .name = "Split",
         .maxInputs = 2,
         .maxOutputs = variadic,
         .traits = DataMovement,
         .inputs = "input split",
         .attributes = "axis:int=0 num_outputs:int",
         .infer = inferSplit,
         .reference = onTensors<runSplit>},
        {.op = Op::Tile,
         .name = "Tile",
         .minInputs = 2,
         .maxInputs = 2,
         .traits = DataMovement,
         .inputs = "input repeats",
         .infer = inferTile,
         .reference = onTensors<runTile>},
        {.op = Op::Transpose,
         .name = "Transpose",
         .traits = DataMovement,
         .inputs = "data",
         .attributes = "perm:ints",
         .infer = inferTranspose,
         .reference = onTensors<runTranspose>},
    };
    return rows;
}

} // namespace fuselage
