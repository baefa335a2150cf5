// SPDX-License-Identifier: Apache-2.0
// ReverseSequence as copies of rows: X is [first, second, row], one of the first two the time, the
// other the batch, whose sequences are turned around up to their lengths.
#include "core/cpu/library.h"

#include <cstring>

namespace fuselage::cpu {

namespace {

class ReverseKernel final : public Kernel {
public:
    ReverseKernel(const LibraryCall& call, bool isTimeFirst)
        : m_node(call.node()), m_source(call.input(0)), m_lengths(call.input(1)),
          m_result(call.output(0)), m_isTimeFirst(isTimeFirst) {
        const Extents& x = m_source.layout.extents;
        m_second = static_cast<size_t>(x[1]);
        m_rows = static_cast<size_t>(x[0]) * m_second;
        m_time = isTimeFirst ? x[0] : x[1];
        m_bytes = sizeOf(m_source.layout.dtype);
        for (size_t d = 2; d < x.size(); ++d)
            m_bytes *= static_cast<size_t>(x[d]);
        tactic = "rows turned around";
    }

    void run(const Operands& operands, RunContext& context) override {
        const std::byte* from = m_source.read(operands);
        std::byte* to = m_result.write(operands);
        for (size_t i = 0; i < static_cast<size_t>(*elementCount(m_lengths.layout.extents)); ++i)
            if (const int64_t length = m_lengths.integerAt(operands, i);
                length < 0 || length > m_time) {
                context.error = Error{"run.input",
                                      "length " + std::to_string(length) + " of " + m_node.name +
                                          " is not within 0.." + std::to_string(m_time),
                                      {},
                                      {}};
                return;
            }
        context.threads.forRange(
            m_rows, 65536 / (m_bytes + 16) + 1, [&](size_t, size_t begin, size_t end) {
                for (size_t row = begin; row < end; ++row) {
                    const size_t first = row / m_second, second = row % m_second;
                    const auto time = static_cast<int64_t>(m_isTimeFirst ? first : second);
                    const int64_t length =
                        m_lengths.integerAt(operands, m_isTimeFirst ? second : first);
                    const int64_t moved = time < length ? length - 1 - 2 * time : 0;
                    const auto source = static_cast<size_t>(
                        static_cast<int64_t>(row) +
                        moved * static_cast<int64_t>(m_isTimeFirst ? m_second : 1));
                    std::memcpy(to + row * m_bytes, from + source * m_bytes, m_bytes);
                }
            });
    }

private:
    const Node& m_node;
    LibraryOperand m_source, m_lengths, m_result;
    bool m_isTimeFirst;
    size_t m_second = 1, m_rows = 0, m_bytes = 0;
    int64_t m_time = 0;
};

} // namespace

KernelResult prepareReverse(const LibraryCall& call) {
    const OperandLayout &x = call.input(0).layout, &lengths = call.input(1).layout;
    const auto rank = static_cast<int64_t>(x.extents.size());
    const auto axis = [&](const char* name, int64_t usual) {
        const int64_t given = call.node().attributes.integer(name, usual);
        return given < 0 ? given + rank : given;
    };
    const int64_t time = axis("time_axis", 0), batch = axis("batch_axis", 1);
    if (rank < 2 || time < 0 || batch < 0 || time + batch != 1 || sizeOf(x.dtype) == 0 ||
        (lengths.dtype != DType::Int64 && lengths.dtype != DType::Int32) ||
        elementCount(lengths.extents) != x.extents[static_cast<size_t>(batch)] ||
        call.output(0).layout.extents != x.extents)
        return failure("cpu.support", "sequences and lengths do not fit each other");
    return std::unique_ptr<Kernel>(std::make_unique<ReverseKernel>(call, time == 0));
}

} // namespace fuselage::cpu
