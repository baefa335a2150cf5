// SPDX-License-Identifier: Apache-2.0
// Contractions in types that oneDNN does not have: products of matrices by columns that lie side by
// side, convolutions one result element at a time.
#include "core/cpu/contraction.h"
#include "core/cpu/layout.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace fuselage::cpu {

namespace {

template <typename T> T at(const std::byte* data, int64_t index) {
    T value;
    std::memcpy(&value, data + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
    return value;
}

/// Element of any dtype as the accumulator's type.
template <typename Acc> Acc element(DType type, const std::byte* data, int64_t index) {
    switch (type) {
    case DType::Float32:
        return static_cast<Acc>(at<float>(data, index));
    case DType::Float64:
        return static_cast<Acc>(at<double>(data, index));
    case DType::Float16:
        return static_cast<Acc>(halfToFloat(at<uint16_t>(data, index)));
    case DType::BFloat16:
        return static_cast<Acc>(bfloat16ToFloat(at<uint16_t>(data, index)));
    case DType::Int8:
        return static_cast<Acc>(at<int8_t>(data, index));
    case DType::Int16:
        return static_cast<Acc>(at<int16_t>(data, index));
    case DType::Int32:
        return static_cast<Acc>(at<int32_t>(data, index));
    case DType::UInt8:
    case DType::Bool:
        return static_cast<Acc>(at<uint8_t>(data, index));
    case DType::UInt16:
        return static_cast<Acc>(at<uint16_t>(data, index));
    case DType::UInt32:
        return static_cast<Acc>(at<uint32_t>(data, index));
    default:
        return static_cast<Acc>(at<int64_t>(data, index));
    }
}

template <typename Acc> void store(DType type, std::byte* data, int64_t index, Acc value) {
    auto put = [&](auto narrow) {
        std::memcpy(data + index * static_cast<int64_t>(sizeof narrow), &narrow, sizeof narrow);
    };
    switch (type) {
    case DType::Float32:
        return put(static_cast<float>(value));
    case DType::Float64:
        return put(static_cast<double>(value));
    default:
        break;
    }
    auto integer = static_cast<int64_t>(value);
    switch (sizeOf(type)) {
    case 1:
        return put(static_cast<uint8_t>(integer));
    case 2:
        return put(static_cast<uint16_t>(integer));
    case 4:
        return put(static_cast<uint32_t>(integer));
    default:
        return put(integer);
    }
}

/// Steps an index tuple; false after the last.
bool advance(Extents& index, const Extents& extents) {
    for (size_t d = index.size(); d-- > 0;) {
        if (++index[d] < extents[d])
            return true;
        index[d] = 0;
    }
    return false;
}

} // namespace

NaiveContraction::NaiveContraction(const Contraction& program, const OperandLayout& a,
                                   const OperandLayout& b)
    : m_program(program), m_a(a), m_b(b) {
    if (program.kind != Contraction::Kind::MatMul)
        return;
    size_t dims = program.space.size() + program.k.size();
    m_aAccess = stridedFor(program.a, a, dims);
    m_bAccess = stridedFor(program.b, b, dims);
}

/// Calls visit(offset in a, offset in b) for every product of one result element.
template <typename Acc, typename Visit>
void NaiveContraction::products(const Extents& index, Visit&& visit) const {
    bool transposed = m_program.kind == Contraction::Kind::ConvTranspose;
    const SlidingWindow& window = m_program.window;
    int64_t groups = m_program.groups;
    int64_t channels = m_a.extents[1] / groups, results = m_program.space[1] / groups;
    int64_t group = index[1] / results;
    Extents steps = {channels};
    steps.insert(steps.end(), window.kernel.begin(), window.kernel.end());
    Extents step(steps.size(), 0);
    do {
        int64_t c = group * channels + step[0];
        int64_t a = index[0] * m_a.strides[0] + c * m_a.strides[1];
        int64_t b = transposed ? c * m_b.strides[0] + index[1] % results * m_b.strides[1]
                               : index[1] * m_b.strides[0] + step[0] * m_b.strides[1];
        bool inside = true;
        for (size_t d = 0; d < window.kernel.size() && inside; ++d) {
            int64_t tap = step[d + 1] * window.dilations[d];
            int64_t at = 0;
            if (transposed) {
                int64_t shifted = index[d + 2] + window.padsBegin[d] - tap;
                inside = shifted >= 0 && shifted % window.strides[d] == 0;
                at = shifted / window.strides[d];
            } else {
                at = index[d + 2] * window.strides[d] - window.padsBegin[d] + tap;
            }
            inside = inside && at >= 0 && at < m_a.extents[d + 2];
            a += at * m_a.strides[d + 2];
            b += step[d + 1] * m_b.strides[d + 2];
        }
        if (inside)
            visit(a, b);
    } while (advance(step, steps));
}

template <typename Acc>
void NaiveContraction::runAs(const std::byte* a, const std::byte* b, std::byte* c,
                             Threads& threads) const {
    const Extents& space = m_program.space;
    auto count = elementCount(space).value_or(0);
    threads.forRange(static_cast<size_t>(count), 64, [&](size_t, size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
            Extents index(space.size());
            auto rest = static_cast<int64_t>(i);
            for (size_t d = space.size(); d-- > 0;) {
                index[d] = rest % space[d];
                rest /= space[d];
            }
            Acc sum = 0;
            products<Acc>(index, [&](int64_t at, int64_t bt) {
                Acc product = element<Acc>(m_a.dtype, a, at) * element<Acc>(m_b.dtype, b, bt);
                sum += product;
            });
            store(m_program.accumulate, c, static_cast<int64_t>(i), sum);
        }
    });
}

/// Matrix by matrix: B is written out with its columns side by side once, each row of A as it
/// comes.
template <typename Acc>
void NaiveContraction::multiply(const std::byte* a, const std::byte* b, std::byte* c,
                                ColumnLoops::Sums<Acc> sums, Threads& threads) const {
    constexpr size_t together = ColumnLoops::columns, side = ColumnLoops::rows;
    const size_t batchDims = m_program.batchDims, mDims = m_program.mDims;
    const size_t dims = m_program.space.size();
    const Extents& space = m_program.space;
    auto along = [&](const StridedAccess& at, size_t first, size_t last) {
        return offsetsOf({space.begin() + static_cast<std::ptrdiff_t>(first),
                          space.begin() + static_cast<std::ptrdiff_t>(last)},
                         at.strides, first);
    };
    const auto batchA = along(m_aAccess, 0, batchDims), batchB = along(m_bAccess, 0, batchDims),
               rows = along(m_aAccess, batchDims, batchDims + mDims),
               columns = along(m_bAccess, batchDims + mDims, dims),
               depthA = offsetsOf(m_program.k, m_aAccess.strides, dims),
               depthB = offsetsOf(m_program.k, m_bAccess.strides, dims);
    const size_t depth = depthA.size(),
                 width = (columns.size() + together - 1) / together * together;
    std::vector<Acc> packed(depth * width);
    for (size_t batch = 0; batch < batchA.size(); ++batch) {
        const int64_t ofA = m_aAccess.offset + batchA[batch],
                      ofB = m_bAccess.offset + batchB[batch];
        if (batch == 0 || batchB[batch] != batchB[batch - 1])
            threads.forRange(depth, 16, [&](size_t, size_t begin, size_t end) {
                for (size_t k = begin; k < end; ++k)
                    for (size_t n = 0; n < columns.size(); ++n)
                        packed[k * width + n] =
                            element<Acc>(m_b.dtype, b, ofB + depthB[k] + columns[n]);
            });
        const size_t groups = (rows.size() + side - 1) / side;
        threads.forRange(groups, 1, [&](size_t, size_t begin, size_t end) {
            std::vector<Acc> taken(side * depth), made(side * width);
            for (size_t group = begin; group < end; ++group) {
                const size_t first = group * side, count = std::min(side, rows.size() - first);
                for (size_t m = 0; m < count; ++m)
                    for (size_t k = 0; k < depth; ++k)
                        taken[m * depth + k] =
                            element<Acc>(m_a.dtype, a, ofA + rows[first + m] + depthA[k]);
                for (size_t n = 0; n < width; n += together)
                    sums(made.data() + n, taken.data(), packed.data() + n, width, depth);
                for (size_t m = 0; m < count; ++m) {
                    const size_t at = (batch * rows.size() + first + m) * columns.size();
                    for (size_t n = 0; n < columns.size(); ++n)
                        store(m_program.accumulate, c, static_cast<int64_t>(at + n),
                              made[m * width + n]);
                }
            }
        });
    }
}

void NaiveContraction::run(const std::byte* a, const std::byte* b, std::byte* c,
                           Threads& threads) const {
    const ColumnLoops& loops = vectorTable().columns;
    const DType type = m_program.accumulate;
    if (m_program.kind != Contraction::Kind::MatMul)
        isFloat(type) ? runAs<double>(a, b, c, threads) : runAs<uint64_t>(a, b, c, threads);
    else if (isFloat(type))
        multiply(a, b, c, loops.doubles, threads);
    else if (bitsOf(type) <= 32)
        multiply(a, b, c, loops.words, threads);
    else
        multiply(a, b, c, loops.longWords, threads);
}

} // namespace fuselage::cpu
