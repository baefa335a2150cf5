// SPDX-License-Identifier: Apache-2.0
#include "core/cost/resources.h"

#include "core/cost/product_time_internal.h"
#include "core/kernel/chain.h"
#include "core/kernel/product_element.h"

#include <algorithm>
#include <array>

namespace fuselage {

namespace {

// Fitted to what NVRTC counts of the zoo's kernels (tests/bench/REGISTERS.md); what they stand for
// is what the emitters of gpu/kernels hold.
/// Indices, bounds, the thread's place.
constexpr int fixedRegisters = 8;
/// An address, of 64 bits.
constexpr int pointerRegisters = 2;
/// A function of tens of instructions, for each element that is computed beside it.
constexpr int functionRegisters = 2;
/// For each element of a row that a thread keeps: its value, what is made of it, its share of a
/// sum.
constexpr double keptRegisters = 2.75;
/// Accumulators, fragments of both operands and addresses of a tile, by who multiplies.
constexpr int lanesTile64 = 95, lanesTile128 = 126, coresTile32 = 72, coresTile64 = 102,
              bulkTile = 168, depthwiseRegisters = 60, vectorRegisters = 30;
constexpr int coresAttention = 132, lanesAttention = 62, windowRegisters = 46, copyRegisters = 14,
              libraryRegisters = 18;
constexpr int bytesOfLoad = 16, lanesOfWarp = 32, longestWarpRow = 1024, wantedKept = 16;

int registersOf(DType type) {
    return sizeOf(type) > 4 ? 2 : 1;
}

/// Elements that a thread loads at once, of the narrowest operand.
int vectorOf(const KernelProgram& program) {
    size_t narrowest = 4;
    for (const OperandType& input : program.inputs)
        if (isFloat(input.dtype))
            narrowest = std::min(narrowest, std::max<size_t>(2, sizeOf(input.dtype)));
    return bytesOfLoad / static_cast<int>(narrowest);
}

/// The read has an element of its own for each step along the innermost loop.
bool variesInnermost(const Access& read, const Extents& space) {
    size_t inner = space.size();
    while (inner > 0 && space[inner - 1] == 1)
        --inner;
    return inner > 0 && std::any_of(read.index.begin(), read.index.end(), [&](const DimIndex& at) {
               return std::any_of(at.terms.begin(), at.terms.end(), [&](const IndexTerm& term) {
                   return term.dim + 1 == inner && term.scale != 0;
               });
           });
}

bool readsBeyond(const Access& read, size_t outerDims) {
    bool outer = false, inner = false;
    for (const DimIndex& at : read.index)
        for (const IndexTerm& term : at.terms)
            (term.dim < outerDims ? outer : inner) = true;
    return inner && (outer || outerDims == 0);
}

bool callsFunctions(const Tape& tape) {
    return std::any_of(tape.code.begin(), tape.code.end(),
                       [](const TapeInstruction& at) { return rowOf(at.op).cost.expensive(); });
}

int64_t lengthOf(const Tape& tape) {
    int64_t out = 0;
    for (const TapeInstruction& at : tape.code)
        if (at.op != TapeOp::Input && at.op != TapeOp::Constant)
            out += rowOf(at.op).cost.issue;
    return out;
}

struct Predictor {
    const KernelProgram& program;
    const DeviceProfile& profile;
    KernelResources out = {};

    void operator()(const Pointwise& code) {
        out.elements = vectorOf(program);
        const auto operands = static_cast<int>(code.reads.size() + code.writes.size());
        int held = 0, inputs = 0;
        for (size_t i = 0; i < code.reads.size(); ++i) {
            const bool each = variesInnermost(code.reads[i], code.space);
            // Addresses of what varies along with the index come from it.
            held += registersOf(code.tape.inputs[i]) * (each ? out.elements : 1) + (each ? 0 : 1);
            inputs += registersOf(code.tape.inputs[i]);
            out.loadedBytes += each ? bytesOfLoad : 0;
        }
        // All lanes are loaded before the first is computed.
        out.registers = fixedRegisters + held +
                        pointerRegisters * static_cast<int>(code.writes.size()) +
                        std::max(0, liveRegisters(code.tape, true) - inputs) +
                        (callsFunctions(code.tape) ? functionRegisters * out.elements : 0);
        out.instructions = out.elements * (lengthOf(code.tape) + operands);
    }

    void operator()(const Row& code) {
        const int64_t length = elementCount(code.inner).value_or(1);
        int inputs = 0, kept = 0;
        for (const Access& read : code.reads) {
            kept += readsBeyond(read, code.outer.size()) ? 1 : 0;
            ++inputs;
        }
        int live = liveRegisters(code.element, true);
        int64_t run = lengthOf(code.element);
        for (const Row::Stage& stage : code.stages) {
            live = std::max(live, liveRegisters(stage.map, true));
            run = std::max(run, lengthOf(stage.map));
        }
        int64_t team = lanesOfWarp;
        if (length > longestWarpRow)
            for (team = 128; team < 1024 && length > team * wantedKept;)
                team *= 2;
        const int64_t each = std::min<int64_t>((length + team - 1) / team, 32);
        const auto operands = static_cast<double>(program.inputs.size() + program.outputs.size());
        // What is only folded is not kept.
        const double perElement = code.elementWrites.empty() ? 1 : keptRegisters;
        out.elements = static_cast<int>(each);
        out.registers =
            static_cast<int>(4 + 2.5 * operands + perElement * out.elements * std::max(1, kept)) +
            std::max(0, live - inputs - 4);
        out.instructions = out.elements * run;
        out.loadedBytes = 4 * out.elements * std::max(1, kept);
        out.sharedBytes = team == lanesOfWarp ? 0 : 128;
    }

    void operator()(const Contraction& code) {
        const bool isConvolution = code.kind != Contraction::Kind::MatMul;
        const int64_t columns = columnsOf(code);
        const int64_t all = elementCount(code.space).value_or(0);
        auto tiles = [&](int64_t rows, int64_t along) {
            const int64_t lines = all / std::max<int64_t>(1, columns);
            return ((lines + rows - 1) / rows) * ((columns + along - 1) / along);
        };
        const auto units = static_cast<int64_t>(profile.units);
        const DType element = productElement(program);
        const bool onCores = sizeOf(element) == 2;
        const Extents& weights = program.inputs[code.b.operand].extents;
        if (isConvolution && code.groups > 1 && weights[1] == 1) {
            out.registers = depthwiseRegisters;
            out.sharedBytes = 16384;
        } else if (!isConvolution && all <= columns && !code.prologueA && !code.prologueB) {
            out.registers = vectorRegisters;
            out.sharedBytes = 256;
        } else if (onCores && profile.arch == "sm_90" && !isConvolution && !code.prologueA &&
                   !code.prologueB && 4 * tiles(64, 128) >= units) {
            out.registers = bulkTile;
            out.sharedBytes = 229520;
        } else if (onCores) {
            out.registers = 2 * tiles(64, 64) >= units ? coresTile64 : coresTile32;
            out.sharedBytes = 49152;
        } else {
            const bool isLarge = 2 * tiles(128, 128) >= units;
            out.registers = isLarge ? lanesTile128 : lanesTile64;
            out.sharedBytes = isLarge ? 65536 : 32768;
        }
        // Results leave one by one: what their epilogue holds takes the place of the fragments.
        out.registers =
            std::max(out.registers, 64 + liveRegisters(code.epilogue.tape, false) +
                                        pointerRegisters * int(code.epilogue.reads.size()));
        out.instructions = lengthOf(code.epilogue.tape) * 32;
    }

    void operator()(const Attention& code) {
        const bool onCores = sizeOf(program.inputs[code.q.operand].dtype) == 2;
        out.registers = onCores ? coresAttention : lanesAttention;
        out.sharedBytes = onCores ? 27648 : 29568;
    }

    void operator()(const Window& code) {
        out.registers = windowRegisters + liveRegisters(code.epilogue.tape, false);
        out.instructions = lengthOf(code.epilogue.tape);
    }

    void operator()(const Copy&) { out.registers = copyRegisters; }

    void operator()(const Group& code) {
        for (const KernelProgram& member : code.members) {
            const KernelResources each = predictResources(member, profile);
            out.registers = std::max(out.registers, each.registers);
            out.sharedBytes = std::max(out.sharedBytes, each.sharedBytes);
            out.loadedBytes = std::max(out.loadedBytes, each.loadedBytes);
            out.instructions += each.instructions;
        }
    }

    void operator()(const Library&) { out.registers = libraryRegisters; }

    void operator()(const Chain& code) {
        for (const KernelProgram& member : code.members)
            out.instructions += predictResources(member, profile).instructions;
        if (productCount(code) == 1) { // rows pass through shared memory
            for (const KernelProgram& member : code.members)
                out.registers =
                    std::max(out.registers, predictResources(member, profile).registers);
            return;
        }
        out.registers = bulkTile;
        out.sharedBytes = 229520;
    }
};

} // namespace

int liveRegisters(const Tape& tape, bool inputsFirst) {
    // Where each register is read for the last time; what the tape gives lives on.
    std::vector<size_t> last(tape.code.size(), 0);
    for (size_t i = 0; i < tape.code.size(); ++i)
        for (int k = 0; k < operandCount(tape.code[i].op); ++k)
            last[tape.code[i].operand[k]] = i;
    for (uint16_t output : tape.outputs)
        last[output] = tape.code.size();
    auto isValue = [&](size_t at) { return tape.code[at].op != TapeOp::Constant; };
    int alive = 0, most = 0;
    std::vector<std::vector<size_t>> ending(tape.code.size() + 1);
    for (size_t i = 0; i < tape.code.size(); ++i) {
        ending[std::max(last[i], i)].push_back(i);
        if (inputsFirst && tape.code[i].op == TapeOp::Input)
            alive += registersOf(tape.code[i].type);
    }
    for (size_t i = 0; i < tape.code.size(); ++i) {
        const bool isLoaded = inputsFirst && tape.code[i].op == TapeOp::Input;
        if (isValue(i) && !isLoaded)
            alive += registersOf(tape.code[i].type);
        most = std::max(most, alive);
        for (size_t ended : ending[i])
            alive -= isValue(ended) ? registersOf(tape.code[ended].type) : 0;
    }
    return most;
}

KernelResources predictResources(const KernelProgram& program, const DeviceProfile& profile) {
    Predictor predictor{program, profile};
    std::visit(predictor, program.code);
    KernelResources out = predictor.out;
    if (out.registers > mostRegisters)
        out.spilledBytes = 4 * (out.registers - mostRegisters);
    return out;
}

double fetchLoss(const KernelResources& resources) {
    constexpr double bytesOfInstruction = 16, cacheBytes = 128 << 10, most = 2;
    return std::clamp(static_cast<double>(resources.instructions) * bytesOfInstruction / cacheBytes,
                      1.0, most);
}

bool exceedsCodeCache(const KernelResources& resources) {
    return fetchLoss(resources) > 1;
}

double occupancyOf(const KernelResources& resources, const DeviceProfile& profile) {
    // A warp's registers are given out by 256.
    const int held = (std::min(resources.registers, mostRegisters) + 7) / 8 * 8;
    const double wanted = std::max(1, held) * profile.threadsPerUnit;
    return wanted > 0 ? std::min(1.0, profile.registersPerUnit / wanted) : 1;
}

} // namespace fuselage
