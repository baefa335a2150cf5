// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample with all positions and weights in tables. Works on rows along the dimension
// that is innermost in memory, so both NCHW and NHWC run over contiguous floats.
#include "core/cpu/library.h"
#include "core/ops/resample.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace fuselage::cpu {

namespace {

struct SourceTap {
    int64_t offset = 0; ///< elements
    float weight = 1;
};

/// A dimension around the rows: for every position of the result, where to read.
struct OuterDim {
    int64_t extent = 1;
    int64_t stride = 0; ///< of the result, elements
    std::vector<SourceTap> taps;
    std::vector<uint32_t> first; ///< per position, in taps; one more at the end
};

/// Taps that the clamping at an edge sends to one element become one.
std::vector<ResizeTap> merged(const std::vector<ResizeTap>& taps) {
    std::vector<ResizeTap> out;
    for (const ResizeTap& tap : taps) {
        if (!out.empty() && out.back().index == tap.index)
            out.back().weight += tap.weight;
        else
            out.push_back(tap);
    }
    return out;
}

OuterDim outerDim(int64_t extent, int64_t stride, int64_t sourceStride,
                  const ResizedAxisTable* table) {
    OuterDim out{extent, stride, {}, {}};
    for (int64_t i = 0; i < extent; ++i) {
        out.first.push_back(static_cast<uint32_t>(out.taps.size()));
        if (!table) {
            out.taps.push_back({i * sourceStride, 1});
            continue;
        }
        for (const ResizeTap& tap : merged(table->taps[static_cast<size_t>(i)]))
            out.taps.push_back({tap.index * sourceStride, static_cast<float>(tap.weight)});
    }
    out.first.push_back(static_cast<uint32_t>(out.taps.size()));
    return out;
}

/// The rows [begin, end) of the result in order, each with its source rows.
class RowCursor {
public:
    RowCursor(const std::vector<OuterDim>& dims, size_t begin)
        : m_dims(dims), m_index(dims.size()) {
        for (size_t d = dims.size(); d-- > 0;) {
            m_index[d] = begin % static_cast<size_t>(dims[d].extent);
            begin /= static_cast<size_t>(dims[d].extent);
        }
    }

    int64_t target() const {
        int64_t at = 0;
        for (size_t d = 0; d < m_dims.size(); ++d)
            at += static_cast<int64_t>(m_index[d]) * m_dims[d].stride;
        return at;
    }

    /// Every combination of the dimensions' taps, the last dimension fastest.
    const std::vector<SourceTap>& sources() {
        m_sources.assign(1, SourceTap{});
        for (size_t d = 0; d < m_dims.size(); ++d) {
            const OuterDim& dim = m_dims[d];
            uint32_t first = dim.first[m_index[d]], last = dim.first[m_index[d] + 1];
            if (last - first == 1 && dim.taps[first].weight == 1) {
                for (SourceTap& source : m_sources)
                    source.offset += dim.taps[first].offset;
                continue;
            }
            m_next.clear();
            for (const SourceTap& source : m_sources)
                for (uint32_t t = first; t < last; ++t)
                    m_next.push_back(
                        {source.offset + dim.taps[t].offset, source.weight * dim.taps[t].weight});
            m_sources.swap(m_next);
        }
        return m_sources;
    }

    void next() {
        for (size_t d = m_dims.size(); d-- > 0;) {
            if (++m_index[d] < static_cast<size_t>(m_dims[d].extent))
                return;
            m_index[d] = 0;
        }
    }

private:
    const std::vector<OuterDim>& m_dims;
    std::vector<size_t> m_index;
    std::vector<SourceTap> m_sources, m_next;
};

class ResizeKernel final : public Kernel {
public:
    ResizeKernel(const LibraryCall& call, const ResizeTable& table, size_t innermost);
    void run(const Operands& operands, RunContext& context) override;

private:
    void setInnerTaps(const ResizedAxisTable& table);
    void runInterpolated(const float* from, float* to, Threads& threads) const;
    template <typename T> void runNearest(const T* from, T* to, Threads& threads) const;

    LibraryOperand m_source, m_result;
    const VectorTable& m_table;
    std::vector<OuterDim> m_outer;
    size_t m_rows = 1;
    size_t m_from = 0, m_to = 0; ///< elements of a row
    bool m_nearest = false;
    size_t m_innerTaps = 0;         ///< zero: rows keep their length
    std::vector<int32_t> m_indices; ///< [tap][position]
    std::vector<float> m_weights;
};

ResizeKernel::ResizeKernel(const LibraryCall& call, const ResizeTable& table, size_t innermost)
    : m_source(call.input(0)), m_result(call.output(0)), m_table(call.context().table),
      m_nearest(table.nearest) {
    const OperandLayout &from = m_source.layout, &to = m_result.layout;
    std::vector<const ResizedAxisTable*> byAxis(to.extents.size(), nullptr);
    for (const ResizedAxisTable& axis : table.axes)
        byAxis[axis.axis] = &axis;
    std::vector<size_t> order(to.extents.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return to.strides[a] > to.strides[b]; });
    for (size_t d : order)
        if (d != innermost) {
            m_outer.push_back(outerDim(to.extents[d], to.strides[d], from.strides[d], byAxis[d]));
            m_rows *= static_cast<size_t>(to.extents[d]);
        }
    m_from = static_cast<size_t>(from.extents[innermost]);
    m_to = static_cast<size_t>(to.extents[innermost]);
    if (byAxis[innermost])
        setInnerTaps(*byAxis[innermost]);
    tactic = table.nearest ? "resize nearest" : std::string("resize ") + m_table.name;
}

void ResizeKernel::setInnerTaps(const ResizedAxisTable& table) {
    std::vector<std::vector<ResizeTap>> taps;
    for (const auto& position : table.taps) {
        taps.push_back(merged(position));
        m_innerTaps = std::max(m_innerTaps, taps.back().size());
    }
    m_indices.resize(m_innerTaps * m_to);
    m_weights.resize(m_innerTaps * m_to, 0.0F);
    for (size_t i = 0; i < m_to; ++i)
        for (size_t t = 0; t < m_innerTaps; ++t) {
            // A position with fewer taps repeats its last one with no weight.
            const ResizeTap& tap = taps[i][std::min(t, taps[i].size() - 1)];
            m_indices[t * m_to + i] = static_cast<int32_t>(tap.index);
            m_weights[t * m_to + i] = t < taps[i].size() ? static_cast<float>(tap.weight) : 0.0F;
        }
}

void ResizeKernel::runInterpolated(const float* from, float* to, Threads& threads) const {
    threads.forRange(m_rows, 16384 / (m_to + 1) + 1, [&](size_t worker, size_t begin, size_t end) {
        auto* blended = reinterpret_cast<float*>(
            threads.scratch(worker).reserve((m_innerTaps ? m_from : 0) * sizeof(float) + 64));
        RowCursor cursor(m_outer, begin);
        std::vector<const float*> rows;
        std::vector<float> weights;
        for (size_t row = begin; row < end; ++row, cursor.next()) {
            rows.clear();
            weights.clear();
            for (const SourceTap& source : cursor.sources()) {
                rows.push_back(from + source.offset);
                weights.push_back(source.weight);
            }
            float* target = to + cursor.target();
            bool whole = rows.size() == 1 && weights[0] == 1;
            const float* line = whole ? rows[0] : blended;
            if (!m_innerTaps || !whole)
                m_table.weightedSum(m_innerTaps ? blended : target, rows.data(), weights.data(),
                                    rows.size(), m_innerTaps ? m_from : m_to);
            if (m_innerTaps)
                m_table.gatherSum(target, line, m_indices.data(), m_weights.data(), m_innerTaps,
                                  m_to);
        }
    });
}

template <typename T> void ResizeKernel::runNearest(const T* from, T* to, Threads& threads) const {
    threads.forRange(m_rows, 32768 / (m_to + 1) + 1, [&](size_t, size_t begin, size_t end) {
        RowCursor cursor(m_outer, begin);
        for (size_t row = begin; row < end; ++row, cursor.next()) {
            const T* source = from + cursor.sources()[0].offset;
            T* target = to + cursor.target();
            if (!m_innerTaps) {
                std::memcpy(target, source, m_to * sizeof(T));
                continue;
            }
            for (size_t i = 0; i < m_to; ++i)
                target[i] = source[m_indices[i]];
        }
    });
}

void ResizeKernel::run(const Operands& operands, RunContext& context) {
    const std::byte* from = m_source.read(operands);
    std::byte* to = m_result.write(operands);
    auto nearest = [&](auto element) {
        using T = decltype(element);
        runNearest(reinterpret_cast<const T*>(from), reinterpret_cast<T*>(to), context.threads);
    };
    if (!m_nearest)
        return runInterpolated(reinterpret_cast<const float*>(from), reinterpret_cast<float*>(to),
                               context.threads);
    switch (sizeOf(m_source.layout.dtype)) {
    case 1:
        return nearest(uint8_t{});
    case 2:
        return nearest(uint16_t{});
    case 4:
        return nearest(uint32_t{});
    default:
        return nearest(uint64_t{});
    }
}

} // namespace

KernelResult prepareResize(const LibraryCall& call) {
    const OperandLayout &from = call.input(0).layout, &to = call.output(0).layout;
    const ShapeOperands operands(call, {1, 2, 3});
    if (!operands.isKnown)
        return failure("cpu.constant", "scales, sizes and roi of a Resize must be constant");
    auto table = resizeTable(call.node(), operands.inputs);
    if (!table)
        return failure(table.error());
    if (table->extents != to.extents || from.span() > std::numeric_limits<int32_t>::max() ||
        elementCount(to.extents).value_or(0) == 0)
        return failure("cpu.shape", "the result is empty, too large or not what was inferred");
    if (!table->nearest && from.dtype != DType::Float32)
        return failure("cpu.dtype", std::string("no interpolation of ") + nameOf(from.dtype));
    for (const ResizedAxisTable& axis : table->axes)
        if (!axis.outside.empty())
            return failure("cpu.support", "positions outside of the operand");
    auto innermost = rowDim(from, to);
    if (!innermost)
        return failure("cpu.layout", "rows are not contiguous");
    return std::unique_ptr<Kernel>(std::make_unique<ResizeKernel>(call, *table, *innermost));
}

} // namespace fuselage::cpu
