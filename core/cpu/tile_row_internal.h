// SPDX-License-Identifier: Apache-2.0
// Rows are worked on in blocks. A tile is either rows x reduced positions (memory is contiguous
// along what is reduced: "inner") or reduced positions x rows (contiguous across rows: "outer").
// Results of reductions are row scalars, one lane a row; tapes that run over tiles read them
// expanded.
#pragma once

#include "core/cpu/kernel.h"
#include "core/cpu/tile_operands.h"

#include <vector>

namespace fuselage::cpu {

inline bool isArg(ReduceKind kind) {
    return kind >= ReduceKind::ArgMax;
}

/// Row scalars of one block: an array of lanes each.
struct RowScalar {
    Lane lane = Lane::F32;
    size_t at = 0; ///< in the worker's memory
};

class RowKernel final : public Kernel {
public:
    RowKernel(const Row& program, const PrepareContext& context);
    void run(const Operands& operands, RunContext& context) override;

private:
    struct Worker;

    void listScalars();
    void chooseTiles(const PrepareContext& context);
    void placeScalars();
    void makeLoops(const std::vector<StridedAccess>& accesses);
    bool chooseOuter(size_t mainOperand);
    TileCode tileCode(const Tape& tape, const PrepareContext& context) const;
    TileCode rowCode(const Tape& tape, const PrepareContext& context) const;
    void runBlocks(const Operands& operands, std::byte* memory, size_t begin, size_t end) const;
    void runBlock(Worker& worker, size_t block) const;
    void reduceStage(Worker& worker, size_t stage) const;
    void runScalars(Worker& worker, size_t stage) const;
    void runElements(Worker& worker) const;
    void runRowResults(Worker& worker) const;
    template <typename Visit> void forEachTile(const Worker& worker, Visit&& visit) const;
    void loadTile(Worker& worker, size_t code, int64_t rows, int64_t cols, int64_t inner,
                  const std::vector<int64_t>& offsets) const;
    void count(CountedBytes& total) const;

    Row m_program;
    std::vector<OperandLayout> m_inputs, m_outputs;
    const VectorTable& m_table;
    std::vector<TileOperand> m_operands; ///< element writes, row writes, reads
    size_t m_elementWrites = 0, m_rowWrites = 0;
    std::vector<Loop> m_outerLoops; ///< without the block's own
    Loop m_rowLoop;                 ///< the rows of a block
    std::vector<Loop> m_innerLoops; ///< without the tile's own
    Loop m_innerLoop;               ///< reduced positions of a tile
    std::vector<int64_t> m_offsets;
    bool m_outerMode = false;
    int64_t m_blockRows = 1; ///< rows of a block
    int64_t m_tileInner = 1; ///< reduced positions of a tile
    bool m_empty = false;    ///< nothing is reduced
    bool m_noRows = false;
    std::vector<TileCode> m_codes;    ///< maps of the stages, then the element tape
    std::vector<TileCode> m_rowCodes; ///< scalar tapes of the stages, then the row tape
    std::vector<RowScalar> m_scalars;
    std::vector<size_t> m_scalarsBefore; ///< per stage: row scalars that exist before it
    size_t m_scalarBytes = 0, m_accumulatorBytes = 0, m_lanes = 0;
};

/// Buffers and positions of one thread.
struct RowKernel::Worker {
    const Operands& operands;
    std::byte* scalars;
    std::byte* accumulators; ///< per reduction: values, then indices
    std::vector<TileCode::Frame> frames, rowFrames;
    std::vector<TileLoader> loaders, rowLoaders;
    std::vector<int64_t> offsets; ///< of the block's first element, per operand
    int64_t rows = 0;
};

} // namespace fuselage::cpu
