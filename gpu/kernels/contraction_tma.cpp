// SPDX-License-Identifier: Apache-2.0
// Variants whose stages TMA fills: which tiles there are, and what each refuses.
#include "core/graph/type.h"
#include "gpu/kernels/contraction.h"
#include "gpu/kernels/tensor_kernel.h"
#include "gpu/kernels/tma_kernel.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu {

namespace {

constexpr TmaTile tmaTiles[] = {
    {"192x128", 192, 128, 4}, {"128x128", 128, 128, 6}, {"64x256", 64, 256, 4},
    {"64x128", 64, 128, 8},   {"128x64", 128, 64, 8},
};

constexpr double assumedMultiprocessors = 132;
constexpr int64_t reservedBytes = 1024; ///< of shared memory, for the driver

std::optional<Reason> refuseOperands(const KernelRequest& request, const Contraction& code) {
    if (auto reason = refuseTensorProgram(request, code, true, true))
        return reason;
    if (code.prologueA || code.prologueB)
        return refusal("kind", "TMA applies no prologue");
    return std::nullopt;
}

/// What this tile is wrong for.
std::optional<Reason> refuseSizes(const ContractionView& view, const TmaTile& tile) {
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

std::optional<Reason> refuseDevice(const TmaPlan& plan) {
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
std::variant<TmaPlan, Reason> planOf(const KernelRequest& request, ContractionView& view,
                                     const TmaTile& tile) {
    auto a = tmaOperand(request, view, tile, true);
    if (auto* reason = std::get_if<Reason>(&a))
        return std::move(*reason);
    auto b = tmaOperand(request, view, tile, false);
    if (std::holds_alternative<Reason>(b) && packB(request, view))
        b = tmaOperand(request, view, tile, false);
    if (auto* reason = std::get_if<Reason>(&b))
        return std::move(*reason);
    TmaPlan plan{request, view, tile, std::move(std::get<TmaOperand>(a)),
                 std::move(std::get<TmaOperand>(b))};
    const double units = request.profile ? request.profile->units : assumedMultiprocessors;
    plan.blocks = std::clamp<int64_t>(static_cast<int64_t>(units), 1, plan.tiles());
    if (auto reason = refuseDevice(plan))
        return std::move(*reason);
    return plan;
}

EmitResult emitTma(const std::string& name, const TmaTile& tile, const KernelRequest& request) {
    const auto& code = std::get<Contraction>(request.program->code);
    if (auto reason = refuseOperands(request, code))
        return finish(name.c_str(), request, PartResult(*reason));
    ContractionView view = viewOf(request);
    if (auto reason = refuseSizes(view, tile))
        return finish(name.c_str(), request, PartResult(*reason));
    auto plan = planOf(request, view, tile);
    if (auto* reason = std::get_if<Reason>(&plan))
        return finish(name.c_str(), request, PartResult(*reason));
    const ResultLanes lanes = widestResults(view);
    const EpilogueText epilogue(request, view, lanes, tmaEndOf(lanes));
    SetNeeds needs;
    if (view.packed)
        needs.packed = {*view.packed};
    return finishInOrder(name.c_str(), request, {tmaPart(std::get<TmaPlan>(plan), epilogue)},
                         std::move(needs));
}

} // namespace

std::vector<VariantRow> tmaVariants() {
    std::vector<VariantRow> out;
    for (const TmaTile& tile : tmaTiles) {
        const std::string name = fmt::format("tma_{}", tile.name);
        out.push_back(
            {name, ProgramKind::Contraction,
             [name, &tile](const KernelRequest& request) { return emitTma(name, tile, request); },
             fmt::format("tensor cores of sm_90 (wgmma) fed by TMA, {} x {} results a "
                         "warpgroup, two in turn",
                         tile.m, tile.n)});
    }
    return out;
}

} // namespace fuselage::gpu
