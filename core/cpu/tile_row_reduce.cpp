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

bool isFloatLane(Lane lane) {
    return lane == Lane::F32 || lane == Lane::F64;
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
        if (isFloatLane(m_codes[stage].outputLane(i)))
            fillStart(kinds[i], static_cast<double*>(into.values), scalarLanes());
        else
            fillStart(kinds[i], static_cast<int64_t*>(into.values), scalarLanes());
        if (isArg(kinds[i]))
            std::fill_n(into.indices, scalarLanes(), 0);
    }
}

void RowKernel::reducePart(Worker& worker, size_t stage, size_t part, std::byte* memory) const {
    const TileCode& code = m_codes[stage];
    const auto& kinds = m_program.stages[stage].reduce;
    const auto& table = m_kind == RowTiles::Across ? m_table.reduceOuter : m_table.reduceInner;
    startReductions(stage, memory);
    forgetScalars(worker, stage);
    int64_t position = 0; // of arg-reductions, which have one part
    forEachTile(worker, m_inner, part, [&](const Tile& tile) {
        loadTile(worker, stage, m_inner, tile);
        runTile(worker, stage, tile);
        const bool within = m_kind == RowTiles::Within;
        const int64_t elements = tile.rows * tile.cols;
        for (size_t i = 0; i < kinds.size(); ++i)
            table[static_cast<size_t>(kinds[i])][static_cast<size_t>(code.outputLane(i))](
                accumulators(memory, i), code.output(worker.frames[stage], i),
                static_cast<size_t>(within ? 1 : tile.rows),
                static_cast<size_t>(within ? elements : tile.cols), position);
        position += m_kind == RowTiles::Across ? tile.rows : within ? elements : tile.cols;
    });
}

/// total = total (op) part, for the kinds whose accumulators have no positions.
void RowKernel::foldPart(size_t stage, std::byte* total, std::byte* part) const {
    const auto& kinds = m_program.stages[stage].reduce;
    for (size_t i = 0; i < kinds.size(); ++i) {
        const Lane held = isFloatLane(m_codes[stage].outputLane(i)) ? Lane::F64 : Lane::I64;
        m_table.reduceInner[static_cast<size_t>(kinds[i])][static_cast<size_t>(held)](
            accumulators(total, i), accumulators(part, i).values, scalarLanes(), 1, 0);
    }
}

/// The stage's row scalars from its accumulators.
void RowKernel::finishStage(Worker& worker, size_t stage) const {
    const auto& kinds = m_program.stages[stage].reduce;
    for (size_t i = 0; i < kinds.size(); ++i) {
        const RowScalar& scalar = m_scalars[m_scalarsBefore[stage] + i];
        finishReduction(kinds[i], scalar.lane, accumulators(worker.total, i),
                        worker.scalars + scalar.at, scalarLanes());
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
