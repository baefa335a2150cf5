// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/tile_pointwise.h"

#include "core/cpu/float_lanes.h"
#include "core/cpu/small_part.h"
#include "core/cpu/tile_copy.h"
#include "core/cpu/tile_operands.h"

#include <algorithm>
#include <optional>

namespace fuselage::cpu {

namespace {

class PointwiseKernel final : public Kernel {
public:
    PointwiseKernel(const PointwiseInParts& parts, const PrepareContext& context);
    void run(const Operands& operands, RunContext& context) override;

private:
    /// A part that is computed before the tiles, with what it reads and where its results go.
    struct Before {
        std::unique_ptr<Kernel> kernel;
        std::vector<uint32_t> operands;
        std::vector<size_t> offsets;
    };

    std::byte* runParts(const Operands& operands, RunContext& context) const;
    const std::byte* inputAt(uint32_t operand, const Operands& operands,
                             const std::byte* parts) const;
    bool aliased(const Operands& operands) const;
    /// `parts`: what runParts() gave.
    void runTiles(const Operands& operands, const std::byte* parts, Scratch& scratch, size_t begin,
                  size_t end, bool inPlace, TouchCounter* counter) const;

    std::vector<OperandLayout> m_inputs, m_outputs;
    std::vector<TileOperand> m_operands; ///< writes, then reads
    size_t m_writes = 0;
    size_t m_given = 0; ///< inputs that a run brings; the rest was folded or is a part's
    std::vector<Before> m_parts;
    std::vector<size_t> m_partOffsets; ///< of their results, the last inputs
    size_t m_partBytes = 0;
    int64_t m_foldedBytes = 0; ///< of inputs that the tiles no longer read
    TileSpace m_space;
    TileCode m_code;
};

PointwiseKernel::PointwiseKernel(const PointwiseInParts& parts, const PrepareContext& context)
    : m_inputs(parts.rest.inputs), m_outputs(context.outputs),
      m_writes(parts.rest.program.writes.size()), m_given(context.inputs.size()),
      m_partBytes(parts.bytes), m_foldedBytes(parts.rest.bytes) {
    const Pointwise& program = parts.rest.program;
    for (const SmallPart& part : parts.parts) {
        PrepareContext inner{part.inputs, part.outputs, context.table, context.threads,
                             context.allowed};
        m_parts.push_back({std::make_unique<PointwiseKernel>(
                               PointwiseInParts{{part.program, part.inputs, 0}, {}, 0}, inner),
                           part.operands, part.offsets});
        m_partOffsets.insert(m_partOffsets.end(), part.offsets.begin(), part.offsets.end());
    }
    const FloatLanes lanes = withFloatLanes(program.tape);
    size_t dims = program.space.size();
    for (size_t k = 0; k < program.writes.size(); ++k)
        m_operands.push_back(tileOperand(program.writes[k],
                                         context.outputs[program.writes[k].operand], dims,
                                         context.table, lanes.outputs[k]));
    for (size_t k = 0; k < program.reads.size(); ++k)
        m_operands.push_back(tileOperand(program.reads[k], m_inputs[program.reads[k].operand], dims,
                                         context.table, lanes.inputs[k]));
    std::vector<StridedAccess> accesses;
    for (const TileOperand& operand : m_operands)
        accesses.push_back(operand.access);
    const bool areFloats =
        std::all_of(m_operands.begin(), m_operands.end(), [](const TileOperand& operand) {
            return operand.dtype == DType::Float32; // of which vectors turn tiles either way
        });
    const size_t leader = areFloats ? leaderOf(mergedLoops(program.space, accesses)) : 0;
    // The tile's shape decides which inputs are uniform, and the code's buffers decide its size.
    size_t lanesOfTile = 1024;
    for (int round = 0; round < 2; ++round) {
        m_space = tileSpace(program.space, accesses, leader, lanesOfTile);
        addPlanes(m_space, lanesOfTile);
        std::vector<bool> uniform;
        for (size_t k = m_writes; k < m_operands.size(); ++k)
            uniform.push_back(m_space.isUniform(k));
        m_code = TileCode(lanes.tape, uniform, context.table, context.strict());
        lanesOfTile = lanesThatFit(m_code.bytesPerLane());
    }
    tactic = std::string("tile interpreter ") + context.table.name +
             (m_parts.empty() ? "" : ", small operands first");
}

/// Whether some output shares memory with some input.
bool PointwiseKernel::aliased(const Operands& operands) const {
    for (size_t o = 0; o < m_outputs.size(); ++o)
        for (size_t i = 0; i < m_given; ++i) {
            const std::byte* in = operands.inputs[i];
            const std::byte* out = operands.outputs[o];
            if (!in || !out)
                continue;
            auto inBytes = m_inputs[i].span() * static_cast<int64_t>(sizeOf(m_inputs[i].dtype));
            auto outBytes = m_outputs[o].span() * static_cast<int64_t>(sizeOf(m_outputs[o].dtype));
            if (in < out + outBytes && out < in + inBytes)
                return true;
        }
    return false;
}

/// The memory of their results; null where there are none.
std::byte* PointwiseKernel::runParts(const Operands& operands, RunContext& context) const {
    if (m_parts.empty())
        return nullptr;
    std::byte* memory = context.threads.partScratch().reserve(m_partBytes);
    for (const Before& part : m_parts) {
        Operands inner;
        for (uint32_t operand : part.operands)
            inner.inputs.push_back(inputAt(operand, operands, memory));
        for (size_t offset : part.offsets)
            inner.outputs.push_back(memory + offset);
        RunContext running{context.threads, nullptr, false, {}};
        part.kernel->run(inner, running);
    }
    return memory;
}

/// One that the run brings, that was folded, or a part's result.
const std::byte* PointwiseKernel::inputAt(uint32_t operand, const Operands& operands,
                                          const std::byte* parts) const {
    if (operand < m_given)
        return operands.inputs[operand];
    if (const TensorPtr& constant = m_inputs[operand].constant)
        return constant->bytes();
    return parts + m_partOffsets[operand + m_partOffsets.size() - m_inputs.size()];
}

void PointwiseKernel::run(const Operands& operands, RunContext& context) {
    std::optional<TouchCounter> counter;
    if (context.count) {
        // Folded operands count as what they were made of.
        std::vector<TileOperand> counted = m_operands;
        for (size_t k = m_writes; k < counted.size(); ++k)
            counted[k].elementBytes *= counted[k].operand < m_given ? 1 : 0;
        counter.emplace(m_space, counted, m_writes, m_inputs, m_outputs);
    }
    const std::byte* parts = runParts(operands, context);
    bool inPlace = aliased(operands);
    constexpr size_t lanesPerTask = 16384; // below this a second thread costs more than it saves
    size_t grain = lanesPerTask / std::max<size_t>(m_space.lanes(), 1) + 1;
    context.threads.forRange(m_space.tileCount(), grain,
                             [&](size_t worker, size_t begin, size_t end) {
                                 runTiles(operands, parts, context.threads.scratch(worker), begin,
                                          end, inPlace, counter ? &*counter : nullptr);
                             });
    if (counter) {
        counter->addTo(*context.count);
        context.count->read += m_foldedBytes;
        context.counted = true;
    }
}

void PointwiseKernel::runTiles(const Operands& operands, const std::byte* parts, Scratch& scratch,
                               size_t begin, size_t end, bool inPlace,
                               TouchCounter* counter) const {
    size_t maxLanes = roundUpToGroup(m_space.lanes());
    TileCode::Frame frame = m_code.bind(scratch.reserve(m_code.frameBytes(maxLanes)), maxLanes);
    size_t reads = m_operands.size() - m_writes;
    TileLoader loader(reads);
    std::vector<bool> direct(m_writes);
    TileCursor cursor(m_space, begin);
    for (size_t tile = begin; tile < end; ++tile) {
        const TileShape& shape = cursor.shape();
        for (size_t k = 0; k < reads; ++k) {
            size_t at = m_writes + k;
            const TileOperand& x = m_operands[at];
            const std::byte* source = inputAt(x.operand, operands, parts) +
                                      cursor.offset(at) * static_cast<int64_t>(x.elementBytes);
            loader.load(m_code, frame, k, x, source, shape, m_space.steps(at));
        }
        auto target = [&](size_t k) {
            return operands.outputs[m_operands[k].operand] +
                   cursor.offset(k) * static_cast<int64_t>(m_operands[k].elementBytes);
        };
        for (size_t k = 0; k < m_writes; ++k)
            direct[k] = redirectOutput(m_code, frame, k, m_operands[k], target(k), shape,
                                       m_space.steps(k), inPlace);
        m_code.run(frame, static_cast<size_t>(shape.elements()));
        for (size_t k = 0; k < m_writes; ++k)
            if (!direct[k])
                storeTile(m_operands[k], target(k), m_code.output(frame, k),
                          laneBytes(m_code.outputLane(k)), shape, m_space.steps(k));
        if (counter)
            counter->note(cursor);
        if (tile + 1 < end)
            cursor.next();
    }
}

/// A program of which each element is one of an operand as it is stored: no lane need hold it.
/// Not of pieces of a few elements, of which the loads and stores of a tile take many together.
std::optional<Copy> asCopy(const Pointwise& program, const PrepareContext& context) {
    constexpr int64_t fewElements = 64;
    const Tape& tape = program.tape;
    if (program.writes.size() != 1 || tape.code.size() != 1 || tape.code[0].op != TapeOp::Input)
        return std::nullopt;
    const Access& read = program.reads[tape.code[0].index];
    const Access& write = program.writes[0];
    const OperandLayout &from = context.inputs[read.operand], &to = context.outputs[write.operand];
    if (from.dtype != to.dtype)
        return std::nullopt;
    const size_t dims = program.space.size();
    const TileSpace tiles = tileSpace(
        program.space, {stridedFor(write, to, dims), stridedFor(read, from, dims)}, 0, 1024);
    if (tiles.tileCount() > 1 && tiles.tileRows * tiles.tileCols < fewElements)
        return std::nullopt;
    return Copy{{{program.space, read, write}}};
}

} // namespace

std::unique_ptr<Kernel> preparePointwise(const Pointwise& program, const PrepareContext& context) {
    if (const auto copy = asCopy(program, context))
        return prepareCopy(*copy, context);
    return std::make_unique<PointwiseKernel>(
        takeSmallParts(foldConstantPart(program, context), context.inputs.size()), context);
}

} // namespace fuselage::cpu
