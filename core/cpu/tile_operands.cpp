// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/tile_operands.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace fuselage::cpu {

int64_t OperandLayout::span() const {
    int64_t last = 0;
    for (size_t d = 0; d < extents.size(); ++d) {
        if (extents[d] == 0)
            return 0;
        last += (extents[d] - 1) * strides[d];
    }
    return last + 1;
}

bool OperandLayout::rowMajor() const {
    Extents dense = rowMajorStrides(extents);
    for (size_t d = 0; d < extents.size(); ++d)
        if (extents[d] > 1 && dense[d] != strides[d])
            return false;
    return true;
}

StridedAccess stridedFor(const Access& access, const OperandLayout& layout, size_t dims) {
    return strided(access, layout.strides, dims);
}

std::vector<EpilogueInput> PrepareContext::epilogueInputs(const Contraction& program) const {
    return fuselage::epilogueInputs(program, [&](uint32_t operand) {
        const OperandLayout& layout = inputs[operand];
        return EpilogueOperand{layout.dtype, layout.strides, layout.constant.get()};
    });
}

TileOperand tileOperand(const Access& access, const OperandLayout& layout, size_t dims,
                        const VectorTable& table, bool asFloat) {
    auto type = static_cast<size_t>(layout.dtype);
    TileOperand out{access.operand, layout.dtype, sizeOf(layout.dtype),
                    stridedFor(access, layout, dims)};
    out.load = asFloat ? table.loadFloat[type] : table.load[type];
    out.store = asFloat ? table.storeFloat[type] : table.store[type];
    out.lanesAreElements = layout.dtype == DType::Float32 || layout.dtype == DType::Float64 ||
                           layout.dtype == DType::Int64 || layout.dtype == DType::UInt64;
    return out;
}

namespace {

/// The same elements in fewer planes: one row a plane is a row, and planes that follow each other
/// as their rows do are one.
void joinPlanes(TileShape& tile, TileShape& steps) {
    if (tile.rows == 1)
        steps.rows = steps.planes;
    else if (tile.planes > 1 && steps.planes != tile.rows * steps.rows)
        return;
    tile = {1, tile.planes * tile.rows, tile.cols};
    steps.planes = 0;
}

/// Planes of a few floats: a call for each would take longer than its copy.
bool loadFewFloats(const TileOperand& operand, float* lanes, const std::byte* source,
                   const TileShape& tile, const TileShape& steps) {
    constexpr int64_t few = 64;
    if (operand.dtype != DType::Float32 || tile.planes == 1 || steps.planes == 0 ||
        tile.rows * tile.cols > few)
        return false;
    const auto* in = reinterpret_cast<const float*>(source);
    if (steps.cols == 0) { // fills, which a loop with any step is not
        const int64_t cols = steps.rows == 0 ? tile.rows * tile.cols : tile.cols;
        const int64_t rows = steps.rows == 0 ? 1 : tile.rows;
        for (int64_t p = 0; p < tile.planes; ++p, in += steps.planes)
            for (int64_t r = 0; r < rows; ++r, lanes += cols)
                std::fill_n(lanes, cols, in[r * steps.rows]);
        return true;
    }
    for (int64_t p = 0; p < tile.planes; ++p, in += steps.planes) {
        const float* row = in;
        for (int64_t r = 0; r < tile.rows; ++r, row += steps.rows, lanes += tile.cols)
            for (int64_t c = 0; c < tile.cols; ++c)
                lanes[c] = row[c * steps.cols];
    }
    return true;
}

bool contiguous(const TileShape& tile, const TileShape& steps) {
    return (steps.cols == 1 || tile.cols == 1) && (tile.rows == 1 || steps.rows == tile.cols) &&
           (tile.planes == 1 || steps.planes == tile.rows * tile.cols);
}

bool wholeGroups(const TileShape& tile) {
    return tile.elements() % static_cast<int64_t>(laneGroup) == 0;
}

} // namespace

void TileLoader::load(const TileCode& code, TileCode::Frame& frame, size_t k,
                      const TileOperand& operand, const std::byte* source, const TileShape& tile,
                      const TileShape& steps) {
    Held& held = m_held[k];
    if (code.uniformInput(k)) {
        if (held.source != source)
            operand.load(frame.buffers[k], source, 1, laneGroup, 0, 0);
        held.source = source;
        return;
    }
    if (operand.lanesAreElements && contiguous(tile, steps)) {
        frame.slots[k] = const_cast<std::byte*>(source); // no instruction writes an input slot
        frame.endsInside = frame.endsInside || !wholeGroups(tile);
        return;
    }
    frame.slots[k] = frame.buffers[k];
    if (held.source == source && held.tile == tile && held.steps == steps)
        return;
    held = {source, tile, steps};
    fill(code, frame, k, operand, source, tile, steps);
}

/// The buffer of input k.
void TileLoader::fill(const TileCode& code, TileCode::Frame& frame, size_t k,
                      const TileOperand& operand, const std::byte* source, TileShape tile,
                      TileShape steps) {
    joinPlanes(tile, steps);
    if (loadFewFloats(operand, static_cast<float*>(frame.buffers[k]), source, tile, steps))
        return;
    auto* lanes = static_cast<std::byte*>(frame.buffers[k]);
    const size_t planeBytes =
        static_cast<size_t>(tile.rows * tile.cols) * laneBytes(code.inputLane(k));
    const int64_t own = steps.planes == 0 ? 1 : tile.planes; // the others are the first one
    for (int64_t plane = 0; plane < own; ++plane)
        operand.load(lanes + static_cast<size_t>(plane) * planeBytes,
                     source + plane * steps.planes * static_cast<int64_t>(operand.elementBytes),
                     static_cast<size_t>(tile.rows), static_cast<size_t>(tile.cols), steps.rows,
                     steps.cols);
    for (int64_t have = own, more = 0; have < tile.planes; have += more) {
        more = std::min(have, tile.planes - have);
        std::memcpy(lanes + static_cast<size_t>(have) * planeBytes, lanes,
                    static_cast<size_t>(more) * planeBytes);
    }
}

bool redirectOutput(const TileCode& code, TileCode::Frame& frame, size_t k,
                    const TileOperand& operand, std::byte* target, const TileShape& tile,
                    const TileShape& steps, bool inPlace) {
    bool direct = operand.lanesAreElements && contiguous(tile, steps) &&
                  (inPlace ? code.redirectableInPlace(k) : code.redirectable(k));
    if (direct) {
        code.redirect(frame, k, target);
        frame.endsInside = frame.endsInside || !wholeGroups(tile);
    } else if (code.redirectable(k)) { // else the slot is an input's
        code.unredirect(frame, k);
    }
    return direct;
}

void storeTile(const TileOperand& operand, std::byte* target, const void* lanes, size_t bytesOfLane,
               TileShape tile, TileShape steps) {
    joinPlanes(tile, steps);
    for (int64_t plane = 0; plane < tile.planes; ++plane)
        operand.store(target + plane * steps.planes * static_cast<int64_t>(operand.elementBytes),
                      static_cast<const std::byte*>(lanes) +
                          static_cast<size_t>(plane * tile.rows * tile.cols) * bytesOfLane,
                      static_cast<size_t>(tile.rows), static_cast<size_t>(tile.cols), steps.rows,
                      steps.cols);
}

namespace {

/// No two index tuples of the moving loops reach one element.
bool meetsEachOnce(const TileSpace& space, size_t k) {
    std::vector<std::pair<int64_t, int64_t>> moving; // |stride|, extent
    auto add = [&](const Loop& loop) {
        if (loop.extent > 1 && loop.strides[k] != 0)
            moving.emplace_back(std::abs(loop.strides[k]), loop.extent);
    };
    for (const Loop& loop : space.outer)
        add(loop);
    if (!space.planes.strides.empty())
        add(space.planes);
    add(space.rows);
    add(space.cols);
    std::sort(moving.begin(), moving.end());
    int64_t reach = 0;
    for (auto [stride, extent] : moving) {
        if (stride <= reach)
            return false;
        reach += stride * (extent - 1);
    }
    return true;
}

} // namespace

TouchCounter::TouchCounter(const TileSpace& space, const std::vector<TileOperand>& operands,
                           size_t writes, const std::vector<OperandLayout>& inputs,
                           const std::vector<OperandLayout>& outputs)
    : m_space(space) {
    for (size_t k = 0; k < operands.size(); ++k) {
        bool write = k < writes;
        bool shared = false;
        for (size_t j = 0; j < operands.size(); ++j)
            shared = shared || (j != k && (j < writes) == write &&
                                operands[j].operand == operands[k].operand);
        m_entries.push_back({write, operands[k].operand, operands[k].elementBytes,
                             !shared && meetsEachOnce(space, k)});
        m_touchedOf.push_back(k);
        m_touched.emplace_back();
        if (m_entries.back().once)
            continue;
        for (size_t j = 0; j < k; ++j)
            if (m_entries[j].write == write && m_entries[j].operand == operands[k].operand)
                m_touchedOf[k] = m_touchedOf[j];
        if (m_touchedOf[k] == k)
            m_touched[k].assign(
                static_cast<size_t>((write ? outputs : inputs)[operands[k].operand].span()), 0);
    }
}

void TouchCounter::mark(std::vector<uint8_t>& touched, size_t k, const TileCursor& cursor) const {
    const TileShape steps = m_space.steps(k);
    for (int64_t p = 0; p < cursor.shape().planes; ++p)
        for (int64_t r = 0; r < cursor.rows(); ++r)
            for (int64_t c = 0; c < cursor.cols(); ++c) {
                int64_t at = cursor.offset(k) + p * steps.planes + r * steps.rows + c * steps.cols;
                __atomic_store_n(&touched[static_cast<size_t>(at)], 1, __ATOMIC_RELAXED);
            }
}

void TouchCounter::note(const TileCursor& cursor) {
    for (size_t k = 0; k < m_entries.size(); ++k) {
        if (m_entries[k].once)
            __atomic_fetch_add(&m_entries[k].count, cursor.freshElements(k), __ATOMIC_RELAXED);
        else
            mark(m_touched[m_touchedOf[k]], k, cursor);
    }
}

void TouchCounter::addTo(CountedBytes& total) const {
    for (size_t k = 0; k < m_entries.size(); ++k) {
        const Entry& entry = m_entries[k];
        int64_t count = entry.count;
        if (!entry.once)
            count = m_touchedOf[k] == k
                        ? std::count(m_touched[k].begin(), m_touched[k].end(), uint8_t{1})
                        : 0;
        (entry.write ? total.written : total.read) +=
            count * static_cast<int64_t>(entry.elementBytes);
    }
}

} // namespace fuselage::cpu
