// SPDX-License-Identifier: Apache-2.0
// Running a row kernel: blocks on all threads; in each, the stages' reductions and scalars, then
// the elements and the results of the rows.
#include "core/cpu/tile_row_internal.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace fuselage::cpu {

namespace {

DType storageOf(Lane lane) {
    switch (lane) {
    case Lane::F32:
        return DType::Float32;
    case Lane::F64:
        return DType::Float64;
    case Lane::Bool:
        return DType::Bool;
    default:
        return DType::Int64;
    }
}

template <typename T> void fillStart(ReduceKind kind, T* values, size_t count) {
    using Limits = std::numeric_limits<T>;
    T start = 0;
    if (kind == ReduceKind::Product)
        start = 1;
    else if (kind == ReduceKind::Max)
        start = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    else if (kind == ReduceKind::Min)
        start = Limits::has_infinity ? Limits::infinity() : Limits::max();
    std::fill_n(values, count, start);
}

/// Accumulators to lanes.
void finishReduction(ReduceKind kind, Lane lane, const Accumulators& from, void* to, size_t count) {
    const auto* doubles = static_cast<const double*>(from.values);
    const auto* integers = isArg(kind) ? from.indices : static_cast<const int64_t*>(from.values);
    for (size_t i = 0; i < count; ++i) {
        if (lane == Lane::F32)
            static_cast<float*>(to)[i] = static_cast<float>(doubles[i]);
        else if (lane == Lane::F64)
            static_cast<double*>(to)[i] = doubles[i];
        else if (lane == Lane::I64)
            static_cast<int64_t*>(to)[i] = integers[i];
        else
            static_cast<uint8_t*>(to)[i] = integers[i] != 0;
    }
}

} // namespace

void RowKernel::run(const Operands& operands, RunContext& context) {
    if (m_noRows)
        return;
    int64_t blocks = (m_rowLoop.extent + m_blockRows - 1) / m_blockRows;
    for (const Loop& loop : m_outerLoops)
        blocks *= loop.extent;
    int64_t perBlock = m_blockRows * m_innerLoop.extent;
    for (const Loop& loop : m_innerLoops)
        perBlock *= loop.extent;
    size_t scalarLanes = roundUpToGroup(static_cast<size_t>(m_blockRows));
    size_t bytes = m_scalarBytes + m_accumulatorBytes;
    for (const TileCode& code : m_codes)
        bytes += code.frameBytes(m_lanes);
    for (const TileCode& code : m_rowCodes)
        bytes += code.frameBytes(scalarLanes);
    constexpr int64_t elementsPerTask = 8192;
    auto grain = static_cast<size_t>(elementsPerTask / std::max<int64_t>(perBlock, 1) + 1);
    context.threads.forRange(
        static_cast<size_t>(blocks), grain, [&](size_t worker, size_t begin, size_t end) {
            runBlocks(operands, context.threads.scratch(worker).reserve(bytes), begin, end);
        });
    if (context.count) {
        count(*context.count);
        context.counted = true;
    }
}

void RowKernel::runBlocks(const Operands& operands, std::byte* memory, size_t begin,
                          size_t end) const {
    Worker worker{operands, memory, memory + m_scalarBytes, {}, {}, {}, {}, m_offsets, 0};
    memory += m_scalarBytes + m_accumulatorBytes;
    size_t scalarLanes = roundUpToGroup(static_cast<size_t>(m_blockRows));
    for (const TileCode& code : m_codes) {
        worker.frames.push_back(code.bind(memory, m_lanes));
        worker.loaders.emplace_back(code.inputCount());
        memory += code.frameBytes(m_lanes);
    }
    for (const TileCode& code : m_rowCodes) {
        worker.rowFrames.push_back(code.bind(memory, scalarLanes));
        worker.rowLoaders.emplace_back(code.inputCount());
        memory += code.frameBytes(scalarLanes);
    }
    for (size_t block = begin; block < end; ++block)
        runBlock(worker, block);
}

void RowKernel::runBlock(Worker& worker, size_t block) const {
    int64_t perLoop = (m_rowLoop.extent + m_blockRows - 1) / m_blockRows;
    auto rest = static_cast<int64_t>(block);
    int64_t first = rest % perLoop * m_blockRows;
    rest /= perLoop;
    worker.rows = std::min(m_blockRows, m_rowLoop.extent - first);
    worker.offsets = m_offsets;
    for (size_t k = 0; k < m_operands.size(); ++k)
        worker.offsets[k] += first * m_rowLoop.strides[k];
    for (size_t i = m_outerLoops.size(); i-- > 0;) {
        int64_t at = rest % m_outerLoops[i].extent;
        rest /= m_outerLoops[i].extent;
        for (size_t k = 0; k < m_operands.size(); ++k)
            worker.offsets[k] += at * m_outerLoops[i].strides[k];
    }
    for (size_t stage = 0; stage < m_program.stages.size(); ++stage) {
        reduceStage(worker, stage);
        runScalars(worker, stage);
    }
    if (m_elementWrites > 0)
        runElements(worker);
    if (m_rowWrites > 0)
        runRowResults(worker);
}

/// Calls visit(rows, cols, position of the first reduced element, offsets) for the tiles of a
/// block, in the order of the reduced dimensions.
template <typename Visit> void RowKernel::forEachTile(const Worker& worker, Visit&& visit) const {
    if (m_empty)
        return;
    std::vector<int64_t> index(m_innerLoops.size(), 0);
    std::vector<int64_t> offsets = worker.offsets;
    int64_t position = 0;
    for (;;) {
        std::vector<int64_t> at = offsets;
        for (int64_t first = 0; first < m_innerLoop.extent; first += m_tileInner) {
            int64_t count = std::min(m_tileInner, m_innerLoop.extent - first);
            if (m_outerMode)
                visit(count, worker.rows, position + first, at);
            else
                visit(worker.rows, count, position + first, at);
            for (size_t k = 0; k < at.size(); ++k)
                at[k] += count * m_innerLoop.strides[k];
        }
        position += m_innerLoop.extent;
        size_t d = m_innerLoops.size();
        while (d-- > 0) {
            for (size_t k = 0; k < offsets.size(); ++k)
                offsets[k] += m_innerLoops[d].strides[k];
            if (++index[d] < m_innerLoops[d].extent)
                break;
            for (size_t k = 0; k < offsets.size(); ++k)
                offsets[k] -= m_innerLoops[d].strides[k] * m_innerLoops[d].extent;
            index[d] = 0;
        }
        if (d == static_cast<size_t>(-1))
            return;
    }
}

void RowKernel::loadTile(Worker& worker, size_t code, int64_t rows, int64_t cols, int64_t position,
                         const std::vector<int64_t>& offsets) const {
    const TileCode& tile = m_codes[code];
    size_t firstRead = m_elementWrites + m_rowWrites;
    size_t reads = m_operands.size() - firstRead;
    const Loop& rowLoop = m_outerMode ? m_innerLoop : m_rowLoop;
    const Loop& colLoop = m_outerMode ? m_rowLoop : m_innerLoop;
    for (size_t k = 0; k < tile.inputCount(); ++k) {
        if (k < reads) {
            const TileOperand& x = m_operands[firstRead + k];
            const std::byte* source = worker.operands.inputs[x.operand] +
                                      offsets[firstRead + k] * static_cast<int64_t>(x.elementBytes);
            worker.loaders[code].load(tile, worker.frames[code], k, x, source, rows, cols,
                                      rowLoop.strides[firstRead + k],
                                      colLoop.strides[firstRead + k]);
            continue;
        }
        const RowScalar& scalar = m_scalars[k - reads];
        TileOperand x;
        x.elementBytes = laneBytes(scalar.lane);
        x.load = m_table.load[static_cast<size_t>(storageOf(scalar.lane))];
        x.lanesAreElements = true;
        if (position == 0)
            worker.loaders[code].forget(k); // new values in the same place
        worker.loaders[code].load(tile, worker.frames[code], k, x, worker.scalars + scalar.at, rows,
                                  cols, m_outerMode ? 0 : 1, m_outerMode ? 1 : 0);
    }
}

void RowKernel::reduceStage(Worker& worker, size_t stage) const {
    const Row::Stage& program = m_program.stages[stage];
    const TileCode& code = m_codes[stage];
    size_t lanes = roundUpToGroup(static_cast<size_t>(m_blockRows));
    std::vector<Accumulators> accumulators;
    for (size_t i = 0; i < program.reduce.size(); ++i) {
        auto* values = worker.accumulators + i * lanes * 16;
        accumulators.push_back({values, reinterpret_cast<int64_t*>(values + lanes * 8)});
        Lane lane = code.outputLane(i);
        if (lane == Lane::F32 || lane == Lane::F64)
            fillStart(program.reduce[i], static_cast<double*>(accumulators[i].values), lanes);
        else
            fillStart(program.reduce[i], static_cast<int64_t*>(accumulators[i].values), lanes);
        std::fill_n(accumulators[i].indices, lanes, 0);
    }
    forEachTile(worker, [&](int64_t rows, int64_t cols, int64_t position,
                            const std::vector<int64_t>& offsets) {
        loadTile(worker, stage, rows, cols, position, offsets);
        code.run(worker.frames[stage], roundUpToGroup(static_cast<size_t>(rows * cols)));
        for (size_t i = 0; i < program.reduce.size(); ++i) {
            const auto& table = m_outerMode ? m_table.reduceOuter : m_table.reduceInner;
            auto kind = static_cast<size_t>(program.reduce[i]);
            auto lane = static_cast<size_t>(code.outputLane(i));
            table[kind][lane](accumulators[i], code.output(worker.frames[stage], i),
                              static_cast<size_t>(rows), static_cast<size_t>(cols), position);
        }
    });
    for (size_t i = 0; i < program.reduce.size(); ++i) {
        const RowScalar& scalar = m_scalars[m_scalarsBefore[stage] + i];
        finishReduction(program.reduce[i], scalar.lane, accumulators[i], worker.scalars + scalar.at,
                        lanes);
    }
}

/// The stage's scalar tape, one lane a row.
void RowKernel::runScalars(Worker& worker, size_t stage) const {
    const TileCode& code = m_rowCodes[stage];
    size_t outputs = code.outputCount();
    if (outputs == 0)
        return;
    TileCode::Frame& frame = worker.rowFrames[stage];
    size_t lanes = roundUpToGroup(static_cast<size_t>(m_blockRows));
    for (size_t k = 0; k < code.inputCount(); ++k)
        frame.slots[k] = worker.scalars + m_scalars[k].at;
    code.run(frame, lanes);
    size_t first = m_scalarsBefore[stage] + m_program.stages[stage].reduce.size();
    for (size_t k = 0; k < outputs; ++k)
        std::memcpy(worker.scalars + m_scalars[first + k].at, code.output(frame, k),
                    lanes * laneBytes(code.outputLane(k)));
}

void RowKernel::runElements(Worker& worker) const {
    size_t at = m_program.stages.size();
    const TileCode& code = m_codes[at];
    TileCode::Frame& frame = worker.frames[at];
    const Loop& rowLoop = m_outerMode ? m_innerLoop : m_rowLoop;
    const Loop& colLoop = m_outerMode ? m_rowLoop : m_innerLoop;
    forEachTile(worker, [&](int64_t rows, int64_t cols, int64_t position,
                            const std::vector<int64_t>& offsets) {
        loadTile(worker, at, rows, cols, position, offsets);
        auto target = [&](size_t k) {
            return worker.operands.outputs[m_operands[k].operand] +
                   offsets[k] * static_cast<int64_t>(m_operands[k].elementBytes);
        };
        std::vector<bool> direct(m_elementWrites);
        for (size_t k = 0; k < m_elementWrites; ++k)
            direct[k] = redirectOutput(code, frame, k, m_operands[k], target(k), rows, cols,
                                       rowLoop.strides[k], colLoop.strides[k], true);
        code.run(frame, roundUpToGroup(static_cast<size_t>(rows * cols)));
        for (size_t k = 0; k < m_elementWrites; ++k)
            if (!direct[k])
                m_operands[k].store(target(k), code.output(frame, k), static_cast<size_t>(rows),
                                    static_cast<size_t>(cols), rowLoop.strides[k],
                                    colLoop.strides[k]);
    });
}

void RowKernel::runRowResults(Worker& worker) const {
    const TileCode& code = m_rowCodes.back();
    TileCode::Frame& frame = worker.rowFrames.back();
    for (size_t k = 0; k < code.inputCount(); ++k)
        frame.slots[k] = worker.scalars + m_scalars[k].at;
    code.run(frame, roundUpToGroup(static_cast<size_t>(m_blockRows)));
    for (size_t k = 0; k < m_rowWrites; ++k) {
        size_t at = m_elementWrites + k;
        const TileOperand& x = m_operands[at];
        std::byte* target = worker.operands.outputs[x.operand] +
                            worker.offsets[at] * static_cast<int64_t>(x.elementBytes);
        x.store(target, code.output(frame, k), 1, static_cast<size_t>(worker.rows), 0,
                m_rowLoop.strides[at]);
    }
}

/// The distinct elements that the loops above have met.
void RowKernel::count(CountedBytes& total) const {
    auto part = [&](bool rowsOnly) {
        std::vector<TileOperand> operands;
        std::vector<StridedAccess> accesses;
        Extents space = m_program.outer;
        if (!rowsOnly)
            space.insert(space.end(), m_program.inner.begin(), m_program.inner.end());
        for (size_t k = 0; k < m_operands.size(); ++k) {
            bool isRowWrite = k >= m_elementWrites && k < m_elementWrites + m_rowWrites;
            if (isRowWrite != rowsOnly)
                continue;
            operands.push_back(m_operands[k]);
            accesses.push_back(m_operands[k].access);
            accesses.back().strides.resize(space.size());
        }
        if (operands.empty())
            return;
        TileSpace tiles = tileSpace(space, accesses, 0, 1024);
        TouchCounter counter(tiles, operands, rowsOnly ? m_rowWrites : m_elementWrites, m_inputs,
                             m_outputs);
        size_t tileCount = tiles.tileCount();
        if (tileCount > 0) {
            TileCursor cursor(tiles, 0);
            for (size_t i = 0; i < tileCount; ++i, cursor.next())
                counter.note(cursor);
        }
        counter.addTo(total);
    };
    part(false);
    part(true);
}

} // namespace fuselage::cpu
