// SPDX-License-Identifier: Apache-2.0
#include "gpu/backend/busy_share.h"

#include "core/cost/tactic_efficiency.h"
#include "core/kernel/few_bits_product.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

namespace fuselage::gpu {

namespace {

struct Tile {
    double m = 0, n = 0;
};

/// 128 and 64 of "tensor_128x64_split" and of "blocked_wgmma_128x64".
std::optional<Tile> tileOf(std::string_view variant) {
    for (size_t from = variant.find('_'); from != std::string_view::npos;
         from = variant.find('_', from + 1)) {
        const size_t by = variant.find('x', from);
        if (by == std::string_view::npos)
            break;
        int m = 0, n = 0;
        const char* end = variant.data() + variant.size();
        if (std::from_chars(variant.data() + from + 1, end, m).ptr == variant.data() + by &&
            std::from_chars(variant.data() + by + 1, end, n).ec == std::errc() && m > 0 && n > 0)
            return Tile{static_cast<double>(m), static_cast<double>(n)};
    }
    return std::nullopt;
}

/// Rows and columns of the results of one product, and how many products there are.
struct Results {
    double m = 1, n = 1, batch = 1;
};

Results resultsOf(const Contraction& code) {
    Results out;
    if (code.kind != Contraction::Kind::MatMul) {
        for (size_t d = 0; d < code.space.size(); ++d)
            (d == 1 ? out.n : out.m) *= static_cast<double>(code.space[d]);
        out.batch = static_cast<double>(code.groups);
        out.n /= out.batch;
        return out;
    }
    for (size_t d = 0; d < code.space.size(); ++d) {
        double& extent = d < code.batchDims                ? out.batch
                         : d < code.batchDims + code.mDims ? out.m
                                                           : out.n;
        extent *= static_cast<double>(code.space[d]);
    }
    return out;
}

/// Nothing where the program is no product in tiles.
std::optional<Results> resultsOf(const KernelProgram& program) {
    if (const auto* code = std::get_if<Contraction>(&program.code))
        return resultsOf(*code);
    const auto product = fewBitsProduct(program);
    if (!product)
        return std::nullopt;
    return Results{static_cast<double>(product->rows), static_cast<double>(product->columns), 1};
}

/// A tile for which a block reads as many rows and columns takes as long to read its operands as to
/// multiply them: a guess.
constexpr double readAgain = 64;

} // namespace

double busyShare(const KernelRequest& request, const KernelSet& set) {
    if (set.busy > 0)
        return set.busy;
    if (set.kernels.empty() || request.profile == nullptr)
        return 1;
    const std::optional<Tile> tile = tileOf(set.variant);
    const std::optional<Results> found = tile ? resultsOf(*request.program) : std::nullopt;
    const Results wanted = found.value_or(Results{});
    const double results = wanted.m * wanted.n * wanted.batch;
    if (!found || results <= 0)
        return 1;
    const TileFetches& fetches = set.fetches;
    const double tiles = fetches.tiles > 0 ? fetches.tiles
                                           : wanted.batch * std::ceil(wanted.m / tile->m) *
                                                 std::ceil(wanted.n / tile->n);
    const double lines = fetches.lines > 0 ? fetches.lines : tile->m + tile->n;
    // Where sums are shared there are more blocks than tiles; persistent blocks take many.
    // Launches in front make operands.
    const std::array<uint32_t, 3>& grid = set.kernels.back().grid;
    const double blocks = std::max(tiles, static_cast<double>(grid[0]) * grid[1] * grid[2]);
    const double units = std::max(1.0, request.profile->units);
    const double rounds = std::ceil(blocks / units);
    const double area = tile->m * tile->n;
    return fetches.filled * results / (tiles * area) * (blocks / (rounds * units)) *
           (area / (area + readAgain * lines));
}

double busyShare(const KernelRequest& request, const Tactic& tactic) {
    const KernelSet* set = tactic.kernels();
    return set == nullptr ? 1 : busyShare(request, *set);
}

namespace {

/// Lane instructions of a thread's request: where it lies, and the request.
constexpr double issueOfRequest = 6;
/// Sectors that a multiprocessor's first cache takes a clock: 128 bytes.
constexpr double sectorsOfClock = 4;

/// With what the threads ask of memory because of how operands lie.
TimeEstimate laid(TimeEstimate program, const MemoryAsked& memory, const DeviceProfile& profile) {
    if (memory.ideal <= 0 || profile.units <= 0 || profile.clock <= 0)
        return program;
    const double clocks = profile.units * profile.clock;
    program.l2 *= std::max(1.0, memory.fetched / memory.ideal);
    program.issue += memory.requests * issueOfRequest /
                     (clocks * profile.lanesPerUnit * profile.issueEfficiency);
    program.issue = std::max(program.issue, memory.asked / (clocks * sectorsOfClock));
    return program;
}

} // namespace

KernelTerms termsOf(const KernelRequest& request, const KernelSet& set) {
    return {set.variant, busyShare(request, set), set.memory};
}

double predictedRun(const KernelTerms& kernel, const TimeEstimate& program,
                    const DeviceProfile& profile) {
    return predictSeconds(laid(program, kernel.memory, profile), tacticEfficiency(kernel.variant),
                          1, profile.overlap) /
           kernel.busy;
}

double predictedRun(const KernelRequest& request, const TimeEstimate& program,
                    const Tactic& tactic) {
    const KernelSet* set = tactic.kernels();
    if (set == nullptr)
        return predictSeconds(program, tacticEfficiency(tactic.name()), 1,
                              request.profile->overlap);
    double out = predictedRun(termsOf(request, *set), program, *request.profile);
    // What one launch leaves to the next is written and read in between: in the estimate of a
    // product of few bits already.
    if (set->kernels.size() > 1 && !fewBitsProduct(*request.program))
        out += static_cast<double>(set->kernels.size() - 1) * request.profile->launchSeconds +
               2 * static_cast<double>(set->scratchBytes) / request.profile->dramBandwidth;
    return out;
}

} // namespace fuselage::gpu
