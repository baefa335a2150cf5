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
/// Less than this on one core of a processor is not shared among the cores.
constexpr double secondsWorthSharing = 30e-6;
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

int64_t productOf(const Extents& extents, size_t begin, size_t end) {
    int64_t out = 1;
    for (size_t d = begin; d < end; ++d)
        out *= extents[d];
    return out;
}

/// Tiles of a contraction's result, or of an attention's rows.
double tilesOf(const KernelProgram& program, double tile) {
    auto along = [&](int64_t extent) { return std::ceil(static_cast<double>(extent) / tile); };
    if (const auto* code = std::get_if<Contraction>(&program.code)) {
        if (code->kind == Contraction::Kind::MatMul) {
            const size_t m = code->batchDims + code->mDims;
            return static_cast<double>(productOf(code->space, 0, code->batchDims)) *
                   along(productOf(code->space, code->batchDims, m)) *
                   along(productOf(code->space, m, code->space.size()));
        }
        const int64_t channels = code->space[1];
        return static_cast<double>(code->groups) * along(channels / code->groups) *
               along(productOf(code->space, 0, code->space.size()) / channels);
    }
    if (const auto* code = std::get_if<Attention>(&program.code))
        return static_cast<double>(productOf(code->batch, 0, code->batch.size())) * along(code->l);
    return 1;
}

/// Lane instructions of one operation of tapes on this device.
double priceOf(TapeOp op, const DeviceProfile& profile) {
    const double own = profile.tapeIssue[static_cast<size_t>(op)];
    return own > 0 ? own : static_cast<double>(rowOf(op).cost.issue);
}

/// Whether the read has an element of its own for each result.
bool readsEachResult(const Access& read, const Extents& space) {
    int64_t touched = 1;
    for (const DimIndex& index : read.index)
        for (const IndexTerm& term : index.terms)
            touched *= space[term.dim];
    return touched >= elementCount(space).value_or(0);
}

/// An epilogue on a processor, by result: what is given per channel is computed once, and folded
/// into weights and bias as long as only sums and products came before it.
double epiloguePrice(const Contraction& code, const DeviceProfile& profile) {
    enum class Is : uint8_t { Channel, Folded, Computed };
    const Tape& tape = code.epilogue.tape;
    std::vector<Is> registers;
    double out = static_cast<double>(code.epilogue.writes.size());
    for (const TapeInstruction& at : tape.code) {
        Is is = Is::Channel;
        if (at.op == TapeOp::Input && at.index == 0) {
            is = Is::Folded;
        } else if (at.op == TapeOp::Input) {
            if (readsEachResult(code.epilogue.reads[at.index - 1], code.space)) {
                is = Is::Computed;
                out += 1;
            }
        } else {
            int varying = 0;
            bool folded = true;
            for (int k = 0; k < operandCount(at.op); ++k) {
                const Is operand = registers[at.operand[k]];
                varying += operand != Is::Channel;
                folded = folded && operand != Is::Computed;
            }
            const bool affine = at.op == TapeOp::Add || at.op == TapeOp::Sub ||
                                at.op == TapeOp::Mul || at.op == TapeOp::Div;
            if (varying > 0)
                is = affine && folded && varying == 1 ? Is::Folded : Is::Computed;
            if (is == Is::Computed)
                out += priceOf(at.op, profile);
        }
        registers.push_back(is);
    }
    return out * profile.epilogueShare;
}

/// The same as workOf() counts it.
double epilogueCount(const Contraction& code) {
    auto out = static_cast<double>(code.epilogue.reads.size() + code.epilogue.writes.size());
    for (const TapeInstruction& at : code.epilogue.tape.code)
        if (at.op != TapeOp::Input && at.op != TapeOp::Constant)
            out += static_cast<double>(rowOf(at.op).cost.issue);
    return out;
}

/// Lane instructions as this device counts them.
double laneInstructions(const KernelProgram& program, const Work& work,
                        const DeviceProfile& profile) {
    auto out = static_cast<double>(work.issue);
    auto add = [&](int64_t times, double more) { out += static_cast<double>(times) * more; };
    const auto* product = std::get_if<Contraction>(&program.code);
    if (product && profile.kind == DeviceKind::Cpu && work.epilogue > 0)
        add(elementCount(product->space).value_or(0),
            epiloguePrice(*product, profile) - epilogueCount(*product));
    else
        for (size_t op = 0; op < tapeOpCount; ++op)
            if (work.calls[op] > 0)
                add(work.calls[op],
                    priceOf(static_cast<TapeOp>(op), profile) -
                        static_cast<double>(rowOf(static_cast<TapeOp>(op)).cost.issue));
    const DeviceProfile counted; // what workOf() took for these
    add(work.reduced, profile.reduceIssue - counted.reduceIssue);
    add(work.rows, profile.rowIssue - counted.rowIssue);
    add(work.pooled, profile.windowIssue - counted.windowIssue);
    add(work.scores, profile.scoreIssue - counted.scoreIssue);
    if (!work.matrix)
        add(work.matrixFlops / 2, profile.laneProductIssue);
    return out;
}

/// How much longer a product takes than its FLOPs say: results in whole vectors, and operands of a
/// convolution that are too short for its inner loop.
double shapeLoss(const KernelProgram& program, const DeviceProfile& profile) {
    const auto* code = std::get_if<Contraction>(&program.code);
    if (!code || code->kind == Contraction::Kind::ConvTranspose)
        return 1;
    const size_t m = code->batchDims + code->mDims;
    const bool matMul = code->kind == Contraction::Kind::MatMul;
    const auto columns = static_cast<double>(std::max<int64_t>(
        1, matMul ? productOf(code->space, m, code->space.size()) : code->space[1] / code->groups));
    double out = std::ceil(columns / profile.vectorLanes) * profile.vectorLanes / columns;
    if (!matMul)
        out *= (1 + profile.fewChannels /
                        static_cast<double>(program.inputs[code->b.operand].extents[1])) /
               profile.convolutionShare;
    return out;
}

/// Convolutions that minimal filtering (Winograd) computes with fewer products.
const Contraction* smallFilter(const KernelProgram& program, const DeviceProfile& profile) {
    const auto* code = std::get_if<Contraction>(&program.code);
    if (!code || code->kind != Contraction::Kind::Conv || code->groups != 1 ||
        profile.filterGain <= 1)
        return nullptr;
    const SlidingWindow& window = code->window;
    auto all = [](const Extents& extents, int64_t wanted) {
        return std::all_of(extents.begin(), extents.end(), [&](int64_t e) { return e == wanted; });
    };
    auto whole = [&](int64_t channels) {
        return std::fmod(static_cast<double>(channels), profile.vectorLanes) == 0;
    };
    const bool small = window.kernel.size() == 2 && all(window.kernel, 3) &&
                       all(window.strides, 1) && all(window.dilations, 1) &&
                       whole(code->space[1]) && whole(program.inputs[code->b.operand].extents[1]);
    return small ? code : nullptr;
}

struct ProductSeconds {
    double matrix = 0;
    double dram = 0; ///< for more than the program's own bytes
};

/// Tiles of 4x4 results, whose weights are four times as large.
ProductSeconds filteredSeconds(const KernelProgram& program, const Contraction& code, double direct,
                               const Traffic& traffic, const DeviceProfile& profile) {
    constexpr double tile = 4, moreWeights = 3;
    double padded = 1;
    for (size_t d = 2; d < code.space.size(); ++d)
        padded *= std::ceil(static_cast<double>(code.space[d]) / tile) * tile /
                  static_cast<double>(code.space[d]);
    const OperandType& weights = program.inputs[code.b.operand];
    const double bytes = static_cast<double>(elementCount(weights.extents).value_or(0)) *
                         static_cast<double>(sizeOf(weights.dtype));
    const double missed =
        std::min(1.0, static_cast<double>(traffic.dram) / std::max(1.0, double(traffic.logical())));
    return {direct * padded / profile.filterGain,
            moreWeights * bytes * missed / profile.dramBandwidth};
}

/// Seconds on the tensor cores: smaller tiles fill more units and use each less well.
ProductSeconds matrixSeconds(const KernelProgram& program, const Work& work, const Traffic& traffic,
                             double peak, const DeviceProfile& profile, double units) {
    if (work.matrixFlops == 0 || !work.matrix)
        return {};
    struct TileChoice {
        double extent, share; ///< of what large tiles reach
    };
    constexpr std::array choices{TileChoice{128, 1}, TileChoice{64, 2.0 / 3}, TileChoice{32, 0.4}};
    const double ideal = static_cast<double>(work.matrixFlops) * shapeLoss(program, profile) / peak;
    double best = std::numeric_limits<double>::infinity();
    for (const TileChoice& choice : choices) {
        const double tiles = std::max(1.0, tilesOf(program, choice.extent));
        const double wave = std::ceil(tiles / units) * units / tiles;
        // Splitting the reduced dims keeps units busy that have no tile of their own.
        best =
            std::min(best, ideal * std::min(wave, 8.0) / (choice.share * profile.matrixEfficiency));
    }
    const ProductSeconds direct{best, 0};
    const Contraction* filter = smallFilter(program, profile);
    if (!filter)
        return direct;
    const ProductSeconds filtered = filteredSeconds(program, *filter, best, traffic, profile);
    return filtered.matrix + filtered.dram < direct.matrix ? filtered : direct;
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

/// Bytes that the last cache serves; those that memory sends pass through it once anyway.
double lastCacheBytes(const Traffic& traffic, const DeviceProfile& profile) {
    const auto bytes = static_cast<double>(traffic.l2);
    return profile.coreBytes > 0 ? std::max(0.0, bytes - static_cast<double>(traffic.dram)) : bytes;
}

/// All cores of a processor, or one of them.
TimeEstimate timeOn(double units, const KernelProgram& program, const Work& work,
                    const Traffic& traffic, const DeviceProfile& profile, bool tf32) {
    const double share = units / profile.units;
    TimeEstimate out;
    out.launch = profile.launchSeconds + (units > 1 ? profile.forkSeconds : 0);
    out.l2 = lastCacheBytes(traffic, profile) / (profile.l2Bandwidth * share);
    out.issue = laneInstructions(program, work, profile) /
                (units * profile.lanesPerUnit * profile.clock * profile.issueEfficiency);
    const ProductSeconds product = matrixSeconds(
        program, work, traffic, matrixPeak(program, profile, tf32) * share, profile, units);
    out.matrix = product.matrix;
    out.dram = dramSeconds(traffic, profile) + product.dram;
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
} // namespace

TimeEstimate predictTime(const KernelProgram& program, const Traffic& traffic,
                         const DeviceProfile& profile) {
    return predictTime(program, workOf(program), traffic, profile);
}

TimeEstimate predictTime(const KernelProgram& program, const Work& work, const Traffic& traffic,
                         const DeviceProfile& profile, bool tf32) {
    TimeEstimate all = timeOn(profile.units, program, work, traffic, profile, tf32);
    if (profile.kind != DeviceKind::Cpu || profile.units <= 1)
        return all;
    TimeEstimate one = timeOn(1, program, work, traffic, profile, tf32);
    return one.seconds - one.launch < secondsWorthSharing ? one : all;
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
