// SPDX-License-Identifier: Apache-2.0
// Variants in tiles, with matrix units or float32 arithmetic: one row a tile, chosen for shapes and
// devices that it suits; whether it is the fastest is measured, not decided here.
#include "core/graph/type.h"
#include "gpu/kernels/contraction.h"
#include "gpu/kernels/tensor_kernel.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu {

namespace {

constexpr TensorTile tiles[] = {
    {"256x128", 256, 128, 64, 4, 2, 4, 1},
    {"128x128", 128, 128, 64, 2, 4, 4, 2},
    {"128x64", 128, 64, 64, 2, 2, 4, 3},
    {"64x128", 64, 128, 64, 2, 2, 4, 3},
    {"64x64", 64, 64, 128, 2, 2, 3, 3},
    {"64x32", 64, 32, 128, 2, 2, 4, 3},
    {"32x64", 32, 64, 128, 2, 2, 4, 4},
    {"16x64", 16, 64, 128, 1, 4, 4, 4},
    {"128x128", 128, 128, 64, 2, 4, 4, 2, false},
    {"64x64", 64, 64, 64, 2, 2, 4, 3, false},
    {"128x256", 128, 256, 128, 8, 1, 4, 1, true, true},
    {"128x128", 128, 128, 128, 8, 1, 3, 2, true, true},
    {"128x64", 128, 64, 128, 8, 1, 4, 2, true, true},
};

constexpr double assumedUnits = 132;
constexpr int64_t mostSplits = 16, reservedSharedBytes = 1024;
constexpr double tf32Tolerance = 2e-3;

/// What this tile is wrong for.
std::optional<Reason> refuseShape(const TensorPlan& plan) {
    const ContractionView& view = plan.view;
    const TensorTile& tile = plan.tile;
    if (view.wide)
        return refusal("support", "an operand has more than 2^30 elements");
    if (view.mCount == 0 || view.nCount == 0 || view.batchCount == 0 || view.kCount == 0)
        return refusal("support", "there is nothing to multiply");
    if (view.batchCount > 1 && view.nCount < 8 && !view.bounds.empty())
        return refusal("support", fmt::format("a group has {} results", view.nCount));
    const int smallest = tile.matrix ? 32 : 64; // there is a tile for everything
    if ((tile.m > smallest && view.mCount <= tile.m / 2) ||
        (tile.n > 64 && view.nCount <= tile.n / 2))
        return refusal("occupancy", fmt::format("{} x {} results leave most of a tile of {} idle",
                                                view.mCount, view.nCount, tile.name));
    const DeviceProfile* profile = plan.request.profile;
    if (profile == nullptr)
        return std::nullopt;
    const auto shared = static_cast<int64_t>(profile->sharedBytesPerUnit);
    const int64_t need = int64_t{tile.stages} * tile.stageBytes();
    if (shared > 0 && need > shared - (shared > 65536 ? reservedSharedBytes : 0))
        return refusal("smem",
                       fmt::format("{} bytes of shared memory, there are {}", need, shared));
    const auto blocks = static_cast<double>(plan.blocks() * plan.splits);
    if (tile.m * tile.n > 64 * 32 && blocks * 4 < profile->units)
        return refusal("occupancy",
                       fmt::format("{} blocks for {} multiprocessors", blocks, profile->units));
    return std::nullopt;
}

/// Parts that k is cut into so that every multiprocessor gets a block; 1 when there is no need.
int splitsOf(const TensorPlan& plan) {
    const double units = plan.request.profile ? plan.request.profile->units : assumedUnits;
    const auto blocks = static_cast<double>(plan.blocks());
    if (blocks * 2 > units)
        return 1;
    const int64_t wanted = std::min<int64_t>(static_cast<int64_t>(units / blocks), mostSplits);
    const int64_t parts = std::min(wanted, plan.tilesK() / 2);
    if (parts < 2)
        return 1;
    const int64_t per = (plan.tilesK() + parts - 1) / parts;
    return static_cast<int>((plan.tilesK() + per - 1) / per);
}

EmitResult emitTile(const std::string& name, const EmitRequest& request, const TensorTile& tile,
                    bool split) {
    const auto& code = std::get<Contraction>(request.program->code);
    if (auto reason = refuseTensorProgram(request, code, tile.matrix, tile.warpgroup))
        return finish(name.c_str(), request, PartResult(*reason));
    ContractionView view = viewOf(request);
    TensorPlan plan{request, view, tile};
    if (view.kCount > 0 && view.mCount * view.nCount * view.batchCount > 0 && split)
        plan.splits = splitsOf(plan);
    if (auto reason = refuseShape(plan))
        return finish(name.c_str(), request, PartResult(*reason));
    if (split && plan.splits == 1)
        return finish(
            name.c_str(), request,
            PartResult(refusal("occupancy", "k is too short to share, or blocks enough")));
    if (view.mCount * view.nCount * view.batchCount * plan.splits > int64_t{1} << 30)
        return finish(name.c_str(), request, PartResult(refusal("workspace", "too many sums")));
    // A weight that no access of 16 bytes can read comes packed.
    if (TensorOperand(request, view, tile, false).load() == TileLoad::Staged)
        packB(request, view);
    const EpilogueText epilogue(request, view, widestResults(view));
    EmitRequest own = request;
    const bool tf32 = tile.matrix && tensorElement(request, true) == DType::Float32;
    std::vector<KernelPart> parts = {tensorPart(plan, epilogue)};
    SetNeeds needs;
    if (view.packed)
        needs.packed = {*view.packed};
    if (plan.splits > 1) {
        needs.scratchBytes = partialBytes(plan);
        parts.push_back(splitSumPart(plan, epilogue));
    }
    if (tf32) { // the request's permission is for this
        parts[0].numeric = NumericClass::Approximate;
        own.allowed = NumericClass::Approximate;
    }
    EmitResult out = finishInOrder(name.c_str(), own, std::move(parts), std::move(needs));
    if (auto* set = std::get_if<KernelSet>(&out); set && tf32)
        set->tolerance = std::max(set->tolerance, tf32Tolerance);
    return out;
}

template <size_t tile, bool split> EmitResult emitRow(const EmitRequest& request) {
    const char* units = tiles[tile].warpgroup ? "warpgroup"
                        : tiles[tile].matrix  ? "tensor"
                                              : "float";
    return emitTile(fmt::format("{}_{}{}", units, tiles[tile].name, split ? "_split" : ""), request,
                    tiles[tile], split);
}

} // namespace

std::optional<Reason> refuseTensorProgram(const EmitRequest& request, const Contraction& code,
                                          bool matrix, bool warpgroup) {
    if (auto reason = refuseTypes(request))
        return reason;
    const DType a = tensorElement(request, true);
    const DType b = tensorElement(request, false);
    if (code.accumulate != DType::Float32 || a != b)
        return refusal("dtype", fmt::format("no tile sums products of {} and {} in {}", nameOf(a),
                                            nameOf(b), nameOf(code.accumulate)));
    if (!matrix && a != DType::Float32)
        return refusal("dtype",
                       fmt::format("products of {} belong to the matrix units", nameOf(a)));
    if (matrix && a == DType::Float32 && !request.tf32)
        return refusal("numeric-class", "float32 operands would be rounded to TF32");
    if (a != DType::Float32 && a != DType::Float16 && a != DType::BFloat16)
        return refusal("dtype", fmt::format("no products of {}", nameOf(a)));
    const uint32_t needed = a == DType::Float16 ? 75 : 80;
    if (matrix && request.capability != 0 && request.capability < needed)
        return refusal("support", fmt::format("products of {} need sm_{}, this is sm_{}", nameOf(a),
                                              needed, request.capability));
    if (warpgroup && (request.capability != 90 || a == DType::Float32))
        return refusal("support", "products of warpgroups are those of sm_90 and 16-bit elements");
    if (request.strict)
        return refusal("numeric-class", "strict mode wants sums in order");
    if (code.poolWindow)
        return refusal("kind", "a pool at the end crosses tiles");
    if (code.kind == Contraction::Kind::ConvTranspose)
        return refusal("support", "transposed convolutions have taps between results");
    return std::nullopt;
}

EmitResult emitWarpgroup128x256(const EmitRequest& request) {
    return emitRow<10, false>(request);
}

EmitResult emitWarpgroup128x128(const EmitRequest& request) {
    return emitRow<11, false>(request);
}

EmitResult emitWarpgroup128x64(const EmitRequest& request) {
    return emitRow<12, false>(request);
}

EmitResult emitTensor256x128(const EmitRequest& request) {
    return emitRow<0, false>(request);
}

EmitResult emitTensor128x128(const EmitRequest& request) {
    return emitRow<1, false>(request);
}

EmitResult emitTensor128x64(const EmitRequest& request) {
    return emitRow<2, false>(request);
}

EmitResult emitTensor64x128(const EmitRequest& request) {
    return emitRow<3, false>(request);
}

EmitResult emitTensor64x64(const EmitRequest& request) {
    return emitRow<4, false>(request);
}

EmitResult emitTensor64x32(const EmitRequest& request) {
    return emitRow<5, false>(request);
}

EmitResult emitTensor32x64(const EmitRequest& request) {
    return emitRow<6, false>(request);
}

EmitResult emitTensor16x64(const EmitRequest& request) {
    return emitRow<7, false>(request);
}

EmitResult emitTensor128x64Split(const EmitRequest& request) {
    return emitRow<2, true>(request);
}

EmitResult emitTensor64x64Split(const EmitRequest& request) {
    return emitRow<4, true>(request);
}

EmitResult emitTensor32x64Split(const EmitRequest& request) {
    return emitRow<6, true>(request);
}

EmitResult emitTensor16x64Split(const EmitRequest& request) {
    return emitRow<7, true>(request);
}

EmitResult emitFloat128x128(const EmitRequest& request) {
    return emitRow<8, false>(request);
}

EmitResult emitFloat64x64(const EmitRequest& request) {
    return emitRow<9, false>(request);
}

EmitResult emitFloat64x64Split(const EmitRequest& request) {
    return emitRow<9, true>(request);
}

} // namespace fuselage::gpu
