// SPDX-License-Identifier: Apache-2.0
// DynamicQuantizeLinear: the range of all elements, then their steps, both shared by the workers.
#include "core/cpu/dynamic_scale.h"
#include "core/cpu/library.h"

#include <algorithm>
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

} // namespace

KernelResult prepareDynamicQuantize(const LibraryCall& call) {
    if (call.input(0).layout.dtype != DType::Float32)
        return failure("cpu.dtype", "only float32 is quantised by a routine");
    return std::unique_ptr<Kernel>(std::make_unique<DynamicQuantizeKernel>(call));
}

} // namespace fuselage::cpu
