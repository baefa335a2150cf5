// SPDX-License-Identifier: Apache-2.0
// DynamicQuantizeLinear: the range of all elements, then their steps, both shared by the workers.
// QuantizeLinear and DequantizeLinear of types that no tape computes on: 8-bit floats by the bits
// of a float32, what is loaded by a table of all 256 bytes.
#include "core/cpu/dynamic_scale.h"
#include "core/cpu/library.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace fuselage::cpu {

namespace {

class DynamicQuantizeKernel final : public Kernel {
public:
    explicit DynamicQuantizeKernel(const LibraryCall& call)
        : m_x(call.input(0)), m_y(call.output(0)), m_scale(call.output(1)), m_zero(call.output(2)),
          m_count(static_cast<size_t>(*elementCount(m_x.layout.extents))),
          m_loops(call.context().table.integer) {
        tactic = std::string("dynamic quantisation ") + call.context().table.name;
    }

    void run(const Operands& operands, RunContext& context) override {
        const auto* x = reinterpret_cast<const float*>(m_x.read(operands));
        const Range range = rangeOf(x, context.threads);
        const DynamicScale steps = DynamicScale::of(range.low, range.high);
        if (std::byte* to = m_y.write(operands))
            context.threads.forRange(m_count, grain, [&](size_t, size_t begin, size_t end) {
                m_loops.quantise(x + begin, reinterpret_cast<uint8_t*>(to) + begin, end - begin,
                                 steps.scale, steps.zero);
            });
        if (std::byte* to = m_scale.write(operands))
            std::memcpy(to, &steps.scale, sizeof steps.scale);
        if (std::byte* to = m_zero.write(operands))
            *to = static_cast<std::byte>(steps.zero);
    }

private:
    struct Range {
        float low = 0, high = 0;
    };

    static constexpr size_t grain = 16384; // elements for which a second thread is worth its start

    Range rangeOf(const float* x, Threads& threads) const {
        std::vector<Range> parts(static_cast<size_t>(threads.count()));
        threads.forRange(m_count, grain, [&](size_t worker, size_t begin, size_t end) {
            Range part;
            m_loops.range(x + begin, end - begin, &part.low, &part.high);
            parts[worker].low = std::min(parts[worker].low, part.low);
            parts[worker].high = std::max(parts[worker].high, part.high);
        });
        Range out;
        for (const Range& part : parts) {
            out.low = std::min(out.low, part.low);
            out.high = std::max(out.high, part.high);
        }
        return out;
    }

    LibraryOperand m_x, m_y, m_scale, m_zero;
    size_t m_count;
    const IntegerLoops& m_loops;
};

/// Which scale an element has: one for all, or one for each index of an axis.
struct ScaleRows {
    size_t inner = 1, count = 1; ///< neighbours with one scale; scales

    /// None: scales of blocks, or of a length that does not fit.
    static std::optional<ScaleRows> of(const LibraryCall& call) {
        const Extents& x = call.input(0).layout.extents;
        const Extents& scale = call.input(1).layout.extents;
        ScaleRows out;
        if (elementCount(scale) == 1)
            return out;
        const auto axis = call.axis(1);
        if (!axis || scale.size() != 1 || scale[0] != x[*axis])
            return std::nullopt;
        out.count = static_cast<size_t>(scale[0]);
        for (size_t d = *axis + 1; d < x.size(); ++d)
            out.inner *= static_cast<size_t>(x[d]);
        return out;
    }

    /// Calls `loop(first, last, scale)` for the runs of elements with one scale.
    template <typename Loop> void each(size_t begin, size_t end, const Loop& loop) const {
        if (count == 1)
            return loop(begin, end, size_t{0});
        while (begin < end) {
            const size_t row = begin / inner, last = std::min(end, (row + 1) * inner);
            loop(begin, last, row % count);
            begin = last;
        }
    }
};

/// The 8-bit float nearest to each `x / scale`, ties to even, as floatToFloat8() has it. Without a
/// branch, so that compilers make vectors of it.
template <int mantissaBits, int bias, uint8_t most, uint8_t beyond>
void storeFloat8(const float* x, uint8_t* to, size_t n, float scale) {
    constexpr int shift = 23 - mantissaBits;
    constexpr auto leastNormal = static_cast<uint32_t>(128 - bias) << 23;
    // Its last bit is worth the least number: adding it rounds to whole ones of these.
    constexpr auto magic = static_cast<uint32_t>(127 + 1 - bias - mantissaBits + 23) << 23;
    for (size_t i = 0; i < n; ++i) {
        const auto bits = std::bit_cast<uint32_t>(x[i] / scale);
        const uint32_t magnitude = bits & 0x7fffffffU;
        const uint32_t even = (magnitude >> shift) & 1U;
        const uint32_t normal = ((magnitude + (1U << (shift - 1)) - 1U + even) >> shift) -
                                (static_cast<uint32_t>(127 - bias) << mantissaBits);
        const uint32_t least =
            std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + std::bit_cast<float>(magic)) -
            magic;
        uint32_t code = magnitude < leastNormal ? least : normal;
        code = (magnitude >= leastNormal) & (code > most) ? beyond : code;
        const uint32_t sign = bits >> 24 & 0x80U;
        to[i] = static_cast<uint8_t>(magnitude > 0x7f800000U ? 0x7fU : code | sign);
    }
}

using StoreFloat8 = void (*)(const float*, uint8_t*, size_t, float);

/// Null: a type that is no 8-bit float.
StoreFloat8 storeFor(DType type, bool saturates) {
    if (type == DType::Float8E4M3FN)
        return saturates ? storeFloat8<3, 7, 0x7e, 0x7e> : storeFloat8<3, 7, 0x7e, 0x7f>;
    if (type == DType::Float8E5M2)
        return saturates ? storeFloat8<2, 15, 0x7b, 0x7b> : storeFloat8<2, 15, 0x7b, 0x7c>;
    return nullptr;
}

class QuantizeFloat8Kernel final : public Kernel {
public:
    QuantizeFloat8Kernel(const LibraryCall& call, const ScaleRows& rows, StoreFloat8 store)
        : m_x(call.input(0)), m_scale(call.input(1)), m_y(call.output(0)), m_rows(rows),
          m_store(store), m_count(static_cast<size_t>(*elementCount(m_x.layout.extents))) {
        tactic = std::string("stores ") + nameOf(m_y.layout.dtype);
    }

    void run(const Operands& operands, RunContext& context) override {
        const auto* x = reinterpret_cast<const float*>(m_x.read(operands));
        const auto* scale = reinterpret_cast<const float*>(m_scale.read(operands));
        auto* y = reinterpret_cast<uint8_t*>(m_y.write(operands));
        if (!y)
            return;
        context.threads.forRange(m_count, storedGrain, [&](size_t, size_t begin, size_t end) {
            m_rows.each(begin, end, [&](size_t first, size_t last, size_t at) {
                m_store(x + first, y + first, last - first, scale[at]);
            });
        });
    }

private:
    static constexpr size_t storedGrain = 8192;

    LibraryOperand m_x, m_scale, m_y;
    ScaleRows m_rows;
    StoreFloat8 m_store;
    size_t m_count;
};

class DequantizeStoredKernel final : public Kernel {
public:
    DequantizeStoredKernel(const LibraryCall& call, const ScaleRows& rows)
        : m_x(call.input(0)), m_scale(call.input(1)), m_zero(call.input(2)), m_y(call.output(0)),
          m_rows(rows), m_count(static_cast<size_t>(*elementCount(m_x.layout.extents))) {
        tactic = std::string("loads ") + nameOf(m_x.layout.dtype);
        Tensor byte(m_x.layout.dtype, {1});
        for (size_t i = 0; i < m_numbers.size(); ++i) {
            byte.bytes()[0] = static_cast<std::byte>(i);
            m_numbers[i] = static_cast<float>(byte.at(0));
        }
    }

    void run(const Operands& operands, RunContext& context) override {
        const auto* x = reinterpret_cast<const uint8_t*>(m_x.read(operands));
        const auto* scale = reinterpret_cast<const float*>(m_scale.read(operands));
        const auto* zero =
            m_zero ? reinterpret_cast<const uint8_t*>(m_zero.read(operands)) : nullptr;
        auto* y = reinterpret_cast<float*>(m_y.write(operands));
        if (!y)
            return;
        context.threads.forRange(m_count, loadedGrain, [&](size_t, size_t begin, size_t end) {
            m_rows.each(begin, end, [&](size_t first, size_t last, size_t at) {
                const float origin = zero ? m_numbers[zero[at]] : 0, step = scale[at];
                for (size_t i = first; i < last; ++i)
                    y[i] = (m_numbers[x[i]] - origin) * step;
            });
        });
    }

private:
    static constexpr size_t loadedGrain = 16384;

    LibraryOperand m_x, m_scale, m_zero, m_y;
    ScaleRows m_rows;
    size_t m_count;
    std::array<float, 256> m_numbers{};
};

} // namespace

KernelResult prepareDynamicQuantize(const LibraryCall& call) {
    if (call.input(0).layout.dtype != DType::Float32)
        return failure("cpu.dtype", "only float32 is quantised by a routine");
    return std::unique_ptr<Kernel>(std::make_unique<DynamicQuantizeKernel>(call));
}

KernelResult prepareQuantizeFloat8(const LibraryCall& call) {
    const bool saturates = call.node().attributes.integer("saturate", 1) != 0;
    const StoreFloat8 store = storeFor(call.output(0).layout.dtype, saturates);
    const auto rows = ScaleRows::of(call);
    if (call.input(0).layout.dtype != DType::Float32 || !store || !rows ||
        call.input(1).layout.dtype != DType::Float32)
        return failure("cpu.support", "only float32 is stored as 8-bit floats by a routine, with "
                                      "a scale for the tensor or each index of an axis");
    return std::unique_ptr<Kernel>(std::make_unique<QuantizeFloat8Kernel>(call, *rows, store));
}

KernelResult prepareDequantizeStored(const LibraryCall& call) {
    const DType stored = call.input(0).layout.dtype;
    const auto rows = ScaleRows::of(call);
    const bool hasZero = static_cast<bool>(call.input(2));
    if (!isStorageOnly(stored) || !rows || call.input(1).layout.dtype != DType::Float32 ||
        (hasZero && call.input(2).layout.dtype != stored) ||
        (hasZero &&
         elementCount(call.input(2).layout.extents) != elementCount(call.input(1).layout.extents)))
        return failure("cpu.support", "only types that nothing computes on are loaded by a "
                                      "routine, with a scale for the tensor or each index of an "
                                      "axis");
    return std::unique_ptr<Kernel>(std::make_unique<DequantizeStoredKernel>(call, *rows));
}

} // namespace fuselage::cpu
