// SPDX-License-Identifier: Apache-2.0
// Rows are worked on in blocks: some of the innermost loop over rows, and where these are few and
// short, of several turns of the loop around it (planes). A tile is one of three: rows x reduced
// positions (memory is contiguous along what is reduced), reduced x reduced positions of one row
// (of one or two of its loops), or reduced positions x rows (contiguous across rows; where these
// and what is reduced are few, of several planes as they lie). Results of reductions are row
// scalars, one lane a row; tapes that run over tiles read them expanded. The tiles of a row are cut
// into parts, by shape alone: reductions go part by part and the parts' results are folded in their
// order, so it does not matter which thread takes a part. What a stage computed for each element
// and a later tape needs again is kept between them, tile by tile, where it fits
// (core/kernel/row_reuse.h).
#pragma once

#include "core/cpu/kernel.h"
#include "core/cpu/tile_operands.h"
#include "core/kernel/row_reuse.h"

#include <limits>
#include <vector>

namespace fuselage::cpu {

inline bool isArg(ReduceKind kind) {
    return kind >= ReduceKind::ArgMax;
}

/// What a tile is made of; see above.
enum class RowTiles : uint8_t { Along, Within, Across };

/// Row scalars of one block: an array of lanes each.
struct RowScalar {
    Lane lane = Lane::F32;
    size_t at = 0; ///< in the worker's memory
    TileOperand operand;
};

/// What is worth another thread, in elements that are read.
constexpr int64_t elementsPerTask = 8192;

/// Elements of a row that lies across others which are folded in their own type, before they are
/// widened.
constexpr int64_t mostFolded = 64;

class RowKernel final : public Kernel {
public:
    RowKernel(const Row& program, const PrepareContext& context);
    void run(const Operands& operands, RunContext& context) override;

private:
    struct Worker;

    /// One tile of a block: its place in the order of the walk, and the elements that it has.
    struct Tile {
        size_t index = 0;
        int64_t rows = 0, cols = 0;
        TileShape shape;                     ///< the same, as lanes lie
        const std::vector<int64_t>& offsets; ///< of its first element, per operand

        size_t elements() const { return static_cast<size_t>(rows * cols); }
    };

    // Preparing.
    void listScalars();
    void chooseTiles(const PrepareContext& context);
    void compileTiles(const PrepareContext& context, const RowReuseLimits& limits);
    void chooseExtents(int64_t limit);
    void transposeElements(int64_t limit);
    bool turnsWrites(const Loop& reduced) const;
    bool hasShortRows() const;
    void chooseParts();
    void placeScalars();
    void makeLoops(const std::vector<StridedAccess>& accesses);
    bool chooseOuter();
    int64_t mostAcross(int64_t limit) const;
    int64_t rowsAcross(int64_t limit) const;
    int64_t planesOf(int64_t limit) const;
    bool hasDensePlanes(int64_t limit) const;
    TileCode tileCode(size_t code, const TileSpace& tiles, const PrepareContext& context) const;
    TileCode rowCode(const Tape& tape, const PrepareContext& context) const;

    // Running.
    int64_t blockCount() const;
    bool sharesRows(int64_t blocks, const Threads& threads) const;
    Worker newWorker(const Operands& operands, std::byte* memory) const;
    void place(Worker& worker, size_t block) const;
    void runBlock(Worker& worker) const;
    void runShared(Worker& lead, std::byte* parts, size_t block, Threads& threads) const;
    template <typename Visit>
    void forEachTile(Worker& worker, const TileSpace& tiles, size_t count, size_t part,
                     Visit&& visit) const;
    template <typename Visit> void forRowsOfTiles(Worker& worker, Visit&& visit) const;
    void forgetScalars(Worker& worker, size_t code) const;
    void loadTile(Worker& worker, size_t code, const std::vector<TileShape>& steps,
                  const Tile& tile) const;
    void runTile(Worker& worker, size_t code, const Tile& tile) const;
    std::byte* keptAt(const Worker& worker, uint32_t value, size_t tile) const;
    void runElements(Worker& worker, size_t part) const;
    void runElementTiles(Worker& worker, size_t part) const;
    void runRowResults(Worker& worker) const;
    void count(CountedBytes& total) const;

    // Reductions; `memory` holds the accumulators of one part.
    Accumulators accumulators(std::byte* memory, size_t reduction) const;
    void startReductions(size_t stage, std::byte* memory) const;
    void reducePart(Worker& worker, size_t stage, size_t part, std::byte* memory) const;
    void reduceTiles(Worker& worker, size_t stage, size_t part, std::byte* memory) const;
    void foldPart(size_t stage, std::byte* total, std::byte* part) const;
    void takeFolded(ReduceKind kind, Lane lane, std::byte* to, const void* folded) const;
    void finishStage(Worker& worker, size_t stage) const;
    void runScalars(Worker& worker, size_t stage) const;

    /// Steps from one of a block's planes to the next, in elements.
    int64_t planeStep(size_t operand) const {
        return m_blockPlanes > 1 ? m_outerLoops.back().strides[operand] : 0;
    }

    Tile tileAt(const Worker& worker, size_t index, int64_t rows, int64_t cols,
                const std::vector<int64_t>& offsets) const;
    std::vector<TileShape> stepsOf(const TileSpace& tiles) const;
    TileShape stepsOfScalars(const Worker& worker) const;

    const Loop& tileRowLoop(const TileSpace& tiles) const {
        return m_kind == RowTiles::Along ? m_rowLoop : tiles.rows;
    }

    const Loop& tileColLoop(const TileSpace& tiles) const {
        return m_kind == RowTiles::Across ? m_rowLoop : tiles.cols;
    }

    /// Bytes that one block's kept values take.
    size_t keptBytes() const {
        return m_keptOf.empty() ? 0 : m_keptOf.back() * m_tiles * tileRowsOfBlock();
    }

    /// How often the rows of a tile are begun in a block.
    size_t tileRowsOfBlock() const {
        return static_cast<size_t>((m_blockRows + m_rowsAtOnce - 1) / m_rowsAtOnce);
    }

    size_t scalarLanes() const {
        return roundUpToGroup(static_cast<size_t>(m_blockPlanes * m_blockRows));
    }

    Row m_program;
    std::vector<OperandLayout> m_inputs, m_outputs;
    const VectorTable& m_table;
    std::vector<TileOperand> m_operands; ///< element writes, row writes, reads
    size_t m_elementWrites = 0, m_rowWrites = 0;
    size_t m_mainOperand = 0; ///< the read whose memory decides the order of loops
    bool m_ordered = false;   ///< an arg-reduction counts positions in the order of dimensions
    std::vector<Loop> m_outerLoops; ///< without the block's own
    Loop m_rowLoop;                 ///< the rows of a block
    std::vector<Loop> m_innerLoops; ///< what is reduced, before tiles are chosen
    TileSpace m_inner;              ///< the tiles of one block; Across: its rows are the reduced
    TileSpace m_elements;           ///< the same for what is written per element
    std::vector<TileShape> m_innerSteps, m_elementSteps; ///< of every operand in their tiles
    std::vector<int64_t> m_offsets;
    RowTiles m_kind = RowTiles::Along;
    int64_t m_blockRows = 1;     ///< rows of a block, of each plane
    int64_t m_blockPlanes = 1;   ///< of the last one of m_outerLoops
    int64_t m_rowsAtOnce = 1;    ///< of these what one tile has
    bool m_planesAround = false; ///< tiles that lie across are whole planes, one after the other
    /// Rows of a block that lie across, at most: so many that what they keep fits.
    int64_t m_mostAcross = std::numeric_limits<int64_t>::max();
    size_t m_tiles = 0, m_elementTiles = 0; ///< of a block
    size_t m_parts = 1;                     ///< of a block
    /// Rows that lie across have so few elements that what they are folded into is the result.
    bool m_foldsAtOnce = false;
    bool m_noRows = false;
    RowReuse m_reuse;                 ///< the tapes of m_codes
    std::vector<size_t> m_keptOf;     ///< where each kept value of a tile begins, and their end
    std::vector<TileCode> m_codes;    ///< maps of the stages, then the element tape
    std::vector<TileCode> m_rowCodes; ///< scalar tapes of the stages, then the row tape
    std::vector<RowScalar> m_scalars;
    std::vector<size_t> m_scalarsBefore; ///< per stage: row scalars that exist before it
    size_t m_scalarBytes = 0, m_accumulatorBytes = 0, m_lanes = 0;
    size_t m_workerBytes = 0; ///< scalars, two sets of accumulators, frames, kept values
};

/// Buffers and positions of one thread.
struct RowKernel::Worker {
    const Operands& operands;
    std::byte* scalars;
    std::byte* total; ///< accumulators: per reduction values, then indices
    std::byte* part;  ///< the same of one part
    std::byte* kept;
    std::vector<TileCode::Frame> frames, rowFrames;
    std::vector<TileLoader> loaders;
    std::vector<int64_t> offsets;       ///< of the block's first element, per operand
    std::vector<int64_t> offsetsOfTile; ///< while one is visited
    std::vector<bool> direct;           ///< while one is written: straight into memory
    int64_t planes = 1, rows = 0;       ///< of the block; of each plane
    int64_t firstRow = 0;               ///< of the tiles at hand; `rows` is then what they have

    int64_t blockRows() const { return planes * rows; }
};

} // namespace fuselage::cpu
