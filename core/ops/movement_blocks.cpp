// SPDX-License-Identifier: Apache-2.0
// Movement of blocks: DepthToSpace, SpaceToDepth, ReverseSequence, Col2Im.
#include "core/ops/infer_support.h"
#include "core/ops/movement_internal.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::movement {

namespace {

/// x seen as `view`, its dimensions permuted, under the extents `out`.
Results rearranged(const Node& node, const ReferenceValue& x, const Extents& view,
                   const std::vector<size_t>& perm, Extents out) {
    const Extents own = rowMajorStrides(view);
    Extents extents;
    Extents strides;
    for (size_t axis : perm) {
        extents.push_back(view[axis]);
        strides.push_back(own[axis]);
    }
    StridedWalk walk(extents, {strides});
    return single(mapElements(node, x, std::move(out), [&](int64_t) {
        const int64_t at = walk.offset(0);
        walk.next();
        return at;
    }));
}

/// Block size of a 4-dimensional input, or 0 when the node cannot be computed.
int64_t blockSize(const Node& node) {
    const int64_t block = node.attributes.integer("blocksize");
    return block > 0 && block <= (int64_t(1) << 20) ? block : 0;
}

std::optional<Shape> imageShape(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    if (x && x->size() != 4)
        context.fail(fmt::format("the input has {} dimensions, not 4", x->size()));
    return x && x->size() == 4 ? std::optional(*x) : std::nullopt;
}

} // namespace

void inferDepthToSpace(InferContext& context) {
    auto shape = imageShape(context);
    const int64_t block = blockSize(context.node());
    if (shape && block && (*shape)[1].isNumber() && (*shape)[1].value() % (block * block) != 0)
        context.fail(fmt::format("{} channels do not make blocks of {} x {}", (*shape)[1].text(),
                                 block, block));
    if (shape && block)
        shape = Shape{(*shape)[0], Dim::divide((*shape)[1], block * block), (*shape)[2] * block,
                      (*shape)[3] * block};
    setTensor(context, 0, dtypeOf(context, 0), std::move(shape));
}

Results runDepthToSpace(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& x = *inputs[0];
    const int64_t block = blockSize(node);
    if (!block || x.extents.size() != 4 || x.extents[1] % (block * block) != 0)
        return badInput(node, fmt::format("{} has no whole blocks", text(x.extents)));
    const int64_t n = x.extents[0];
    const int64_t depth = x.extents[1] / (block * block);
    const int64_t h = x.extents[2];
    const int64_t w = x.extents[3];
    Extents out{n, depth, h * block, w * block};
    if (node.attributes.string("mode", "DCR") == "CRD")
        return rearranged(node, x, {n, depth, block, block, h, w}, {0, 1, 4, 2, 5, 3}, out);
    return rearranged(node, x, {n, block, block, depth, h, w}, {0, 3, 4, 1, 5, 2}, out);
}

void inferSpaceToDepth(InferContext& context) {
    auto shape = imageShape(context);
    const int64_t block = blockSize(context.node());
    if (shape && block)
        shape = Shape{(*shape)[0], (*shape)[1] * Dim(block * block),
                      Dim::divide((*shape)[2], block), Dim::divide((*shape)[3], block)};
    setTensor(context, 0, dtypeOf(context, 0), std::move(shape));
}

Results runSpaceToDepth(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& x = *inputs[0];
    const int64_t block = blockSize(node);
    if (!block || x.extents.size() != 4 || x.extents[2] % block || x.extents[3] % block)
        return badInput(node, fmt::format("{} has no whole blocks", text(x.extents)));
    const int64_t n = x.extents[0];
    const int64_t c = x.extents[1];
    const int64_t h = x.extents[2] / block;
    const int64_t w = x.extents[3] / block;
    return rearranged(node, x, {n, c, h, block, w, block}, {0, 3, 5, 1, 2, 4},
                      {n, c * block * block, h, w});
}

void inferReverseSequence(InferContext& context) {
    setSameAs(context, 0, 0);
}

Results runReverseSequence(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& x = *inputs[0];
    const int64_t batchAxis = node.attributes.integer("batch_axis", 1);
    const int64_t timeAxis = node.attributes.integer("time_axis", 0);
    const auto axes = normalizedAxes({batchAxis, timeAxis}, x.extents.size());
    if (!axes || (*axes)[0] > 1 || (*axes)[1] > 1)
        return badInput(node, "batch and time must be the first two axes");
    const int64_t batch = x.extents[(*axes)[0]];
    const int64_t time = x.extents[(*axes)[1]];
    const std::vector<int64_t> lengths = intsOf(*inputs[1]);
    if (static_cast<int64_t>(lengths.size()) != batch)
        return badInput(node, fmt::format("{} lengths for a batch of {}", lengths.size(), batch));
    for (int64_t length : lengths)
        if (length < 0 || length > time)
            return badInput(node, fmt::format("length {} is not within 0..{}", length, time));
    const Extents strides = rowMajorStrides(x.extents);
    const int64_t batchStride = strides[(*axes)[0]];
    const int64_t timeStride = strides[(*axes)[1]];
    return single(mapElements(node, x, x.extents, [&](int64_t i) {
        const int64_t t = i / timeStride % time;
        const int64_t length = lengths[static_cast<size_t>(i / batchStride % batch)];
        return t < length ? i + (length - 1 - 2 * t) * timeStride : i;
    }));
}

// --- Col2Im -------------------------------------------------------------------------------

namespace {

/// Sliding-window parameters of the image axes, checked and completed.
struct Windows {
    Extents image;
    Extents block;
    Extents dilations;
    Extents pads; ///< begins, then ends
    Extents strides;
    Extents positions; ///< windows along each axis
};

std::optional<Windows> windowsOf(const Attributes& attributes, Extents image, Extents block) {
    Windows out{std::move(image), std::move(block), {}, {}, {}, {}};
    const size_t rank = out.image.size();
    out.dilations = attributes.integers("dilations", Extents(rank, 1));
    out.pads = attributes.integers("pads", Extents(2 * rank, 0));
    out.strides = attributes.integers("strides", Extents(rank, 1));
    if (out.block.size() != rank || out.dilations.size() != rank || out.strides.size() != rank ||
        out.pads.size() != 2 * rank)
        return std::nullopt;
    constexpr int64_t limit = int64_t(1) << 30;
    const auto sane = [](int64_t v, int64_t least) { return v >= least && v <= limit; };
    for (size_t i = 0; i < rank; ++i) {
        if (!sane(out.image[i], 0) || !sane(out.block[i], 1) || !sane(out.dilations[i], 1) ||
            !sane(out.strides[i], 1) || !sane(out.pads[i], 0) || !sane(out.pads[i + rank], 0))
            return std::nullopt;
        const int64_t reach = out.dilations[i] * (out.block[i] - 1) + 1;
        const int64_t room = out.image[i] + out.pads[i] + out.pads[i + rank] - reach;
        out.positions.push_back(room < 0 ? 0 : room / out.strides[i] + 1);
    }
    return out;
}

} // namespace

void inferCol2Im(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    const auto image = partialContents(context, 1);
    const auto block = numbersOf(context, 2);
    std::optional<Shape> shape;
    if (x && x->size() != 3)
        return context.fail(fmt::format("the input has {} dimensions, not 3", x->size()));
    if (x && image) {
        const auto cells = block ? elementCount(*block) : std::nullopt;
        shape = Shape{(*x)[0], cells && *cells ? Dim::divide((*x)[1], *cells) : Dim()};
        shape->insert(shape->end(), image->begin(), image->end());
    }
    setTensor(context, 0, dtypeOf(context, 0), std::move(shape));
}

Results runCol2Im(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& x = *inputs[0];
    const auto windows = windowsOf(node.attributes, intsOf(*inputs[1]), intsOf(*inputs[2]));
    if (!windows || x.extents.size() != 3 || !isFloat(x.dtype))
        return badInput(node, "the windows do not fit the image");
    const auto cells = elementCount(windows->block);
    const auto positions = elementCount(windows->positions);
    if (!cells || !positions || x.extents[1] % *cells != 0 || x.extents[2] != *positions)
        return badInput(node, fmt::format("{} columns do not fit the windows", text(x.extents)));
    const int64_t channels = x.extents[1] / *cells;
    Extents extents{x.extents[0], channels};
    extents.insert(extents.end(), windows->image.begin(), windows->image.end());
    auto out = allocateResult(node, x.dtype, std::move(extents));
    if (!out || out->count() == 0)
        return single(std::move(out));
    const Extents imageStrides = rowMajorStrides(windows->image);
    const int64_t imageSize = countOf(windows->image, 0, windows->image.size());
    for (int64_t plane = 0; plane < x.extents[0] * channels; ++plane)
        for (StridedWalk cell(windows->block); cell.valid(); cell.next())
            for (StridedWalk at(windows->positions); at.valid(); at.next()) {
                int64_t target = 0;
                for (size_t i = 0; i < imageStrides.size() && target >= 0; ++i) {
                    const int64_t pixel = at.index()[i] * windows->strides[i] +
                                          cell.index()[i] * windows->dilations[i] -
                                          windows->pads[i];
                    const bool inside = pixel >= 0 && pixel < windows->image[i];
                    target = inside ? target + pixel * imageStrides[i] : -1;
                }
                const int64_t source =
                    (plane * *cells + cell.position()) * *positions + at.position();
                if (target >= 0)
                    out->floats[static_cast<size_t>(plane * imageSize + target)] +=
                        x.floats[static_cast<size_t>(source)];
            }
    return single(std::move(out));
}

} // namespace fuselage::movement
