// SPDX-License-Identifier: Apache-2.0
// The walk over the tiles of one part of a block, for the files of the row kernel.
#pragma once

#include "core/cpu/tile_row_internal.h"

namespace fuselage::cpu {

/// Calls visit(tile) for the tiles of a part, in the order of the reduced loops.
template <typename Visit>
void RowKernel::forEachTile(Worker& worker, const TileSpace& tiles, size_t part,
                            Visit&& visit) const {
    const bool along = m_kind == RowTiles::Along, across = m_kind == RowTiles::Across;
    const size_t count = tiles.tileCount();
    if (count == 1) // of many short rows
        return part > 0 ? void()
                        : visit(Tile{0, along ? worker.blockRows() : tiles.tileRows,
                                     across ? worker.blockRows() : tiles.tileCols, worker.offsets});
    const size_t begin = count * part / m_parts, end = count * (part + 1) / m_parts;
    if (begin == end)
        return;
    std::vector<int64_t>& offsets = worker.offsetsOfTile;
    TileCursor cursor(tiles, begin);
    for (size_t tile = begin; tile < end; ++tile) {
        for (size_t k = 0; k < offsets.size(); ++k)
            offsets[k] = worker.offsets[k] + cursor.offset(k);
        visit(Tile{tile, along ? worker.blockRows() : cursor.rows(),
                   across ? worker.blockRows() : cursor.cols(), offsets});
        if (tile + 1 < end)
            cursor.next();
    }
}

} // namespace fuselage::cpu
