// SPDX-License-Identifier: Apache-2.0
// GatherND, ScatterND and GatherElements as copies of blocks whose places the indices give. What
// combines updates runs through the reference function.
#include "core/cpu/library.h"
#include "core/ops/tensor_index.h"

#include <algorithm>
#include <cstring>

namespace fuselage::cpu {

namespace {

/// Blocks of row-major data that tuples of indices choose, one a tuple, behind `batch` leading dims
/// that data and tuples share.
class TupleBlocks {
public:
    TupleBlocks(const LibraryCall& call, size_t batch)
        : m_node(call.node()), m_index(call.input(1)), m_data(call.input(0).layout.extents),
          m_strides(rowMajorStrides(m_data)), m_batch(batch) {
        const Extents& index = m_index.layout.extents;
        m_width = static_cast<size_t>(index.back());
        for (size_t d = 0; d + 1 < index.size(); ++d)
            (d < batch ? m_batches : m_perBatch) *= static_cast<size_t>(index[d]);
        for (size_t d = batch + m_width; d < m_data.size(); ++d)
            m_block *= m_data[d];
        m_blockBytes = static_cast<size_t>(m_block) * sizeOf(call.input(0).layout.dtype);
        for (size_t d = batch; d < m_data.size(); ++d)
            m_batchBlock *= m_data[d];
    }

    /// Whether the shapes go together; nothing else may be asked before.
    static bool fits(const LibraryCall& call, int64_t batch) {
        const OperandLayout &data = call.input(0).layout, &index = call.input(1).layout;
        const auto shared = static_cast<size_t>(std::max<int64_t>(batch, 0));
        if (batch < 0 || index.extents.size() <= shared || data.extents.size() < shared ||
            sizeOf(data.dtype) == 0 || (index.dtype != DType::Int64 && index.dtype != DType::Int32))
            return false;
        for (size_t d = 0; d < shared; ++d)
            if (data.extents[d] != index.extents[d])
                return false;
        return index.extents.back() <= static_cast<int64_t>(data.extents.size() - shared);
    }

    size_t count() const { return m_batches * m_perBatch; }

    size_t blockBytes() const { return m_blockBytes; }

    /// Byte where the block of a tuple begins; an error where an index is outside.
    std::optional<Error> find(const Operands& operands, size_t tuple, size_t& at) const {
        int64_t element = static_cast<int64_t>(tuple / m_perBatch) * m_batchBlock;
        for (size_t i = 0; i < m_width; ++i) {
            const size_t at = tuple * m_width + i;
            const int64_t extent = m_data[m_batch + i];
            const int64_t index = m_index.placeAt(operands, at, extent);
            if (index < 0)
                return indexOutside(m_node, m_index.integerAt(operands, at), extent);
            element += index * m_strides[m_batch + i];
        }
        at = static_cast<size_t>(element / std::max<int64_t>(m_block, 1)) * m_blockBytes;
        return std::nullopt;
    }

private:
    const Node& m_node;
    LibraryOperand m_index;
    Extents m_data, m_strides;
    size_t m_batch, m_width = 0, m_batches = 1, m_perBatch = 1, m_blockBytes = 0;
    int64_t m_block = 1, m_batchBlock = 1; ///< elements
};

class GatherTuples final : public Kernel {
public:
    GatherTuples(const LibraryCall& call, size_t batch)
        : m_blocks(call, batch), m_data(call.input(0)), m_result(call.output(0)) {
        tactic = "gather";
    }

    void run(const Operands& operands, RunContext& context) override {
        const std::byte* data = m_data.read(operands);
        std::byte* to = m_result.write(operands);
        const size_t bytes = m_blocks.blockBytes();
        std::vector<std::optional<Error>> errors(static_cast<size_t>(context.threads.count()));
        context.threads.forRange(m_blocks.count(), 65536 / (bytes + 16) + 1,
                                 [&](size_t worker, size_t begin, size_t end) {
                                     for (size_t i = begin; i < end && !errors[worker]; ++i) {
                                         size_t at = 0;
                                         errors[worker] = m_blocks.find(operands, i, at);
                                         if (!errors[worker])
                                             std::memcpy(to + i * bytes, data + at, bytes);
                                     }
                                 });
        for (std::optional<Error>& error : errors)
            if (error)
                context.error = std::move(error);
    }

private:
    TupleBlocks m_blocks;
    LibraryOperand m_data, m_result;
};

/// One update after the other, so that of two for one place the later one stays.
class ScatterTuples final : public Kernel {
public:
    explicit ScatterTuples(const LibraryCall& call)
        : m_blocks(call, 0), m_data(call.input(0)), m_updates(call.input(2)),
          m_result(call.output(0)),
          m_bytes(static_cast<size_t>(*elementCount(m_data.layout.extents)) *
                  sizeOf(m_data.layout.dtype)) {
        tactic = "scatter";
    }

    void run(const Operands& operands, RunContext& context) override {
        const std::byte* updates = m_updates.read(operands);
        std::byte* to = m_result.write(operands);
        if (m_bytes != 0)
            std::memcpy(to, m_data.read(operands), m_bytes);
        const size_t bytes = m_blocks.blockBytes();
        for (size_t i = 0; i < m_blocks.count(); ++i) {
            size_t at = 0;
            if (context.error = m_blocks.find(operands, i, at); context.error)
                return;
            std::memcpy(to + at, updates + i * bytes, bytes);
        }
    }

private:
    TupleBlocks m_blocks;
    LibraryOperand m_data, m_updates, m_result;
    size_t m_bytes;
};

class GatherElementsKernel final : public Kernel {
public:
    GatherElementsKernel(const LibraryCall& call, size_t axis)
        : m_node(call.node()), m_data(call.input(0)), m_index(call.input(1)),
          m_result(call.output(0)), m_extent(m_data.layout.extents[axis]),
          m_strides(rowMajorStrides(m_data.layout.extents)), m_axisStride(m_strides[axis]) {
        m_strides[axis] = 0; // the index says where along it
        tactic = "gather";
    }

    void run(const Operands& operands, RunContext& context) override {
        const std::byte* data = m_data.read(operands);
        std::byte* to = m_result.write(operands);
        const size_t bytes = sizeOf(m_data.layout.dtype);
        for (StridedWalk walk(m_index.layout.extents, {m_strides}); walk.valid(); walk.next()) {
            const auto at = static_cast<size_t>(walk.position());
            const int64_t index = m_index.placeAt(operands, at, m_extent);
            if (index < 0) {
                context.error = indexOutside(m_node, m_index.integerAt(operands, at), m_extent);
                return;
            }
            const auto from = static_cast<size_t>(walk.offset(0) + index * m_axisStride);
            std::memcpy(to + at * bytes, data + from * bytes, bytes);
        }
    }

private:
    const Node& m_node;
    LibraryOperand m_data, m_index, m_result;
    int64_t m_extent;
    Extents m_strides;
    int64_t m_axisStride;
};

const char* const misfit = "data, indices and updates do not fit each other";

} // namespace

KernelResult prepareGatherND(const LibraryCall& call) {
    const int64_t batch = call.node().attributes.integer("batch_dims");
    if (!TupleBlocks::fits(call, batch))
        return failure("cpu.support", misfit);
    return std::unique_ptr<Kernel>(
        std::make_unique<GatherTuples>(call, static_cast<size_t>(batch)));
}

KernelResult prepareScatterND(const LibraryCall& call) {
    if (call.node().attributes.string("reduction", "none") != "none")
        return failure("cpu.support", "updates are combined with what they replace");
    const OperandLayout &data = call.input(0).layout, &updates = call.input(2).layout;
    if (!TupleBlocks::fits(call, 0) || updates.dtype != data.dtype ||
        call.output(0).layout.extents != data.extents)
        return failure("cpu.support", misfit);
    const TupleBlocks blocks(call, 0);
    const auto count = elementCount(updates.extents);
    if (!count ||
        static_cast<size_t>(*count) * sizeOf(data.dtype) != blocks.count() * blocks.blockBytes())
        return failure("cpu.support", misfit);
    return std::unique_ptr<Kernel>(std::make_unique<ScatterTuples>(call));
}

KernelResult prepareGatherElements(const LibraryCall& call) {
    const OperandLayout &data = call.input(0).layout, &index = call.input(1).layout;
    const auto axis = call.axis(0);
    if (!axis || !coversElsewhere(data.extents, index.extents, *axis) || sizeOf(data.dtype) == 0 ||
        (index.dtype != DType::Int64 && index.dtype != DType::Int32) ||
        call.output(0).layout.extents != index.extents)
        return failure("cpu.support", misfit);
    return std::unique_ptr<Kernel>(std::make_unique<GatherElementsKernel>(call, *axis));
}

} // namespace fuselage::cpu
