// SPDX-License-Identifier: Apache-2.0
// Running a row kernel: blocks on all threads, or the parts of a block where there are few; in
// each block the stages' reductions and scalars, then the elements and the results of the rows.
#include "core/cpu/tile_row_internal.h"
#include "core/cpu/tile_row_walk_internal.h"

#include <algorithm>
#include <cstring>

namespace fuselage::cpu {

int64_t RowKernel::blockCount() const {
    int64_t blocks = (m_rowLoop.extent + m_blockRows - 1) / m_blockRows;
    for (const Loop& loop : m_outerLoops)
        blocks *= loop.extent;
    if (m_blockPlanes > 1) {
        const int64_t planes = m_outerLoops.back().extent;
        blocks = blocks / planes * ((planes + m_blockPlanes - 1) / m_blockPlanes);
    }
    return blocks;
}

/// Whether threads that share each block end clearly earlier than threads with blocks of their own.
bool RowKernel::sharesRows(int64_t blocks, const Threads& threads) const {
    const int64_t count = threads.count();
    const int64_t rounds = (blocks + count - 1) / count;
    return 9 * blocks < 8 * rounds * std::min(count, static_cast<int64_t>(m_parts));
}

void RowKernel::run(const Operands& operands, RunContext& context) {
    if (m_noRows)
        return;
    Threads& threads = context.threads;
    const int64_t blocks = blockCount();
    if (sharesRows(blocks, threads)) {
        std::byte* memory =
            threads.stepScratch().reserve(m_workerBytes + m_parts * m_accumulatorBytes);
        Worker lead = newWorker(operands, memory);
        for (int64_t block = 0; block < blocks; ++block)
            runShared(lead, memory + m_workerBytes, static_cast<size_t>(block), threads);
    } else {
        const auto perBlock = static_cast<int64_t>(m_tiles * m_lanes) * m_blockRows / m_rowsAtOnce;
        const auto grain = static_cast<size_t>(elementsPerTask / std::max<int64_t>(perBlock, 1));
        threads.forRange(
            static_cast<size_t>(blocks), grain + 1, [&](size_t self, size_t begin, size_t end) {
                Worker one = newWorker(operands, threads.scratch(self).reserve(m_workerBytes));
                for (size_t block = begin; block < end; ++block) {
                    place(one, block);
                    runBlock(one);
                }
            });
    }
    if (context.count) {
        count(*context.count);
        context.counted = true;
    }
}

RowKernel::Worker RowKernel::newWorker(const Operands& operands, std::byte* memory) const {
    Worker out{operands,
               memory,
               memory + m_scalarBytes,
               nullptr,
               nullptr,
               {},
               {},
               {},
               m_offsets,
               m_offsets,
               std::vector<bool>(m_elementWrites)};
    out.part = out.total + m_accumulatorBytes;
    memory = out.part + m_accumulatorBytes;
    for (const TileCode& code : m_codes) {
        out.frames.push_back(code.bind(memory, m_lanes));
        out.loaders.emplace_back(code.inputCount());
        memory += code.frameBytes(m_lanes);
    }
    for (const TileCode& code : m_rowCodes) {
        out.rowFrames.push_back(code.bind(memory, scalarLanes()));
        memory += code.frameBytes(scalarLanes());
    }
    out.kept = memory;
    return out;
}

void RowKernel::place(Worker& worker, size_t block) const {
    int64_t perLoop = (m_rowLoop.extent + m_blockRows - 1) / m_blockRows;
    auto rest = static_cast<int64_t>(block);
    int64_t first = rest % perLoop * m_blockRows;
    rest /= perLoop;
    worker.rows = std::min(m_blockRows, m_rowLoop.extent - first);
    worker.offsets = m_offsets;
    for (size_t k = 0; k < m_operands.size(); ++k)
        worker.offsets[k] += first * m_rowLoop.strides[k];
    for (size_t i = m_outerLoops.size(); i-- > 0;) {
        const int64_t extent = m_outerLoops[i].extent;
        const int64_t each = i + 1 == m_outerLoops.size() ? m_blockPlanes : 1;
        const int64_t steps = (extent + each - 1) / each;
        const int64_t at = rest % steps * each;
        rest /= steps;
        if (each > 1)
            worker.planes = std::min(each, extent - at);
        for (size_t k = 0; k < m_operands.size(); ++k)
            worker.offsets[k] += at * m_outerLoops[i].strides[k];
    }
}

/// One block on this thread.
void RowKernel::runBlock(Worker& worker) const {
    for (size_t stage = 0; stage < m_program.stages.size(); ++stage) {
        if (m_parts == 1) {
            reducePart(worker, stage, 0, worker.total);
        } else {
            startReductions(stage, worker.total);
            for (size_t part = 0; part < m_parts; ++part) {
                reducePart(worker, stage, part, worker.part);
                foldPart(stage, worker.total, worker.part);
            }
        }
        finishStage(worker, stage);
    }
    if (m_elementWrites > 0)
        for (size_t part = 0; part < m_parts; ++part)
            runElements(worker, part);
    if (m_rowWrites > 0)
        runRowResults(worker);
}

/// One block on all threads: the same operations in the same order as above.
void RowKernel::runShared(Worker& lead, std::byte* parts, size_t block, Threads& threads) const {
    auto share = [&](auto&& work) {
        threads.forRange(m_parts, 1, [&](size_t self, size_t begin, size_t end) {
            Worker one = newWorker(lead.operands, threads.scratch(self).reserve(m_workerBytes));
            one.scalars = lead.scalars; // read only
            one.kept = lead.kept;       // each part has tiles of its own
            place(one, block);
            for (size_t part = begin; part < end; ++part)
                work(one, part);
        });
    };
    place(lead, block);
    for (size_t stage = 0; stage < m_program.stages.size(); ++stage) {
        share([&](Worker& one, size_t part) {
            reducePart(one, stage, part, parts + part * m_accumulatorBytes);
        });
        startReductions(stage, lead.total);
        for (size_t part = 0; part < m_parts; ++part)
            foldPart(stage, lead.total, parts + part * m_accumulatorBytes);
        finishStage(lead, stage);
    }
    if (m_elementWrites > 0)
        share([&](Worker& one, size_t part) { runElements(one, part); });
    if (m_rowWrites > 0)
        runRowResults(lead);
}

/// The tape's row scalars have new values at the same place.
void RowKernel::forgetScalars(Worker& worker, size_t code) const {
    size_t reads = m_operands.size() - m_elementWrites - m_rowWrites;
    for (size_t k = reads; k < m_codes[code].inputCount(); ++k)
        worker.loaders[code].forget(k);
}

std::byte* RowKernel::keptAt(const Worker& worker, uint32_t value, size_t tile) const {
    tile += static_cast<size_t>(worker.firstRow / m_rowsAtOnce) * m_tiles;
    return worker.kept + tile * m_keptOf.back() + m_keptOf[value];
}

RowKernel::Tile RowKernel::tileAt(const Worker& worker, size_t index, int64_t rows, int64_t cols,
                                  const std::vector<int64_t>& offsets) const {
    switch (m_kind) {
    case RowTiles::Along:
        return {index, rows, cols, {worker.planes, worker.rows, cols}, offsets};
    case RowTiles::Across:
        return {index, rows, cols,
                m_planesAround ? TileShape{worker.planes, rows, worker.rows}
                               : TileShape{rows, worker.planes, worker.rows},
                offsets};
    default:
        return {index, rows, cols, {1, rows, cols}, offsets};
    }
}

std::vector<TileShape> RowKernel::stepsOf(const TileSpace& tiles) const {
    std::vector<TileShape> out;
    for (size_t k = 0; k < m_operands.size(); ++k) {
        const int64_t rows = tileRowLoop(tiles).strides[k], cols = tileColLoop(tiles).strides[k];
        out.push_back(m_kind == RowTiles::Across && !m_planesAround
                          ? TileShape{rows, planeStep(k), cols}
                          : TileShape{planeStep(k), rows, cols});
    }
    return out;
}

/// Of row scalars, one a row of the block.
TileShape RowKernel::stepsOfScalars(const Worker& worker) const {
    if (m_kind != RowTiles::Across)
        return {worker.rows, 1, 0};
    return m_planesAround ? TileShape{worker.rows, 0, 1} : TileShape{0, worker.rows, 1};
}

void RowKernel::loadTile(Worker& worker, size_t code, const std::vector<TileShape>& steps,
                         const Tile& tile) const {
    const TileCode& tape = m_codes[code];
    TileCode::Frame& frame = worker.frames[code];
    const size_t firstRead = m_elementWrites + m_rowWrites;
    const size_t reads = m_operands.size() - firstRead;
    const std::vector<uint32_t>& kept = m_reuse.parts[code].reads;
    const size_t firstKept = tape.inputCount() - kept.size();
    const TileShape ofScalars = stepsOfScalars(worker);
    for (size_t k = 0; k < firstKept; ++k) {
        if (!tape.usesInput(k))
            continue;
        if (k < reads) {
            const TileOperand& x = m_operands[firstRead + k];
            const std::byte* source =
                worker.operands.inputs[x.operand] +
                tile.offsets[firstRead + k] * static_cast<int64_t>(x.elementBytes);
            worker.loaders[code].load(tape, frame, k, x, source, tile.shape, steps[firstRead + k]);
            continue;
        }
        const RowScalar& scalar = m_scalars[k - reads];
        const std::byte* source =
            worker.scalars + scalar.at +
            static_cast<size_t>(worker.firstRow) * scalar.operand.elementBytes;
        worker.loaders[code].load(tape, frame, k, scalar.operand, source, tile.shape, ofScalars);
    }
    for (size_t k = 0; k < kept.size(); ++k)
        frame.slots[firstKept + k] = keptAt(worker, kept[k], tile.index);
}

/// Computes a loaded tile; what is kept goes to its place.
void RowKernel::runTile(Worker& worker, size_t code, const Tile& tile) const {
    const TileCode& tape = m_codes[code];
    TileCode::Frame& frame = worker.frames[code];
    const std::vector<RowReuse::Made>& makes = m_reuse.parts[code].makes;
    for (const RowReuse::Made& made : makes)
        if (tape.redirectable(made.output))
            tape.redirect(frame, made.output, keptAt(worker, made.value, tile.index));
    tape.run(frame, tile.elements());
    for (const RowReuse::Made& made : makes)
        if (!tape.redirectable(made.output)) // its slot is an input's, or another output's too
            std::memcpy(keptAt(worker, made.value, tile.index), tape.output(frame, made.output),
                        tile.elements() * laneBytes(tape.outputLane(made.output)));
}

void RowKernel::runElements(Worker& worker, size_t part) const {
    forgetScalars(worker, m_program.stages.size());
    forRowsOfTiles(worker, [&] { runElementTiles(worker, part); });
}

void RowKernel::runElementTiles(Worker& worker, size_t part) const {
    const size_t at = m_program.stages.size();
    const TileCode& code = m_codes[at];
    TileCode::Frame& frame = worker.frames[at];
    std::vector<bool>& direct = worker.direct;
    forEachTile(worker, m_elements, m_elementTiles, part, [&](const Tile& tile) {
        loadTile(worker, at, m_elementSteps, tile);
        auto target = [&](size_t k) {
            return worker.operands.outputs[m_operands[k].operand] +
                   tile.offsets[k] * static_cast<int64_t>(m_operands[k].elementBytes);
        };
        for (size_t k = 0; k < m_elementWrites; ++k)
            direct[k] = redirectOutput(code, frame, k, m_operands[k], target(k), tile.shape,
                                       m_elementSteps[k], true);
        runTile(worker, at, tile);
        for (size_t k = 0; k < m_elementWrites; ++k)
            if (!direct[k])
                storeTile(m_operands[k], target(k), code.output(frame, k),
                          laneBytes(code.outputLane(k)), tile.shape, m_elementSteps[k]);
    });
}

void RowKernel::runRowResults(Worker& worker) const {
    const TileCode& code = m_rowCodes.back();
    TileCode::Frame& frame = worker.rowFrames.back();
    for (size_t k = 0; k < code.inputCount(); ++k)
        frame.slots[k] = worker.scalars + m_scalars[k].at;
    code.run(frame, scalarLanes());
    for (size_t k = 0; k < m_rowWrites; ++k) {
        size_t at = m_elementWrites + k;
        const TileOperand& x = m_operands[at];
        std::byte* target = worker.operands.outputs[x.operand] +
                            worker.offsets[at] * static_cast<int64_t>(x.elementBytes);
        storeTile(x, target, code.output(frame, k), laneBytes(code.outputLane(k)),
                  {1, worker.planes, worker.rows}, {0, planeStep(at), m_rowLoop.strides[at]});
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
