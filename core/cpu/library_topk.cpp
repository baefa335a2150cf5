// SPDX-License-Identifier: Apache-2.0
// TopK: each row is read once, against the least of the best that were found so far.
#include "core/cpu/library.h"
#include "core/ops/tensor_index.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

namespace fuselage::cpu {

namespace {

/// The larger key is the better element; of two alike the one in front.
struct Candidate {
    uint64_t key = 0;
    int64_t index = 0;

    bool operator<(const Candidate& other) const { // in front of the other
        return key > other.key || (key == other.key && index < other.index);
    }
};

/// Numbers in the order of their values; NaN, whichever, is the largest, and -0 is 0.
template <typename T> uint64_t keyOf(T value) {
    constexpr uint64_t top = uint64_t{1} << 63U;
    if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(value))
            return ~uint64_t{0};
        const auto bits = std::bit_cast<uint64_t>(static_cast<double>(value) + 0.0);
        return (bits & top) != 0 ? ~bits : bits | top;
    } else if constexpr (std::is_signed_v<T>) {
        return static_cast<uint64_t>(static_cast<int64_t>(value)) ^ top;
    } else {
        return value;
    }
}

template <typename T> class TopKernel final : public Kernel {
public:
    TopKernel(const LibraryCall& call, size_t axis, size_t count)
        : m_source(call.input(0)), m_values(call.output(0)), m_indices(call.output(1)),
          m_largest(call.node().attributes.integer("largest", 1) != 0), m_count(count) {
        const Extents& extents = m_source.layout.extents;
        m_outer = static_cast<size_t>(countOf(extents, 0, axis));
        m_length = static_cast<size_t>(extents[axis]);
        m_inner = static_cast<size_t>(countOf(extents, axis + 1, extents.size()));
        tactic = "best of a row";
    }

    void run(const Operands& operands, RunContext& context) override {
        const T* from = reinterpret_cast<const T*>(m_source.read(operands));
        T* values = reinterpret_cast<T*>(m_values.write(operands));
        auto* indices = reinterpret_cast<int64_t*>(m_indices.write(operands));
        context.threads.forRange(
            m_outer * m_inner, 32768 / (m_length + 1) + 1,
            [&](size_t worker, size_t begin, size_t end) {
                auto* best = reinterpret_cast<Candidate*>(
                    context.threads.scratch(worker).reserve(room() * sizeof(Candidate)));
                for (size_t row = begin; row < end; ++row) {
                    const T* x = from + row / m_inner * m_length * m_inner + row % m_inner;
                    find(x, best);
                    const size_t at = row / m_inner * m_count * m_inner + row % m_inner;
                    for (size_t i = 0; i < m_count; ++i) {
                        const auto place = static_cast<size_t>(best[i].index);
                        if (values)
                            values[at + i * m_inner] = x[place * m_inner];
                        if (indices)
                            indices[at + i * m_inner] = best[i].index;
                    }
                }
            });
    }

private:
    /// Twice as many as are wanted: what is not among the best is thrown away that often only.
    size_t room() const { return std::min(m_length, 2 * m_count + 64); }

    void find(const T* x, Candidate* best) const {
        Candidate* end = best;
        Candidate* const full = best + room();
        Candidate* const wanted = best + m_count;
        // What is not better than the last of the best needs no key; of NaN only the key can tell.
        T last = T();
        bool isFull = false;
        for (size_t i = 0; i < m_length; ++i) {
            const T value = x[i * m_inner];
            if (isFull && (m_largest ? value <= last : value >= last))
                continue;
            *end++ = {m_largest ? keyOf(value) : ~keyOf(value), static_cast<int64_t>(i)};
            if (end < full || i + 1 == m_length)
                continue;
            std::nth_element(best, wanted - 1, end);
            end = wanted;
            last = x[static_cast<size_t>(wanted[-1].index) * m_inner];
            isFull = true;
        }
        if (end > wanted)
            std::nth_element(best, wanted - 1, end);
        std::sort(best, wanted);
    }

    LibraryOperand m_source, m_values, m_indices;
    bool m_largest;
    size_t m_count, m_outer = 1, m_length = 1, m_inner = 1;
};

template <typename T> KernelResult top(const LibraryCall& call, size_t axis, int64_t count) {
    return std::unique_ptr<Kernel>(
        std::make_unique<TopKernel<T>>(call, axis, static_cast<size_t>(count)));
}

} // namespace

KernelResult prepareTopK(const LibraryCall& call) {
    const OperandLayout &x = call.input(0).layout, &k = call.input(1).layout;
    const auto axis = call.axis(-1);
    const OperandLayout& result = call.output(call.output(0) ? 0 : 1).layout;
    const bool isNumber = k.constant && k.constant->elementCount() == 1 && isInteger(k.dtype);
    const int64_t count = isNumber ? k.constant->intAt(0) : -1;
    if (count < 0)
        return failure("cpu.constant", "k must be constant");
    if (!axis || count == 0 || count > x.extents[*axis] || elementCount(result.extents) == 0 ||
        result.extents.size() != x.extents.size() || result.extents[*axis] != count)
        return failure("cpu.shape", "k does not fit the axis, or the result is empty");
    switch (x.dtype) {
    case DType::Float32:
        return top<float>(call, *axis, count);
    case DType::Float64:
        return top<double>(call, *axis, count);
    case DType::Int32:
        return top<int32_t>(call, *axis, count);
    case DType::Int64:
        return top<int64_t>(call, *axis, count);
    case DType::Int8:
        return top<int8_t>(call, *axis, count);
    case DType::UInt8:
        return top<uint8_t>(call, *axis, count);
    default:
        return failure("cpu.dtype", std::string("no order of ") + nameOf(x.dtype));
    }
}

} // namespace fuselage::cpu
