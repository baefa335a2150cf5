// SPDX-License-Identifier: Apache-2.0
// The walk over the tiles of one part of a block, for the files of the row kernel.
#pragma once

#include "core/cpu/tile_row_internal.h"

namespace fuselage::cpu {

/// Calls visit() for the rows of a block, as many at a time as a tile has.
template <typename Visit> void RowKernel::forRowsOfTiles(Worker& worker, Visit&& visit) const {
    if (m_rowsAtOnce == m_blockRows)
        return visit();
    const int64_t all = worker.rows;
    auto move = [&](int64_t by) {
        for (size_t k = 0; k < worker.offsets.size(); ++k)
            worker.offsets[k] += by * m_rowLoop.strides[k];
        worker.firstRow += by;
    };
    for (int64_t first = 0; first < all; first += m_rowsAtOnce) {
        worker.rows = std::min(m_rowsAtOnce, all - first);
        visit();
        move(m_rowsAtOnce);
    }
    move(-worker.firstRow);
    worker.rows = all;
}

/// Calls visit(tile) for the tiles of a part, of `count` in a block, in the order of the reduced
/// loops.
template <typename Visit>
void RowKernel::forEachTile(Worker& worker, const TileSpace& tiles, size_t count, size_t part,
                            Visit&& visit) const {
    const bool along = m_kind == RowTiles::Along, across = m_kind == RowTiles::Across;
    if (count == 1) // of many short rows
        return part > 0
                   ? void()
                   : visit(tileAt(worker, 0, along ? worker.blockRows() : tiles.tileRows,
                                  across ? worker.blockRows() : tiles.tileCols, worker.offsets));
    const size_t begin = count * part / m_parts, end = count * (part + 1) / m_parts;
    if (begin == end)
        return;
    std::vector<int64_t>& offsets = worker.offsetsOfTile;
    TileCursor cursor(tiles, begin);
    for (size_t tile = begin; tile < end; ++tile) {
        for (size_t k = 0; k < offsets.size(); ++k)
            offsets[k] = worker.offsets[k] + cursor.offset(k);
        visit(tileAt(worker, tile, along ? worker.blockRows() : cursor.rows(),
                     across ? worker.blockRows() : cursor.cols(), offsets));
        if (tile + 1 < end)
            cursor.next();
    }
}

} // namespace fuselage::cpu
