// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/integer_operands.h"

#include "core/cpu/layout.h"
#include "core/cpu/tile_pointwise.h"
#include "core/kernel/loops.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace fuselage::cpu {

namespace {

bool isConvolution(const Contraction& program) {
    return program.kind == Contraction::Kind::Conv;
}

/// Calls visit(index) for every index of the extents, the last one fastest.
template <typename Visit> void forEachIndex(const Extents& extents, Visit&& visit) {
    Extents index(extents.size(), 0);
    for (int64_t left = *elementCount(extents); left > 0; --left) {
        visit(index);
        for (size_t d = index.size(); d-- > 0;) {
            if (++index[d] < extents[d])
                break;
            index[d] = 0;
        }
    }
}

} // namespace

int64_t firstOffset(const Strip& strip, const StridedAccess& at) {
    int64_t out = at.offset;
    for (size_t d = 0; d < strip.origin.size(); ++d)
        out += at.strides[d] * strip.origin[d];
    return out;
}

RowDims::RowDims(const Contraction& program) {
    const size_t dims = program.space.size();
    if (isConvolution(program)) {
        firstColumn = 1;
        endColumn = 2;
        inner = dims - 1;
        if (dims > 3)
            outer = dims - 2;
        return;
    }
    firstColumn = dims - program.nDims;
    endColumn = dims;
    inner = firstColumn - 1;
    if (program.mDims > 1)
        outer = inner - 1;
}

int64_t RowDims::rowsOf(const Extents& box) const {
    int64_t out = 1;
    for (size_t d = 0; d < box.size(); ++d)
        out *= isColumn(d) ? 1 : box[d];
    return out;
}

// --- rows --------------------------------------------------------------------------------

IntegerRows::IntegerRows(const Contraction& program, const OperandLayout& a,
                         const VectorTable& table, bool keepSigned)
    : m_table(table), m_isConvolution(isConvolution(program)), m_window(program.window),
      m_dims(program), m_extents(a.extents),
      m_flip(a.dtype == DType::Int8 && !keepSigned ? 0x80 : 0) {
    const size_t dims = program.space.size();
    if (!m_isConvolution) {
        StridedAccess at = stridedFor(program.a, a, dims + program.k.size());
        m_offset = at.offset;
        m_kOffsets = offsetsOf(program.k, at.strides, dims);
        m_rowStrides.assign(at.strides.begin(), at.strides.begin() + static_cast<ptrdiff_t>(dims));
        m_depth = static_cast<int64_t>(m_kOffsets.size());
        for (size_t i = 0; i < m_kOffsets.size(); ++i)
            m_contiguous = m_contiguous && m_kOffsets[i] == static_cast<int64_t>(i);
        return;
    }
    m_strides = a.strides;
    m_channels = a.extents[1] / program.groups;
    m_depth = m_channels * *elementCount(m_window.kernel);
    m_rowStrides.assign(dims, 0);
    m_rowStrides[0] = a.strides[0];
    for (size_t d = 2; d < dims; ++d) {
        m_rowStrides[d] = a.strides[d] * m_window.strides[d - 2];
        m_offset -= a.strides[d] * m_window.padsBegin[d - 2];
    }
    for (size_t d = 0; d + 2 < dims; ++d)
        m_contiguous = m_contiguous && m_window.kernel[d] == 1 && m_window.padsBegin[d] == 0;
    findRuns();
}

/// Taps that follow each other in memory are one copy.
void IntegerRows::findRuns() {
    const auto bytes = static_cast<size_t>(m_channels);
    forEachIndex(m_window.kernel, [&](const Extents& tap) {
        int64_t from = 0;
        for (size_t d = 0; d < tap.size(); ++d) {
            m_taps.push_back(tap[d] * m_window.dilations[d]);
            from += m_taps.back() * m_strides[d + 2];
        }
        m_tapsFrom.push_back(from);
        if (!m_runs.empty() &&
            m_runs.back().from + static_cast<int64_t>(m_runs.back().bytes) == from)
            m_runs.back().bytes += bytes;
        else
            m_runs.push_back({from, bytes});
    });
}

bool IntegerRows::lieEvenly(const Extents& box) const {
    const bool single = m_dims.rowsOf(box) == 1;
    const bool even = !m_dims.outer || box[*m_dims.outer] == 1 ||
                      m_rowStrides[*m_dims.outer] == box[m_dims.inner] * m_rowStrides[m_dims.inner];
    // A window that ends in the padding would read past the image.
    bool inside = m_isConvolution || m_rowStrides[m_dims.inner] >= m_depth || single;
    for (size_t d = 0; m_isConvolution && inside && d + 2 < box.size(); ++d)
        inside = m_window.padsEnd[d] <= 0;
    return m_contiguous && even && inside;
}

bool IntegerRows::inPlace(const Extents& box) const {
    // Products sum four at a time; rows that do not end there are gathered into some that do.
    return m_flip == 0 && m_depth % 4 == 0 && lieEvenly(box);
}

/// Whether all rows are one copy: one behind the other, and as long as products want them.
bool IntegerRows::areOneCopy(const Extents& box) const {
    constexpr int64_t shortRow = 128, line = 64, quad = 4;
    return m_depth % (m_depth > shortRow ? line : quad) == 0 && lieEvenly(box) &&
           m_rowStrides[m_dims.inner] == m_depth;
}

int64_t IntegerRows::stride(const Extents& box) const {
    if (inPlace(box) && m_dims.rowsOf(box) > 1)
        return m_rowStrides[m_dims.inner];
    return areOneCopy(box) ? m_depth : (m_depth + 63) / 64 * 64;
}

int64_t IntegerRows::offsetOf(const Extents& at) const {
    int64_t out = m_offset;
    for (size_t d = 0; d < at.size(); ++d)
        out += at[d] * m_rowStrides[d];
    return out;
}

void IntegerRows::copy(uint8_t* to, const uint8_t* from, size_t n) const {
    m_table.integer.copy(to, from, n, m_flip);
}

/// Where the window of a row begins; it may be outside of the image.
IntegerRows::Corner IntegerRows::cornerOf(const Extents& at) const {
    Corner out{offsetOf(at), {}};
    for (size_t d = 0; d < m_window.kernel.size(); ++d)
        out.index[d] = at[d + 2] * m_window.strides[d] - m_window.padsBegin[d];
    return out;
}

/// None in the padding.
std::optional<int64_t> IntegerRows::tapOffset(const Corner& corner, size_t tap) const {
    const size_t dims = m_window.kernel.size();
    for (size_t d = 0; d < dims; ++d) {
        const int64_t index = corner.index[d] + m_taps[tap * dims + d];
        if (index < 0 || index >= m_extents[d + 2])
            return std::nullopt;
    }
    return corner.offset + m_tapsFrom[tap];
}

/// Line by line of the window along the innermost dim, where the taps inside follow each other.
void IntegerRows::gatherWindow(const uint8_t* a, const Extents& at, int64_t group, uint8_t zero,
                               uint8_t* to) const {
    const size_t dims = m_window.kernel.size(), inner = dims - 1;
    const int64_t line = m_window.kernel[inner], dilation = m_window.dilations[inner];
    const Corner corner = cornerOf(at);
    const int64_t index = corner.index[inner];
    const int64_t begin = std::clamp<int64_t>((dilation - 1 - index) / dilation, 0, line);
    const int64_t end =
        std::clamp<int64_t>((m_extents[inner + 2] - index + dilation - 1) / dilation, begin, line);
    const bool isOneCopy = line > 1 && m_tapsFrom[1] - m_tapsFrom[0] == m_channels;
    const uint8_t* first = a + corner.offset + group * m_channels;
    const auto fill = [&](int64_t taps) {
        std::memset(to, zero, static_cast<size_t>(taps * m_channels));
        to += taps * m_channels;
    };
    const auto take = [&](size_t tap, int64_t taps) {
        copy(to, first + m_tapsFrom[tap], static_cast<size_t>(taps * m_channels));
        to += taps * m_channels;
    };
    for (size_t tap = 0; tap < m_tapsFrom.size(); tap += static_cast<size_t>(line)) {
        bool inside = begin < end;
        for (size_t d = 0; d < inner && inside; ++d) {
            const int64_t outer = corner.index[d] + m_taps[tap * dims + d];
            inside = outer >= 0 && outer < m_extents[d + 2];
        }
        if (!inside) {
            fill(line);
            continue;
        }
        fill(begin);
        if (isOneCopy)
            take(tap + static_cast<size_t>(begin), end - begin);
        else
            for (int64_t t = begin; t < end; ++t)
                take(tap + static_cast<size_t>(t), 1);
        fill(line - end);
    }
}

void IntegerRows::gatherInside(const uint8_t* from, uint8_t* to) const {
    for (const Run& run : m_runs) {
        copy(to, from + run.from, run.bytes);
        to += run.bytes;
    }
}

IntegerRows::Inside IntegerRows::insideFrom(const Extents& at, int64_t count) const {
    const size_t inner = m_window.kernel.size() - 1;
    for (size_t d = 0; d < m_window.kernel.size(); ++d) {
        const int64_t stride = m_window.strides[d], pad = m_window.padsBegin[d];
        const int64_t reach = (m_window.kernel[d] - 1) * m_window.dilations[d] + 1;
        const int64_t first = at[d + 2] * stride - pad;
        const int64_t room = m_extents[d + 2] - reach; // of the last first element
        if (d == inner) {
            const int64_t begin = first >= 0 ? 0 : (-first + stride - 1) / stride;
            const int64_t end = room < first ? 0 : (room - first) / stride + 1;
            return {std::min(begin, count),
                    std::clamp<int64_t>(end, std::min(begin, count), count)};
        }
        if (first < 0 || first > room)
            break;
    }
    return {};
}

void IntegerRows::gatherProduct(const uint8_t* a, const Extents& at, uint8_t* to) const {
    const uint8_t* from = a + offsetOf(at);
    if (m_contiguous)
        return copy(to, from, static_cast<size_t>(m_depth));
    for (size_t i = 0; i < m_kOffsets.size(); ++i)
        to[i] = static_cast<uint8_t>(from[m_kOffsets[i]] ^ m_flip);
}

const uint8_t* IntegerRows::rows(const std::byte* a, const Strip& strip, int64_t group,
                                 uint8_t zero, uint8_t* buffer) const {
    const auto* data = reinterpret_cast<const uint8_t*>(a);
    if (inPlace(strip.box))
        return data + offsetOf(strip.origin) + group * m_channels;
    if (areOneCopy(strip.box)) {
        copy(buffer, data + offsetOf(strip.origin),
             static_cast<size_t>(m_dims.rowsOf(strip.box) * m_depth));
        return buffer;
    }
    const int64_t step = stride(strip.box);
    uint8_t* to = buffer;
    Extents at = strip.origin;
    const int64_t outerCount = m_dims.outer ? strip.box[*m_dims.outer] : 1;
    for (int64_t y = 0; y < outerCount; ++y) {
        if (m_dims.outer)
            at[*m_dims.outer] = strip.origin[*m_dims.outer] + y;
        at[m_dims.inner] = strip.origin[m_dims.inner];
        const int64_t count = strip.box[m_dims.inner];
        const Inside inside = m_isConvolution ? insideFrom(at, count) : Inside{};
        for (int64_t x = 0; x < count; ++x, to += step) {
            at[m_dims.inner] = strip.origin[m_dims.inner] + x;
            if (x >= inside.first && x < inside.last)
                gatherInside(data + offsetOf(at) + group * m_channels, to);
            else if (m_isConvolution)
                gatherWindow(data, at, group, zero, to);
            else
                gatherProduct(data, at, to);
        }
    }
    return buffer;
}

void IntegerRows::taps(const std::byte* a, const Extents& at, bool inside, const uint8_t* padding,
                       const uint8_t** out) const {
    const auto* data = reinterpret_cast<const uint8_t*>(a);
    if (inside) {
        const uint8_t* first = data + offsetOf(at);
        for (size_t tap = 0; tap < m_tapsFrom.size(); ++tap)
            out[tap] = first + m_tapsFrom[tap];
        return;
    }
    const Corner corner = cornerOf(at);
    for (size_t tap = 0; tap < m_tapsFrom.size(); ++tap) {
        const auto offset = tapOffset(corner, tap);
        out[tap] = offset ? data + *offset : padding;
    }
}

// --- weights -----------------------------------------------------------------------------

namespace {

/// B as int32 with its prologue applied, row-major.
std::vector<int32_t> stagedWeights(const Contraction& program, const PrepareContext& context) {
    const OperandLayout& b = context.inputs[program.b.operand];
    const OperandLayout staged{DType::Int32, b.extents, rowMajorStrides(b.extents), nullptr};
    Pointwise pass{b.extents, {identityAccess(program.b.operand, b.extents.size())}, {}, {}};
    if (program.prologueB) {
        pass.tape = program.prologueB->tape;
        pass.reads.insert(pass.reads.end(), program.prologueB->reads.begin(),
                          program.prologueB->reads.end());
    } else {
        TapeBuilder builder;
        pass.tape = builder.finish({cast(builder.input(b.dtype), DType::Int32)});
    }
    pass.writes = {identityAccess(0, b.extents.size())};
    PrepareContext inner{context.inputs, {staged}, context.table, context.threads};
    std::vector<const std::byte*> inputs;
    for (const OperandLayout& input : context.inputs)
        inputs.push_back(input.constant ? input.constant->bytes() : nullptr);
    std::vector<int32_t> out(static_cast<size_t>(*elementCount(b.extents)));
    RunContext run{context.threads, nullptr, false, {}};
    preparePointwise(pass, inner)->run({inputs, {reinterpret_cast<std::byte*>(out.data())}}, run);
    return out;
}

/// W [K, channels, taps...] as a matrix [taps..., channels] x [K of a group] for each group.
std::vector<IntegerMatrix> windowMatrices(const Contraction& program, const Extents& extents,
                                          const std::vector<int32_t>& w) {
    // Rows of W that are turned together: what they write lies side by side, in one cache line.
    constexpr size_t together = 16;
    const auto columns = static_cast<size_t>(extents[0] / program.groups);
    const auto channels = static_cast<size_t>(extents[1]);
    const size_t depth = w.size() / static_cast<size_t>(extents[0]), taps = depth / channels;
    std::vector<IntegerMatrix> out;
    for (int64_t g = 0; g < program.groups; ++g) {
        IntegerMatrix matrix{static_cast<int64_t>(depth), static_cast<int64_t>(columns),
                             std::vector<int32_t>(depth * columns)};
        const int32_t* from = w.data() + static_cast<size_t>(g) * columns * depth;
        for (size_t first = 0; first < columns; first += together)
            for (size_t c = 0; c < channels; ++c)
                for (size_t tap = 0; tap < taps; ++tap)
                    for (size_t n = first; n < std::min(first + together, columns); ++n)
                        matrix.values[(tap * channels + c) * columns + n] =
                            from[n * depth + c * taps + tap];
        out.push_back(std::move(matrix));
    }
    return out;
}

} // namespace

bool IntegerWeights::areConstant(const Contraction& program, const PrepareContext& context) {
    bool out = context.inputs[program.b.operand].constant != nullptr;
    if (program.prologueB)
        for (const Access& read : program.prologueB->reads)
            out = out && context.inputs[read.operand].constant;
    return out;
}

IntegerWeights::IntegerWeights(const Contraction& program, const PrepareContext& context) {
    const Extents& extents = context.inputs[program.b.operand].extents;
    const std::vector<int32_t> values = stagedWeights(program, context);
    if (isConvolution(program)) {
        matrices = windowMatrices(program, extents, values);
        return;
    }
    const OperandLayout plain{DType::Int32, extents, rowMajorStrides(extents), nullptr};
    const size_t dims = program.space.size();
    const StridedAccess at = stridedFor(program.b, plain, dims + program.k.size());
    const size_t columns = dims - program.nDims;
    auto part = [](const Extents& from, size_t begin, size_t end) {
        return Extents(from.begin() + static_cast<ptrdiff_t>(begin),
                       from.begin() + static_cast<ptrdiff_t>(end));
    };
    const auto k = offsetsOf(program.k, at.strides, dims);
    const auto n = offsetsOf(part(program.space, columns, dims), at.strides, columns);
    bool isRow = true;
    for (size_t i = 0; i < n.size(); ++i)
        isRow = isRow && n[i] == static_cast<int64_t>(i);
    std::map<int64_t, size_t> known;
    for (int64_t batch : offsetsOf(part(program.space, 0, program.batchDims), at.strides, 0)) {
        auto [found, isNew] = known.try_emplace(batch, matrices.size());
        matrixOfBatch.push_back(found->second);
        if (!isNew)
            continue;
        IntegerMatrix matrix{static_cast<int64_t>(k.size()), static_cast<int64_t>(n.size()), {}};
        matrix.values.reserve(k.size() * n.size()); // growing would touch the memory twice
        for (int64_t row : k) {
            const int32_t* from = values.data() + (at.offset + batch + row);
            if (isRow)
                matrix.values.insert(matrix.values.end(), from, from + n.size());
            for (size_t i = 0; !isRow && i < n.size(); ++i)
                matrix.values.push_back(from[n[i]]);
        }
        matrices.push_back(std::move(matrix));
    }
}

std::vector<int32_t> IntegerWeights::columnSums(size_t matrix, bool allGroups) const {
    std::vector<int32_t> out;
    for (size_t i = allGroups ? 0 : matrix; i < (allGroups ? matrices.size() : matrix + 1); ++i) {
        const IntegerMatrix& x = matrices[i];
        const auto columns = static_cast<size_t>(x.n);
        std::vector<int64_t> sums(columns, 0); // at most k * 255
        for (size_t row = 0; row < x.values.size(); row += columns)
            for (size_t column = 0; column < columns; ++column)
                sums[column] += x.values[row + column];
        for (int64_t sum : sums)
            out.push_back(static_cast<int32_t>(sum));
    }
    return out;
}

} // namespace fuselage::cpu
