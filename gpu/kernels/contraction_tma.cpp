// SPDX-License-Identifier: Apache-2.0
// Variants whose stages TMA fills: which tiles there are, and what each refuses.
#include "core/graph/type.h"
#include "gpu/kernels/blocked_operands.h"
#include "gpu/kernels/contraction.h"
#include "gpu/kernels/tensor_kernel.h"
#include "gpu/kernels/tma_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace fuselage::gpu {

namespace {

constexpr TmaTile tmaTiles[] = {
    {"192x128", 192, 128, 4}, {"128x128", 128, 128, 6}, {"64x256", 64, 256, 4},
    {"64x128", 64, 128, 8},   {"128x64", 128, 64, 8},
};

/// A row of the table of variants.
struct TmaForm {
    const TmaTile& tile;
    bool paired = false;
    bool pixels = false; ///< A by im2col mode
};

constexpr int64_t assumedMultiprocessors = 132;
constexpr int64_t assumedSharedBytes = 228 << 10; ///< of a multiprocessor
constexpr int64_t reservedBytes = 1024;           ///< of those, for the driver
constexpr double fewestFilled = 0.5;              ///< of what a tile multiplies

std::optional<Reason> refuseOperands(const KernelRequest& request, const Contraction& code) {
    if (code.accumulate == DType::Int32)
        return refuseIntegerProgram(request, code, true);
    if (auto reason = refuseTensorProgram(request, code, true, true))
        return reason;
    if (code.prologueA || code.prologueB)
        return refusal("kind", "TMA applies no prologue");
    return std::nullopt;
}

/// What this tile is wrong for.
std::optional<Reason> refuseSizes(const ContractionView& view, const TmaForm& form) {
    const TmaTile& tile = form.tile;
    if (view.wide)
        return refusal("support", "an operand has more than 2^30 elements");
    if (view.mCount == 0 || view.nCount == 0 || view.batchCount == 0 || view.kCount == 0)
        return refusal("support", "there is nothing to multiply");
    if (!form.pixels && !view.bounds.empty())
        return refusal("layout", "a convolution with padding is no box");
    if ((tile.m > 64 && view.mCount <= tile.m / 2) || (tile.n > 64 && view.nCount <= tile.n / 2))
        return refusal("occupancy", fmt::format("{} x {} results leave most of a tile of {} idle",
                                                view.mCount, view.nCount, tile.name));
    return std::nullopt;
}

/// Of a multiprocessor; 0: not known.
int64_t sharedOfUnit(const KernelRequest& request) {
    return request.profile ? static_cast<int64_t>(request.profile->sharedBytesPerUnit) : 0;
}

/// Gives what lands for the epilogue two places a warp, so that one is on its way while another is
/// read, or else one; for that the ring may give up one stage. Without room nothing lands.
void placeLanded(TmaPlan& plan, const ResultLanes& lanes) {
    if (tmaEndOf(lanes) != EpilogueEnd::Columns)
        return;
    std::optional<TmaLanded> landed = tmaLanded(plan.request, plan.view, lanes);
    if (!landed)
        return;
    const int64_t shared = sharedOfUnit(plan.request);
    const int64_t room = (shared > 0 ? shared : assumedSharedBytes) - reservedBytes;
    const int stages = plan.tile.stages;
    plan.landed = std::move(landed);
    for (const int places : {2, 1})
        for (const int less : {0, 1}) {
            plan.landed->places = places;
            plan.tile.stages = stages - less;
            if (plan.sharedBytes() <= room)
                return;
        }
    plan.landed.reset();
    plan.tile.stages = stages;
}

std::optional<Reason> refuseDevice(const TmaPlan& plan) {
    const DeviceProfile* profile = plan.request.profile;
    if (profile == nullptr)
        return std::nullopt;
    const int64_t shared = sharedOfUnit(plan.request);
    if (shared > 0 && plan.sharedBytes() > shared - reservedBytes)
        return refusal("smem", fmt::format("{} bytes of shared memory, there are {}",
                                           plan.sharedBytes(), shared));
    // A convolution's k is long enough for kernels that share it out.
    const double rounds = plan.a.map.pixels ? 2 : 4;
    if (static_cast<double>(plan.tiles()) * rounds < profile->units)
        return refusal("occupancy", fmt::format("{} tiles for {} multiprocessors", plan.tiles(),
                                                profile->units));
    return std::nullopt;
}

int64_t unitsOf(const KernelRequest& request) {
    return std::max<int64_t>(1, request.profile ? static_cast<int64_t>(request.profile->units)
                                                : assumedMultiprocessors);
}

/// Rounds of tiles, each multiprocessor or pair of them with one of its own.
int64_t roundsOf(const TmaPlan& plan, int64_t units) {
    return divideUp(plan.groups(), std::max<int64_t>(1, units / plan.cluster.blocks()));
}

/// The plan over a view whose weight may have been packed, or why there is none.
std::variant<TmaPlan, Reason> planOf(const KernelRequest& request, ContractionView& view,
                                     const TmaForm& form, const TmaCluster& cluster,
                                     const ResultLanes& lanes) {
    const TmaTile& tile = form.tile;
    auto a = form.pixels ? pixelOperand(request, view, tile, cluster)
                         : tmaOperand(request, view, tile, cluster, true);
    if (auto* reason = std::get_if<Reason>(&a))
        return std::move(*reason);
    const int64_t taps = form.pixels ? view.kCount / view.k.back() : 1;
    auto b = tmaOperand(request, view, tile, cluster, false, taps);
    if (std::holds_alternative<Reason>(b) && packB(request, view))
        b = tmaOperand(request, view, tile, cluster, false, taps);
    if (auto* reason = std::get_if<Reason>(&b))
        return std::move(*reason);
    TmaPlan plan{
        request, view, tile, std::move(std::get<TmaOperand>(a)), std::move(std::get<TmaOperand>(b)),
        cluster, taps};
    if (std::get<Contraction>(request.program->code).accumulate == DType::Int32) {
        plan.zeros.emplace(request, view, view.kCount);
        if (plan.zeros->refused())
            return *plan.zeros->refused();
    }
    if (plan.filled() < fewestFilled)
        return refusal("occupancy", "channels leave most of a stage empty");
    plan.clusters = std::clamp<int64_t>(unitsOf(request) / cluster.blocks(), 1, plan.groups());
    placeLanded(plan, lanes);
    if (auto reason = refuseDevice(plan))
        return std::move(*reason);
    return plan;
}

/// The pairs of blocks that take the fewest rounds, of equals those that fetch least, or why none
/// shares anything or only with more rounds than blocks alone.
std::variant<TmaCluster, Reason> pairOf(const KernelRequest& request, const ContractionView& view,
                                        const TmaTile& tile) {
    const auto planWith = [&](const TmaCluster& cluster) {
        return TmaPlan{request, view, tile, {}, {}, cluster};
    };
    const int64_t units = unitsOf(request), alone = roundsOf(planWith({}), units);
    std::optional<TmaCluster> best;
    const auto costOf = [&](const TmaCluster& cluster) {
        const TmaPlan plan = planWith(cluster);
        return std::pair(roundsOf(plan, units), plan.fetchedBytes());
    };
    if (view.mCount > tile.m)
        best = TmaCluster{2, 1};
    if (view.nCount > tile.n && (!best || costOf({1, 2}) < costOf(*best)))
        best = TmaCluster{1, 2};
    if (!best)
        return refusal("occupancy", "one tile has nobody to share an operand with");
    if (const int64_t rounds = costOf(*best).first; rounds > alone)
        return refusal("occupancy",
                       fmt::format("pairs of tiles take {} rounds, single ones {}", rounds, alone));
    return *best;
}

/// The kernel of a Contraction's view behind launches that prepare it, answering `asked`, which is
/// `request` or what it was made of.
EmitResult emitTmaView(const std::string& name, const KernelRequest& asked,
                       const KernelRequest& request, ContractionView& view, const TmaForm& form,
                       std::vector<KernelPart> parts = {}, SetNeeds needs = {}) {
    if (auto reason = refuseSizes(view, form))
        return finish(name.c_str(), asked, PartResult(*reason));
    TmaCluster cluster;
    if (form.paired) {
        auto pair = pairOf(request, view, form.tile);
        if (auto* reason = std::get_if<Reason>(&pair))
            return finish(name.c_str(), asked, PartResult(*reason));
        cluster = std::get<TmaCluster>(pair);
    }
    const ResultLanes lanes = widestResults(view);
    auto made = planOf(request, view, form, cluster, lanes);
    if (auto* reason = std::get_if<Reason>(&made))
        return finish(name.c_str(), asked, PartResult(*reason));
    const auto& plan = std::get<TmaPlan>(made);
    const EpilogueText epilogue(request, view, lanes, tmaEndOf(lanes),
                                plan.landed ? std::optional(plan.landed->read) : std::nullopt);
    if (view.packed)
        needs.packed = {*view.packed};
    if (plan.shiftsA())
        needs.packed.push_back(*plan.zeros->packed());
    parts.push_back(tmaPart(plan, epilogue));
    EmitResult out = finishInOrder(name.c_str(), asked, std::move(parts), std::move(needs));
    if (auto* set = std::get_if<KernelSet>(&out))
        set->fetches = {static_cast<double>(plan.tiles()),
                        static_cast<double>(plan.ownRows() + plan.ownColumns()),
                        static_cast<double>(plan.fetchedBytes() + plan.landedBytes()),
                        plan.filled()};
    return out;
}

EmitResult emitTma(const std::string& name, const TmaForm& form, const KernelRequest& request) {
    const auto& code = std::get<Contraction>(request.program->code);
    if (auto reason = refuseOperands(request, code))
        return finish(name.c_str(), request, PartResult(*reason));
    ContractionView view = viewOf(request);
    return emitTmaView(name, request, request, view, form);
}

/// A MatMulNBits of many rows, whose weights a launch of its own makes elements.
EmitResult emitExpandedTma(const std::string& name, const TmaTile& tile,
                           const KernelRequest& request) {
    auto made = expandedProduct(request, expandedRows);
    if (auto* reason = std::get_if<Reason>(&made))
        return finish(name.c_str(), request, PartResult(*reason));
    auto& [product, expand, view, scratch] = std::get<ExpandedProduct>(made);
    if (auto reason = refuseOperands(product.flat, std::get<Contraction>(product.program->code)))
        return finish(name.c_str(), request, PartResult(*reason));
    return emitTmaView(name, request, product.typed, view, {tile}, {std::move(expand)},
                       {{}, scratch});
}

} // namespace

std::vector<VariantRow> tmaVariants() {
    std::vector<VariantRow> out;
    for (const bool pixels : {false, true})
        for (const bool paired : {false, true})
            for (const TmaTile& tile : tmaTiles) {
                if (pixels && tile.m == 64) // no tile of few rows is predicted to be faster
                    continue;
                const std::string name = fmt::format("tma_{}{}{}", pixels ? "im2col_" : "",
                                                     tile.name, paired ? "_pair" : "");
                out.push_back(
                    {name, ProgramKind::Contraction,
                     [name, form = TmaForm{tile, paired, pixels}](const KernelRequest& request) {
                         return emitTma(name, form, request);
                     },
                     fmt::format("tensor cores of sm_90 (wgmma) fed by TMA{}, {} x {} "
                                 "results a warpgroup, two in turn{}",
                                 pixels ? ", a convolution's taps by im2col mode" : "", tile.m,
                                 tile.n, paired ? "; two blocks share an operand" : "")});
            }
    for (const TmaTile& tile : std::span(tmaTiles).first<2>()) { // the largest
        const std::string name = fmt::format("expanded_tma_{}", tile.name);
        out.push_back({name, ProgramKind::Library,
                       [name, &tile](const KernelRequest& request) {
                           return emitExpandedTma(name, tile, request);
                       },
                       fmt::format("wgmma fed by TMA, weights of 4 or 8 bits made elements first, "
                                   "{} x {} results a warpgroup",
                                   tile.m, tile.n)});
    }
    return out;
}

} // namespace fuselage::gpu
