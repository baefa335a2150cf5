// SPDX-License-Identifier: Apache-2.0
// Seconds of one program: launch plus the p-norm of what each resource needs. Formulas and where
// the constants come from: README.md.
#include "core/cost/time_model.h"

#include "core/cost/operand_bytes_internal.h"
#include "core/kernel/product_element.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace fuselage {

namespace {

/// Time for a byte from DRAM to arrive; bytes in flight hide it.
constexpr double dramLatency = 700e-9;
/// Bytes that one thread of a streaming kernel keeps in flight.
constexpr double bytesInFlightPerThread = 16;
/// Share of issue slots that a well scheduled kernel fills.
constexpr double issueEfficiency = 0.9;
/// Relative half width of an estimate, by what limits it: matrix shapes vary most.
constexpr double memoryUncertainty = 0.1, computeUncertainty = 0.2, launchUncertainty = 0.05;

double matrixPeak(const KernelProgram& program, const DeviceProfile& profile, bool tf32) {
    switch (productElement(program)) {
    case DType::Float16:
    case DType::BFloat16:
        return profile.fp16MatrixFlops;
    case DType::Float64:
        return profile.fp32Flops / 2;
    default:
        return tf32 ? profile.tf32MatrixFlops : profile.fp32Flops;
    }
}

/// Tiles of a contraction's result, or of an attention's rows.
double tilesOf(const KernelProgram& program, double tile) {
    auto along = [&](int64_t extent) { return std::ceil(static_cast<double>(extent) / tile); };
    auto product = [](const Extents& extents, size_t begin, size_t end) {
        int64_t out = 1;
        for (size_t d = begin; d < end; ++d)
            out *= extents[d];
        return out;
    };
    if (const auto* code = std::get_if<Contraction>(&program.code)) {
        if (code->kind == Contraction::Kind::MatMul) {
            const size_t m = code->batchDims + code->mDims;
            return static_cast<double>(product(code->space, 0, code->batchDims)) *
                   along(product(code->space, code->batchDims, m)) *
                   along(product(code->space, m, code->space.size()));
        }
        const int64_t channels = code->space[1];
        return static_cast<double>(code->groups) * along(channels / code->groups) *
               along(product(code->space, 0, code->space.size()) / channels);
    }
    if (const auto* code = std::get_if<Attention>(&program.code))
        return static_cast<double>(product(code->batch, 0, code->batch.size())) * along(code->l);
    return 1;
}

/// True for convolutions that minimal filtering (Winograd) computes with fewer products.
bool smallFilter(const KernelProgram& program) {
    const auto* code = std::get_if<Contraction>(&program.code);
    if (!code || code->kind != Contraction::Kind::Conv || code->groups != 1)
        return false;
    const SlidingWindow& window = code->window;
    auto all = [](const Extents& extents, int64_t wanted) {
        return std::all_of(extents.begin(), extents.end(), [&](int64_t e) { return e == wanted; });
    };
    return window.kernel.size() == 2 && all(window.kernel, 3) && all(window.strides, 1) &&
           all(window.dilations, 1);
}

/// Seconds on the tensor cores: smaller tiles fill more units and use each less well.
double matrixSeconds(const KernelProgram& program, const Work& work, double peak,
                     const DeviceProfile& profile) {
    if (work.matrixFlops == 0 || !work.matrix)
        return 0;
    struct TileChoice {
        double extent, share; ///< of what large tiles reach
    };
    constexpr std::array choices{TileChoice{128, 1}, TileChoice{64, 2.0 / 3}, TileChoice{32, 0.4}};
    const double gain = smallFilter(program) ? profile.filterGain : 1;
    const double ideal = static_cast<double>(work.matrixFlops) / (peak * gain);
    double best = std::numeric_limits<double>::infinity();
    for (const TileChoice& choice : choices) {
        const double tiles = std::max(1.0, tilesOf(program, choice.extent));
        const double wave = std::ceil(tiles / profile.units) * profile.units / tiles;
        // Splitting the reduced dims keeps units busy that have no tile of their own.
        best =
            std::min(best, ideal * std::min(wave, 8.0) / (choice.share * profile.matrixEfficiency));
    }
    return best;
}

double dramSeconds(const Traffic& traffic, const DeviceProfile& profile) {
    const auto bytes = static_cast<double>(traffic.dram);
    if (profile.kind != DeviceKind::Gpu || bytes == 0)
        return bytes / profile.dramBandwidth;
    const double threads = profile.units * profile.threadsPerUnit;
    const double inFlight = std::min(bytes, threads * bytesInFlightPerThread);
    const double filled = std::min(1.0, inFlight / (profile.dramBandwidth * dramLatency));
    return bytes / (profile.dramBandwidth * filled);
}

} // namespace

TimeEstimate predictTime(const KernelProgram& program, const Traffic& traffic,
                         const DeviceProfile& profile) {
    return predictTime(program, workOf(program), traffic, profile);
}

TimeEstimate predictTime(const KernelProgram& program, const Work& work, const Traffic& traffic,
                         const DeviceProfile& profile, bool tf32) {
    TimeEstimate out;
    out.launch = profile.launchSeconds;
    out.dram = dramSeconds(traffic, profile);
    out.l2 = static_cast<double>(traffic.l2) / profile.l2Bandwidth;
    const double lanes = profile.units * profile.lanesPerUnit * profile.clock * issueEfficiency;
    const double onLanes = work.matrix ? 0 : static_cast<double>(work.matrixFlops) / 2;
    out.issue = (static_cast<double>(work.issue) + onLanes) / lanes;
    out.matrix = matrixSeconds(program, work, matrixPeak(program, profile, tf32), profile);

    struct Resource {
        const char* name;
        double seconds, uncertainty;
    };
    const std::array resources{Resource{"dram", out.dram, memoryUncertainty},
                               Resource{"l2", out.l2, memoryUncertainty},
                               Resource{"issue", out.issue, computeUncertainty},
                               Resource{"matrix", out.matrix, computeUncertainty}};
    const Resource* top = resources.data();
    for (const Resource& resource : resources)
        if (resource.seconds > top->seconds)
            top = &resource;
    double norm = 0; // scaled by the largest term, so that powers do not underflow
    for (const Resource& resource : resources)
        if (top->seconds > 0)
            norm += std::pow(resource.seconds / top->seconds, profile.overlap);
    const double busy = top->seconds * std::pow(norm, 1 / profile.overlap);
    out.seconds = out.launch + busy;
    out.limiter = out.launch > busy ? "launch" : top->name;
    const double slack = busy * top->uncertainty + out.launch * launchUncertainty;
    out.low = out.seconds - slack;
    out.high = out.seconds + slack;
    return out;
}

TimeEstimate predictHostTime(const KernelProgram& program, const Traffic& traffic,
                             const DeviceProfile& profile) {
    // Of the reference functions, roughly.
    constexpr double bytesPerSecond = 1.6e8, flopsPerSecond = 2e9;
    constexpr double uncertainty = 0.5;
    const auto bytes = static_cast<double>(traffic.logical());
    const double link = bytes / profile.linkBandwidth;
    const double host = std::max(bytes / bytesPerSecond,
                                 static_cast<double>(workOf(program).flops) / flopsPerSecond);
    TimeEstimate out;
    out.launch = 2 * profile.linkSeconds;
    out.seconds = out.launch + link + host;
    out.limiter = host > out.launch + link ? "host" : "link";
    out.low = out.seconds * (1 - uncertainty);
    out.high = out.seconds * (1 + uncertainty);
    return out;
}

} // namespace fuselage
