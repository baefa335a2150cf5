// SPDX-License-Identifier: Apache-2.0
// Variants whose stages the copy engine fills: which tiles there are, and what each refuses.
#include "core/graph/type.h"
#include "gpu/kernels/bulk_kernel.h"
#include "gpu/kernels/contraction.h"
#include "gpu/kernels/tensor_kernel.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu {

namespace {

constexpr BulkTile bulkTiles[] = {
    {"192x128", 192, 128, 4}, {"128x128", 128, 128, 6}, {"64x256", 64, 256, 4},
    {"64x128", 64, 128, 8},   {"128x64", 128, 64, 8},
};

constexpr double assumedMultiprocessors = 132;
constexpr int64_t reservedBytes = 1024; ///< of shared memory, for the driver

std::optional<Reason> refuseOperands(const EmitRequest& request, const Contraction& code) {
    if (auto reason = refuseTensorProgram(request, code, true, true))
        return reason;
    if (code.prologueA || code.prologueB)
        return refusal("kind", "the copy engine applies no prologue");
    return std::nullopt;
}

/// What this tile is wrong for.
std::optional<Reason> refuseSizes(const ContractionView& view, const BulkTile& tile) {
    if (view.wide)
        return refusal("support", "an operand has more than 2^30 elements");
    if (view.mCount == 0 || view.nCount == 0 || view.batchCount == 0 || view.kCount == 0)
        return refusal("support", "there is nothing to multiply");
    if (!view.bounds.empty())
        return refusal("layout", "a convolution with padding is no box");
    if ((tile.m > 64 && view.mCount <= tile.m / 2) || (tile.n > 64 && view.nCount <= tile.n / 2))
        return refusal("occupancy", fmt::format("{} x {} results leave most of a tile of {} idle",
                                                view.mCount, view.nCount, tile.name));
    return std::nullopt;
}

std::optional<Reason> refuseDevice(const BulkPlan& plan) {
    const DeviceProfile* profile = plan.request.profile;
    if (profile == nullptr)
        return std::nullopt;
    const auto shared = static_cast<int64_t>(profile->sharedBytesPerUnit);
    if (shared > 0 && plan.sharedBytes() > shared - reservedBytes)
        return refusal("smem", fmt::format("{} bytes of shared memory, there are {}",
                                           plan.sharedBytes(), shared));
    if (static_cast<double>(plan.tiles()) * 4 < profile->units)
        return refusal("occupancy", fmt::format("{} tiles for {} multiprocessors", plan.tiles(),
                                                profile->units));
    return std::nullopt;
}

/// The plan over a view whose weight may have been packed, or why there is none.
std::variant<BulkPlan, Reason> planOf(const EmitRequest& request, ContractionView& view,
                                      const BulkTile& tile) {
    auto a = bulkOperand(request, view, tile, true);
    if (auto* reason = std::get_if<Reason>(&a))
        return std::move(*reason);
    auto b = bulkOperand(request, view, tile, false);
    if (std::holds_alternative<Reason>(b) && packB(request, view))
        b = bulkOperand(request, view, tile, false);
    if (auto* reason = std::get_if<Reason>(&b))
        return std::move(*reason);
    BulkPlan plan{request, view, tile, std::move(std::get<BulkOperand>(a)),
                  std::move(std::get<BulkOperand>(b))};
    const double units = request.profile ? request.profile->units : assumedMultiprocessors;
    plan.blocks = std::clamp<int64_t>(static_cast<int64_t>(units), 1, plan.tiles());
    if (auto reason = refuseDevice(plan))
        return std::move(*reason);
    return plan;
}

template <size_t row> EmitResult emitBulk(const EmitRequest& request) {
    const BulkTile& tile = bulkTiles[row];
    const std::string name = fmt::format("bulk_{}", tile.name);
    const auto& code = std::get<Contraction>(request.program->code);
    if (auto reason = refuseOperands(request, code))
        return finish(name.c_str(), request, PartResult(*reason));
    ContractionView view = viewOf(request);
    if (auto reason = refuseSizes(view, tile))
        return finish(name.c_str(), request, PartResult(*reason));
    auto plan = planOf(request, view, tile);
    if (auto* reason = std::get_if<Reason>(&plan))
        return finish(name.c_str(), request, PartResult(*reason));
    const EpilogueText epilogue(request, view, widestResults(view));
    SetNeeds needs;
    if (view.packed)
        needs.packed = {*view.packed};
    return finishInOrder(name.c_str(), request, {bulkPart(std::get<BulkPlan>(plan), epilogue)},
                         std::move(needs));
}

} // namespace

EmitResult emitBulk192x128(const EmitRequest& request) {
    return emitBulk<0>(request);
}

EmitResult emitBulk128x128(const EmitRequest& request) {
    return emitBulk<1>(request);
}

EmitResult emitBulk64x256(const EmitRequest& request) {
    return emitBulk<2>(request);
}

EmitResult emitBulk64x128(const EmitRequest& request) {
    return emitBulk<3>(request);
}

EmitResult emitBulk128x64(const EmitRequest& request) {
    return emitBulk<4>(request);
}

} // namespace fuselage::gpu
