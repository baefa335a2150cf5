// SPDX-License-Identifier: Apache-2.0
// How the threads of a product lie over its operands and over its results.
#include "gpu/emit/lane_memory.h"
#include "gpu/kernels/contraction_epilogue.h"
#include "gpu/kernels/tensor_operand.h"

#include <algorithm>

namespace fuselage::gpu {

namespace {

/// The first of `count` that a piece of `size` in the middle begins with.
int64_t middle(int64_t count, int64_t size) {
    return count / 2 / std::max<int64_t>(size, 1) * std::max<int64_t>(size, 1);
}

/// Of whole pieces of `size`, the share that there is.
double shareOfPieces(int64_t count, int64_t size) {
    return static_cast<double>(count) / static_cast<double>((count + size - 1) / size * size);
}

} // namespace

MemoryAsked TensorOperand::memory(double stages) const {
    const int64_t rows = rowCount(), terms = m_view.kCount;
    if (rows <= 0 || terms <= 0 || m_blocked) // whose loads of packed bits are whole lines
        return {};
    const int64_t firstRow = middle(rows, tileRows()), firstTerm = middle(terms, kElements());
    const int64_t step = m_tile.threads() / chunks();
    const bool alongRows = m_load == TileLoad::AlongRows;
    const bool isWide = m_load != TileLoad::Staged || (chunksAligned(m_k) && m_bounds.empty());
    const int64_t singles = isWide ? 1 : lanes();
    LaneRequests requests;
    requests.dtype = m_operands[0].dtype;
    requests.width = isWide ? lanes() : 1;
    requests.places = (alongRows ? kElements() / step : passes()) * singles;
    const std::vector<int64_t> ofRows = elementsAt(m_rows, 0, firstRow, tileRows(), rows);
    const std::vector<int64_t> ofTerms = elementsAt(m_k, 0, firstTerm, kElements(), terms);
    requests.at = [&, this](int64_t thread, int64_t place) {
        const int64_t chunk = thread % chunks() * lanes() + place % singles;
        const int64_t line = thread / chunks() + place / singles * step;
        return m_operands[0].access.offset + ofRows.at(alongRows ? chunk : line) +
               ofTerms.at(alongRows ? line : chunk);
    };
    return askedBy(m_tile.threads(), requests,
                   stages * shareOfPieces(rows, tileRows()) * shareOfPieces(terms, kElements()));
}

MemoryAsked EpilogueText::memory(int64_t line, int64_t lines) const {
    const int64_t width = m_lanes.width, along = m_lanes.alongM ? m_view.mCount : m_view.nCount;
    const int64_t across = m_lanes.alongM ? m_view.nCount : m_view.mCount;
    const int64_t perLine = std::min(line, along) / width, taken = std::min(lines, across);
    MemoryAsked out;
    if (perLine <= 0 || taken <= 0)
        return out;
    const int64_t first = middle(along, line), firstLine = middle(across, lines);
    const double results = static_cast<double>(m_view.batchCount) *
                           static_cast<double>(m_view.mCount) * static_cast<double>(m_view.nCount);
    const size_t writes = m_operands.size() - m_view.reads.size();
    for (size_t k = 0; k < m_operands.size(); ++k) {
        if (hasLanded(k))
            continue;
        const LaneAccess how = access(k);
        LaneRequests requests;
        requests.dtype = m_operands[k].dtype;
        requests.isWritten = k < writes;
        requests.width = how == LaneAccess::Vector ? width : 1;
        requests.places = how == LaneAccess::Gather ? width : 1;
        const auto ofLine =
            elementsAt(m_lanes.alongM ? m_m : m_n, k, first, perLine * width, along);
        const auto ofLines = elementsAt(m_lanes.alongM ? m_n : m_m, k, firstLine, taken, across);
        requests.at = [&, k](int64_t thread, int64_t place) {
            return m_operands[k].access.offset + ofLine.at(thread % perLine * width + place) +
                   ofLines.at(thread / perLine);
        };
        out += askedBy(perLine * taken, requests,
                       results / static_cast<double>(perLine * taken * width));
    }
    return out;
}

} // namespace fuselage::gpu
