// SPDX-License-Identifier: Apache-2.0
// Every index that comes from data is checked against its axis; negative ones count from the end.
#include "core/ops/indexing.h"

#include "core/ops/infer_support.h"
#include "core/ops/tensor_index.h"
#include "core/support/checked.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuselage {

namespace {

using Results = Result<std::vector<ReferenceValue>>;

/// All indices as 0..extent-1.
Result<std::vector<int64_t>> checkedIndices(const Node& node, const ReferenceValue& indices,
                                            int64_t extent) {
    if (isFloat(indices.dtype) || indices.dtype == DType::String)
        return badInput(node, "the indices must be integers");
    std::vector<int64_t> out = indices.ints;
    for (int64_t& index : out) {
        if (index < -extent || index >= extent)
            return badInput(node,
                            fmt::format("index {} is out of range for {} elements", index, extent));
        index += index < 0 ? extent : 0;
    }
    return out;
}

Failure axisFailure(const Node& node, size_t rank) {
    return badInput(node, fmt::format("axis {} is out of range for rank {}",
                                      node.attributes.integer("axis"), rank));
}

// --- Gather -------------------------------------------------------------------------------

void passGatheredContents(InferContext& context) {
    const Shape* data = shapeOf(context, 0);
    const Shape* indices = shapeOf(context, 1);
    const auto contents = context.contents(0);
    const auto picked = numbersOf(context, 1);
    if (!contents || !picked || !data || data->size() != 1 || !indices || indices->size() > 1)
        return;
    const auto count = static_cast<int64_t>(contents->size());
    Shape out;
    for (int64_t index : *picked) {
        if (index < -count || index >= count)
            return context.fail(
                fmt::format("index {} is out of range for {} elements", index, count));
        out.push_back((*contents)[static_cast<size_t>(index < 0 ? index + count : index)]);
    }
    context.setContents(0, std::move(out));
}

void inferGather(InferContext& context) {
    const Shape* data = shapeOf(context, 0);
    const Shape* indices = shapeOf(context, 1);
    std::optional<Shape> shape;
    if (data && indices) {
        const auto axis =
            checkedAxis(context, context.node().attributes.integer("axis"), data->size());
        if (!axis)
            return;
        const auto split = data->begin() + static_cast<std::ptrdiff_t>(*axis);
        shape = Shape(data->begin(), split);
        shape->insert(shape->end(), indices->begin(), indices->end());
        shape->insert(shape->end(), split + 1, data->end());
    }
    setTensor(context, 0, dtypeOf(context, 0), std::move(shape));
    passGatheredContents(context);
}

Results runGather(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& data = *inputs[0];
    const auto axis = normalizedAxis(node.attributes.integer("axis"), data.extents.size());
    if (!axis)
        return axisFailure(node, data.extents.size());
    const int64_t extent = data.extents[*axis];
    const auto indices = checkedIndices(node, *inputs[1], extent);
    if (!indices)
        return failure(indices.error());
    const int64_t outer = countOf(data.extents, 0, *axis);
    const int64_t inner = countOf(data.extents, *axis + 1, data.extents.size());
    const auto split = data.extents.begin() + static_cast<std::ptrdiff_t>(*axis);
    Extents extents(data.extents.begin(), split);
    extents.insert(extents.end(), inputs[1]->extents.begin(), inputs[1]->extents.end());
    extents.insert(extents.end(), split + 1, data.extents.end());
    auto out = allocateResult(node, data.dtype, std::move(extents));
    if (!out)
        return single(std::move(out));
    onElements(data, *out, [&](const auto& from, auto& to) {
        auto target = to.begin();
        for (int64_t i = 0; i < outer; ++i)
            for (int64_t index : *indices)
                target = std::copy_n(from.begin() + (i * extent + index) * inner, inner, target);
    });
    return single(std::move(out));
}

// --- GatherElements, GatherND -------------------------------------------------------------

void inferGatherElements(InferContext& context) {
    const Shape* indices = shapeOf(context, 1);
    setTensor(context, 0, dtypeOf(context, 0), indices ? std::optional(*indices) : std::nullopt);
}

/// Offsets in a tensor of `extents` where element i of `indices` points along `axis`.
Result<std::vector<int64_t>> elementOffsets(const Node& node, const Extents& extents,
                                            const ReferenceValue& indices) {
    const auto axis = normalizedAxis(node.attributes.integer("axis"), extents.size());
    if (!axis)
        return axisFailure(node, extents.size());
    bool fits = indices.extents.size() == extents.size();
    for (size_t i = 0; fits && i < extents.size(); ++i)
        fits = i == *axis || indices.extents[i] <= extents[i];
    if (!fits)
        return badInput(node, fmt::format("indices of extents {} do not fit {}",
                                          text(indices.extents), text(extents)));
    auto out = checkedIndices(node, indices, extents[*axis]);
    if (!out)
        return out;
    const Extents strides = rowMajorStrides(extents);
    for (StridedWalk walk(indices.extents, {strides}); walk.valid(); walk.next()) {
        int64_t& offset = (*out)[static_cast<size_t>(walk.position())];
        offset = walk.offset(0) + (offset - walk.index()[*axis]) * strides[*axis];
    }
    return out;
}

Results runGatherElements(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const auto offsets = elementOffsets(node, inputs[0]->extents, *inputs[1]);
    if (!offsets)
        return failure(offsets.error());
    return single(mapElements(node, *inputs[0], inputs[1]->extents,
                              [&](int64_t i) { return (*offsets)[static_cast<size_t>(i)]; }));
}

void inferGatherND(InferContext& context) {
    const Shape* data = shapeOf(context, 0);
    const Shape* indices = shapeOf(context, 1);
    const int64_t batch = context.node().attributes.integer("batch_dims");
    std::optional<Shape> shape;
    if (data && indices && !indices->empty() && indices->back().isNumber()) {
        const int64_t last = batch + indices->back().value();
        if (batch < 0 || batch >= static_cast<int64_t>(indices->size()) || last < batch ||
            last > static_cast<int64_t>(data->size()))
            return context.fail(
                fmt::format("indices of shape {} do not fit {}", text(*indices), text(*data)));
        shape = Shape(indices->begin(), indices->end() - 1);
        shape->insert(shape->end(), data->begin() + last, data->end());
    }
    setTensor(context, 0, dtypeOf(context, 0), std::move(shape));
}

/// Where each index tuple of a GatherND or ScatterND points: the offset of a slice of `inner`
/// elements.
struct Slices {
    std::vector<int64_t> offsets;
    int64_t inner = 1;
    size_t consumed = 0; ///< leading axes of the data that batches and tuples address
};

Result<Slices> sliceOffsets(const Node& node, const Extents& extents, const ReferenceValue& indices,
                            size_t batch) {
    if (indices.extents.empty() || isFloat(indices.dtype) || indices.dtype == DType::String)
        return badInput(node, "the indices must be integers of at least one dimension");
    const int64_t width = indices.extents.back();
    if (batch >= indices.extents.size() || batch > extents.size() ||
        width > static_cast<int64_t>(extents.size() - batch) ||
        !std::equal(extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(batch),
                    indices.extents.begin()))
        return badInput(node, fmt::format("indices of extents {} do not fit {}",
                                          text(indices.extents), text(extents)));
    Slices out;
    out.consumed = batch + static_cast<size_t>(width);
    out.inner = countOf(extents, out.consumed, extents.size());
    const Extents strides = rowMajorStrides(extents);
    const int64_t tuples = countOf(indices.extents, 0, indices.extents.size() - 1);
    const int64_t batches = countOf(extents, 0, batch);
    const int64_t batchStride = countOf(extents, batch, extents.size());
    out.offsets.reserve(static_cast<size_t>(tuples));
    for (int64_t i = 0; i < tuples; ++i) {
        int64_t offset = batches > 1 ? i / (tuples / batches) * batchStride : 0;
        for (int64_t k = 0; k < width; ++k) {
            const size_t axis = batch + static_cast<size_t>(k);
            const int64_t index = indices.ints[static_cast<size_t>(i * width + k)];
            if (index < -extents[axis] || index >= extents[axis])
                return badInput(node, fmt::format("index {} is out of range for {} elements", index,
                                                  extents[axis]));
            offset += (index < 0 ? index + extents[axis] : index) * strides[axis];
        }
        out.offsets.push_back(offset);
    }
    return out;
}

Results runGatherND(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& data = *inputs[0];
    const ReferenceValue& indices = *inputs[1];
    const int64_t batch = node.attributes.integer("batch_dims");
    if (batch < 0)
        return badInput(node, "`batch_dims` is negative");
    const auto slices = sliceOffsets(node, data.extents, indices, static_cast<size_t>(batch));
    if (!slices)
        return failure(slices.error());
    Extents extents(indices.extents.begin(), indices.extents.end() - 1);
    extents.insert(extents.end(),
                   data.extents.begin() + static_cast<std::ptrdiff_t>(slices->consumed),
                   data.extents.end());
    auto out = allocateResult(node, data.dtype, std::move(extents));
    if (!out)
        return single(std::move(out));
    onElements(data, *out, [&](const auto& from, auto& to) {
        auto target = to.begin();
        for (int64_t offset : slices->offsets)
            target = std::copy_n(from.begin() + offset, slices->inner, target);
    });
    return single(std::move(out));
}

// --- Scatter ------------------------------------------------------------------------------

enum class Reduce : uint8_t { None, Add, Mul, Min, Max };

std::optional<Reduce> reduceOf(const Node& node) {
    const std::string name = node.attributes.string("reduction", "none");
    constexpr const char* names[] = {"none", "add", "mul", "min", "max"};
    for (uint8_t i = 0; i < 5; ++i)
        if (name == names[i])
            return static_cast<Reduce>(i);
    return std::nullopt;
}

void combine(Reduce reduce, double& into, double value, DType) {
    switch (reduce) {
    case Reduce::None:
        into = value;
        break;
    case Reduce::Add:
        into += value;
        break;
    case Reduce::Mul:
        into *= value;
        break;
    case Reduce::Min: // what is no number stays, as with Min and Max
        into = value < into || std::isnan(value) ? value : into;
        break;
    case Reduce::Max:
        into = value > into || std::isnan(value) ? value : into;
        break;
    }
}

void combine(Reduce reduce, int64_t& into, int64_t value, DType dtype) {
    const auto a = static_cast<uint64_t>(into);
    const auto b = static_cast<uint64_t>(value);
    const bool less = dtype == DType::UInt64 ? b < a : value < into;
    switch (reduce) {
    case Reduce::None:
        into = value;
        break;
    case Reduce::Add:
        into = wrapTo(dtype, static_cast<int64_t>(a + b));
        break;
    case Reduce::Mul:
        into = wrapTo(dtype, static_cast<int64_t>(a * b));
        break;
    case Reduce::Min:
        into = less ? value : into;
        break;
    case Reduce::Max:
        into = less ? into : value;
        break;
    }
}

void combine(Reduce, std::string& into, const std::string& value, DType) {
    into = value;
}

void inferScatter(InferContext& context) {
    setSameAs(context, 0, 0);
}

Results runScatterElements(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& updates = *inputs[2];
    const auto reduce = reduceOf(node);
    if (!reduce || updates.extents != inputs[1]->extents || !sameClass(updates, *inputs[0]))
        return badInput(node, "updates and indices differ, or the reduction is unknown");
    const auto offsets = elementOffsets(node, inputs[0]->extents, *inputs[1]);
    if (!offsets)
        return failure(offsets.error());
    ReferenceValue out = *inputs[0];
    onElements(updates, out, [&](const auto& from, auto& to) {
        for (size_t i = 0; i < offsets->size(); ++i)
            combine(*reduce, to[static_cast<size_t>((*offsets)[i])], from[i], out.dtype);
    });
    return single(std::move(out));
}

Results runScatterND(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& data = *inputs[0];
    const ReferenceValue& updates = *inputs[2];
    const auto reduce = reduceOf(node);
    if (!reduce || !sameClass(updates, data))
        return badInput(node, "updates and data differ in type, or the reduction is unknown");
    const auto slices = sliceOffsets(node, data.extents, *inputs[1], 0);
    if (!slices)
        return failure(slices.error());
    const auto expected =
        checkedMultiply(static_cast<int64_t>(slices->offsets.size()), slices->inner);
    if (!expected || *expected != updates.count())
        return badInput(node, fmt::format("{} updates do not fill {} slices of {}", updates.count(),
                                          slices->offsets.size(), slices->inner));
    ReferenceValue out = data;
    onElements(updates, out, [&](const auto& from, auto& to) {
        size_t next = 0;
        for (int64_t offset : slices->offsets)
            for (int64_t k = 0; k < slices->inner; ++k)
                combine(*reduce, to[static_cast<size_t>(offset + k)], from[next++], out.dtype);
    });
    return single(std::move(out));
}

} // namespace

std::span<const OpRow> indexingRows() {
    static const OpRow rows[] = {
        {.op = Op::Gather,
         .name = "Gather",
         .minInputs = 2,
         .maxInputs = 2,
         .traits = DataMovement,
         .inputs = "data indices",
         .attributes = "axis:int=0",
         .infer = inferGather,
         .reference = onTensors<runGather>},
        {.op = Op::GatherElements,
         .name = "GatherElements",
         .since = 11,
         .minInputs = 2,
         .maxInputs = 2,
         .traits = DataMovement,
         .inputs = "data indices",
         .attributes = "axis:int=0",
         .infer = inferGatherElements,
         .reference = onTensors<runGatherElements>},
        {.op = Op::GatherND,
         .name = "GatherND",
         .since = 11,
         .minInputs = 2,
         .maxInputs = 2,
         .traits = DataMovement,
         .inputs = "data indices",
         .attributes = "batch_dims:int=0",
         .infer = inferGatherND,
         .reference = onTensors<runGatherND>},
        {.op = Op::Scatter,
         .name = "Scatter",
         .since = 9,
         .minInputs = 3,
         .maxInputs = 3,
         .traits = DataMovement,
         .inputs = "data indices updates",
         .attributes = "axis:int=0",
         .infer = inferScatter,
         .reference = onTensors<runScatterElements>},
        {.op = Op::ScatterElements,
         .name = "ScatterElements",
         .since = 11,
         .minInputs = 3,
         .maxInputs = 3,
         .traits = DataMovement,
         .inputs = "data indices updates",
         .attributes = "axis:int=0 reduction:string='none'",
         .infer = inferScatter,
         .reference = onTensors<runScatterElements>},
        {.op = Op::ScatterND,
         .name = "ScatterND",
         .since = 11,
         .minInputs = 3,
         .maxInputs = 3,
         .traits = DataMovement,
         .inputs = "data indices updates",
         .attributes = "reduction:string='none'",
         .infer = inferScatter,
         .reference = onTensors<runScatterND>},
    };
    return rows;
}

} // namespace fuselage
