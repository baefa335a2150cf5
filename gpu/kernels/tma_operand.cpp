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

/// Dims of the batch's loops that move an operand, a box one of each; `prefix` of their names.
void addBatch(std::vector<MapDim>& to, const LoopNest& batch, const char* prefix) {
    for (size_t i = 0; i < batch.loops().size(); ++i)
        if (const Loop& loop = batch.loops()[i]; loop.strides[0] != 0)
            to.push_back({loop.extent, loop.strides[0], 1,
                          fmt::format("static_cast<int>({}{})", prefix, i)});
}

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
    addBatch(out, batch, isA ? "aBatch" : "bBatch");
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

/// Completes a map that has its memory, element and innermost dim with those around it, or says why
/// there is none.
std::optional<Reason> addDims(TmaOperand& to, std::vector<MapDim> dims,
                              const KernelOperand& operand) {
    // The header wants strides that grow; boxes lie the same whatever the order of dims of one.
    std::stable_sort(dims.begin(), dims.end(),
                     [](const MapDim& x, const MapDim& y) { return x.stride < y.stride; });
    int64_t reach = to.map.dims[0];
    for (const MapDim& dim : dims) {
        if (auto reason = addDim(to.map, dim.extent, dim.stride, reach))
            return reason;
        to.map.box.push_back(dim.box);
        to.coordinates.push_back(dim.coordinate);
    }
    if (to.map.dims.size() > mostDims)
        return refusal("layout", "more dims than a tensor map has");
    return refuseStart(to.map, operand);
}

/// The operand of the epilogue's read as boxes of some rows of 64 columns, where it is such.
std::optional<TmaOperand> landedOperand(const KernelRequest& request, const ContractionView& view,
                                        size_t read) {
    const auto& code = std::get<Contraction>(request.program->code);
    const KernelOperand& operand = view.reads[read];
    const size_t firstM = view.batch.size(), firstN = firstM + view.m.size();
    const LoopNest m = axisNest(view, view.m, firstM, {operand});
    const LoopNest n = axisNest(view, view.n, firstN, {operand});
    const LoopNest batch = axisNest(view, view.batch, 0, {operand});
    if (m.loops().size() != 1 || m.innerStride(0) == 0 || n.loops().size() != 1 ||
        n.innerStride(0) != 1)
        return std::nullopt;
    TmaOperand out;
    const auto size = static_cast<int64_t>(sizeOf(operand.dtype));
    out.map.memory = {KernelArgument::Kind::Input, code.epilogue.reads[read].operand,
                      operand.access.offset * size};
    out.map.element = operand.dtype;
    out.map.swizzled = false; // lanes read rows as they lie
    out.map.dims = {view.nCount};
    out.map.box = {tmaEndColumns};
    out.coordinates = {"static_cast<int>(column)"};
    std::vector<MapDim> dims = {
        {view.mCount, m.innerStride(0), tmaEndRows, "static_cast<int>(row)"}};
    addBatch(dims, batch, "landedBatch");
    if (addDims(out, std::move(dims), operand))
        return std::nullopt;
    out.setup = batch.split("batch", "landedBatch", "            ");
    return out;
}

} // namespace

std::optional<Reason> addDim(TensorMapText& map, int64_t extent, int64_t stride, int64_t& reach) {
    const auto size = static_cast<int64_t>(sizeOf(map.element));
    if (stride < reach || stride * size % unit != 0)
        return refusal("layout", fmt::format("a stride of {} elements", stride));
    reach = stride * extent;
    map.dims.push_back(extent);
    map.strides.push_back(stride * size);
    return std::nullopt;
}

std::optional<Reason> refuseStart(const TensorMapText& map, const KernelOperand& operand) {
    if (operand.alignment % unit != 0 || map.memory.offset % unit != 0)
        return refusal("layout", "an operand that does not begin at a multiple of 16 bytes");
    return std::nullopt;
}

std::optional<TmaLanded> tmaLanded(const KernelRequest& request, const ContractionView& view,
                                   const ResultLanes& lanes) {
    constexpr int least = 4, most = 16; // bytes that a lane takes of a row
    std::optional<TmaLanded> best;
    for (size_t read = 0; read < view.reads.size(); ++read) {
        const int size = static_cast<int>(sizeOf(view.reads[read].dtype));
        if (size > 4 || lanes.width * size < least || lanes.width * size > most ||
            (best && best->elementBytes >= size))
            continue;
        if (auto operand = landedOperand(request, view, read))
            best = {std::move(*operand), read, size};
    }
    return best;
}

std::variant<TmaOperand, Reason> tmaOperand(const KernelRequest& request,
                                            const ContractionView& view, const TmaTile& tile,
                                            const TmaCluster& cluster, bool isA, int64_t taps) {
    const KernelOperand& operand = isA ? view.a : view.b;
    const auto inner = taps == 1 ? view.k.begin() : view.k.end() - 1;
    const Extents outerK(view.k.begin(), inner), innerK(inner, view.k.end());
    const LoopNest k = axisNest(view, innerK, view.resultDims() + outerK.size(), {operand});
    if (k.loops().size() != 1 || k.innerStride(0) != 1)
        return refusal("layout", "TMA wants k innermost");
    auto outer = outerDims(view, tile, cluster, isA, operand);
    if (auto* reason = std::get_if<Reason>(&outer))
        return std::move(*reason);
    auto& dims = std::get<std::vector<MapDim>>(outer);
    const LoopNest tap = axisNest(view, outerK, view.resultDims(), {operand});
    for (size_t i = 0; i < tap.loops().size(); ++i)
        dims.push_back({tap.loops()[i].extent, tap.loops()[i].strides[0], 1,
                        fmt::format("static_cast<int>({}Tap{})", isA ? "a" : "b", i)});
    TmaOperand out;
    out.map.memory = memoryOf(request, view, isA);
    out.map.element = operand.dtype;
    const auto size = static_cast<int64_t>(sizeOf(operand.dtype));
    out.map.dims = {view.kCount / taps};
    out.map.box = {tmaRowBytes / size};
    out.coordinates = {fmt::format("{} * {}", taps == 1 ? "k" : "slice", tmaRowBytes / size)};
    if (auto reason = addDims(out, std::move(dims), operand))
        return std::move(*reason);
    out.setup = axisNest(view, view.batch, 0, {operand})
                    .split("batch", isA ? "aBatch" : "bBatch", "                ");
    out.stageSetup = tap.split("tap", isA ? "aTap" : "bTap", "                    ");
    return out;
}

} // namespace fuselage::gpu
