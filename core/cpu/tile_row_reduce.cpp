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
        if (m_foldsAtOnce) { // lanes beyond the rows are read by functions of whole groups
            std::memset(into.values, 0, scalarLanes() * 16);
            continue;
        }
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
    forRowsOfTiles(worker, [&] { reduceTiles(worker, stage, part, memory); });
}

void RowKernel::reduceTiles(Worker& worker, size_t stage, size_t part, std::byte* memory) const {
    const TileCode& code = m_codes[stage];
    const auto& kinds = m_program.stages[stage].reduce;
    const bool across = m_kind == RowTiles::Across;
    const auto& table = across ? m_table.reduceOuter : m_table.reduceInner;
    auto lane = [&](size_t reduction) { return static_cast<size_t>(code.outputLane(reduction)); };
    auto from = [](const Accumulators& all, size_t row) {
        return Accumulators{static_cast<std::byte*>(all.values) + row * 8, all.indices + row};
    };
    auto into = [&](size_t reduction) {
        return from(accumulators(memory, reduction), static_cast<size_t>(worker.firstRow));
    };
    auto foldedOf = [&](size_t reduction) {
        return reinterpret_cast<std::byte*>(into(reduction).indices);
    };
    // Tiles across rows are folded as they are, and widened some rows of elements at a time. What
    // they are folded into lies where positions would.
    int64_t folded = 0;
    auto widen = [&] {
        for (size_t i = 0; i < kinds.size(); ++i)
            if (!isArg(kinds[i]))
                table[static_cast<size_t>(kinds[i])][lane(i)](
                    into(i), foldedOf(i), 1, static_cast<size_t>(worker.blockRows()), 0);
        folded = 0;
    };
    int64_t position = 0; // of arg-reductions, which have one part
    forEachTile(worker, m_inner, m_tiles, part, [&](const Tile& tile) {
        loadTile(worker, stage, m_innerSteps, tile);
        runTile(worker, stage, tile);
        const bool within = m_kind == RowTiles::Within;
        const int64_t elements = tile.rows * tile.cols;
        for (size_t i = 0; i < kinds.size(); ++i) {
            const auto* x = static_cast<const std::byte*>(code.output(worker.frames[stage], i));
            // Planes that lie around what is reduced are folded one by one.
            const int64_t planes = m_planesAround ? worker.planes : 1;
            const auto rows = static_cast<size_t>(within ? 1 : tile.rows);
            const auto cols = static_cast<size_t>((within ? elements : tile.cols) / planes);
            for (int64_t plane = 0; plane < planes; ++plane) {
                const auto first = static_cast<size_t>(plane) * cols;
                if (across && !isArg(kinds[i]))
                    m_table.foldRows[static_cast<size_t>(kinds[i])][lane(i)](
                        foldedOf(i) + first * laneBytes(code.outputLane(i)), x, rows, cols,
                        folded == 0);
                else
                    table[static_cast<size_t>(kinds[i])][lane(i)](from(into(i), first), x, rows,
                                                                  cols, position);
                x += rows * cols * laneBytes(code.outputLane(i));
            }
        }
        position += across ? tile.rows : within ? elements : tile.cols;
        folded += tile.rows;
        if (across && folded >= mostFolded && !m_foldsAtOnce)
            widen();
    });
    if (across && folded > 0 && !m_foldsAtOnce)
        widen();
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

/// Of a sum as it would be had it begun with zero: of negative zeros that is none.
void RowKernel::takeFolded(ReduceKind kind, Lane lane, std::byte* to, const void* folded) const {
    const uint64_t zero = 0; // of every type
    if (kind == ReduceKind::Sum && (lane == Lane::F32 || lane == Lane::F64))
        m_table.op[static_cast<size_t>(TapeOp::Add)][static_cast<size_t>(lane)][1](
            to, folded, &zero, &zero, scalarLanes());
    else
        std::memcpy(to, folded, scalarLanes() * laneBytes(lane));
}

/// The stage's row scalars from its accumulators.
void RowKernel::finishStage(Worker& worker, size_t stage) const {
    const auto& kinds = m_program.stages[stage].reduce;
    for (size_t i = 0; i < kinds.size(); ++i) {
        const RowScalar& scalar = m_scalars[m_scalarsBefore[stage] + i];
        const Accumulators from = accumulators(worker.total, i);
        const Lane held = isArg(kinds[i]) ? Lane::I64 : heldIn(m_codes[stage].outputLane(i));
        std::byte* to = worker.scalars + scalar.at;
        if (m_foldsAtOnce)
            takeFolded(kinds[i], scalar.lane, to, from.indices);
        else if (held == scalar.lane)
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
