// SPDX-License-Identifier: Apache-2.0
// An iteration space cut into two-dimensional tiles: dimensions dropped and merged, loops ordered
// so that writes are contiguous, offsets of every operand carried along. Knows strides only.
#pragma once

#include "core/kernel/loops.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fuselage::cpu {

struct TileSpace {
    std::vector<Loop> outer; ///< outermost first
    Loop rows, cols;
    int64_t tileRows = 1, tileCols = 1;
    std::vector<int64_t> offsets; ///< of every operand, in elements
    bool empty = false;           ///< some extent is zero

    size_t operandCount() const { return offsets.size(); }

    int64_t rowTiles() const { return (rows.extent + tileRows - 1) / tileRows; }

    int64_t colTiles() const { return (cols.extent + tileCols - 1) / tileCols; }

    size_t tileCount() const;

    size_t lanes() const { return static_cast<size_t>(tileRows * tileCols); }

    /// Whether both walk the same loops in the same tiles.
    bool sameTiles(const TileSpace& other) const;
};

/// Tiles of at most `maxLanes` elements. Operand `leader` (what is written) gets the innermost
/// loop; an operand that is contiguous along another loop makes that loop the rows.
TileSpace tileSpace(const Extents& space, const std::vector<StridedAccess>& operands, size_t leader,
                    size_t maxLanes);

/// Walks tiles in order.
class TileCursor {
public:
    TileCursor(const TileSpace& space, size_t tile);
    void next();

    int64_t rows() const { return m_rows; }

    int64_t cols() const { return m_cols; }

    /// Element offset of the tile's first element of an operand.
    int64_t offset(size_t operand) const { return m_offsets[operand]; }

    /// How many elements of the operand this tile touches that no tile before it (in the whole
    /// space) touched, for an operand whose moving loops never meet an element twice.
    int64_t freshElements(size_t operand) const;

private:
    void place();

    const TileSpace* m_space;
    std::vector<int64_t> m_index; ///< outer loops, then row tile, then column tile
    std::vector<int64_t> m_offsets;
    int64_t m_rows = 0, m_cols = 0;
};

/// Largest tile in lanes so that `bytesPerLane` of buffers stay in the first-level cache.
size_t lanesThatFit(size_t bytesPerLane);

} // namespace fuselage::cpu
