// SPDX-License-Identifier: Apache-2.0
// The reductions of a row kernel: accumulators of a part of a block's tiles, folded in the order
// of the parts, then the stage's scalars.
#include "core/cpu/tile_row_internal.h"
#include "core/cpu/tile_row_walk_internal.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace fuselage::cpu {

namespace {

/// What a reduction begins with.
template <typename T> T startOf(ReduceKind kind) {
    using Limits = std::numeric_limits<T>;
    switch (kind) {
    case ReduceKind::Product:
        return 1;
    case ReduceKind::Max:
        return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    case ReduceKind::Min:
        return Limits::has_infinity ? Limits::infinity() : Limits::max();
    default:
        return 0;
    }
}

/// The lane of accumulators.
Lane heldIn(Lane reduced) {
    return reduced == Lane::F32 || reduced == Lane::F64 ? Lane::F64 : Lane::I64;
}

} // namespace

Accumulators RowKernel::accumulators(std::byte* memory, size_t reduction) const {
    std::byte* values = memory + reduction * scalarLanes() * 16;
    return {values, reinterpret_cast<int64_t*>(values + scalarLanes() * 8)};
}

void RowKernel::startReductions(size_t stage, std::byte* memory) const {
    const auto& kinds = m_program.stages[stage].reduce;
    for (size_t i = 0; i < kinds.size(); ++i) {
        Accumulators into = accumulators(memory, i);
        const Lane held = heldIn(m_codes[stage].outputLane(i));
        const auto real = startOf<double>(kinds[i]);
        const auto whole = startOf<int64_t>(kinds[i]);
        const void* start = &whole;
        if (held == Lane::F64)
            start = &real;
        m_table.splat[static_cast<size_t>(held)](into.values, start, nullptr, nullptr,
                                                 scalarLanes());
        if (isArg(kinds[i]))
            std::fill_n(into.indices, scalarLanes(), 0);
    }
}

void RowKernel::reducePart(Worker& worker, size_t stage, size_t part, std::byte* memory) const {
    startReductions(stage, memory);
    forgetScalars(worker, stage);
    if (m_rowsAtOnce == m_blockRows && m_planesAtOnce == m_blockPlanes)
        return reduceTiles(worker, stage, part, memory, 0);
    // Rows go one after the other, or planes of all rows.
    const bool byRows = m_rowsAtOnce < m_blockRows;
    int64_t& some = byRows ? worker.rows : worker.planes;
    const int64_t all = some, atOnce = byRows ? m_rowsAtOnce : m_planesAtOnce;
    const int64_t each = byRows ? 1 : worker.rows;
    auto move = [&](int64_t by) {
        for (size_t k = 0; k < worker.offsets.size(); ++k)
            worker.offsets[k] += by * (byRows ? m_rowLoop.strides[k] : planeStep(k));
    };
    for (int64_t first = 0; first < all; first += atOnce) {
        some = std::min(atOnce, all - first);
        reduceTiles(worker, stage, part, memory, first * each);
        move(atOnce);
    }
    move(-((all + atOnce - 1) / atOnce * atOnce));
    some = all;
}

/// Of the rows that the worker has; `firstRow` is the place of the first one among the block's.
void RowKernel::reduceTiles(Worker& worker, size_t stage, size_t part, std::byte* memory,
                            int64_t firstRow) const {
    const TileCode& code = m_codes[stage];
    const auto& kinds = m_program.stages[stage].reduce;
    const auto& table = m_kind == RowTiles::Across ? m_table.reduceOuter : m_table.reduceInner;
    auto into = [&](size_t reduction) {
        const Accumulators all = accumulators(memory, reduction);
        return Accumulators{static_cast<std::byte*>(all.values) + firstRow * 8,
                            all.indices + firstRow};
    };
    int64_t position = 0; // of arg-reductions, which have one part
    forEachTile(worker, m_inner, part, [&](const Tile& tile) {
        loadTile(worker, stage, m_inner, tile);
        runTile(worker, stage, tile);
        const bool within = m_kind == RowTiles::Within;
        const int64_t elements = tile.rows * tile.cols;
        for (size_t i = 0; i < kinds.size(); ++i)
            table[static_cast<size_t>(kinds[i])][static_cast<size_t>(code.outputLane(i))](
                into(i), code.output(worker.frames[stage], i),
                static_cast<size_t>(within ? 1 : tile.rows),
                static_cast<size_t>(within ? elements : tile.cols), position);
        position += m_kind == RowTiles::Across ? tile.rows : within ? elements : tile.cols;
    });
}

/// total = total (op) part, for the kinds whose accumulators have no positions.
void RowKernel::foldPart(size_t stage, std::byte* total, std::byte* part) const {
    const auto& kinds = m_program.stages[stage].reduce;
    for (size_t i = 0; i < kinds.size(); ++i) {
        const Lane held = heldIn(m_codes[stage].outputLane(i));
        m_table.reduceInner[static_cast<size_t>(kinds[i])][static_cast<size_t>(held)](
            accumulators(total, i), accumulators(part, i).values, scalarLanes(), 1, 0);
    }
}

/// The stage's row scalars from its accumulators.
void RowKernel::finishStage(Worker& worker, size_t stage) const {
    const auto& kinds = m_program.stages[stage].reduce;
    for (size_t i = 0; i < kinds.size(); ++i) {
        const RowScalar& scalar = m_scalars[m_scalarsBefore[stage] + i];
        const Accumulators from = accumulators(worker.total, i);
        const Lane held = isArg(kinds[i]) ? Lane::I64 : heldIn(m_codes[stage].outputLane(i));
        std::byte* to = worker.scalars + scalar.at;
        if (held == scalar.lane)
            std::memcpy(to, isArg(kinds[i]) ? from.indices : from.values,
                        scalarLanes() * laneBytes(held));
        else
            m_table.convert[static_cast<size_t>(held)][static_cast<size_t>(scalar.lane)](
                to, from.values, nullptr, nullptr, scalarLanes());
    }
    runScalars(worker, stage);
}

/// The stage's scalar tape, one lane a row.
void RowKernel::runScalars(Worker& worker, size_t stage) const {
    const TileCode& code = m_rowCodes[stage];
    size_t outputs = code.outputCount();
    if (outputs == 0)
        return;
    TileCode::Frame& frame = worker.rowFrames[stage];
    for (size_t k = 0; k < code.inputCount(); ++k)
        frame.slots[k] = worker.scalars + m_scalars[k].at;
    code.run(frame, scalarLanes());
    size_t first = m_scalarsBefore[stage] + m_program.stages[stage].reduce.size();
    for (size_t k = 0; k < outputs; ++k)
        std::memcpy(worker.scalars + m_scalars[first + k].at, code.output(frame, k),
                    scalarLanes() * laneBytes(code.outputLane(k)));
}

} // namespace fuselage::cpu
