// SPDX-License-Identifier: Apache-2.0
// Chooses the patch of a depthwise thread by counting what its loops issue: a wide patch reads each
// element fewer times, but needs registers.
#include "core/cost/cost.h"
#include "gpu/kernels/depthwise.h"
#include "gpu/kernels/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuselage::gpu {

namespace {

constexpr int mostRegisters = 112; ///< estimated; keeps four warps a scheduler
constexpr int64_t sharedLimit = 48 << 10;

/// Columns whose place can be outside of the operand for some strip.
int64_t checkedColumns(const ConvSpec& spec, int strip) {
    const int64_t last = (divideUp(spec.columns.out, strip) - 1) * strip * spec.columns.stride;
    int64_t out = 0;
    for (int64_t column : depthwiseColumns(spec, strip))
        out += column < spec.columns.pad || last + column - spec.columns.pad >= spec.columns.in;
    return out;
}

int64_t rowsOf(const ConvSpec& spec, int height) {
    return (height - 1) * spec.rows.stride + (spec.rows.kernel - 1) * spec.rows.dilation + 1;
}

/// How the threads of a block divide between channels and places.
void placeThreads(const ConvSpec& spec, DepthwiseShape& shape) {
    const int64_t groups = divideUp(spec.results, shape.width);
    const int64_t places = spec.images * divideUp(spec.rows.out, shape.height) *
                           divideUp(spec.columns.out, shape.strip);
    if (!shape.channelsFastest) {
        shape.places = static_cast<int>(std::min<int64_t>(256, places));
        shape.lanes = static_cast<int>(std::clamp<int64_t>(256 / shape.places, 1, groups));
        return;
    }
    int64_t best = 0;
    double bestWaste = 2;
    for (int64_t lanes = std::min<int64_t>(64, groups); lanes >= std::min<int64_t>(16, groups);
         --lanes) {
        const auto waste =
            static_cast<double>(divideUp(groups, lanes) * lanes) / static_cast<double>(groups) +
            (lanes % 32 == 0 ? 0 : 0.01);
        if (waste < bestWaste - 1e-9) {
            best = lanes;
            bestWaste = waste;
        }
    }
    shape.lanes = static_cast<int>(std::max<int64_t>(best, 1));
    shape.places = static_cast<int>(std::clamp<int64_t>(256 / shape.lanes, 1, places));
}

/// Channels of one access to shared memory, where a packed weight is read so.
int stagedChannels(const ConvSpec& spec, const DepthwiseShape& shape) {
    const int64_t each = 16 / static_cast<int64_t>(sizeOf(spec.code->accumulate));
    const bool constant = spec.request->constant(spec.code->b.operand) != nullptr;
    const bool whole =
        shape.blockChannels() % each == 0 && shape.blockChannels() / each <= shape.threads();
    return constant && whole ? static_cast<int>(each) : 0;
}

/// Lane instructions of one thread that bring weights to shared memory.
double stagingInstructions(const ConvSpec& spec, const DepthwiseShape& shape) {
    if (shape.staged == 0) // a weight that is made when it runs: not counted
        return 0;
    const auto steps = static_cast<double>(divideUp(spec.taps(), shape.tapsAtOnce()));
    return 16 + steps * (3 + (sizeOf(spec.w.dtype) == 2 ? shape.staged : 0));
}

int64_t sharedBytes(const ConvSpec& spec, const DepthwiseShape& shape) {
    const auto size = static_cast<int64_t>(sizeOf(spec.code->accumulate));
    return spec.taps() * shape.weightRow() * size;
}

/// Seconds to issue everything, where every multiprocessor keeps at least some warps busy.
double predictedSeconds(const ConvSpec& spec, const DepthwiseShape& shape) {
    const DeviceProfile* profile = spec.request->profile;
    const double lanes = profile ? profile->units * profile->lanesPerUnit : 132 * 128;
    const double threads =
        static_cast<double>(spec.images * divideUp(spec.rows.out, shape.height) *
                            divideUp(spec.columns.out, shape.strip) *
                            divideUp(divideUp(spec.results, shape.width), shape.lanes)) *
        shape.lanes;
    const double perThread = shape.instructionsPerResult * shape.width * shape.strip * shape.height;
    // An instruction follows the one before it after some clocks: few warps do not fill a unit.
    constexpr double clocksAlone = 3;
    return perThread * std::max(threads / lanes, clocksAlone);
}

} // namespace

std::vector<int64_t> depthwiseColumns(const ConvSpec& spec, int strip) {
    std::vector<int64_t> out;
    for (int64_t s = 0; s < strip; ++s)
        for (int64_t k = 0; k < spec.columns.kernel; ++k)
            out.push_back(s * spec.columns.stride + k * spec.columns.dilation);
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

DepthwiseChunks depthwiseChunks(const ConvSpec& spec, const DepthwiseShape& shape) {
    const int64_t elements = 16 / static_cast<int64_t>(sizeOf(spec.x.dtype));
    // Chunks begin at multiples of their size, and so lie in the row or outside of it.
    if (shape.width != 1 || shape.strip * spec.columns.stride % elements != 0 ||
        spec.columns.in % elements != 0 || !spec.rowVectors(spec.x, elements))
        return {};
    const int64_t lead = (elements - spec.columns.pad % elements) % elements;
    const int64_t span = depthwiseColumns(spec, shape.strip).back() + 1;
    return {divideUp(lead + span, elements), elements, lead};
}

double depthwiseInstructions(const ConvSpec& spec, const DepthwiseShape& shape) {
    const auto size = static_cast<double>(sizeOf(spec.x.dtype));
    const auto width = static_cast<double>(shape.width);
    const auto results = width * shape.strip * shape.height;
    const auto columns = static_cast<double>(depthwiseColumns(spec, shape.strip).size());
    const auto rows = static_cast<double>(rowsOf(spec, shape.height));
    const auto chunks = static_cast<double>(depthwiseChunks(spec, shape).count);
    const double loads = rows * (chunks > 0 ? chunks : columns * std::ceil(width * size / 16));
    const double widening = size == 2 ? rows * columns * width : 0;
    const double checks =
        rows * (chunks > 0 ? 2 : static_cast<double>(checkedColumns(spec, shape.strip))) * 2;
    // Weights of one row of taps are read for each row of results.
    const double weights =
        static_cast<double>(spec.taps()) * shape.height *
        std::ceil(width * static_cast<double>(sizeOf(spec.code->accumulate)) / 16);
    const double multiplies = static_cast<double>(spec.taps()) * results;
    double ends = 0;
    for (const KernelOperand& write : spec.writes) {
        const bool along = spec.rowVectors(write, shape.strip);
        const double group = along ? shape.strip : spec.vectors(write, shape.width) ? width : 1;
        ends += results * (sizeOf(write.dtype) == 2 ? 0.5 : 0) +
                results / group * std::ceil(group * static_cast<double>(sizeOf(write.dtype)) / 16);
    }
    for (const KernelOperand& read : spec.reads)
        if (spec.stride(read, 2) != 0 || spec.stride(read, 3) != 0)
            ends += 2 * results;
    const auto tape = static_cast<double>(spec.code->epilogue.tape.code.size());
    const double placing = 60 + rows * 8 + stagingInstructions(spec, shape);
    return (loads + widening + checks + weights + multiplies + ends + tape * results + placing) /
           results;
}

std::variant<DepthwiseShape, Reason> depthwiseShape(const ConvSpec& spec) {
    const bool last = spec.stride(spec.x, 1) == 1 && spec.channels > 1;
    std::optional<DepthwiseShape> best;
    double bestSeconds = 0;
    for (int width : {1, 2, 4}) {
        const bool vectors = last && spec.results % width == 0 && spec.vectors(spec.x, width) &&
                             spec.results == spec.channels;
        if (width > 1 && !vectors)
            continue;
        for (int strip = 1; strip <= std::min<int64_t>(8, spec.columns.out); ++strip)
            for (int height = 1; height <= std::min<int64_t>(4, spec.rows.out); ++height) {
                DepthwiseShape shape{width, strip, height, 1, 1, last, 0, 0};
                const auto columns = static_cast<int>(depthwiseColumns(spec, strip).size());
                const int each = spec.code->accumulate == DType::Float64 ? 2 : 1;
                const int words =
                    (width * static_cast<int>(sizeOf(spec.x.dtype)) + 3) / 4 * columns;
                shape.registers = (strip * height + columns + 2) * width * each + words + 24;
                placeThreads(spec, shape);
                shape.staged = stagedChannels(spec, shape);
                shape.instructionsPerResult = depthwiseInstructions(spec, shape);
                if ((shape.registers > mostRegisters && strip * height > 1) ||
                    sharedBytes(spec, shape) > sharedLimit)
                    continue;
                const double seconds = predictedSeconds(spec, shape);
                if (!best || seconds < bestSeconds) {
                    best = shape;
                    bestSeconds = seconds;
                }
            }
    }
    if (!best)
        return refusal("smem",
                       fmt::format("{} taps of weights need too much shared memory", spec.taps()));
    return *best;
}

} // namespace fuselage::gpu
