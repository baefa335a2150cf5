// SPDX-License-Identifier: Apache-2.0
#include "core/graph/type.h"
#include "gpu/kernels/tma_kernel.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu {

namespace {

constexpr size_t mostDims = 5;
constexpr int64_t unit = 16; ///< bytes

/// One dim of a map beyond the innermost.
struct MapDim {
    int64_t extent, stride; ///< elements
    int64_t box;
    std::string coordinate;
};

/// The dims of the rows and of the batch, or why there are none.
std::variant<std::vector<MapDim>, Reason> outerDims(const ContractionView& view,
                                                    const TmaTile& tile, const TmaCluster& cluster,
                                                    bool isA, const KernelOperand& operand) {
    const std::vector<KernelOperand> operands = {operand};
    const Extents& axis = isA ? view.m : view.n;
    const LoopNest rows =
        axisNest(view, axis, view.batch.size() + (isA ? 0 : view.m.size()), operands);
    const LoopNest batch = axisNest(view, view.batch, 0, operands);
    const int64_t count = isA ? view.mCount : view.nCount;
    if (rows.loops().size() > 1)
        return refusal("layout", "rows of several strides are no box");
    const auto size = static_cast<int64_t>(sizeOf(operand.dtype));
    const int64_t inner = (view.kCount * size + unit - 1) / unit * unit / size;
    const int all = isA ? tile.m : tile.n, sharers = isA ? cluster.n : cluster.m;
    std::vector<MapDim> out = {
        {count, count == 1 ? inner : rows.innerStride(0), all / sharers,
         fmt::format("static_cast<int>({} * {}u{})", isA ? "tileM" : "tileN", all,
                     sharers == 1 ? "" : fmt::format(" + inCluster * {}u", all / sharers))}};
    for (size_t i = 0; i < batch.loops().size(); ++i)
        if (const Loop& loop = batch.loops()[i]; loop.strides[0] != 0)
            out.push_back({loop.extent, loop.strides[0], 1,
                           fmt::format("static_cast<int>({}Batch{})", isA ? "a" : "b", i)});
    return out;
}

/// Where the operand's memory begins.
KernelArgument memoryOf(const KernelRequest& request, const ContractionView& view, bool isA) {
    const auto& code = std::get<Contraction>(request.program->code);
    const KernelOperand& operand = isA ? view.a : view.b;
    const int64_t offset = operand.access.offset * static_cast<int64_t>(sizeOf(operand.dtype));
    if (!isA && view.made)
        return {KernelArgument::Kind::Scratch, 0, offset};
    if (!isA && view.packed)
        return {KernelArgument::Kind::Packed, 0, offset};
    return {KernelArgument::Kind::Input, isA ? code.a.operand : code.b.operand, offset};
}

} // namespace

std::variant<TmaOperand, Reason> tmaOperand(const KernelRequest& request,
                                            const ContractionView& view, const TmaTile& tile,
                                            const TmaCluster& cluster, bool isA) {
    const KernelOperand& operand = isA ? view.a : view.b;
    const LoopNest k = axisNest(view, view.k, view.resultDims(), {operand});
    if (k.loops().size() != 1 || k.innerStride(0) != 1)
        return refusal("layout", "TMA wants k innermost");
    auto outer = outerDims(view, tile, cluster, isA, operand);
    if (auto* reason = std::get_if<Reason>(&outer))
        return std::move(*reason);
    auto& dims = std::get<std::vector<MapDim>>(outer);
    // The header wants strides that grow; boxes lie the same whatever the order of dims of one.
    std::stable_sort(dims.begin(), dims.end(),
                     [](const MapDim& x, const MapDim& y) { return x.stride < y.stride; });
    TmaOperand out;
    out.map.memory = memoryOf(request, view, isA);
    out.map.element = operand.dtype;
    const auto size = static_cast<int64_t>(sizeOf(operand.dtype));
    out.map.dims = {view.kCount};
    out.map.box = {tmaRowBytes / size};
    out.coordinates = {fmt::format("k * {}", tmaRowBytes / size)};
    int64_t reach = view.kCount;
    for (const MapDim& dim : dims) {
        if (dim.stride < reach || dim.stride * size % unit != 0)
            return refusal("layout", fmt::format("a stride of {} elements", dim.stride));
        reach = dim.stride * dim.extent;
        out.map.dims.push_back(dim.extent);
        out.map.strides.push_back(dim.stride * size);
        out.map.box.push_back(dim.box);
        out.coordinates.push_back(dim.coordinate);
    }
    if (out.map.dims.size() > mostDims)
        return refusal("layout", "more dims than a tensor map has");
    if (operand.alignment % unit != 0 || out.map.memory.offset % unit != 0)
        return refusal("layout", "an operand that does not begin at a multiple of 16 bytes");
    out.setup = axisNest(view, view.batch, 0, {operand})
                    .split("batch", isA ? "aBatch" : "bBatch", "                ");
    return out;
}

} // namespace fuselage::gpu
