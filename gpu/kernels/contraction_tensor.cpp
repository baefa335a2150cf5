// SPDX-License-Identifier: Apache-2.0
// Variants in tiles, with tensor cores or float32 arithmetic: one row a tile, chosen for shapes and
// devices that it suits; whether it is the fastest is measured, not decided here.
#include "core/graph/type.h"
#include "gpu/kernels/blocked_operands.h"
#include "gpu/kernels/contraction.h"
#include "gpu/kernels/tensor_kernel.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu {

namespace {

// m, n, bytes of k a stage, warps by m and n, stages, blocks a multiprocessor, split
constexpr TensorTile wgmmaTiles[] = {
    {"128x256", 128, 256, 128, 8, 1, 4, 1, false, true, true},
    {"128x128", 128, 128, 128, 8, 1, 3, 2, true, true, true},
    {"128x64", 128, 64, 128, 8, 1, 4, 2, true, true, true},
};
// B is fetched into registers a tile ahead, for which 128x128 with k in parts has none left: the
// assembler would let each product wait.
constexpr TensorTile blockedWgmmaTiles[] = {
    {"128x256", 128, 256, 128, 8, 1, 4, 1, false, true, true},
    {"128x128", 128, 128, 128, 8, 1, 3, 2, false, true, true},
    {"128x64", 128, 64, 128, 8, 1, 4, 2, true, true, true},
};
constexpr TensorTile mmaTiles[] = {
    {"256x128", 256, 128, 64, 4, 2, 4, 1},     {"128x128", 128, 128, 64, 2, 4, 4, 2},
    {"128x64", 128, 64, 64, 2, 2, 4, 3, true}, {"64x128", 64, 128, 64, 2, 2, 4, 3},
    {"64x64", 64, 64, 128, 2, 2, 3, 3, true},  {"64x32", 64, 32, 128, 2, 2, 4, 3},
    {"32x64", 32, 64, 128, 2, 2, 4, 4, true},  {"16x64", 16, 64, 128, 1, 4, 4, 4, true},
};
constexpr TensorTile integerTiles[] = {
    {"128x128", 128, 128, 64, 2, 4, 4, 2, false, true, false, true},
    {"128x64", 128, 64, 64, 2, 2, 4, 3, true, true, false, true},
    {"64x64", 64, 64, 128, 2, 2, 3, 3, true, true, false, true},
    {"32x64", 32, 64, 128, 2, 2, 4, 4, true, true, false, true},
    {"16x64", 16, 64, 128, 1, 4, 4, 4, true, true, false, true},
};
constexpr TensorTile floatTiles[] = {
    {"128x128", 128, 128, 64, 2, 4, 4, 2, false, false},
    {"64x64", 64, 64, 64, 2, 2, 4, 3, true, false},
};

/// What multiplies the tiles.
struct Unit {
    const char* name;
    const char* summary;
    std::span<const TensorTile> tiles;
};

constexpr Unit units[] = {
    {"wgmma", "tensor cores of sm_90 from shared memory (wgmma)", wgmmaTiles},
    {"tensor", "tensor cores (mma)", mmaTiles},
    {"integer", "tensor cores (mma) on 8-bit integers", integerTiles},
    {"float", "float32 arithmetic", floatTiles},
};

/// Those whose B is stored in a few bits.
constexpr Unit blockedUnits[] = {
    {"blocked_wgmma", "wgmma, weights of 4 or 8 bits made elements on the way", blockedWgmmaTiles},
    {"blocked", "mma, weights of 4 or 8 bits made elements on the way", mmaTiles},
};

/// Those behind a launch that makes B elements.
constexpr Unit expandedUnit = {"expanded", "mma, weights of 4 or 8 bits made elements first",
                               std::span(mmaTiles).first<2>()};

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
    const double multiprocessors =
        plan.request.profile ? plan.request.profile->units : assumedUnits;
    const auto blocks = static_cast<double>(plan.blocks());
    if (blocks * 2 > multiprocessors)
        return 1;
    const int64_t wanted =
        std::min<int64_t>(static_cast<int64_t>(multiprocessors / blocks), mostSplits);
    const int64_t parts = std::min(wanted, plan.tilesK() / 2);
    if (parts < 2)
        return 1;
    const int64_t per = (plan.tilesK() + parts - 1) / parts;
    return static_cast<int>((plan.tilesK() + per - 1) / per);
}

/// The kernel of a Contraction's view behind launches that prepare it, answering `asked`, which is
/// `request` or what it was made of.
EmitResult emitView(const std::string& name, const KernelRequest& asked,
                    const KernelRequest& request, ContractionView& view, const TensorTile& tile,
                    bool split, std::vector<KernelPart> parts = {}, SetNeeds needs = {}) {
    TensorPlan plan{request, view, tile};
    if (view.kCount > 0 && view.mCount * view.nCount * view.batchCount > 0 && split)
        plan.splits = splitsOf(plan);
    if (auto reason = refuseShape(plan))
        return finish(name.c_str(), asked, PartResult(*reason));
    if (split && plan.splits == 1)
        return finish(
            name.c_str(), asked,
            PartResult(refusal("occupancy", "k is too short to share, or blocks enough")));
    if (view.mCount * view.nCount * view.batchCount * plan.splits > int64_t{1} << 30)
        return finish(name.c_str(), asked, PartResult(refusal("workspace", "too many sums")));
    // A weight that no access of 16 bytes can read comes packed.
    if (TensorOperand(request, view, tile, false).load() == TileLoad::Staged)
        packB(request, view);
    if (tile.warpgroup && tile.integer) {
        // Only 16-bit elements can be transposed on the way, and bytes that threads bring one by
        // one leave a product nothing to gain.
        for (const bool isA : {true, false})
            if (TensorOperand(request, view, tile, isA).load() == TileLoad::Staged)
                return finish(name.c_str(), asked,
                              PartResult(refusal("layout", "products of bytes want operands along "
                                                           "k, in rows of whole 16 bytes")));
        plan.zeros.emplace(request, view, plan.tilesK() * plan.kElements());
        if (plan.zeros->refused())
            return finish(name.c_str(), asked, PartResult(*plan.zeros->refused()));
    }
    const EpilogueText epilogue(request, view, widestResults(view));
    KernelRequest own = asked;
    const bool tf32 =
        tile.matrix && !tile.integer && tensorElement(request, true) == DType::Float32;
    parts.push_back(tensorPart(plan, epilogue));
    if (view.packed)
        needs.packed = {*view.packed};
    if (plan.zeros && plan.zeros->ofA())
        needs.packed.push_back(*plan.zeros->packed());
    if (plan.splits > 1) {
        needs.scratchBytes = partialBytes(plan);
        needs.tickets = plan.blocks();
    }
    if (tf32) { // the request's permission is for this
        parts.back().numeric = NumericClass::Approximate;
        own.allowed = NumericClass::Approximate;
    }
    EmitResult out = finishInOrder(name.c_str(), own, std::move(parts), std::move(needs));
    if (auto* set = std::get_if<KernelSet>(&out); set && tf32)
        set->tolerance = std::max(set->tolerance, tf32Tolerance);
    return out;
}

EmitResult emitTile(const std::string& name, const KernelRequest& request, const TensorTile& row,
                    bool split) {
    const auto& code = std::get<Contraction>(request.program->code);
    TensorTile tile = row;
    if (tile.warpgroup) // multiplies whatever has 128 bytes of k a stage
        tile.integer = code.accumulate == DType::Int32;
    if (auto reason = tile.integer
                          ? refuseIntegerProgram(request, code, tile.warpgroup)
                          : refuseTensorProgram(request, code, tile.matrix, tile.warpgroup))
        return finish(name.c_str(), request, PartResult(*reason));
    ContractionView view = viewOf(request);
    return emitView(name, request, request, view, tile, split);
}

/// A MatMulNBits, whose weights become elements on their way to shared memory.
EmitResult emitBlockedTile(const std::string& name, const KernelRequest& request,
                           const TensorTile& tile, bool split) {
    auto made = blockedOperands(request);
    if (auto* reason = std::get_if<Reason>(&made))
        return finish(name.c_str(), request, PartResult(*reason));
    const auto& operands = std::get<BlockedOperands>(made);
    if (operands.rows == 1)
        return finish(name.c_str(), request,
                      PartResult(refusal("occupancy", "one row waits for the weights alone")));
    const BlockedProduct product = blockedProduct(request, operands);
    if (!isNarrowFloat(operands.a.layout.dtype))
        return finish(name.c_str(), request,
                      PartResult(refusal("numeric-class", "rows would be rounded to 16 bits")));
    if (auto reason =
            refuseTensorProgram(product.flat, std::get<Contraction>(product.program->code),
                                tile.matrix, tile.warpgroup))
        return finish(name.c_str(), request, PartResult(*reason));
    ContractionView view = viewOf(product.flat);
    view.blocked = storageOf(operands);
    return emitView(name, request, product.typed, view, tile, split);
}

/// A MatMulNBits of many rows, whose weights a launch of its own makes elements.
EmitResult emitExpandedTile(const std::string& name, const KernelRequest& request,
                            const TensorTile& tile, bool split) {
    auto made = expandedProduct(request, expandedRows);
    if (auto* reason = std::get_if<Reason>(&made))
        return finish(name.c_str(), request, PartResult(*reason));
    auto& [product, expand, view, scratch] = std::get<ExpandedProduct>(made);
    if (auto reason =
            refuseTensorProgram(product.flat, std::get<Contraction>(product.program->code),
                                tile.matrix, tile.warpgroup))
        return finish(name.c_str(), request, PartResult(*reason));
    return emitView(name, request, product.typed, view, tile, split, {std::move(expand)},
                    {{}, scratch});
}

} // namespace

std::optional<Reason> refuseTensorProgram(const KernelRequest& request, const Contraction& code,
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
                       fmt::format("products of {} belong to the tensor cores", nameOf(a)));
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

std::optional<Reason> refuseIntegerProgram(const KernelRequest& request, const Contraction& code,
                                           bool warpgroup) {
    if (auto reason = refuseTypes(request))
        return reason;
    for (const bool isA : {true, false})
        if (const DType type = storedElement(request, isA);
            code.accumulate != DType::Int32 || (type != DType::Int8 && type != DType::UInt8))
            return refusal("dtype", fmt::format("no tile sums products of {} in {}", nameOf(type),
                                                nameOf(code.accumulate)));
    const ContractionView view = viewOf(request);
    for (const bool isA : {true, false}) {
        const auto zero = zeroPointOf(isA ? code.prologueA : code.prologueB);
        const auto& reads = isA ? view.readsA : view.readsB;
        if (!zero || (zero->read && view.moves(reads[0], 0, reads[0].access.strides.size())))
            return refusal("kind", "a prologue that is not one zero point for all elements");
    }
    if (request.capability != 0 && request.capability < 75)
        return refusal("support", fmt::format("products of 8-bit integers need sm_75, this is "
                                              "sm_{}",
                                              request.capability));
    if (warpgroup && request.capability != 90)
        return refusal("support", "products of warpgroups are those of sm_90");
    if (code.poolWindow)
        return refusal("kind", "a pool at the end crosses tiles");
    if (code.kind == Contraction::Kind::ConvTranspose)
        return refusal("support", "transposed convolutions have taps between results");
    return std::nullopt;
}

std::vector<VariantRow> tileVariants() {
    std::vector<VariantRow> out;
    auto add = [&](const Unit& unit, ProgramKind kind, auto* emit) {
        auto addTile = [&](const TensorTile& tile, bool split) {
            const std::string name =
                fmt::format("{}_{}{}", unit.name, tile.name, split ? "_split" : "");
            out.push_back({name, kind,
                           [name, &tile, split, emit](const KernelRequest& request) {
                               return emit(name, request, tile, split);
                           },
                           split ? "the same with k in parts, added by the block that is last"
                                 : fmt::format("{}, {} x {} results a block of {} threads",
                                               unit.summary, tile.m, tile.n, tile.threads())});
        };
        for (const TensorTile& tile : unit.tiles)
            addTile(tile, false);
        for (const TensorTile& tile : unit.tiles)
            if (tile.splits)
                addTile(tile, true);
    };
    for (const Unit& unit : units)
        add(unit, ProgramKind::Contraction, &emitTile);
    for (const Unit& unit : blockedUnits)
        add(unit, ProgramKind::Library, &emitBlockedTile);
    add(expandedUnit, ProgramKind::Library, &emitExpandedTile);
    return out;
}

} // namespace fuselage::gpu
