// SPDX-License-Identifier: Apache-2.0
// Preparing a row kernel: its loops, the sizes of blocks and tiles, the code of every tape.
#include "core/cpu/tile_row.h"

#include "core/cpu/float_lanes.h"
#include "core/cpu/tile_row_internal.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace fuselage::cpu {

namespace {

DType storageOf(Lane lane) {
    switch (lane) {
    case Lane::F32:
        return DType::Float32;
    case Lane::F64:
        return DType::Float64;
    case Lane::Bool:
        return DType::Bool;
    default:
        return DType::Int64;
    }
}

} // namespace

RowKernel::RowKernel(const Row& program, const PrepareContext& context)
    : m_inputs(context.inputs), m_outputs(context.outputs), m_table(context.table),
      m_elementWrites(program.elementWrites.size()), m_rowWrites(program.rowWrites.size()) {
    RowFloatLanes lanes = withFloatLanes(program);
    m_program = std::move(lanes.row);
    size_t outer = program.outer.size(), dims = outer + program.inner.size();
    for (size_t k = 0; k < m_elementWrites; ++k) {
        const Access& write = program.elementWrites[k];
        m_operands.push_back(
            tileOperand(write, m_outputs[write.operand], dims, m_table, lanes.elementWrites[k]));
    }
    for (const Access& write : program.rowWrites)
        m_operands.push_back(tileOperand(write, m_outputs[write.operand], dims, m_table));
    for (size_t k = 0; k < program.reads.size(); ++k) {
        const Access& read = program.reads[k];
        m_operands.push_back(
            tileOperand(read, m_inputs[read.operand], dims, m_table, lanes.reads[k]));
    }
    std::vector<StridedAccess> accesses;
    for (const TileOperand& operand : m_operands) {
        accesses.push_back(operand.access);
        m_offsets.push_back(operand.access.offset);
    }
    makeLoops(accesses);
    listScalars();
    chooseTiles(context);
    placeScalars();
    chooseParts();
    tactic = std::string("tile interpreter ") + context.table.name +
             (m_kind == RowTiles::Across ? " across rows" : " along rows");
}

/// Row scalars in the order of their creation.
void RowKernel::listScalars() {
    for (const Row::Stage& stage : m_program.stages) {
        m_scalarsBefore.push_back(m_scalars.size());
        for (size_t i = 0; i < stage.reduce.size(); ++i)
            m_scalars.push_back({isArg(stage.reduce[i])
                                     ? Lane::I64
                                     : laneOf(stage.map.type(stage.map.outputs[i]))});
        for (uint16_t reg : stage.scalar.outputs)
            m_scalars.push_back({laneOf(stage.scalar.type(reg))});
    }
    m_scalarsBefore.push_back(m_scalars.size());
}

/// Tapes, tiles and what is kept between the stages. Rows of one tile keep whatever a later tape
/// needs again: it lies in the first cache. So do others of which that is a part of the second
/// one. Longer ones keep what takes longer than reading it from there, if it fits; of rows that lie
/// across, as many are a block's.
void RowKernel::chooseTiles(const PrepareContext& context) {
    constexpr int64_t leastAcross = 64; // a few lines beside each other
    constexpr size_t fewKeptBytes = mostKeptBytes / 2;
    RowReuseLimits limits;
    compileTiles(context, limits);
    if (m_tiles > 1 && keptBytes() > fewKeptBytes)
        compileTiles(context, limits = {dearToRepeat, true});
    if (!m_elements.sameTiles(m_inner))
        compileTiles(context, limits = {m_tiles > 1 ? dearToRepeat : 1, false});
    if (m_kind == RowTiles::Across && keptBytes() > mostKeptBytes &&
        m_blockPlanes * m_blockRows > leastAcross) {
        constexpr auto group = static_cast<int64_t>(laneGroup);
        const auto each = static_cast<int64_t>(keptBytes()) / (m_blockPlanes * m_blockRows);
        m_mostAcross =
            std::max(leastAcross, static_cast<int64_t>(mostKeptBytes) / each / group * group);
        compileTiles(context, limits);
    }
    if (keptBytes() > mostKeptBytes) {
        m_mostAcross = std::numeric_limits<int64_t>::max();
        compileTiles(context, {std::numeric_limits<int64_t>::max(), false});
    }
}

/// Sizes of tiles so that a tile's buffers stay in cache, and the code for them: its uniform
/// inputs depend on the sizes, its buffers decide them.
void RowKernel::compileTiles(const PrepareContext& context, const RowReuseLimits& limits) {
    m_reuse = reuseInRow(m_program, limits);
    m_lanes = 1024;
    for (int round = 0; round < 2; ++round) {
        chooseExtents(static_cast<int64_t>(m_lanes));
        m_codes.clear();
        m_rowCodes.clear();
        for (size_t stage = 0; stage < m_program.stages.size(); ++stage) {
            m_codes.push_back(tileCode(stage, m_inner, context));
            m_rowCodes.push_back(rowCode(m_program.stages[stage].scalar, context));
        }
        m_codes.push_back(tileCode(m_program.stages.size(), m_elements, context));
        m_rowCodes.push_back(rowCode(m_program.row, context));
        size_t bytes = 0;
        for (const TileCode& code : m_codes)
            bytes = std::max(bytes, code.bytesPerLane());
        m_lanes = round == 0 ? lanesThatFit(bytes) : m_lanes;
    }
    const auto atOnce = static_cast<size_t>(m_blockPlanes * m_rowsAtOnce);
    m_lanes = roundUpToGroup(
        atOnce * std::max(m_inner.lanes(), m_elementWrites > 0 ? m_elements.lanes() : 0));
    m_tiles = m_inner.tileCount();
    m_elementTiles = m_elements.tileCount();
    m_innerSteps = stepsOf(m_inner);
    m_elementSteps = stepsOf(m_elements);
    m_keptOf.assign(1, 0);
    for (DType type : m_reuse.values)
        m_keptOf.push_back(m_keptOf.back() + (m_lanes * laneBytes(laneOf(type)) + 63) / 64 * 64);
}

namespace {

/// Rows of a block of several tiles of them, at most; their elements where elements are written,
/// which the first cache still has then.
constexpr int64_t mostRows = 128;
constexpr int64_t elementsOfBlock = 4096;

/// Of both loops of a tile that is read along one and written along the other: some lines each way.
constexpr int64_t turnedPiece = 32;

Loop takeLast(std::vector<Loop>& loops, const Loop& otherwise) {
    if (loops.empty())
        return otherwise;
    Loop out = loops.back();
    loops.pop_back();
    return out;
}

/// At most `count` of `all` runs of `size` lanes; whole groups of lanes, if any fewer make them.
int64_t wholeGroupRuns(int64_t count, int64_t all, int64_t size) {
    constexpr auto group = static_cast<int64_t>(laneGroup);
    const int64_t step = group / std::gcd(size, group);
    return count < all && count >= step ? count / step * step : count;
}

} // namespace

/// Whether elements are written along what is reduced, while they are read across rows.
bool RowKernel::turnsWrites(const Loop& reduced) const {
    for (size_t k = 0; k < m_elementWrites; ++k)
        if (reduced.strides[k] == 1 && m_rowLoop.strides[k] != 1)
            return true;
    return false;
}

/// The kind of tiles and their extents, at most `limit` lanes.
void RowKernel::chooseExtents(int64_t limit) {
    const Loop still{1, std::vector<int64_t>(m_operands.size(), 0)};
    std::vector<Loop> loops = m_innerLoops;
    const Loop last = takeLast(loops, still);
    const int64_t reduced = std::max<int64_t>(last.extent, 1);
    const int64_t rows = std::max<int64_t>(m_rowLoop.extent, 1);
    m_inner.rows = m_inner.cols = still;
    m_inner.tileRows = m_inner.tileCols = 1;
    if (m_kind == RowTiles::Across) {
        m_blockRows = rowsAcross(limit);
        m_inner.rows = last;
        m_planesAround = hasDensePlanes(limit);
        m_blockPlanes = m_planesAround
                            ? std::min(limit / (m_blockRows * reduced), m_outerLoops.back().extent)
                            : planesOf(limit);
        m_inner.tileRows = std::clamp<int64_t>(limit / (m_blockPlanes * m_blockRows), 1, reduced);
    } else {
        m_inner.cols = last;
        m_inner.tileCols = std::min(reduced, limit);
        const int64_t room = limit / m_inner.tileCols;
        const int64_t depths = loops.empty() ? 1 : std::max<int64_t>(loops.back().extent, 1);
        const int64_t depth = wholeGroupRuns(std::min(room, depths), depths, reduced);
        m_blockRows = wholeGroupRuns(std::min(room, rows), rows, reduced);
        // Runs of one row that follow each other in memory are used where they are.
        const bool joined = depth > 1 && m_mainOperand < m_operands.size() &&
                            depth * reduced >= std::min<int64_t>(limit, 256) &&
                            loops.back().strides[m_mainOperand] == reduced;
        if (depth > m_blockRows || joined) {
            m_blockRows = 1;
            m_inner.rows = takeLast(loops, still);
            m_inner.tileRows = depth;
        }
        m_kind = m_blockRows == 1 ? RowTiles::Within : RowTiles::Along;
        m_blockPlanes = m_kind == RowTiles::Along ? planesOf(limit) : 1;
    }
    m_inner.outer = std::move(loops);
    m_elements = m_inner;
    m_rowsAtOnce = m_blockRows;
    if (m_kind == RowTiles::Within)
        transposeElements(limit);
    if (hasShortRows()) { // as many as leave something for other threads
        const int64_t lanes = std::max<int64_t>(1, m_inner.tileRows * m_inner.tileCols);
        const int64_t most = std::clamp<int64_t>(
            (m_elementWrites > 0 ? elementsOfBlock : elementsPerTask) / lanes, 1, mostRows);
        m_blockRows = std::min(rows, std::max<int64_t>(1, most / m_blockRows) * m_blockRows);
    }
}

/// Whether each row is in one tile: a block then holds the rows of several, as what is to do for
/// each row costs the same for a few of them.
bool RowKernel::hasShortRows() const {
    return m_kind != RowTiles::Across && m_blockPlanes == 1 && m_inner.tileCount() == 1 &&
           (m_elementWrites == 0 || m_elements.tileCount() == 1);
}

/// Rows of a block that lie across, at most: as many as a tile has lanes, since these lie in memory
/// as in a tile. Where elements are written along what is reduced, as many as leave room for that.
int64_t RowKernel::mostAcross(int64_t limit) const {
    const int64_t most = std::min(limit, m_mostAcross);
    if (m_innerLoops.empty() || !turnsWrites(m_innerLoops.back()))
        return most;
    const int64_t reduced = std::max<int64_t>(m_innerLoops.back().extent, 1);
    return std::min(most, std::max(turnedPiece, limit / reduced));
}

/// The rows of a block; where they are several blocks, about as many each.
int64_t RowKernel::rowsAcross(int64_t limit) const {
    constexpr auto group = static_cast<int64_t>(laneGroup);
    const int64_t most = mostAcross(limit), rows = std::max<int64_t>(m_rowLoop.extent, 1);
    const int64_t blocks = (rows + most - 1) / most;
    return std::min({rows, most, ((rows + blocks - 1) / blocks + group - 1) / group * group});
}

/// Whether all that is reduced for the rows that lie across is a few elements, which go on in the
/// next turn of the loop around them: a tile is then some turns as they lie in memory.
bool RowKernel::hasDensePlanes(int64_t limit) const {
    if (m_outerLoops.empty() || m_innerLoops.size() != 1 || m_blockRows != m_rowLoop.extent)
        return false;
    const Loop &reduced = m_innerLoops.back(), &planes = m_outerLoops.back();
    const int64_t elements = reduced.extent * m_blockRows;
    return planes.extent > 1 && reduced.strides[m_mainOperand] == m_blockRows &&
           planes.strides[m_mainOperand] == elements && elements > 0 && 2 * elements <= limit;
}

/// How many turns of the loop around its rows a block takes. Rows that lie across go on beside each
/// other in the next turn, mostly. Besides, a block of a few elements costs as much as one of
/// hundreds; of more than these, the loads of many short pieces cost more than is saved.
int64_t RowKernel::planesOf(int64_t limit) const {
    if (m_outerLoops.empty() || m_blockRows != m_rowLoop.extent ||
        m_mainOperand >= m_operands.size())
        return 1;
    const Loop& planes = m_outerLoops.back();
    const int64_t step = planes.strides[m_mainOperand];
    const int64_t extent = std::max<int64_t>(planes.extent, 1);
    if (m_kind == RowTiles::Across && step == m_blockRows) {
        const int64_t most = mostAcross(limit);
        return std::clamp<int64_t>(most / std::max<int64_t>(m_blockRows, 1), 1, extent);
    }
    int64_t elements = m_blockRows;
    for (const Loop& loop : m_innerLoops)
        elements *= loop.extent;
    const bool isDense = !m_innerLoops.empty() && step == elements;
    const int64_t few = isDense ? 64 : 256;
    return elements > few ? 1
                          : std::clamp<int64_t>(limit / std::max<int64_t>(elements, 1), 1, extent);
}

/// Elements of a row that are written along another of its loops than they are read along: in
/// tiles of pieces of both, so that neither side touches a line for each element.
void RowKernel::transposeElements(int64_t limit) {
    if (m_elementWrites == 0 || m_innerLoops.empty() || m_innerLoops.back().strides[0] == 1)
        return;
    auto along = std::find_if(m_innerLoops.begin(), m_innerLoops.end() - 1,
                              [](const Loop& loop) { return loop.strides[0] == 1; });
    if (along == m_innerLoops.end() - 1)
        return;
    m_elements.outer.assign(m_innerLoops.begin(), along);
    m_elements.outer.insert(m_elements.outer.end(), along + 1, m_innerLoops.end() - 1);
    m_elements.rows = *along;
    m_elements.cols = m_innerLoops.back();
    m_elements.tileCols =
        std::clamp<int64_t>(m_elements.cols.extent, 1, std::min(turnedPiece, limit));
    m_elements.tileRows = std::clamp<int64_t>(limit / m_elements.tileCols, 1,
                                              std::max<int64_t>(m_elements.rows.extent, 1));
}

void RowKernel::placeScalars() {
    for (RowScalar& scalar : m_scalars) {
        scalar.at = m_scalarBytes;
        m_scalarBytes += (scalarLanes() * laneBytes(scalar.lane) + 63) / 64 * 64;
        scalar.operand.dtype = storageOf(scalar.lane);
        scalar.operand.elementBytes = laneBytes(scalar.lane);
        scalar.operand.load = m_table.load[static_cast<size_t>(storageOf(scalar.lane))];
        scalar.operand.lanesAreElements = true;
    }
    size_t reductions = 0;
    for (const Row::Stage& stage : m_program.stages)
        reductions = std::max(reductions, stage.reduce.size());
    m_accumulatorBytes = reductions * scalarLanes() * 16;
    m_workerBytes = m_scalarBytes + 2 * m_accumulatorBytes;
    for (const TileCode& code : m_codes)
        m_workerBytes += code.frameBytes(m_lanes);
    for (const TileCode& code : m_rowCodes)
        m_workerBytes += code.frameBytes(scalarLanes());
    m_workerBytes += keptBytes();
}

/// From the shape alone: the number of threads must not change any result.
void RowKernel::chooseParts() {
    constexpr size_t tilesPerPart = 16, mostParts = 256, mostBytes = size_t{256} << 10;
    if (m_ordered)
        return; // an accumulator of positions starts at the row's first element
    const size_t fit = mostBytes / std::max<size_t>(m_accumulatorBytes, 1);
    m_parts = std::clamp<size_t>(std::min(m_tiles / tilesPerPart, fit), 1, mostParts);
    const int64_t elements = elementCount(m_program.inner).value_or(0);
    m_foldsAtOnce =
        m_kind == RowTiles::Across && m_parts == 1 && elements > 0 && elements <= mostFolded;
}

namespace {

/// A block holds rows of the last loop only. Where few of them, and short ones, would be one, the
/// longest loop becomes the last: rows that fill a line lie well in any order.
void putLongestLast(std::vector<Loop>& outer, const std::vector<Loop>& inner) {
    constexpr int64_t line = 16, enough = 512;
    int64_t elements = 1;
    for (const Loop& loop : inner)
        elements *= loop.extent;
    if (outer.size() < 2 || elements < line || outer.back().extent * elements >= enough)
        return;
    const auto longest =
        std::max_element(outer.begin(), outer.end(),
                         [](const Loop& a, const Loop& b) { return a.extent < b.extent; });
    if (longest->extent > outer.back().extent)
        std::rotate(longest, longest + 1, outer.end());
}

} // namespace

/// Splits the dimensions into the loops of blocks, tiles and around them.
void RowKernel::makeLoops(const std::vector<StridedAccess>& accesses) {
    size_t outer = m_program.outer.size();
    std::vector<StridedAccess> outerParts = accesses, innerParts = accesses;
    for (size_t k = 0; k < accesses.size(); ++k) {
        outerParts[k].strides.resize(outer);
        innerParts[k].strides.erase(innerParts[k].strides.begin(),
                                    innerParts[k].strides.begin() + static_cast<ptrdiff_t>(outer));
    }
    m_inner.empty = std::count(m_program.inner.begin(), m_program.inner.end(), 0) > 0;
    m_noRows = std::count(m_program.outer.begin(), m_program.outer.end(), 0) > 0;
    m_outerLoops = mergedLoops(m_program.outer, outerParts);
    m_innerLoops = mergedLoops(m_program.inner, innerParts);
    m_inner.offsets.assign(accesses.size(), 0);
    size_t firstRead = m_elementWrites + m_rowWrites;
    m_mainOperand = firstRead;
    for (size_t k = accesses.size(); k-- > firstRead;)
        for (const Loop& loop : m_innerLoops)
            if (loop.strides[k] != 0)
                m_mainOperand = k;
    for (const Row::Stage& stage : m_program.stages)
        for (ReduceKind kind : stage.reduce)
            m_ordered = m_ordered || isArg(kind);
    if (m_mainOperand < accesses.size()) {
        if (!m_ordered)
            sortByStrides(m_innerLoops, m_mainOperand);
        sortByStrides(m_outerLoops, m_mainOperand);
        mergeNeighbours(m_innerLoops);
        mergeNeighbours(m_outerLoops);
        m_kind = chooseOuter() ? RowTiles::Across : RowTiles::Along;
        if (m_kind == RowTiles::Along)
            putLongestLast(m_outerLoops, m_innerLoops);
    }
    m_rowLoop = takeLast(m_outerLoops, {1, std::vector<int64_t>(accesses.size(), 0)});
}

/// Whether memory is contiguous across rows rather than along them; then that loop becomes last. So
/// it is where a row is one element.
bool RowKernel::chooseOuter() {
    if (!m_innerLoops.empty() && m_innerLoops.back().strides[m_mainOperand] == 1)
        return false;
    for (size_t i = 0; i < m_outerLoops.size(); ++i) {
        if (m_outerLoops[i].strides[m_mainOperand] != 1)
            continue;
        std::rotate(m_outerLoops.begin() + static_cast<ptrdiff_t>(i),
                    m_outerLoops.begin() + static_cast<ptrdiff_t>(i) + 1, m_outerLoops.end());
        return true;
    }
    return false;
}

/// Code over tiles: inputs are all reads, then the row scalars that exist, then what was kept.
TileCode RowKernel::tileCode(size_t code, const TileSpace& tiles,
                             const PrepareContext& context) const {
    const RowReuse::Part& part = m_reuse.parts[code];
    const Tape& tape = part.tape;
    size_t firstRead = m_elementWrites + m_rowWrites;
    const size_t firstKept = tape.inputs.size() - part.reads.size();
    const int64_t tileRows = m_kind == RowTiles::Along ? m_rowsAtOnce : tiles.tileRows;
    std::vector<bool> uniform;
    for (size_t k = 0; k < tape.inputs.size(); ++k) {
        size_t at = firstRead + k;
        if (at < m_operands.size())
            uniform.push_back(tileColLoop(tiles).strides[at] == 0 && planeStep(at) == 0 &&
                              (tileRows == 1 || tileRowLoop(tiles).strides[at] == 0));
        else
            uniform.push_back(k < firstKept && m_kind != RowTiles::Across &&
                              m_blockPlanes * m_rowsAtOnce == 1);
    }
    return {tape, uniform, context.table, context.strict()};
}

/// Code over the rows of a block: inputs are row scalars.
TileCode RowKernel::rowCode(const Tape& tape, const PrepareContext& context) const {
    return {tape, std::vector<bool>(tape.inputs.size(), false), context.table, context.strict()};
}

std::unique_ptr<Kernel> prepareRow(const Row& program, const PrepareContext& context) {
    return std::make_unique<RowKernel>(program, context);
}

std::optional<Reason> unsupportedRow(const Row& program) {
    for (const Row::Stage& stage : program.stages)
        for (const Tape* tape : {&stage.map, &stage.scalar})
            if (auto reason = TileCode::unsupported(*tape))
                return reason;
    if (auto reason = TileCode::unsupported(program.element))
        return reason;
    return TileCode::unsupported(program.row);
}

} // namespace fuselage::cpu
