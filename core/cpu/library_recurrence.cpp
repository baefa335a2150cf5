// SPDX-License-Identifier: Apache-2.0
// LinearRecurrence: the workers share the columns of all states, which need nothing of each other,
// and each takes its columns through all tokens, so that they stay in its own cache.
#include "core/cpu/library.h"
#include "core/cpu/row_call.h"
#include "core/ops/linear_recurrence.h"

#include <algorithm>
#include <cstring>

namespace fuselage::cpu {

namespace {

constexpr size_t columns = RecurrenceTile::columns;

size_t upToGroup(size_t count) {
    return (count + laneGroup - 1) / laneGroup * laneGroup;
}

/// Some elements of an operand as floats: where they lie, or converted into memory of its own.
class FloatReader {
public:
    FloatReader(const LibraryOperand& operand, const Operands& operands, const VectorTable& table)
        : m_type(operand.layout.dtype), m_data(operand ? operand.read(operands) : nullptr),
          m_load(table.load[static_cast<size_t>(m_type)]) {}

    const float* read(int64_t first, size_t count, float* to) const {
        const std::byte* from = m_data + static_cast<size_t>(first) * sizeOf(m_type);
        if (m_type == DType::Float32)
            return reinterpret_cast<const float*>(from);
        m_load(to, from, 1, count, 0, 1);
        return to;
    }

private:
    DType m_type;
    const std::byte* m_data;
    LoadFunction m_load;
};

class RecurrenceKernel final : public Kernel {
public:
    RecurrenceKernel(const LibraryCall& call, const LinearRecurrence& sizes)
        : m_sizes(sizes), m_table(call.context().table), m_last(call.output(0)),
          m_results(call.output(1)) {
        for (size_t i = 0; i < std::size(m_inputs); ++i)
            m_inputs[i] = call.input(i);
        tactic = std::string("columns of states by token ") + m_table.name;
    }

    void run(const Operands& operands, RunContext& context) override {
        const auto width = static_cast<size_t>(m_sizes.width);
        const size_t tiles = (width + columns - 1) / columns;
        const auto heads = static_cast<size_t>(m_sizes.batch * m_sizes.heads);
        context.threads.forRange(heads * tiles, 1, [&](size_t worker, size_t begin, size_t end) {
            Memory memory(context.threads.scratch(worker), m_sizes);
            for (size_t i = begin; i < end; ++i)
                runColumns(operands, i / tiles, i % tiles * columns, memory);
        });
    }

private:
    /// Of one worker.
    struct Memory {
        Memory(Scratch& scratch, const LinearRecurrence& sizes) {
            const auto depth = static_cast<size_t>(sizes.depth),
                       rows = static_cast<size_t>(sizes.tokens > 0 ? sizes.rows : 0);
            const size_t count[] = {
                depth * columns,         upToGroup(depth), upToGroup(depth),   columns,
                upToGroup(rows * depth), rows * columns,   upToGroup(columns), laneGroup};
            size_t all = 0;
            for (size_t each : count)
                all += each;
            auto* at = reinterpret_cast<float*>(scratch.reserve(all * sizeof(float)));
            float** const parts[] = {&state, &key, &decay, &value, &query, &result, &row, &rate};
            for (size_t i = 0; i < std::size(parts); ++i) {
                *parts[i] = at;
                at += count[i];
            }
        }

        float *state = nullptr, *key = nullptr, *decay = nullptr, *value = nullptr,
              *query = nullptr, *result = nullptr, *row = nullptr, *rate = nullptr;
    };

    const LibraryOperand& input(RecurrenceInput which) const {
        return m_inputs[static_cast<size_t>(which)];
    }

    /// All tokens of some columns of a head.
    void runColumns(const Operands& operands, size_t head, size_t first, Memory& memory) const {
        const auto reader = [&](RecurrenceInput which) {
            return FloatReader(input(which), operands, m_table);
        };
        const FloatReader state = reader(RecurrenceInput::State),
                          query = reader(RecurrenceInput::Query),
                          key = reader(RecurrenceInput::Key),
                          value = reader(RecurrenceInput::Value),
                          decay = reader(RecurrenceInput::Decay),
                          rate = reader(RecurrenceInput::Rate);
        const int64_t b = static_cast<int64_t>(head) / m_sizes.heads,
                      h = static_cast<int64_t>(head) % m_sizes.heads;
        const auto depth = static_cast<size_t>(m_sizes.depth),
                   width = static_cast<size_t>(m_sizes.width),
                   rows = static_cast<size_t>(m_sizes.rows);
        const size_t count = std::min(columns, width - first);
        // Columns past the end stay 0.
        std::fill_n(memory.state, depth * columns, 0.0F);
        std::fill_n(memory.value, columns, 0.0F);
        for (size_t k = 0; k < depth; ++k)
            std::copy_n(state.read(static_cast<int64_t>((head * depth + k) * width + first), count,
                                   memory.row),
                        count, memory.state + k * columns);
        RecurrenceTile tile;
        tile.state = memory.state;
        tile.value = memory.value;
        tile.result = memory.result;
        tile.depth = depth;
        tile.rows = rows;
        tile.decayStep = m_sizes.decays == 1 ? 0 : 1;
        tile.corrects = m_sizes.rates > 0;
        for (int64_t t = 0; t < m_sizes.tokens; ++t) {
            const int64_t row = m_sizes.first(b, t, h, m_sizes.rows);
            tile.key = key.read(m_sizes.first(b, t, h, m_sizes.depth), depth, memory.key);
            tile.query = query.read(row * m_sizes.depth, rows * depth, memory.query);
            std::copy_n(
                value.read(m_sizes.first(b, t, h, m_sizes.width) + static_cast<int64_t>(first),
                           count, memory.row),
                count, memory.value);
            if (m_sizes.decays > 0)
                tile.decay = decay.read(m_sizes.first(b, t, h, m_sizes.decays),
                                        static_cast<size_t>(m_sizes.decays), memory.decay);
            if (tile.corrects)
                tile.rate = *rate.read(m_sizes.rateAt(b, t, h), 1, memory.rate);
            m_table.recur(tile);
            for (size_t r = 0; r < rows; ++r)
                write(m_results, operands, (static_cast<size_t>(row) + r) * width + first,
                      memory.result + r * columns, count);
        }
        for (size_t k = 0; k < depth; ++k)
            write(m_last, operands, (head * depth + k) * width + first, memory.state + k * columns,
                  count);
    }

    void write(const LibraryOperand& to, const Operands& operands, size_t first, const float* from,
               size_t count) const {
        const DType type = to.layout.dtype;
        if (std::byte* data = to.write(operands))
            m_table.store[static_cast<size_t>(type)](data + first * sizeOf(type), from, 1, count, 0,
                                                     1);
    }

    LinearRecurrence m_sizes;
    const VectorTable& m_table;
    LibraryOperand m_inputs[6];
    LibraryOperand m_last, m_results;
};

} // namespace

KernelResult prepareRecurrence(const LibraryCall& call) {
    std::vector<std::optional<Extents>> extents;
    for (size_t i = 0; i < call.node().inputs.size(); ++i)
        extents.push_back(call.input(i) ? std::optional(call.input(i).layout.extents)
                                        : std::nullopt);
    const auto sizes = LinearRecurrence::of(call.node(), extents);
    if (!sizes)
        return failure(sizes.error());
    for (size_t i = 0; i < call.node().inputs.size(); ++i)
        if (call.input(i) && !isRowType(call.input(i).layout.dtype))
            return failure("cpu.support", "operands are of other types");
    return std::unique_ptr<Kernel>(std::make_unique<RecurrenceKernel>(call, *sizes));
}

} // namespace fuselage::cpu
