// SPDX-License-Identifier: Apache-2.0
// An iteration space cut into tiles of two loops, or of three where these two hold few
// elements: dimensions
// dropped and merged, loops ordered so that writes are contiguous, offsets of every operand carried
// along. Knows strides only.
#pragma once

#include "core/kernel/loops.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fuselage::cpu {

/// Of a tile, or its steps along each of them in elements.
struct TileShape {
    int64_t planes = 1, rows = 1, cols = 1;

    int64_t elements() const { return planes * rows * cols; }
    bool operator==(const TileShape&) const = default;
};

struct TileSpace {
    std::vector<Loop> outer; ///< outermost first
    Loop planes;             ///< no strides: there are none
    Loop rows, cols;
    int64_t tilePlanes = 1, tileRows = 1, tileCols = 1;
    std::vector<int64_t> offsets; ///< of every operand, in elements
    bool empty = false;           ///< some extent is zero

    size_t operandCount() const { return offsets.size(); }

    int64_t planeTiles() const { return (planes.extent + tilePlanes - 1) / tilePlanes; }

    int64_t rowTiles() const { return (rows.extent + tileRows - 1) / tileRows; }

    int64_t colTiles() const { return (cols.extent + tileCols - 1) / tileCols; }

    size_t tileCount() const;

    size_t lanes() const { return static_cast<size_t>(tilePlanes * tileRows * tileCols); }

    /// Of a tile in the operand's memory.
    TileShape steps(size_t operand) const {
        return {planes.strides.empty() ? 0 : planes.strides[operand], rows.strides[operand],
                cols.strides[operand]};
    }

    /// Whether all elements of a tile are one of the operand's.
    bool isUniform(size_t operand) const {
        const TileShape each = steps(operand);
        return each.cols == 0 && (tileRows == 1 || each.rows == 0) &&
               (tilePlanes == 1 || each.planes == 0);
    }

    /// Whether both walk the same loops in the same tiles.
    bool sameTiles(const TileSpace& other) const;
};

/// Tiles of at most `maxLanes` elements. Operand `leader` (what is written) gets the innermost
/// loop; an operand that is contiguous along another loop makes that loop the rows.
TileSpace tileSpace(const Extents& space, const std::vector<StridedAccess>& operands, size_t leader,
                    size_t maxLanes);

/// Gives tiles that have room for it the next loop too, or the one along which what lies along
/// their rows goes on: their code runs once for all planes, which are loaded and stored one by one.
void addPlanes(TileSpace& space, size_t maxLanes);

/// Walks tiles in order.
class TileCursor {
public:
    TileCursor(const TileSpace& space, size_t tile);
    void next();

    const TileShape& shape() const { return m_shape; }

    int64_t rows() const { return m_shape.rows; }

    int64_t cols() const { return m_shape.cols; }

    /// Element offset of the tile's first element of an operand.
    int64_t offset(size_t operand) const { return m_offsets[operand]; }

    /// How many elements of the operand this tile touches that no tile before it (in the whole
    /// space) touched, for an operand whose moving loops never meet an element twice.
    int64_t freshElements(size_t operand) const;

private:
    void place();

    const TileSpace* m_space;
    std::vector<int64_t> m_index; ///< outer loops, then plane tile, row tile, column tile
    std::vector<int64_t> m_offsets;
    TileShape m_shape;
};

/// Largest tile in lanes so that `bytesPerLane` of buffers stay in the first-level cache.
size_t lanesThatFit(size_t bytesPerLane);

} // namespace fuselage::cpu
