// SPDX-License-Identifier: Apache-2.0
// Preparing a row kernel: its loops, the sizes of blocks and tiles, the code of every tape.
#include "core/cpu/tile_row.h"

#include "core/cpu/tile_row_internal.h"

#include <algorithm>

namespace fuselage::cpu {

RowKernel::RowKernel(const Row& program, const PrepareContext& context)
    : m_program(program), m_inputs(context.inputs), m_outputs(context.outputs),
      m_table(context.table), m_elementWrites(program.elementWrites.size()),
      m_rowWrites(program.rowWrites.size()) {
    size_t outer = program.outer.size(), dims = outer + program.inner.size();
    for (const Access& write : program.elementWrites)
        m_operands.push_back(tileOperand(write, m_outputs[write.operand], dims, m_table));
    for (const Access& write : program.rowWrites) {
        m_operands.push_back(tileOperand(write, m_outputs[write.operand], dims, m_table));
    }
    for (const Access& read : program.reads)
        m_operands.push_back(tileOperand(read, m_inputs[read.operand], dims, m_table));
    std::vector<StridedAccess> accesses;
    for (const TileOperand& operand : m_operands) {
        accesses.push_back(operand.access);
        m_offsets.push_back(operand.access.offset);
    }
    makeLoops(accesses);
    listScalars();
    chooseTiles(context);
    placeScalars();
    tactic = std::string("tile interpreter ") + context.table.name +
             (m_outerMode ? " across rows" : " along rows");
}

/// Row scalars in the order of their creation.
void RowKernel::listScalars() {
    for (const Row::Stage& stage : m_program.stages) {
        m_scalarsBefore.push_back(m_scalars.size());
        for (size_t i = 0; i < stage.reduce.size(); ++i)
            m_scalars.push_back({isArg(stage.reduce[i])
                                     ? Lane::I64
                                     : laneOf(stage.map.type(stage.map.outputs[i]))});
        for (uint16_t reg : stage.scalar.outputs)
            m_scalars.push_back({laneOf(stage.scalar.type(reg))});
    }
    m_scalarsBefore.push_back(m_scalars.size());
}

/// Sizes of tiles so that a tile's buffers stay in cache, and the code for them: its uniform
/// inputs depend on the sizes, its buffers decide them.
void RowKernel::chooseTiles(const PrepareContext& context) {
    m_lanes = 1024;
    for (int round = 0; round < 2; ++round) {
        auto limit = static_cast<int64_t>(m_lanes);
        int64_t reduced = std::max<int64_t>(m_innerLoop.extent, 1);
        if (m_outerMode) {
            m_blockRows = std::min(m_rowLoop.extent, limit);
            m_tileInner =
                std::clamp<int64_t>(limit / std::max<int64_t>(m_blockRows, 1), 1, reduced);
        } else {
            m_tileInner = std::min(reduced, limit);
            m_blockRows =
                std::clamp<int64_t>(limit / m_tileInner, 1, std::max<int64_t>(m_rowLoop.extent, 1));
        }
        m_codes.clear();
        m_rowCodes.clear();
        for (const Row::Stage& stage : m_program.stages) {
            m_codes.push_back(tileCode(stage.map, context));
            m_rowCodes.push_back(rowCode(stage.scalar, context));
        }
        m_codes.push_back(tileCode(m_program.element, context));
        m_rowCodes.push_back(rowCode(m_program.row, context));
        size_t bytes = 0;
        for (const TileCode& code : m_codes)
            bytes = std::max(bytes, code.bytesPerLane());
        m_lanes = round == 0 ? lanesThatFit(bytes) : m_lanes;
    }
}

void RowKernel::placeScalars() {
    m_lanes = roundUpToGroup(static_cast<size_t>(m_blockRows * m_tileInner));
    size_t scalarLanes = roundUpToGroup(static_cast<size_t>(m_blockRows));
    for (RowScalar& scalar : m_scalars) {
        scalar.at = m_scalarBytes;
        m_scalarBytes += (scalarLanes * laneBytes(scalar.lane) + 63) / 64 * 64;
    }
    size_t reductions = 0;
    for (const Row::Stage& stage : m_program.stages)
        reductions = std::max(reductions, stage.reduce.size());
    m_accumulatorBytes = reductions * scalarLanes * 16;
}

/// Splits the dimensions into the loops of blocks, tiles and around them.
void RowKernel::makeLoops(const std::vector<StridedAccess>& accesses) {
    size_t outer = m_program.outer.size();
    std::vector<StridedAccess> outerParts = accesses, innerParts = accesses;
    for (size_t k = 0; k < accesses.size(); ++k) {
        outerParts[k].strides.resize(outer);
        innerParts[k].strides.erase(innerParts[k].strides.begin(),
                                    innerParts[k].strides.begin() + static_cast<ptrdiff_t>(outer));
    }
    m_empty = std::count(m_program.inner.begin(), m_program.inner.end(), 0) > 0;
    m_noRows = std::count(m_program.outer.begin(), m_program.outer.end(), 0) > 0;
    m_outerLoops = mergedLoops(m_program.outer, outerParts);
    m_innerLoops = mergedLoops(m_program.inner, innerParts);
    size_t firstRead = m_elementWrites + m_rowWrites;
    size_t mainOperand = firstRead;
    for (size_t k = accesses.size(); k-- > firstRead;)
        for (const Loop& loop : m_innerLoops)
            if (loop.strides[k] != 0)
                mainOperand = k;
    bool ordered = false; // arg-reductions count positions in the order of the dimensions
    for (const Row::Stage& stage : m_program.stages)
        for (ReduceKind kind : stage.reduce)
            ordered = ordered || isArg(kind);
    Loop still{1, std::vector<int64_t>(accesses.size(), 0)};
    if (mainOperand < accesses.size()) {
        if (!ordered)
            sortByStrides(m_innerLoops, mainOperand);
        sortByStrides(m_outerLoops, mainOperand);
        mergeNeighbours(m_innerLoops);
        mergeNeighbours(m_outerLoops);
        m_outerMode = chooseOuter(mainOperand);
    }
    auto takeLast = [&](std::vector<Loop>& loops) {
        if (loops.empty())
            return still;
        Loop out = loops.back();
        loops.pop_back();
        return out;
    };
    m_innerLoop = takeLast(m_innerLoops);
    m_rowLoop = takeLast(m_outerLoops);
}

/// Whether memory is contiguous across rows rather than along them; then that loop becomes last.
bool RowKernel::chooseOuter(size_t mainOperand) {
    if (m_innerLoops.empty() || m_innerLoops.back().strides[mainOperand] == 1)
        return false;
    for (size_t i = 0; i < m_outerLoops.size(); ++i) {
        if (m_outerLoops[i].strides[mainOperand] != 1)
            continue;
        std::rotate(m_outerLoops.begin() + static_cast<ptrdiff_t>(i),
                    m_outerLoops.begin() + static_cast<ptrdiff_t>(i) + 1, m_outerLoops.end());
        return true;
    }
    return false;
}

/// Code over tiles: inputs are all reads, then the row scalars that exist.
TileCode RowKernel::tileCode(const Tape& tape, const PrepareContext& context) const {
    size_t firstRead = m_elementWrites + m_rowWrites;
    const Loop& rows = m_outerMode ? m_innerLoop : m_rowLoop;
    const Loop& cols = m_outerMode ? m_rowLoop : m_innerLoop;
    int64_t tileRows = m_outerMode ? m_tileInner : m_blockRows;
    std::vector<bool> uniform;
    for (size_t k = 0; k < tape.inputs.size(); ++k) {
        size_t at = firstRead + k;
        if (at < m_operands.size())
            uniform.push_back(cols.strides[at] == 0 && (tileRows == 1 || rows.strides[at] == 0));
        else
            uniform.push_back(!m_outerMode && m_blockRows == 1);
    }
    return {tape, uniform, context.table, context.strict};
}

/// Code over the rows of a block: inputs are row scalars.
TileCode RowKernel::rowCode(const Tape& tape, const PrepareContext& context) const {
    return {tape, std::vector<bool>(tape.inputs.size(), false), context.table, context.strict};
}

std::unique_ptr<Kernel> prepareRow(const Row& program, const PrepareContext& context) {
    return std::make_unique<RowKernel>(program, context);
}

std::optional<Reason> unsupportedRow(const Row& program) {
    for (const Row::Stage& stage : program.stages)
        for (const Tape* tape : {&stage.map, &stage.scalar})
            if (auto reason = TileCode::unsupported(*tape))
                return reason;
    if (auto reason = TileCode::unsupported(program.element))
        return reason;
    return TileCode::unsupported(program.row);
}

} // namespace fuselage::cpu
