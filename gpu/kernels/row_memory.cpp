// SPDX-License-Identifier: Apache-2.0
// How the threads of a row kernel lie over its operands.
#include "gpu/emit/lane_memory.h"
#include "gpu/kernels/row_emitter.h"

#include <algorithm>

namespace fuselage::gpu {

std::optional<size_t> RowEmitter::contiguousAcross() const {
    for (size_t read = 0; read < m_program.reads.size(); ++read) {
        const size_t number = readNumber(read);
        if (!movesAlong(read))
            continue;
        if (m_inner.innerStride(number) == 1)
            return std::nullopt;
        for (size_t i = 0; i < m_outer.loops().size(); ++i)
            if (m_outer.loops()[i].strides[number] == 1)
                return i;
    }
    return std::nullopt;
}

MemoryAsked RowEmitter::memory() const {
    const int64_t all = rows(), along = length(), width = m_geometry.width;
    MemoryAsked out;
    if (all <= 0 || along <= 0)
        return out;
    // Neighbouring threads take neighbouring rows, or share one: `side` of them side by side.
    const bool acrossRows = m_geometry.team == RowTeam::Thread || m_geometry.team == RowTeam::Lanes;
    const int64_t threads = defaultThreads;
    const int64_t perRow = std::max<int64_t>(1, along / width);
    const int64_t together = m_geometry.team == RowTeam::Lanes ? 32 : threads;
    const int64_t side = acrossRows ? std::min(together, all) : std::min(m_team, perRow);
    const int64_t lines = std::max<int64_t>(1, threads / side);
    // From the middle. A thread that has a row goes along it: some of its steps are looked at.
    constexpr int64_t looked = 8;
    const int64_t steps = acrossRows ? std::clamp<int64_t>(along / lines, 1, looked)
                                     : std::clamp<int64_t>(perRow / side, 1, looked);
    const int64_t sampledRows = acrossRows ? side : std::min(lines, all);
    const int64_t taken = acrossRows ? std::min(lines, along) : sampledRows;
    const int64_t sampled = side * taken;
    const int64_t firstRow = all / 2 / sampledRows * sampledRows;
    const double each = static_cast<double>(all) *
                        static_cast<double>(acrossRows ? along : perRow) /
                        (static_cast<double>(sampled) * static_cast<double>(steps));
    for (size_t k = 0; k < m_operands.size(); ++k) {
        if (!m_inner.moves(k)) // once a row
            continue;
        const bool isVector = width > 1 && accessOf(k, m_geometry.width) == LaneAccess::Vector;
        LaneRequests requests;
        requests.dtype = m_operands[k].dtype;
        requests.isWritten = k < m_firstRead;
        requests.width = isVector ? width : 1;
        const int64_t singles = isVector ? 1 : width;
        requests.places = steps * singles;
        requests.at = [&, k, singles](int64_t thread, int64_t place) {
            const int64_t step = place / singles, one = place % singles;
            const int64_t row = acrossRows ? thread % side : thread / side;
            const int64_t at = acrossRows ? thread / side + step * taken
                                          : (thread % side + step * side) * width + one;
            return elementAt(m_outer, k, firstRow + row) + elementAt(m_inner, k, at);
        };
        out += askedBy(sampled, requests, each);
    }
    return out;
}

} // namespace fuselage::gpu
