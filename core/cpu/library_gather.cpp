// SPDX-License-Identifier: Apache-2.0
// Gather as copies of blocks: embedding tables are too large to go through the reference functions.
#include "core/cpu/library.h"

#include <cstring>

namespace fuselage::cpu {

namespace {

/// Copies blocks of `blockBytes` that indices choose along one axis of row-major data.
class GatherKernel final : public Kernel {
public:
    GatherKernel(const LibraryCall& call, size_t axis)
        : m_node(call.node()), m_data(call.input(0)), m_index(call.input(1)),
          m_result(call.output(0)) {
        const Extents& data = m_data.layout.extents;
        for (size_t d = 0; d < axis; ++d)
            m_outer *= data[d];
        m_extent = data[axis];
        int64_t block = 1;
        for (size_t d = axis + 1; d < data.size(); ++d)
            block *= data[d];
        m_blockBytes = static_cast<size_t>(block) * sizeOf(m_data.layout.dtype);
        m_indices = *elementCount(m_index.layout.extents);
        tactic = "gather";
    }

    void run(const Operands& operands, RunContext& context) override {
        std::vector<int64_t> rows(static_cast<size_t>(m_indices));
        for (size_t i = 0; i < rows.size(); ++i) {
            rows[i] = m_index.placeAt(operands, i, m_extent);
            if (rows[i] < 0) {
                context.error = indexOutside(m_node, m_index.integerAt(operands, i), m_extent);
                return;
            }
        }
        const std::byte* data = m_data.read(operands);
        std::byte* to = m_result.write(operands);
        size_t blocks = static_cast<size_t>(m_outer) * rows.size();
        size_t grain = 65536 / (m_blockBytes + 1) + 1;
        context.threads.forRange(blocks, grain, [&](size_t, size_t begin, size_t end) {
            for (size_t i = begin; i < end; ++i) {
                size_t outer = i / rows.size();
                size_t from = outer * static_cast<size_t>(m_extent) +
                              static_cast<size_t>(rows[i % rows.size()]);
                std::memcpy(to + i * m_blockBytes, data + from * m_blockBytes, m_blockBytes);
            }
        });
    }

private:
    const Node& m_node;
    int64_t m_outer = 1, m_extent = 0, m_indices = 0;
    size_t m_blockBytes = 0;
    LibraryOperand m_data, m_index, m_result;
};

} // namespace

KernelResult prepareGather(const LibraryCall& call) {
    auto axis = call.axis(0);
    DType index = call.input(1).layout.dtype;
    if (!axis || (index != DType::Int64 && index != DType::Int32))
        return failure("cpu.support", "no such axis, or indices that are no integers");
    return std::unique_ptr<Kernel>(std::make_unique<GatherKernel>(call, *axis));
}

} // namespace fuselage::cpu
