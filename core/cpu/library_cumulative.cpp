// SPDX-License-Identifier: Apache-2.0
// CumSum and CumProd: X is [outer, length, inner], and each row [inner] is added to those before.
#include "core/cpu/library.h"
#include "core/ops/tensor_index.h"

#include <algorithm>
#include <type_traits>

namespace fuselage::cpu {

namespace {

struct Direction {
    bool isSum = true;
    bool exclusive = false; ///< an element is not in its own result
    bool reverse = false;
};

template <typename T> class CumulativeKernel final : public Kernel {
public:
    CumulativeKernel(const LibraryCall& call, size_t axis, Direction direction)
        : m_source(call.input(0)), m_result(call.output(0)), m_direction(direction) {
        const Extents& extents = m_source.layout.extents;
        m_outer = static_cast<size_t>(countOf(extents, 0, axis));
        m_length = static_cast<size_t>(extents[axis]);
        m_inner = static_cast<size_t>(countOf(extents, axis + 1, extents.size()));
        tactic = direction.isSum ? "running sums" : "running products";
    }

    void run(const Operands& operands, RunContext& context) override {
        const T* from = reinterpret_cast<const T*>(m_source.read(operands));
        T* to = reinterpret_cast<T*>(m_result.write(operands));
        // Columns are independent, so a few long ones are shared as well as many short ones.
        const size_t columns = m_outer * m_inner;
        context.threads.forRange(
            columns, 65536 / (m_length + 1) + 1, [&](size_t worker, size_t begin, size_t end) {
                auto* folded = reinterpret_cast<Sum*>(
                    context.threads.scratch(worker).reserve(widest * sizeof(Sum)));
                while (begin < end) {
                    const size_t column = begin % m_inner;
                    const size_t width = std::min({m_inner - column, end - begin, widest});
                    const size_t at = begin / m_inner * m_length * m_inner + column;
                    m_direction.isSum ? fold<true>(from + at, to + at, folded, width)
                                      : fold<false>(from + at, to + at, folded, width);
                    begin += width;
                }
            });
    }

private:
    /// Floats in double, as the reference does; integers wrap.
    using Sum = std::conditional_t<
        std::is_floating_point_v<T>, double,
        std::make_unsigned_t<std::conditional_t<std::is_floating_point_v<T>, int64_t, T>>>;
    static constexpr size_t widest = 512; ///< columns side by side

    template <bool isSum> void fold(const T* from, T* to, Sum* folded, size_t width) const {
        for (size_t i = 0; i < width; ++i)
            folded[i] = isSum ? Sum(0) : Sum(1);
        for (size_t k = 0; k < m_length; ++k) {
            const size_t at = (m_direction.reverse ? m_length - 1 - k : k) * m_inner;
            for (size_t i = 0; i < width; ++i) {
                const Sum before = folded[i], next = static_cast<Sum>(from[at + i]);
                folded[i] =
                    isSum ? static_cast<Sum>(before + next) : static_cast<Sum>(before * next);
                to[at + i] = static_cast<T>(m_direction.exclusive ? before : folded[i]);
            }
        }
    }

    LibraryOperand m_source, m_result;
    Direction m_direction;
    size_t m_outer = 1, m_length = 1, m_inner = 1;
};

template <typename T>
KernelResult cumulative(const LibraryCall& call, size_t axis, Direction direction) {
    return std::unique_ptr<Kernel>(std::make_unique<CumulativeKernel<T>>(call, axis, direction));
}

} // namespace

KernelResult prepareCumulative(const LibraryCall& call) {
    const OperandLayout& x = call.input(0).layout;
    const TensorPtr& given = call.input(1).layout.constant;
    if (!given || given->elementCount() != 1 || !isInteger(given->dtype()))
        return failure("cpu.constant", "the axis must be constant");
    const auto rank = static_cast<int64_t>(x.extents.size());
    const int64_t axis = given->intAt(0) + (given->intAt(0) < 0 ? rank : 0);
    if (axis < 0 || axis >= rank || elementCount(x.extents).value_or(0) == 0 ||
        call.output(0).layout.extents != x.extents)
        return failure("cpu.shape", "the axis is outside, or X is empty");
    const auto& attributes = call.node().attributes;
    const Direction direction{call.node().op == Op::CumSum, attributes.integer("exclusive") != 0,
                              attributes.integer("reverse") != 0};
    const auto at = static_cast<size_t>(axis);
    switch (x.dtype) {
    case DType::Float32:
        return cumulative<float>(call, at, direction);
    case DType::Float64:
        return cumulative<double>(call, at, direction);
    case DType::Int32:
        return cumulative<int32_t>(call, at, direction);
    case DType::Int64:
        return cumulative<int64_t>(call, at, direction);
    default:
        return failure("cpu.dtype", std::string("no running sums of ") + nameOf(x.dtype));
    }
}

} // namespace fuselage::cpu
