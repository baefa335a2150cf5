// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/tile_space.h"

#include "core/cpu/vector_table.h"

#include <algorithm>
#include <cstdlib>

namespace fuselage::cpu {

namespace {

constexpr int64_t fewLanes = 64; ///< of a tile that is hardly worth its overhead
constexpr int64_t lineElements = 16;

/// The loop along which an operand goes on that lies along the tile's rows: with these alone a tile
/// takes little of each line that it meets.
std::vector<Loop>::iterator continuedRows(TileSpace& space) {
    const Loop &rows = space.rows, &cols = space.cols;
    return std::find_if(space.outer.begin(), space.outer.end(), [&](const Loop& loop) {
        for (size_t k = 0; k < loop.strides.size(); ++k)
            if (rows.strides[k] == 1 && cols.strides[k] > 1 && loop.strides[k] == rows.extent)
                return true;
        return false;
    });
}

} // namespace

size_t TileSpace::tileCount() const {
    if (empty)
        return 0;
    int64_t count = planeTiles() * rowTiles() * colTiles();
    for (const Loop& loop : outer)
        count *= loop.extent;
    return static_cast<size_t>(count);
}

bool TileSpace::sameTiles(const TileSpace& other) const {
    auto same = [](const Loop& a, const Loop& b) {
        return a.extent == b.extent && a.strides == b.strides;
    };
    return same(planes, other.planes) && same(rows, other.rows) && same(cols, other.cols) &&
           tilePlanes == other.tilePlanes && tileRows == other.tileRows &&
           tileCols == other.tileCols &&
           std::equal(outer.begin(), outer.end(), other.outer.begin(), other.outer.end(), same);
}

TileSpace tileSpace(const Extents& space, const std::vector<StridedAccess>& operands, size_t leader,
                    size_t maxLanes) {
    TileSpace out;
    for (const StridedAccess& operand : operands)
        out.offsets.push_back(operand.offset);
    out.empty = std::find(space.begin(), space.end(), 0) != space.end();
    std::vector<Loop> loops = mergedLoops(space, operands);
    sortByStrides(loops, leader);
    mergeNeighbours(loops);
    Loop still{1, std::vector<int64_t>(operands.size(), 0)};
    while (loops.size() < 2)
        loops.insert(loops.begin(), still);
    bool transposed = false;
    for (size_t k = 0; k < operands.size() && !transposed; ++k) {
        int64_t stride = loops.back().strides[k];
        if (stride == 0 || stride == 1)
            continue;
        for (size_t i = 0; i + 1 < loops.size() && !transposed; ++i) {
            if (loops[i].strides[k] != 1)
                continue;
            std::rotate(loops.begin() + static_cast<ptrdiff_t>(i),
                        loops.begin() + static_cast<ptrdiff_t>(i) + 1, loops.end() - 1);
            transposed = true;
        }
    }
    // A tile of a few elements costs as much as a full one: rows are then those of a longer loop,
    // unless planes, which follow one another in memory, fill it.
    const auto inner = loops.end() - 2;
    const auto longest = std::max_element(
        loops.begin(), inner, [](const Loop& a, const Loop& b) { return a.extent < b.extent; });
    const int64_t few = loops.back().extent * inner->extent;
    const int64_t planes = inner == loops.begin() ? 1 : (inner - 1)->extent;
    if (!transposed && longest != inner && few < fewLanes && few * planes < fewLanes &&
        longest->extent > inner->extent)
        std::rotate(longest, longest + 1, loops.end() - 1);
    out.cols = loops.back();
    loops.pop_back();
    out.rows = loops.back();
    loops.pop_back();
    out.outer = std::move(loops);
    auto limit = static_cast<int64_t>(maxLanes);
    // What lies along the rows in whole lines, and in long pieces of the others.
    const int64_t turned = std::min(limit, std::clamp<int64_t>(limit / lineElements, 16, 64));
    out.tileCols = std::min(out.cols.extent, transposed ? turned : limit);
    out.tileCols = std::max<int64_t>(out.tileCols, 1);
    out.tileRows =
        std::clamp<int64_t>(limit / out.tileCols, 1, std::max<int64_t>(1, out.rows.extent));
    if (!transposed && out.tileCols < out.cols.extent)
        out.tileRows = 1;
    if (transposed && out.tileRows < out.rows.extent && out.tileRows > lineElements)
        out.tileRows -= out.tileRows % lineElements; // each line of floats is read by one tile
    return out;
}

void addPlanes(TileSpace& space, size_t maxLanes) {
    const auto limit = static_cast<int64_t>(maxLanes);
    const int64_t each = space.tileRows * space.tileCols;
    if (space.outer.empty() || space.tileRows != space.rows.extent || 2 * each > limit)
        return;
    auto next = continuedRows(space);
    const bool isContinued = next != space.outer.end();
    if (!isContinued) {
        if (space.tileCols != space.cols.extent)
            return;
        --next;
    }
    space.planes = std::move(*next);
    space.outer.erase(next);
    space.tilePlanes = std::clamp<int64_t>(limit / std::max<int64_t>(each, 1), 1,
                                           std::max<int64_t>(space.planes.extent, 1));
    const int64_t ofLine = lineElements / std::max<int64_t>(space.tileRows, 1);
    if (isContinued && ofLine > 1 && space.tilePlanes < space.planes.extent &&
        space.tilePlanes > ofLine)
        space.tilePlanes -= space.tilePlanes % ofLine;
}

TileCursor::TileCursor(const TileSpace& space, size_t tile)
    : m_space(&space), m_index(space.outer.size() + 3, 0) {
    auto rest = static_cast<int64_t>(tile);
    const size_t loops = space.outer.size();
    m_index[loops + 2] = rest % space.colTiles();
    rest /= space.colTiles();
    m_index[loops + 1] = rest % space.rowTiles();
    rest /= space.rowTiles();
    m_index[loops] = rest % space.planeTiles();
    rest /= space.planeTiles();
    for (size_t i = loops; i-- > 0;) {
        m_index[i] = rest % space.outer[i].extent;
        rest /= space.outer[i].extent;
    }
    m_offsets.resize(space.operandCount());
    place();
}

void TileCursor::place() {
    const TileSpace& s = *m_space;
    const size_t loops = s.outer.size();
    const int64_t plane = m_index[loops] * s.tilePlanes;
    const int64_t row = m_index[loops + 1] * s.tileRows;
    const int64_t col = m_index[loops + 2] * s.tileCols;
    m_shape = {std::min(s.tilePlanes, s.planes.extent - plane),
               std::min(s.tileRows, s.rows.extent - row),
               std::min(s.tileCols, s.cols.extent - col)};
    for (size_t k = 0; k < m_offsets.size(); ++k) {
        const TileShape steps = s.steps(k);
        int64_t offset = s.offsets[k] + plane * steps.planes + row * steps.rows + col * steps.cols;
        for (size_t i = 0; i < s.outer.size(); ++i)
            offset += m_index[i] * s.outer[i].strides[k];
        m_offsets[k] = offset;
    }
}

void TileCursor::next() {
    const TileSpace& s = *m_space;
    size_t i = m_index.size() - 1;
    if (++m_index[i] == s.colTiles()) {
        m_index[i--] = 0;
        if (++m_index[i] == s.rowTiles()) {
            m_index[i--] = 0;
            if (++m_index[i] == s.planeTiles()) {
                m_index[i] = 0;
                while (i-- > 0) {
                    if (++m_index[i] < s.outer[i].extent)
                        break;
                    m_index[i] = 0;
                }
            }
        }
    }
    place();
}

int64_t TileCursor::freshElements(size_t operand) const {
    const TileSpace& s = *m_space;
    for (size_t i = 0; i < s.outer.size(); ++i)
        if (s.outer[i].strides[operand] == 0 && m_index[i] != 0)
            return 0;
    const TileShape steps = s.steps(operand);
    auto span = [](int64_t stride, int64_t tile, int64_t count) {
        if (stride != 0)
            return count;
        return tile == 0 ? int64_t{1} : int64_t{0};
    };
    const int64_t* tiles = m_index.data() + s.outer.size();
    return span(steps.planes, tiles[0], m_shape.planes) * span(steps.rows, tiles[1], m_shape.rows) *
           span(steps.cols, tiles[2], m_shape.cols);
}

size_t lanesThatFit(size_t bytesPerLane) {
    constexpr size_t budget = 24 << 10;
    size_t lanes = budget / std::max<size_t>(bytesPerLane, 1);
    return std::clamp<size_t>(lanes / laneGroup * laneGroup, 64, 1024);
}

} // namespace fuselage::cpu
