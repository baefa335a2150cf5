// SPDX-License-Identifier: Apache-2.0
// The row variants: which team of threads takes a row of what length.
#include "gpu/kernels/row.h"

#include "gpu/kernels/row_emitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace fuselage::gpu {

namespace {

constexpr int64_t longestWarpRow = 1024;
constexpr int64_t mostCachedByWarp = 64, mostCachedByTeam = 24, mostCachedByBlock = 32,
                  wantedCachedByBlock = 16;

std::string lengthText(int64_t length) {
    return fmt::format("a row has {} elements", length);
}

/// No wider than keeps the threads of a team busy.
int widthFor(const RowEmitter& emitter, int64_t team) {
    int width = emitter.widestVector();
    while (width > 1 && width * team > emitter.length() && width * team / 2 >= emitter.length())
        width /= 2;
    return width;
}

/// Threads of a warp that take a row with the fewest instructions: what a row needs once is done by
/// all lanes of a team, and steps that are not full are issued whole. Few rows keep whole warps,
/// and a team reads at least 64 bytes together.
int lanesFor(const RowEmitter& emitter) {
    constexpr int64_t everyElement = 8, everyThread = 60, everyExchange = 3, fullBytes = 64;
    int out = 32;
    int64_t least = 0;
    for (int lanes = 32; lanes >= 4; lanes /= 2) {
        const int width = widthFor(emitter, lanes);
        const int64_t steps =
            (emitter.length() + int64_t{lanes} * width - 1) / (int64_t{lanes} * width);
        const bool fits =
            emitter.keptElements(lanes, width) <= mostCachedByTeam &&
            emitter.narrowestBytes(int64_t{lanes} * width) >= fullBytes &&
            static_cast<double>(emitter.rows()) * lanes >= emitter.units() * defaultThreads;
        if (lanes < 32 && !fits)
            continue;
        const int64_t exchanges =
            std::countr_zero(static_cast<unsigned>(lanes)) * static_cast<int64_t>(emitter.stages());
        const int64_t each =
            lanes * (steps * width * everyElement + everyThread + exchanges * everyExchange);
        if (lanes == 32 || each < least) {
            out = lanes;
            least = each;
        }
    }
    return out;
}

PartResult warpPart(RowEmitter& emitter) {
    if (emitter.length() == 0 || emitter.length() > longestWarpRow)
        return refusal("support", lengthText(emitter.length()) + ", a warp takes 1 to 1024");
    const int lanes = lanesFor(emitter), width = widthFor(emitter, lanes);
    if (emitter.keptElements(lanes, width) > mostCachedByWarp)
        return refusal("spill", fmt::format("{} elements a thread do not stay in registers",
                                            emitter.keptElements(lanes, width)));
    return emitter.emit({RowTeam::Warp, defaultThreads, width, true, -1, lanes});
}

PartResult blockPart(RowEmitter& emitter, uint32_t most) {
    if (emitter.length() < 128)
        return refusal("support", lengthText(emitter.length()) + ", a block takes 128 and more");
    const int width = emitter.widestVector();
    uint32_t threads = 128;
    while (threads < most && emitter.keptElements(threads, width) > wantedCachedByBlock)
        threads *= 2;
    if (emitter.keptElements(threads, width) > mostCachedByBlock)
        return refusal("spill", fmt::format("{} elements a thread do not stay in registers",
                                            emitter.keptElements(threads, width)));
    return emitter.emit({RowTeam::Block, threads, width, true, -1});
}

PartResult twoPassPart(RowEmitter& emitter) {
    if (emitter.length() == 0)
        return refusal("support", "nothing is reduced");
    return emitter.emit({RowTeam::Block, defaultThreads, emitter.widestVector(), false, -1});
}

PartResult outerPart(RowEmitter& emitter) {
    if (emitter.length() == 0)
        return refusal("support", "nothing is reduced");
    auto loop = emitter.contiguousAcross();
    if (!loop)
        return refusal("layout", "memory is contiguous along the rows, not across them");
    return emitter.emit({RowTeam::Lanes, defaultThreads, 1, false, static_cast<int>(*loop)});
}

template <typename Make>
EmitResult emitRow(const char* variant, const KernelRequest& request, Make&& make) {
    if (auto reason = refuseTypes(request))
        return finish(variant, request, PartResult(*reason));
    RowEmitter emitter(request);
    if (emitter.rows() == 0)
        return finish(variant, request, PartResult(KernelPart{}));
    PartResult part = make(emitter);
    if (auto* made = std::get_if<KernelPart>(&part))
        made->memory = emitter.memory();
    return finish(variant, request, std::move(part));
}

} // namespace

EmitResult emitRowWarp(const KernelRequest& request) {
    return emitRow("row_warp", request, warpPart);
}

EmitResult emitRowBlock(const KernelRequest& request) {
    return emitRow("row_block", request,
                   [](RowEmitter& emitter) { return blockPart(emitter, 1024); });
}

EmitResult emitRowTwoPass(const KernelRequest& request) {
    return emitRow("row_two_pass", request, twoPassPart);
}

EmitResult emitRowOuter(const KernelRequest& request) {
    return emitRow("row_outer", request, outerPart);
}

EmitResult emitRowPlain(const KernelRequest& request) {
    return emitRow("row_plain", request, [](RowEmitter& emitter) -> PartResult {
        return emitter.emit({RowTeam::Thread, defaultThreads, 1, false, -1});
    });
}

PartResult rowPartForGroup(const KernelRequest& request) {
    RowEmitter emitter(request);
    if (emitter.rows() == 0)
        return KernelPart{};
    if (auto part = warpPart(emitter); std::holds_alternative<KernelPart>(part))
        return part;
    return twoPassPart(emitter);
}

} // namespace fuselage::gpu
