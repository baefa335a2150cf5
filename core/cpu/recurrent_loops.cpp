// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/recurrent_loops.h"

#include <algorithm>
#include <cstring>

namespace fuselage::cpu {

namespace {

size_t gatesOf(RecurrentKind kind) {
    return kind == RecurrentKind::Lstm ? 4 : kind == RecurrentKind::Rnn ? 1 : 3;
}

const char* nameOf(RecurrentKind kind) {
    return kind == RecurrentKind::Lstm ? "lstm" : kind == RecurrentKind::Rnn ? "rnn" : "gru";
}

size_t upTo(size_t count, size_t multiple) {
    return (count + multiple - 1) / multiple * multiple;
}

class RecurrentLoops final : public Kernel {
public:
    RecurrentLoops(const LibraryCall& call, const RecurrentShape& shape);
    void run(const Operands& operands, RunContext& context) override;

private:
    /// Floats that one direction needs while it runs.
    struct Memory {
        float *rows, *fromInput, *fromState, *state, *carried, *result;
    };

    Memory memoryOf(float* scratch) const;
    size_t floatsOfRun() const;
    const float* pack(const LibraryOperand& weights, size_t depth, Pages& pages) const;
    void packBias(const LibraryOperand& bias);
    void multiplyInput(const float* x, const float* weights, const Memory& memory) const;
    /// Columns [first, last): whole panels.
    void multiplyState(const float* weights, size_t first, size_t last, const Memory& memory) const;
    void storeState(size_t sequence, const float* from, float* state) const;
    void step(size_t direction, size_t time, const Memory& memory) const;
    void update(RecurrentFunction function, size_t direction, size_t time, const Memory& memory,
                float* Memory::*stored) const;
    void runDirection(size_t direction, const Operands& operands, const Memory& memory) const;

    RecurrentKind m_kind;
    size_t m_length, m_batch, m_inputs, m_hidden, m_directions;
    size_t m_depth;   ///< inputs, filled up with zeros
    size_t m_columns; ///< gates times hidden
    size_t m_biases;  ///< of one direction
    bool m_reverse;
    const WinogradLoops& m_loops;
    const RecurrentLoopTable& m_steps;
    LibraryOperand m_x, m_initialH, m_initialC, m_y, m_finalH, m_finalC;
    const float *m_inputWeights, *m_stateWeights; ///< [direction][panel][depth][panel's columns]
    std::vector<float> m_bias; ///< [direction][column]: both added up, except GruOfResetProduct's
    Scratch m_scratch;         ///< its own: operands that were reordered lie in the step's
};

RecurrentLoops::RecurrentLoops(const LibraryCall& call, const RecurrentShape& shape)
    : m_kind(shape.kind), m_length(static_cast<size_t>(shape.length)),
      m_batch(static_cast<size_t>(shape.batch)), m_inputs(static_cast<size_t>(shape.inputs)),
      m_hidden(static_cast<size_t>(shape.hidden)),
      m_directions(static_cast<size_t>(shape.directions)), m_depth(upTo(m_inputs, laneGroup)),
      m_columns(gatesOf(m_kind) * m_hidden),
      m_biases(m_columns + (m_kind == RecurrentKind::GruOfResetProduct ? m_hidden : 0)),
      m_reverse(shape.reverse), m_loops(call.context().table.winograd),
      m_steps(call.context().table.recurrent), m_x(call.input(0)), m_initialH(call.input(5)),
      m_y(call.output(0)), m_finalH(call.output(1)) {
    if (m_kind == RecurrentKind::Lstm) {
        m_initialC = call.input(6);
        m_finalC = call.output(2);
    }
    Pages& pages = call.context().threads.pages();
    m_inputWeights = pack(call.input(1), m_depth, pages);
    m_stateWeights = pack(call.input(2), m_hidden, pages);
    packBias(call.input(3));
    tactic = std::string(nameOf(m_kind)) + " loops " + call.context().table.name;
}

/// From [direction, column, depth] in rows.
const float* RecurrentLoops::pack(const LibraryOperand& weights, size_t depth, Pages& pages) const {
    const float* from = weights.layout.constant->as<float>().data();
    const size_t given = static_cast<size_t>(weights.layout.extents[2]);
    const size_t panel = m_loops.panel;
    auto* packed =
        reinterpret_cast<float*>(pages.take(m_directions * m_columns * depth * sizeof(float)));
    float* to = packed;
    for (size_t d = 0; d < m_directions; ++d, from += m_columns * given)
        for (size_t column = 0; column < m_columns; column += panel)
            for (size_t k = 0; k < depth; ++k)
                for (size_t i = 0; i < panel; ++i)
                    *to++ = k < given ? from[(column + i) * given + k] : 0.0F;
    return packed;
}

/// That of a state inside of the reset stands apart, last.
void RecurrentLoops::packBias(const LibraryOperand& bias) {
    m_bias.assign(m_directions * m_biases, 0.0F);
    if (!bias)
        return;
    const float* from = bias.layout.constant->as<float>().data();
    const size_t together = m_biases == m_columns ? m_columns : m_columns - m_hidden;
    for (size_t d = 0; d < m_directions; ++d, from += 2 * m_columns) {
        float* to = m_bias.data() + d * m_biases;
        for (size_t i = 0; i < m_columns; ++i)
            to[i] = from[i] + (i < together ? from[m_columns + i] : 0.0F);
        std::copy(from + m_columns + together, from + 2 * m_columns, to + m_columns);
    }
}

size_t RecurrentLoops::floatsOfRun() const {
    return m_length * m_batch * (m_depth + m_columns) + m_batch * (m_columns + 3 * m_hidden) +
           6 * laneGroup;
}

RecurrentLoops::Memory RecurrentLoops::memoryOf(float* scratch) const {
    Memory out{};
    auto take = [&](size_t floats) {
        float* begin = scratch;
        scratch += upTo(floats, laneGroup);
        return begin;
    };
    out.rows = take(m_length * m_batch * m_depth);
    out.fromInput = take(m_length * m_batch * m_columns);
    out.fromState = take(m_batch * m_columns);
    out.state = take(m_batch * m_hidden);
    out.carried = take(m_batch * m_hidden);
    out.result = take(m_batch * m_hidden);
    return out;
}

/// All elements of all sequences at once, some rows at a time.
void RecurrentLoops::multiplyInput(const float* x, const float* weights,
                                   const Memory& memory) const {
    const size_t rows = m_length * m_batch, panel = m_loops.panel;
    for (size_t first = 0; first < rows; first += m_loops.mostRows) {
        const size_t count = std::min(m_loops.mostRows, rows - first);
        float* to = memory.rows + first * m_depth;
        for (size_t k = 0; k < m_depth; k += laneGroup)
            for (size_t r = 0; r < count; ++r, to += laneGroup) {
                const size_t given = std::min(laneGroup, m_inputs - std::min(k, m_inputs));
                std::memcpy(to, x + (first + r) * m_inputs + k, given * sizeof(float));
                std::fill(to + given, to + laneGroup, 0.0F);
            }
    }
    for (size_t column = 0; column < m_columns; column += panel, weights += panel * m_depth)
        for (size_t first = 0; first < rows; first += m_loops.mostRows) {
            const size_t count = std::min(m_loops.mostRows, rows - first);
            m_loops.product[count](memory.rows + first * m_depth, count * laneGroup, weights,
                                   memory.fromInput + first * m_columns + column, m_columns,
                                   m_depth);
        }
}

void RecurrentLoops::multiplyState(const float* weights, size_t first, size_t last,
                                   const Memory& memory) const {
    const size_t panel = m_loops.panel, width = panelsTogether * panel;
    for (size_t row = 0; row < m_batch; row += m_loops.mostRows) {
        const size_t count = std::min(m_loops.mostRows, m_batch - row);
        const float* state = memory.state + row * m_hidden;
        float* to = memory.fromState + row * m_columns;
        size_t column = first;
        for (; m_loops.panels[count] && column + width <= last; column += width)
            m_loops.panels[count](state, count * laneGroup, weights + column * m_hidden,
                                  panel * m_hidden, to + column, m_columns, m_hidden);
        for (; column < last; column += panel)
            m_loops.product[count](state, count * laneGroup, weights + column * m_hidden,
                                   to + column, m_columns, m_hidden);
    }
}

/// One sequence's state to where the products of its group of rows read it.
void RecurrentLoops::storeState(size_t sequence, const float* from, float* state) const {
    const size_t first = sequence / m_loops.mostRows * m_loops.mostRows;
    const size_t count = std::min(m_loops.mostRows, m_batch - first);
    float* to = state + first * m_hidden + (sequence - first) * laneGroup;
    for (size_t k = 0; k < m_hidden; k += laneGroup, to += count * laneGroup)
        std::memcpy(to, from + k, laneGroup * sizeof(float));
}

/// Each sequence's gates, and what the next product reads of it.
void RecurrentLoops::update(RecurrentFunction function, size_t direction, size_t time,
                            const Memory& memory, float* Memory::*stored) const {
    for (size_t b = 0; b < m_batch; ++b) {
        function(memory.fromInput + (time * m_batch + b) * m_columns,
                 memory.fromState + b * m_columns, m_bias.data() + direction * m_biases,
                 memory.carried + b * m_hidden, memory.result + b * m_hidden, m_hidden);
        storeState(b, memory.*stored + b * m_hidden, memory.state);
    }
}

void RecurrentLoops::step(size_t direction, size_t time, const Memory& memory) const {
    const float* weights = m_stateWeights + direction * m_columns * m_hidden;
    if (m_kind != RecurrentKind::GruOfResetState) {
        multiplyState(weights, 0, m_columns, memory);
        update(m_kind == RecurrentKind::Lstm  ? m_steps.lstm
               : m_kind == RecurrentKind::Rnn ? m_steps.rnn
                                              : m_steps.gruOfResetProduct,
               direction, time, memory, &Memory::result);
        return;
    }
    const size_t candidate = 2 * m_hidden;
    multiplyState(weights, 0, candidate, memory);
    update(m_steps.gruReset, direction, time, memory, &Memory::carried);
    multiplyState(weights, candidate, m_columns, memory);
    update(m_steps.gruCandidate, direction, time, memory, &Memory::result);
}

void RecurrentLoops::runDirection(size_t direction, const Operands& operands,
                                  const Memory& memory) const {
    const size_t stateFloats = m_batch * m_hidden, at = direction * stateFloats;
    auto start = [&](const LibraryOperand& initial, float* to) {
        if (initial)
            std::memcpy(to, reinterpret_cast<const float*>(initial.read(operands)) + at,
                        stateFloats * sizeof(float));
        else
            std::fill(to, to + stateFloats, 0.0F);
    };
    start(m_initialC, memory.carried);
    start(m_initialH, memory.result);
    for (size_t b = 0; b < m_batch; ++b)
        storeState(b, memory.result + b * m_hidden, memory.state);
    multiplyInput(reinterpret_cast<const float*>(m_x.read(operands)),
                  m_inputWeights + direction * m_columns * m_depth, memory);
    auto* y = reinterpret_cast<float*>(m_y.write(operands));
    const bool backwards = m_directions == 2 ? direction == 1 : m_reverse;
    for (size_t i = 0; i < m_length; ++i) {
        const size_t t = backwards ? m_length - 1 - i : i;
        step(direction, t, memory);
        if (y)
            std::memcpy(y + (t * m_directions + direction) * stateFloats, memory.result,
                        stateFloats * sizeof(float));
    }
    for (const auto& [final, from] :
         {std::pair(&m_finalH, memory.result), {&m_finalC, memory.carried}})
        if (auto* to = reinterpret_cast<float*>(final->write(operands)))
            std::memcpy(to + at, from, stateFloats * sizeof(float));
}

void RecurrentLoops::run(const Operands& operands, RunContext& context) {
    const size_t floats = upTo(floatsOfRun(), laneGroup);
    auto* scratch =
        reinterpret_cast<float*>(m_scratch.reserve(m_directions * floats * sizeof(float)));
    // Two directions meet once: worth it when each takes far longer than that.
    constexpr size_t worthMeeting = size_t{1} << 22;
    const bool shared = m_length * m_batch * m_columns * (m_depth + m_hidden) >= worthMeeting;
    context.threads.forRange(m_directions, shared ? 1 : m_directions,
                             [&](size_t, size_t begin, size_t end) {
                                 for (size_t d = begin; d < end; ++d)
                                     runDirection(d, operands, memoryOf(scratch + d * floats));
                             });
}

} // namespace

bool fitsRecurrentLoops(const RecurrentShape& shape, const VectorTable& table) {
    const auto panel = static_cast<int64_t>(table.winograd.panel);
    const int64_t whole = shape.kind == RecurrentKind::GruOfResetState
                              ? shape.hidden // its products are two
                              : static_cast<int64_t>(gatesOf(shape.kind)) * shape.hidden;
    return shape.hidden % static_cast<int64_t>(laneGroup) == 0 && whole % panel == 0;
}

std::unique_ptr<Kernel> makeRecurrentLoops(const LibraryCall& call, const RecurrentShape& shape) {
    return std::make_unique<RecurrentLoops>(call, shape);
}

} // namespace fuselage::cpu
