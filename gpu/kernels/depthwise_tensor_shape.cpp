// SPDX-License-Identifier: Apache-2.0
// Chooses what a block makes: high places read the border above and below less often, many channels
// fetch longer pieces of memory; both leave fewer blocks, and fewer of them a multiprocessor.
#include "core/cost/cost.h"
#include "gpu/kernels/depthwise_tensor.h"
#include "gpu/kernels/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace fuselage::gpu {

namespace {

constexpr int64_t mostProducts = 256;    ///< of a channel, unrolled
constexpr int64_t mostRowTaps = 9;       ///< rows of taps: their sums and factors stay in registers
constexpr int64_t mostTapRegisters = 36; ///< factors of a lane
constexpr int64_t registersOfThread = 64;

/// How many of the eight rows of 16 bytes of a fragment lie in the same banks, at most.
int64_t sharedBanks(const ConvSpec& spec, const DepthwiseTensorShape& shape, int64_t placeWords) {
    std::array<int64_t, 8> rows{};
    for (int64_t piece = 0; piece < 8; ++piece) {
        const int64_t band = piece / shape.pieces;
        const int64_t word = band / shape.stack * placeWords +
                             band % shape.stack * shape.bandWords(spec) +
                             piece % shape.pieces * 4 * spec.columns.stride;
        ++rows[static_cast<size_t>(word / 4 % 8)];
    }
    return *std::max_element(rows.begin(), rows.end());
}

/// Blocks whose shared memory a multiprocessor has.
int64_t fittingBlocks(const ConvSpec& spec, const DepthwiseTensorShape& shape) {
    const DeviceProfile* profile = spec.request->profile;
    const auto memory = static_cast<int64_t>(profile ? profile->sharedBytesPerUnit : 0);
    return memory / (shape.sharedBytes(spec) + 1024);
}

/// All that follows from channels, pieces, stack and height.
void complete(const ConvSpec& spec, DepthwiseTensorShape& shape) {
    const ConvAxis &rows = spec.rows, &columns = spec.columns;
    const int64_t down = (rows.kernel - 1) * rows.dilation;
    const int64_t right = (columns.kernel - 1) * columns.dilation;
    shape.walked = (shape.height - 1) * rows.stride + down + 1;
    shape.live = down / rows.stride + 1;
    shape.steps = divideUp(7 * columns.stride + right + 1, 16);
    shape.rows = (shape.placeHeight() - 1) * rows.stride + down + 1;
    shape.words = (shape.pieces - 1) * 4 * columns.stride + 8 * shape.steps;
    const int64_t least = shape.rows * shape.words;
    shape.placeWords = least;
    for (int64_t words = least; words < least + 32; words += 4)
        if (sharedBanks(spec, shape, words) < sharedBanks(spec, shape, shape.placeWords))
            shape.placeWords = words;
    shape.tapCopies = columns.stride % 2 == 1 ? 2 : 1;
    shape.tapRow = roundUp(16 * shape.steps + 7 * columns.stride + 1, 8);
    // Few blocks of many warps, or more of fewer.
    for (int64_t warps : {16, 8}) {
        shape.warps = std::min(warps, shape.channels);
        if (fittingBlocks(spec, shape) <= 2)
            break;
    }
}

int64_t places(const ConvSpec& spec, const DepthwiseTensorShape& shape) {
    return spec.images * divideUp(spec.rows.out, shape.placeHeight()) *
           divideUp(spec.columns.out, shape.columns());
}

/// Clocks until all blocks are done: those of the first cache, which each line of memory and each
/// access to shared memory takes, or those of the instructions. What an H200 took, less 3,750
/// clocks (a launch, the first wait for memory), was 0.80 to 1.35 of this, 1.00 in the middle (35
/// shapes of places one band high, 2026-11-27).
double predictedClocks(const ConvSpec& spec, const DepthwiseTensorShape& shape) {
    const auto number = [](int64_t x) { return static_cast<double>(x); };
    const auto accesses = [&](int64_t rows, int64_t pairs) {
        return number(shape.eights() * shape.places() * rows * pairs) / 32;
    };
    // 32 threads touch a line a pixel; then their words go to shared memory or come from it.
    const double lines = number(std::max<int64_t>(32 / shape.eights(), 4));
    const double in = accesses(shape.rows, shape.words);
    const double out = accesses(shape.placeHeight(), shape.columns() / 2);
    const double channels = number(shape.channels), kernel = number(spec.rows.kernel);
    const double steps = number(shape.steps), walked = number(shape.walked);
    const double height = number(shape.height);
    const double fragments =
        4 * number(sharedBanks(spec, shape, shape.placeWords)) * walked * steps;
    // Columns beyond the operand are not read.
    const double there = std::min(1.0, number(spec.columns.in) / number(2 * shape.words));
    const double cache = in * (2 * there * lines + 8) + out * (2 * lines + 8) +
                         channels * (fragments + 2 * kernel * steps + 2 * height);
    const auto tape = number(static_cast<int64_t>(spec.code->epilogue.tape.code.size()));
    const double products = steps * (walked + kernel * (height + 2)) + height * (10 + 4 * tape);
    const double issue = 50 * (in + out) + channels * (products + 30) + 200 * number(shape.warps);
    const int64_t blocks =
        divideUp(places(spec, shape), shape.places()) * divideUp(spec.results, shape.channels);
    const int64_t each = divideUp(blocks, spec.units());
    constexpr double reached = 0.6, issued = 2;
    return number(each) * std::max(cache / reached, issue / issued);
}

std::optional<Reason> refused(const ConvSpec& spec) {
    if (spec.channelsPerGroup != 1 || spec.code->poolWindow || spec.results != spec.channels)
        return refusal("support", "no depthwise convolution with a result a channel");
    if (!spec.takesTensorCores())
        return refusal("dtype", "tensor cores take 16-bit operands, and sums in another order");
    if (spec.writes.size() != 1 || !isNarrowFloat(spec.writes[0].dtype))
        return refusal("support", "one result of 16-bit elements is made");
    if (!spec.vectors(spec.x, 8) || !spec.vectors(spec.writes[0], 8))
        return refusal("layout", "channels do not lie in eights along memory");
    if (!spec.epiloguePerChannel())
        return refusal("support", "the epilogue reads more than a number a channel");
    if (spec.rows.kernel > mostRowTaps)
        return refusal("support", fmt::format("more than {} rows of taps", mostRowTaps));
    return {};
}

} // namespace

uint32_t residentBlocks(const ConvSpec& spec, const DepthwiseTensorShape& shape) {
    const int64_t registers = (64 << 10) / (registersOfThread * shape.threads());
    return static_cast<uint32_t>(
        std::clamp<int64_t>(fittingBlocks(spec, shape), 1, std::max<int64_t>(registers, 1)));
}

std::variant<DepthwiseTensorShape, Reason> depthwiseTensorShape(const ConvSpec& spec) {
    if (auto reason = refused(spec))
        return *reason;
    std::optional<DepthwiseTensorShape> best;
    double bestClocks = 0;
    for (int64_t channels : {32, 16, 8})
        for (int64_t pieces : {1, 2, 4, 8, 16})
            for (int64_t stack = 1; stack * pieces <= 16; stack *= 2)
                for (int64_t height = 1; height <= divideUp(spec.rows.out, stack); ++height) {
                    DepthwiseTensorShape shape;
                    shape.channels = channels;
                    shape.pieces = pieces;
                    shape.stack = stack;
                    shape.height = height;
                    complete(spec, shape);
                    if (shape.sharedBytes(spec) > spec.sharedBytesOf(2) ||
                        2 * shape.steps * spec.rows.kernel > mostTapRegisters ||
                        height * spec.rows.kernel * shape.steps > mostProducts)
                        continue;
                    const double clocks = predictedClocks(spec, shape);
                    if (!best || clocks < bestClocks) {
                        best = shape;
                        bestClocks = clocks;
                    }
                }
    if (!best)
        return refusal("smem", fmt::format("{} by {} taps reach over too large a piece of the "
                                           "operand for shared memory or registers",
                                           spec.rows.kernel, spec.columns.kernel));
    return *best;
}

} // namespace fuselage::gpu
