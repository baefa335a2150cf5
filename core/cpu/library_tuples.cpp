// SPDX-License-Identifier: Apache-2.0
// GatherND, ScatterND and GatherElements as copies of blocks whose places the indices give.
#include "core/cpu/library.h"
#include "core/ops/tensor_index.h"

#include <algorithm>
#include <atomic>
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
    ScatterTuples(const LibraryCall& call, CombineFunction combine)
        : m_blocks(call, 0), m_data(call.input(0)), m_updates(call.input(2)),
          m_result(call.output(0)), m_combine(combine),
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
            const std::byte* update = updates + i * bytes;
            m_combine ? m_combine(to + at, update, bytes / sizeOf(m_data.layout.dtype))
                      : static_cast<void>(std::memcpy(to + at, update, bytes));
        }
    }

private:
    TupleBlocks m_blocks;
    LibraryOperand m_data, m_updates, m_result;
    CombineFunction m_combine; ///< null: the update replaces
    size_t m_bytes;
};

/// Row by row of the last dimension. A row along which the index does not change is copied whole,
/// as where rows of a cache are put in their places.
class GatherElementsKernel final : public Kernel {
public:
    GatherElementsKernel(const LibraryCall& call, size_t axis)
        : m_node(call.node()), m_data(call.input(0)), m_index(call.input(1)),
          m_result(call.output(0)), m_extent(m_data.layout.extents[axis]),
          m_strides(rowMajorStrides(m_data.layout.extents)),
          m_alongRow(axis + 1 == m_strides.size()), m_bytes(sizeOf(m_data.layout.dtype)),
          m_axisStride(m_strides[axis]) {
        m_strides[axis] = 0; // the index says where along it
        tactic = "gather";
    }

    void run(const Operands& operands, RunContext& context) override {
        const Extents& extents = m_index.layout.extents;
        const auto length = static_cast<size_t>(extents.back());
        const auto rows = length == 0 ? 0 : static_cast<size_t>(*elementCount(extents)) / length;
        std::atomic<size_t> wrong = rows;
        context.threads.forRange(rows, 4096 / (length + 1) + 1,
                                 [&](size_t, size_t begin, size_t end) {
                                     for (size_t row = begin; row < end; ++row)
                                         if (!copyRow(operands, row, length))
                                             lower(wrong, row);
                                 });
        for (size_t at = wrong * length; at < rows * length && !context.error; ++at)
            if (m_index.placeAt(operands, at, m_extent) < 0)
                context.error = indexOutside(m_node, m_index.integerAt(operands, at), m_extent);
    }

private:
    static void lower(std::atomic<size_t>& least, size_t value) {
        for (size_t known = least; value < known && !least.compare_exchange_weak(known, value);)
            ;
    }

    /// False: an index lies outside, and nothing was copied.
    bool copyRow(const Operands& operands, size_t row, size_t length) const {
        return m_index.layout.dtype == DType::Int32 ? copyBy<int32_t>(operands, row, length)
                                                    : copyBy<int64_t>(operands, row, length);
    }

    template <typename Index>
    bool copyBy(const Operands& operands, size_t row, size_t length) const {
        const Index* index = reinterpret_cast<const Index*>(m_index.read(operands)) + row * length;
        bool inside = true, same = true;
        for (size_t i = 0; i < length; ++i) {
            inside &= index[i] >= -m_extent && index[i] < m_extent;
            same &= index[i] == index[0];
        }
        if (!inside)
            return false;
        const std::byte* from = m_data.read(operands) + offsetOf(row) * m_bytes;
        std::byte* to = m_result.write(operands) + row * length * m_bytes;
        if (same && !m_alongRow) {
            std::memcpy(to, from + placeOf(index[0]) * m_bytes, length * m_bytes);
            return true;
        }
        switch (m_bytes) {
        case 1:
            copyEach<1>(to, from, index, length);
            break;
        case 2:
            copyEach<2>(to, from, index, length);
            break;
        case 4:
            copyEach<4>(to, from, index, length);
            break;
        case 8:
            copyEach<8>(to, from, index, length);
            break;
        default:
            for (size_t i = 0; i < length; ++i)
                std::memcpy(to + i * m_bytes,
                            from + (placeOf(index[i]) + (m_alongRow ? 0 : i)) * m_bytes, m_bytes);
        }
        return true;
    }

    template <size_t bytes, typename Index>
    void copyEach(std::byte* to, const std::byte* from, const Index* index, size_t length) const {
        const size_t step = m_alongRow ? 0 : 1;
        for (size_t i = 0; i < length; ++i)
            std::memcpy(to + i * bytes, from + (placeOf(index[i]) + i * step) * bytes, bytes);
    }

    /// Elements from a row's first one to where its index says.
    size_t placeOf(int64_t index) const {
        return static_cast<size_t>((index < 0 ? index + m_extent : index) * m_axisStride);
    }

    /// Of the data, at the beginning of a row of the index.
    size_t offsetOf(size_t row) const {
        const Extents& extents = m_index.layout.extents;
        size_t out = 0;
        for (size_t d = extents.size() - 1; d-- > 0;) {
            out += row % static_cast<size_t>(extents[d]) * static_cast<size_t>(m_strides[d]);
            row /= static_cast<size_t>(extents[d]);
        }
        return out;
    }

    const Node& m_node;
    LibraryOperand m_data, m_index, m_result;
    int64_t m_extent;
    Extents m_strides;
    bool m_alongRow; ///< the axis is the last dimension
    size_t m_bytes;  ///< of an element
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
    const OperandLayout &data = call.input(0).layout, &updates = call.input(2).layout;
    const auto combine = scatterReduction(call.node(), data.dtype);
    if (!combine)
        return failure(combine.error());
    if (!TupleBlocks::fits(call, 0) || updates.dtype != data.dtype ||
        call.output(0).layout.extents != data.extents)
        return failure("cpu.support", misfit);
    const TupleBlocks blocks(call, 0);
    const auto count = elementCount(updates.extents);
    if (!count ||
        static_cast<size_t>(*count) * sizeOf(data.dtype) != blocks.count() * blocks.blockBytes())
        return failure("cpu.support", misfit);
    return std::unique_ptr<Kernel>(std::make_unique<ScatterTuples>(call, *combine));
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
