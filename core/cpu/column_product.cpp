// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/column_product.h"

#include "core/cpu/layout.h"
#include "core/cpu/plain_elements.h"

#include <algorithm>
#include <map>
#include <type_traits>

namespace fuselage::cpu {

namespace {

constexpr size_t rowsTogether = ColumnLoops::rows;
/// Rows of A that one worker takes through all panels stay in its second-level cache.
constexpr size_t takenBytes = 256 << 10, mostRows = 64;

MatrixPlaces placesOf(const Contraction& program, const Access& access, const OperandLayout& layout,
                      bool ofB) {
    const size_t dims = program.space.size(), rows = program.batchDims + program.mDims;
    const StridedAccess at = stridedFor(access, layout, dims + program.k.size());
    const auto along = [&](size_t first, size_t last) {
        return offsetsOf({program.space.begin() + static_cast<std::ptrdiff_t>(first),
                          program.space.begin() + static_cast<std::ptrdiff_t>(last)},
                         at.strides, first);
    };
    MatrixPlaces out{along(0, program.batchDims),
                     ofB ? along(rows, dims) : along(program.batchDims, rows),
                     offsetsOf(program.k, at.strides, dims)};
    for (int64_t& offset : out.batches)
        offset += at.offset;
    return out;
}

/// From each to the next, where that is the same forwards.
std::optional<size_t> evenStep(const std::vector<int64_t>& offsets) {
    const int64_t step = offsets.size() < 2 ? 1 : offsets[1] - offsets[0];
    for (size_t i = 1; i < offsets.size(); ++i)
        if (offsets[i] - offsets[i - 1] != step)
            return std::nullopt;
    return step > 0 ? std::optional<size_t>(step) : std::nullopt;
}

template <typename T> class Columns final : public PlainContraction {
public:
    Columns(MatrixOperand a, MatrixOperand b, DType sums, ColumnLoops::Tile<T> tile,
            Threads& threads)
        : m_tile(tile), m_aType(a.dtype), m_bType(b.dtype), m_cType(sums), m_a(std::move(a.places)),
          m_b(std::move(b.places)), m_depthStep(evenStep(m_b.depth)),
          m_isDirect(!b.constant && isOwn(b.dtype) && m_depthStep && evenStep(m_b.lines) == 1 &&
                     m_a.lines.size() <= rowsTogether) {
        if (b.constant)
            keepPacked(b.constant->bytes(), threads);
        else
            scratchBytes = packedBytes();
    }

    void run(const std::byte* a, const std::byte* b, std::byte* c, std::byte* scratch,
             Threads& threads) const override {
        const size_t results = m_a.lines.size() * m_b.lines.size() * sizeOf(m_cType);
        if (results == 0)
            return;
        for (size_t batch = 0; batch < m_a.batches.size(); ++batch) {
            const T* packed = m_packed.empty() ? reinterpret_cast<const T*>(scratch)
                                               : m_packed.at(m_b.batches[batch]);
            if (m_packed.empty() && (batch == 0 || m_b.batches[batch] != m_b.batches[batch - 1]))
                pack(b, m_b.batches[batch], reinterpret_cast<T*>(scratch), threads);
            multiply(a, b, batch, packed, c + batch * results, threads);
        }
    }

private:
    static constexpr size_t together = ColumnLoops::columns<T>;

    /// Of elements that the loops take as they are.
    static bool isOwn(DType type) {
        return std::is_same_v<T, double> ? type == DType::Float64
                                         : !isFloat(type) && sizeOf(type) == sizeof(T);
    }

    size_t panels() const { return (m_b.lines.size() + together - 1) / together; }

    /// Panels that B itself is: all but a last one that is not full.
    size_t directPanels() const { return m_isDirect ? m_b.lines.size() / together : 0; }

    size_t packedBytes() const {
        return (panels() - directPanels()) * m_b.depth.size() * together * sizeof(T);
    }

    void keepPacked(const std::byte* b, Threads& threads) {
        for (int64_t batch : m_b.batches)
            if (!m_packed.contains(batch))
                m_packed[batch] = reinterpret_cast<const T*>(
                    threads.pages().filled(packedBytes(), [&](std::byte* to) {
                        pack(b, batch, reinterpret_cast<T*>(to), threads);
                    }));
    }

    /// [panel, depth, column]; past the last column there are zeros.
    void pack(const std::byte* b, int64_t batch, T* to, Threads& threads) const {
        const size_t depth = m_b.depth.size(), first = directPanels();
        threads.forRange(panels() - first, 1, [&](size_t, size_t begin, size_t end) {
            for (size_t panel = begin; panel < end; ++panel) {
                const size_t column = (first + panel) * together,
                             count = std::min(together, m_b.lines.size() - column);
                for (size_t k = 0; k < depth; ++k) {
                    T* line = to + (panel * depth + k) * together;
                    gather(m_bType, b, batch + m_b.depth[k], m_b.lines.data() + column, count, line,
                           1);
                    std::fill(line + count, line + together, T(0));
                }
            }
        });
    }

    /// The elements at `base` and each of the offsets, `step` apart.
    static void gather(DType type, const std::byte* from, int64_t base, const int64_t* offsets,
                       size_t count, T* to, size_t step) {
        if (isOwn(type))
            for (size_t i = 0; i < count; ++i)
                to[i * step] = plainAt<T>(from, base + offsets[i]);
        else
            for (size_t i = 0; i < count; ++i)
                to[i * step] = elementAs<T>(type, from, base + offsets[i]);
    }

    /// Blocks of rows, and of panels where those are fewer than workers.
    void multiply(const std::byte* a, const std::byte* b, size_t batch, const T* packed,
                  std::byte* c, Threads& threads) const {
        const size_t depth = m_a.depth.size(), rows = m_a.lines.size();
        const size_t fit = takenBytes / std::max<size_t>(depth * sizeof(T), 1);
        const size_t block = std::clamp(fit / rowsTogether * rowsTogether, rowsTogether, mostRows);
        const size_t blocks = (rows + block - 1) / block;
        const size_t workers = static_cast<size_t>(threads.count());
        const size_t parts = std::clamp<size_t>(workers / std::max<size_t>(blocks, 1), 1, panels());
        threads.forRange(blocks * parts, 1, [&](size_t worker, size_t begin, size_t end) {
            T* const taken = reinterpret_cast<T*>(
                threads.scratch(worker).reserve(block * depth * sizeof(T) + 1));
            for (size_t each = begin; each < end; ++each) {
                const size_t first = each / parts * block, part = each % parts;
                const size_t count = std::min(block, rows - first);
                take(a, batch, first, count, taken);
                for (size_t p = panels() * part / parts; p < panels() * (part + 1) / parts; ++p)
                    overRows(taken, panelOf(b, batch, packed, p), first, count, p, c);
            }
        });
    }

    /// Rows of A as the loops want them: groups of [depth, row], zeros past the last row.
    void take(const std::byte* a, size_t batch, size_t first, size_t count, T* to) const {
        const size_t depth = m_a.depth.size();
        for (size_t r = 0; r < (count + rowsTogether - 1) / rowsTogether * rowsTogether; ++r) {
            T* line = to + r / rowsTogether * rowsTogether * depth + r % rowsTogether;
            if (r < count)
                gather(m_aType, a, m_a.batches[batch] + m_a.lines[first + r], m_a.depth.data(),
                       depth, line, rowsTogether);
            else
                for (size_t k = 0; k < depth; ++k)
                    line[k * rowsTogether] = 0;
        }
    }

    struct Panel {
        const T* data = nullptr;
        size_t step = 0;
    };

    Panel panelOf(const std::byte* b, size_t batch, const T* packed, size_t panel) const {
        const size_t direct = directPanels();
        if (panel >= direct)
            return {packed + (panel - direct) * m_b.depth.size() * together, together};
        const int64_t first = m_b.batches[batch] + m_b.lines[panel * together];
        return {reinterpret_cast<const T*>(b) + first, *m_depthStep};
    }

    void overRows(const T* taken, const Panel& panel, size_t first, size_t count, size_t at,
                  std::byte* c) const {
        const size_t depth = m_a.depth.size(), columns = m_b.lines.size();
        const size_t column = at * together, wide = std::min(together, columns - column);
        alignas(64) T aside[rowsTogether * together];
        for (size_t group = 0; group < count; group += rowsTogether) {
            const size_t high = std::min(rowsTogether, count - group);
            const size_t result = (first + group) * columns + column;
            const bool isWhole = isOwn(m_cType) && wide == together && high == rowsTogether;
            T* const out = isWhole ? reinterpret_cast<T*>(c) + result : aside;
            const size_t step = isWhole ? columns : together;
            m_tile({out, taken + group * depth, panel.data, step, panel.step, depth, high});
            for (size_t r = 0; r < high && !isWhole; ++r)
                for (size_t n = 0; n < wide; ++n)
                    storeAs(m_cType, c, static_cast<int64_t>(result + r * columns + n),
                            aside[r * together + n]);
        }
    }

    ColumnLoops::Tile<T> m_tile;
    DType m_aType, m_bType, m_cType;
    MatrixPlaces m_a, m_b;
    std::optional<size_t> m_depthStep;    ///< where rows of B are equally far from each other
    bool m_isDirect;                      ///< few rows: the panels lie in B
    std::map<int64_t, const T*> m_packed; ///< a constant B, by where its matrices begin
};

} // namespace

std::unique_ptr<PlainContraction> makeColumnProduct(MatrixOperand a, MatrixOperand b, DType sums,
                                                    const PrepareContext& context) {
    const ColumnLoops& loops = context.table.columns;
    std::unique_ptr<PlainContraction> out;
    const auto make = [&]<typename T>(ColumnLoops::Tile<T> tile) {
        out = std::make_unique<Columns<T>>(std::move(a), std::move(b), sums, tile, context.threads);
    };
    if (isFloat(sums))
        make(loops.doubles);
    else if (bitsOf(sums) <= 32)
        make(loops.words);
    else
        make(loops.longWords);
    out->tactic = std::string("columns ") + context.table.name;
    out->isFallback = false;
    return out;
}

std::unique_ptr<PlainContraction> makeColumnProduct(const Contraction& program,
                                                    const OperandLayout& a, const OperandLayout& b,
                                                    const PrepareContext& context) {
    return makeColumnProduct({a.dtype, placesOf(program, program.a, a, false), a.constant},
                             {b.dtype, placesOf(program, program.b, b, true), b.constant},
                             program.accumulate, context);
}

} // namespace fuselage::cpu
