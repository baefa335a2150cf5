// SPDX-License-Identifier: Apache-2.0
// ScatterElements as copies of elements: the data as it is, then each update in its place. What
// combines updates runs through the reference function.
#include "core/cpu/library.h"
#include "core/ops/tensor_index.h"

#include <cstring>

namespace fuselage::cpu {

namespace {

/// Writes updates one after the other, so that of two for one place the later one stays.
class ScatterKernel final : public Kernel {
public:
    ScatterKernel(const LibraryCall& call, size_t axis)
        : m_node(call.node()), m_data(call.input(0)), m_index(call.input(1)),
          m_updates(call.input(2)), m_result(call.output(0)), m_extent(m_data.layout.extents[axis]),
          m_strides(rowMajorStrides(m_data.layout.extents)), m_axisStride(m_strides[axis]),
          m_elementBytes(sizeOf(m_data.layout.dtype)),
          m_bytes(static_cast<size_t>(*elementCount(m_data.layout.extents)) * m_elementBytes) {
        m_strides[axis] = 0; // the index says where along it
        tactic = "scatter";
    }

    void run(const Operands& operands, RunContext& context) override {
        const std::byte* updates = m_updates.read(operands);
        std::byte* to = m_result.write(operands);
        if (m_bytes != 0)
            std::memcpy(to, m_data.read(operands), m_bytes);
        for (StridedWalk walk(m_index.layout.extents, {m_strides}); walk.valid(); walk.next()) {
            const auto at = static_cast<size_t>(walk.position());
            const int64_t index = m_index.placeAt(operands, at, m_extent);
            if (index < 0) {
                context.error = indexOutside(m_node, m_index.integerAt(operands, at), m_extent);
                return;
            }
            const auto place = static_cast<size_t>(walk.offset(0) + index * m_axisStride);
            std::memcpy(to + place * m_elementBytes, updates + at * m_elementBytes, m_elementBytes);
        }
    }

private:
    const Node& m_node;
    LibraryOperand m_data, m_index, m_updates, m_result;
    int64_t m_extent;
    Extents m_strides;
    int64_t m_axisStride;
    size_t m_elementBytes, m_bytes;
};

} // namespace

bool coversElsewhere(const Extents& data, const Extents& indices, size_t axis) {
    if (indices.size() != data.size())
        return false;
    for (size_t d = 0; d < data.size(); ++d)
        if (d != axis && indices[d] > data[d])
            return false;
    return true;
}

KernelResult prepareScatter(const LibraryCall& call) {
    const OperandLayout &data = call.input(0).layout, &index = call.input(1).layout,
                        &updates = call.input(2).layout;
    const auto axis = call.axis(0);
    if (call.node().attributes.string("reduction", "none") != "none")
        return failure("cpu.support", "updates are combined with what they replace");
    if (!axis || !coversElsewhere(data.extents, index.extents, *axis) ||
        updates.extents != index.extents || updates.dtype != data.dtype ||
        call.output(0).layout.extents != data.extents || sizeOf(data.dtype) == 0 ||
        (index.dtype != DType::Int64 && index.dtype != DType::Int32))
        return failure("cpu.support", "data, indices and updates do not fit each other");
    return std::unique_ptr<Kernel>(std::make_unique<ScatterKernel>(call, *axis));
}

} // namespace fuselage::cpu
