// SPDX-License-Identifier: Apache-2.0
// Seconds of one program: launch plus the p-norm of what each resource needs. Formulas and where
// the constants come from: README.md.
#include "core/cost/time_model.h"

#include "core/cost/operand_bytes_internal.h"
#include "core/cost/product_time_internal.h"
#include "core/cost/resources.h"
#include "core/kernel/chain.h"
#include "core/kernel/row_reuse.h"
#include "core/ops/tape_power.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace fuselage {

namespace {

/// Time for a byte to arrive from a GPU's DRAM, or from its last cache; bytes in flight hide it.
constexpr double dramLatency = 700e-9, cacheLatency = 350e-9;
/// Bytes that one thread of a streaming kernel keeps in flight.
constexpr double bytesInFlightPerThread = 16;
/// Less than this on one core of a processor is not shared among the cores.
constexpr double secondsWorthSharing = 30e-6;
/// Relative half width of an estimate, by what limits it: matrix shapes vary most.
constexpr double memoryUncertainty = 0.1, computeUncertainty = 0.2, launchUncertainty = 0.05;

/// Lane instructions of one operation of tapes on this device.
double priceOf(TapeOp op, const DeviceProfile& profile) {
    const double own = profile.tapeIssue[static_cast<size_t>(op)];
    return own > 0 ? own : static_cast<double>(rowOf(op).cost.issue);
}

/// The same of an instruction of a tape.
double priceOf(const Tape& tape, const TapeInstruction& at, const DeviceProfile& profile) {
    const int products = productsOfPower(tape, at);
    return products > 0 ? products : priceOf(at.op, profile);
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
                out += priceOf(tape, at, profile);
        }
        registers.push_back(is);
    }
    // Sums of integers pass through it by themselves, behind the product.
    return isFloat(code.accumulate) ? out * profile.epilogueShare : out;
}

/// The same as workOf() counts it.
double epilogueCount(const Contraction& code) {
    auto out = static_cast<double>(code.epilogue.reads.size() + code.epilogue.writes.size());
    const Tape& tape = code.epilogue.tape;
    for (const TapeInstruction& at : tape.code)
        if (at.op != TapeOp::Input && at.op != TapeOp::Constant) {
            const int products = productsOfPower(tape, at);
            out += products > 0 ? products : static_cast<double>(rowOf(at.op).cost.issue);
        }
    return out;
}

double tapePrice(const Tape& tape, const DeviceProfile& profile) {
    double out = 0;
    for (const TapeInstruction& at : tape.code)
        if (at.op != TapeOp::Input && at.op != TapeOp::Constant)
            out += priceOf(tape, at, profile);
    return out;
}

/// By element, what a processor does not compute again: a row's stages hand values on. Rows of one
/// tile keep all, longer ones what is dear, if a core's cache holds it (core/cpu/tile_row.cpp).
double keptPrice(const Row& row, const DeviceProfile& profile) {
    constexpr int64_t oneTile = 1024;
    const int64_t elements = elementCount(row.inner).value_or(0);
    const RowReuse reuse = reuseInRow(row, {elements > oneTile ? dearToRepeat : int64_t{1}, true});
    size_t bytes = 0;
    for (DType type : reuse.values)
        bytes += sizeOf(type);
    if (bytes == 0 || static_cast<size_t>(elements) > mostKeptBytes / bytes)
        return 0;
    double out = tapePrice(row.element, profile);
    for (const Row::Stage& stage : row.stages)
        out += tapePrice(stage.map, profile);
    for (const RowReuse::Part& part : reuse.parts)
        out -= tapePrice(part.tape, profile);
    return out;
}

/// Lane instructions as this device counts them.
double laneInstructions(const KernelProgram& program, const LaidWork& laid,
                        const DeviceProfile& profile) {
    const Work& work = laid.work;
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
    if (const auto* row = std::get_if<Row>(&program.code); row && profile.kind == DeviceKind::Cpu)
        add(elementCount(row->outer).value_or(0) * elementCount(row->inner).value_or(0),
            -keptPrice(*row, profile));
    if (profile.kind == DeviceKind::Cpu)
        add(stagedElements(program), 2);
    const DeviceProfile counted; // what workOf() took for these
    add(work.reduced, profile.reduceIssue - counted.reduceIssue);
    add(work.rows, profile.rowIssue - counted.rowIssue);
    add(work.pooled, profile.windowIssue - counted.windowIssue);
    const auto* attention = std::get_if<Attention>(&program.code);
    const bool inVectors = attention && profile.kind == DeviceKind::Cpu;
    add(work.scores, profile.scoreIssue * (inVectors ? lossOfLanes(attention->s, profile) : 1) -
                         counted.scoreIssue);
    add(work.runs, profile.runIssue);
    add(work.turned, profile.turnIssue);
    add(work.routine, profile.routineIssue);
    add(laid.packed, 2);
    add(work.matrixFlops / 2, laneProductPrice(program, work, profile));
    const auto* chain = std::get_if<Chain>(&program.code);
    if (chain && productCount(*chain) == 1) {
        const KernelProgram& rows = *rowsOf(*chain);
        out += (blocksWithRows(*chain, profile) - 1) *
               laneInstructions(rows, LaidWork{workOf(rows)}, profile);
    }
    return out;
}

/// Bytes that threads store and load again for want of registers.
double spilledBytes(const KernelProgram& program, const KernelResources& resources) {
    double results = 0;
    for (const OperandType& output : program.outputs)
        results = std::max(results, static_cast<double>(elementCount(output.extents).value_or(0)));
    return 2 * resources.spilledBytes * results / resources.elements;
}

/// Products hold their own tiles, which their share of the peak knows; others hide memory by many
/// threads.
bool hidesByThreads(const KernelProgram& program) {
    return !std::holds_alternative<Contraction>(program.code) &&
           !std::holds_alternative<Attention>(program.code) &&
           !std::holds_alternative<Chain>(program.code);
}

/// Of what is read. Written bytes are not waited for: what of DRAM's traffic they do not explain
/// was fetched.
double latencyOf(const Traffic& traffic) {
    const auto read = static_cast<double>(std::max<int64_t>(1, traffic.logicalRead));
    const auto fetched = static_cast<double>(traffic.dram - traffic.logicalWritten);
    return std::lerp(cacheLatency, dramLatency, std::clamp(fetched / read, 0.0, 1.0));
}

double dramSeconds(const KernelProgram& program, const Traffic& traffic,
                   const DeviceProfile& profile, const KernelResources& resources) {
    const auto bytes = static_cast<double>(traffic.dram);
    if (profile.kind != DeviceKind::Gpu || bytes == 0)
        return bytes / profile.dramBandwidth;
    double threads = profile.units * profile.threadsPerUnit;
    if (hidesByThreads(program))
        threads *= occupancyOf(resources, profile);
    const double each = std::max(bytesInFlightPerThread, double(resources.loadedBytes));
    const double inFlight = std::min(bytes, threads * each);
    const double filled = std::min(1.0, inFlight / (profile.dramBandwidth * latencyOf(traffic)));
    return bytes / (profile.dramBandwidth * filled);
}

/// Bytes that the last cache serves; those that memory sends pass through it once anyway.
double lastCacheBytes(const Traffic& traffic, const DeviceProfile& profile) {
    const auto bytes = static_cast<double>(traffic.l2);
    return profile.coreBytes > 0 ? std::max(0.0, bytes - static_cast<double>(traffic.dram)) : bytes;
}

/// Kernels that compute with a row or a block before they ask for the next: nothing else is done
/// while a core's own cache fetches it. Streams are fetched ahead.
bool waitsForBytes(const KernelProgram& program, const DeviceProfile& profile) {
    return profile.waitBandwidth > 0 && profile.coreBytes > 0 &&
           !std::holds_alternative<Pointwise>(program.code) &&
           !std::holds_alternative<Window>(program.code) &&
           !std::holds_alternative<Contraction>(program.code);
}

/// Bytes of what is packed for which a core's own cache has no room.
double packedBytes(const LaidWork& laid, double units, const DeviceProfile& profile) {
    const double bytes = 4 * static_cast<double>(laid.packed);
    if (profile.coreBytes <= 0)
        return 2 * bytes;
    return 2 * bytes * std::clamp(4 * bytes / (profile.coreBytes * units) - 3, 0.0, 1.0);
}

/// All cores of a processor, or one of them.
TimeEstimate timeOn(double units, const KernelProgram& program, const LaidWork& laid,
                    const Traffic& traffic, const DeviceProfile& profile, bool tf32) {
    const double share = units / profile.units;
    TimeEstimate out;
    out.launch = profile.launchSeconds + (units > 1 ? profile.forkSeconds : 0) +
                 fixedSeconds(program, profile, units);
    const bool isGpu = profile.kind == DeviceKind::Gpu;
    const KernelResources needs = isGpu ? predictResources(program, profile) : KernelResources{};
    const double spilled = isGpu ? spilledBytes(program, needs) : 0;
    const double waited = waitsForBytes(program, profile) ? lastCacheBytes(traffic, profile) : 0;
    const double streamed = lastCacheBytes(traffic, profile) - waited;
    const ProductSeconds product = productSeconds(program, laid, traffic, profile, tf32, units);
    const double stream =
        (streamed + spilled + packedBytes(laid, units, profile)) / (profile.l2Bandwidth * share) +
        product.l2;
    const double wait = waited > 0 ? waited / (profile.waitBandwidth * share) : 0;
    out.l2 = stream + wait;
    out.issue = (laneInstructions(program, laid, profile) + spilled / 4) * fetchLoss(needs) *
                unevenRows(program, units) /
                (units * profile.lanesPerUnit * profile.clock * profile.issueEfficiency);
    out.matrix = product.matrix;
    out.dram = dramSeconds(program, traffic, profile, needs) + product.dram;
    struct Resource {
        const char* name;
        double seconds, uncertainty;
    };
    const std::array resources{Resource{"dram", out.dram, memoryUncertainty},
                               Resource{"l2", stream, memoryUncertainty},
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
    const double work = top->seconds * std::pow(norm, 1 / profile.overlap);
    const double busy = work + wait;
    out.seconds = out.launch + busy;
    out.limiter = out.launch > busy ? "launch" : wait > work ? "l2" : top->name;
    const double slack =
        work * top->uncertainty + wait * memoryUncertainty + out.launch * launchUncertainty;
    out.low = out.seconds - slack;
    out.high = out.seconds + slack;
    return out;
}
} // namespace

TimeEstimate& TimeEstimate::operator+=(const TimeEstimate& other) {
    seconds += other.seconds;
    low += other.low;
    high += other.high;
    launch += other.launch;
    dram += other.dram;
    l2 += other.l2;
    issue += other.issue;
    matrix += other.matrix;
    return *this;
}

TimeEstimate predictTime(const KernelProgram& program, const Traffic& traffic,
                         const DeviceProfile& profile) {
    return predictTime(program, workOf(program), traffic, profile);
}

TimeEstimate predictTime(const KernelProgram& program, const Work& work, const Traffic& traffic,
                         const DeviceProfile& profile, bool tf32) {
    return predictTime(program, LaidWork{work}, traffic, profile, tf32);
}

TimeEstimate predictTime(const KernelProgram& program, const LaidWork& work, const Traffic& traffic,
                         const DeviceProfile& profile, bool tf32) {
    TimeEstimate all = timeOn(profile.units, program, work, traffic, profile, tf32);
    if (profile.kind != DeviceKind::Cpu || profile.units <= 1)
        return all;
    TimeEstimate one = timeOn(1, program, work, traffic, profile, tf32);
    // Whether it is shared does not depend on how operands lie: more work is never less time.
    LaidWork plain{work.work};
    plain.work.turned -= work.turnedByOrder;
    const TimeEstimate least = timeOn(1, program, plain, traffic, profile, tf32);
    return least.seconds - least.launch < secondsWorthSharing ? one : all;
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
