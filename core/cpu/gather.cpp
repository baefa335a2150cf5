// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/gather.h"

#include <cstring>

namespace fuselage::cpu {

namespace {

/// Copies blocks of `blockBytes` that indices choose along one axis of row-major data.
class GatherKernel final : public Kernel {
public:
    GatherKernel(const PrepareContext& context, size_t axis) {
        const Extents& data = context.inputs[0].extents;
        for (size_t d = 0; d < axis; ++d)
            m_outer *= data[d];
        m_extent = data[axis];
        int64_t block = 1;
        for (size_t d = axis + 1; d < data.size(); ++d)
            block *= data[d];
        m_blockBytes = static_cast<size_t>(block) * sizeOf(context.inputs[0].dtype);
        m_indices = *elementCount(context.inputs[1].extents);
        m_indexType = context.inputs[1].dtype;
        tactic = "gather";
    }

    void run(const Operands& operands, RunContext& context) override {
        std::vector<int64_t> rows(static_cast<size_t>(m_indices));
        for (size_t i = 0; i < rows.size(); ++i) {
            int64_t index = indexAt(operands.inputs[1], i);
            rows[i] = index < 0 ? index + m_extent : index;
            if (rows[i] < 0 || rows[i] >= m_extent) {
                context.error = Error{"run.index",
                                      "index " + std::to_string(index) + " of Gather is outside " +
                                          std::to_string(m_extent) + " elements",
                                      {},
                                      {}};
                return;
            }
        }
        size_t blocks = static_cast<size_t>(m_outer) * rows.size();
        size_t grain = 65536 / (m_blockBytes + 1) + 1;
        context.threads.forRange(blocks, grain, [&](size_t, size_t begin, size_t end) {
            for (size_t i = begin; i < end; ++i) {
                size_t outer = i / rows.size();
                size_t from = outer * static_cast<size_t>(m_extent) +
                              static_cast<size_t>(rows[i % rows.size()]);
                std::memcpy(operands.outputs[0] + i * m_blockBytes,
                            operands.inputs[0] + from * m_blockBytes, m_blockBytes);
            }
        });
    }

private:
    int64_t indexAt(const std::byte* data, size_t i) const {
        if (m_indexType == DType::Int32) {
            int32_t value = 0;
            std::memcpy(&value, data + i * sizeof value, sizeof value);
            return value;
        }
        int64_t value = 0;
        std::memcpy(&value, data + i * sizeof value, sizeof value);
        return value;
    }

    int64_t m_outer = 1, m_extent = 0, m_indices = 0;
    size_t m_blockBytes = 0;
    DType m_indexType = DType::Int64;
};

} // namespace

std::optional<Reason> unsupportedLibrary(const Library& program, const KernelProgram& whole) {
    const Node* node = whole.body ? &whole.body->node(program.node) : nullptr;
    if (!node || node->op != Op::Gather || whole.inputs.size() != 2)
        return Reason{"support", "the operator runs through its reference function", {}, {}};
    return std::nullopt;
}

KernelResult prepareLibrary(const Library& program, const KernelProgram& whole,
                            const PrepareContext& context) {
    const Node& node = whole.body->node(program.node);
    int64_t axis = node.attributes.integer("axis", 0);
    auto rank = static_cast<int64_t>(context.inputs[0].extents.size());
    axis += axis < 0 ? rank : 0;
    bool rowMajor = context.outputs[0].rowMajor();
    for (const OperandLayout& input : context.inputs)
        rowMajor = rowMajor && input.rowMajor();
    DType index = context.inputs[1].dtype;
    if (!rowMajor || axis < 0 || axis >= rank || (index != DType::Int64 && index != DType::Int32))
        return failure("cpu.layout", "Gather runs on row-major operands only");
    return std::unique_ptr<Kernel>(
        std::make_unique<GatherKernel>(context, static_cast<size_t>(axis)));
}

} // namespace fuselage::cpu
