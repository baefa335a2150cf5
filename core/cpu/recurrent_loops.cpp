// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/recurrent_loops.h"

#include <fmt/format.h>

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
    RecurrentLoops(const LibraryCall& call, RecurrentShape shape);
    void run(const Operands& operands, RunContext& context) override;

private:
    /// Floats that one direction needs while it runs.
    struct Memory {
        float *rows, *fromInput, *fromState, *state, *carried, *result, *peepholes;
    };

    /// One direction under way.
    struct Walk {
        size_t direction;
        const Operands& operands;
        const Memory& memory;
        RecurrentGates gates;
    };

    using Functions = RecurrentLoopsOf<RecurrentFunction>;
    using Gated = RecurrentLoopsOf<GatedRecurrentFunction>;

    Memory memoryOf(float* scratch) const;
    size_t floatsOfRun() const;
    const float* pack(const LibraryOperand& weights, size_t depth, Pages& pages) const;
    void packBias(const LibraryOperand& bias);
    std::optional<Error> wrongLength(const Operands& operands) const;
    void multiplyInput(const float* x, const float* weights, const Memory& memory) const;
    /// Columns [first, last): whole panels.
    void multiplyState(const float* weights, size_t first, size_t last, const Memory& memory) const;
    void storeState(size_t sequence, const float* from, float* state) const;
    void step(const Walk& walk, size_t time) const;
    void update(RecurrentFunction Functions::*usual, GatedRecurrentFunction Gated::*gated,
                const Walk& walk, size_t time, float* Memory::*stored) const;
    void copyPeepholes(const Walk& walk) const;
    void giveOut(const Walk& walk, size_t time, float* y) const;
    void runDirection(size_t direction, const Operands& operands, const Memory& memory) const;

    /// Whether the sequence still has this element.
    bool reaches(const Operands& operands, size_t sequence, size_t time) const {
        return !m_lengths || static_cast<int64_t>(time) < m_lengths.integerAt(operands, sequence);
    }

    /// Rows of a state as the model gives it.
    size_t stateAt(size_t direction, size_t sequence) const {
        return (m_batchFirst ? sequence * m_directions + direction
                             : direction * m_batch + sequence) *
               m_hidden;
    }

    const Node& m_node;
    RecurrentKind m_kind;
    size_t m_length, m_batch, m_inputs, m_hidden, m_directions;
    size_t m_width;   ///< hidden, filled up with elements that stay 0
    size_t m_depth;   ///< inputs, filled up with zeros
    size_t m_columns; ///< gates times width
    size_t m_biases;  ///< of one direction
    bool m_reverse, m_batchFirst;
    std::vector<RecurrentGates> m_gates; ///< by direction, or none
    const WinogradLoops& m_loops;
    const RecurrentLoopTable& m_steps;
    LibraryOperand m_x, m_lengths, m_initialH, m_initialC, m_peepholes, m_y, m_finalH, m_finalC;
    const float *m_inputWeights, *m_stateWeights; ///< [direction][panel][depth][panel's columns]
    std::vector<float> m_bias; ///< [direction][column]: both added up, except GruOfResetProduct's
    Scratch m_scratch;         ///< its own: operands that were reordered lie in the step's
};

RecurrentLoops::RecurrentLoops(const LibraryCall& call, RecurrentShape shape)
    : m_node(call.node()), m_kind(shape.kind), m_length(static_cast<size_t>(shape.length)),
      m_batch(static_cast<size_t>(shape.batch)), m_inputs(static_cast<size_t>(shape.inputs)),
      m_hidden(static_cast<size_t>(shape.hidden)),
      m_directions(static_cast<size_t>(shape.directions)),
      m_width(fitsRecurrentLoops(shape, call.context().table)
                  ? m_hidden
                  : upTo(m_hidden, std::max(laneGroup, call.context().table.winograd.panel))),
      m_depth(upTo(m_inputs, laneGroup)), m_columns(gatesOf(m_kind) * m_width),
      m_biases(m_columns + (m_kind == RecurrentKind::GruOfResetProduct ? m_width : 0)),
      m_reverse(shape.reverse), m_batchFirst(shape.batchFirst), m_gates(std::move(shape.gates)),
      m_loops(call.context().table.winograd), m_steps(call.context().table.recurrent),
      m_x(call.input(0)), m_lengths(call.input(4)), m_initialH(call.input(5)), m_y(call.output(0)),
      m_finalH(call.output(1)) {
    if (m_kind == RecurrentKind::Lstm) {
        m_initialC = call.input(6);
        m_peepholes = call.input(7);
        m_finalC = call.output(2);
    }
    Pages& pages = call.context().threads.pages();
    m_inputWeights = pack(call.input(1), m_depth, pages);
    m_stateWeights = pack(call.input(2), m_width, pages);
    packBias(call.input(3));
    tactic = std::string(nameOf(m_kind)) + " loops " + call.context().table.name;
}

/// From [direction, gate, element, depth] in rows.
const float* RecurrentLoops::pack(const LibraryOperand& weights, size_t depth, Pages& pages) const {
    const float* from = weights.layout.constant->as<float>().data();
    const size_t given = static_cast<size_t>(weights.layout.extents[2]);
    const size_t panel = m_loops.panel, rows = gatesOf(m_kind) * m_hidden;
    const size_t bytes = m_directions * m_columns * depth * sizeof(float);
    return reinterpret_cast<const float*>(pages.filled(bytes, [&](std::byte* packed) {
        auto* to = reinterpret_cast<float*>(packed);
        std::vector<const float*> rowOf(panel); // null: filled up
        for (size_t d = 0; d < m_directions; ++d, from += rows * given)
            for (size_t column = 0; column < m_columns; column += panel) {
                for (size_t i = 0; i < panel; ++i) {
                    const size_t gate = (column + i) / m_width, element = (column + i) % m_width;
                    rowOf[i] =
                        element < m_hidden ? from + (gate * m_hidden + element) * given : nullptr;
                }
                for (size_t k = 0; k < depth; ++k)
                    for (size_t i = 0; i < panel; ++i)
                        *to++ = rowOf[i] && k < given ? rowOf[i][k] : 0.0F;
            }
    }));
}

/// That of a state inside of the reset stands apart, last.
void RecurrentLoops::packBias(const LibraryOperand& bias) {
    m_bias.assign(m_directions * m_biases, 0.0F);
    if (!bias)
        return;
    const float* from = bias.layout.constant->as<float>().data();
    const size_t gates = gatesOf(m_kind), together = m_biases == m_columns ? gates : gates - 1;
    for (size_t d = 0; d < m_directions; ++d, from += 2 * gates * m_hidden) {
        float* to = m_bias.data() + d * m_biases;
        const float* ofState = from + gates * m_hidden;
        for (size_t gate = 0; gate < gates; ++gate)
            for (size_t i = 0; i < m_hidden; ++i) {
                const size_t at = gate * m_hidden + i;
                to[gate * m_width + i] = from[at] + (gate < together ? ofState[at] : 0.0F);
                if (gate >= together)
                    to[m_columns + i] = ofState[at];
            }
    }
}

size_t RecurrentLoops::floatsOfRun() const {
    return m_length * m_batch * (m_depth + m_columns) + m_batch * (m_columns + 3 * m_width) +
           3 * m_width + 7 * laneGroup;
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
    out.state = take(m_batch * m_width);
    out.carried = take(m_batch * m_width);
    out.result = take(m_batch * m_width);
    out.peepholes = take(3 * m_width);
    return out;
}

/// All elements of all sequences at once, some rows at a time.
void RecurrentLoops::multiplyInput(const float* x, const float* weights,
                                   const Memory& memory) const {
    const size_t rows = m_length * m_batch, panel = m_loops.panel;
    auto rowOf = [&](size_t row) {
        return x + (m_batchFirst ? row % m_batch * m_length + row / m_batch : row) * m_inputs;
    };
    for (size_t first = 0; first < rows; first += m_loops.mostRows) {
        const size_t count = std::min(m_loops.mostRows, rows - first);
        float* to = memory.rows + first * m_depth;
        for (size_t k = 0; k < m_depth; k += laneGroup)
            for (size_t r = 0; r < count; ++r, to += laneGroup) {
                const size_t given = std::min(laneGroup, m_inputs - std::min(k, m_inputs));
                std::memcpy(to, rowOf(first + r) + k, given * sizeof(float));
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
        const float* state = memory.state + row * m_width;
        float* to = memory.fromState + row * m_columns;
        size_t column = first;
        for (; m_loops.panels[count] && column + width <= last; column += width)
            m_loops.panels[count](state, count * laneGroup, weights + column * m_width,
                                  panel * m_width, to + column, m_columns, m_width);
        for (; column < last; column += panel)
            m_loops.product[count](state, count * laneGroup, weights + column * m_width,
                                   to + column, m_columns, m_width);
    }
}

/// One sequence's state to where the products of its group of rows read it.
void RecurrentLoops::storeState(size_t sequence, const float* from, float* state) const {
    const size_t first = sequence / m_loops.mostRows * m_loops.mostRows;
    const size_t count = std::min(m_loops.mostRows, m_batch - first);
    float* to = state + first * m_width + (sequence - first) * laneGroup;
    for (size_t k = 0; k < m_width; k += laneGroup, to += count * laneGroup)
        std::memcpy(to, from + k, laneGroup * sizeof(float));
}

/// Each sequence's gates, and what the next product reads of it.
void RecurrentLoops::update(RecurrentFunction Functions::*usual,
                            GatedRecurrentFunction Gated::*gated, const Walk& walk, size_t time,
                            float* Memory::*stored) const {
    const Memory& memory = walk.memory;
    const float* bias = m_bias.data() + walk.direction * m_biases;
    for (size_t b = 0; b < m_batch; ++b) {
        if (!reaches(walk.operands, b, time))
            continue;
        const float* fromInput = memory.fromInput + (time * m_batch + b) * m_columns;
        float* fromState = memory.fromState + b * m_columns;
        float *carried = memory.carried + b * m_width, *result = memory.result + b * m_width;
        if (m_gates.empty()) {
            (m_steps.*usual)(fromInput, fromState, bias, carried, result, m_width);
        } else {
            (m_steps.gated.*gated)(fromInput, fromState, bias, carried, result, m_width,
                                   walk.gates);
            for (float* filled : {carried, result}) // functions need not keep a zero
                std::fill(filled + m_hidden, filled + m_width, 0.0F);
        }
        storeState(b, memory.*stored + b * m_width, memory.state);
    }
}

void RecurrentLoops::step(const Walk& walk, size_t time) const {
    const float* weights = m_stateWeights + walk.direction * m_columns * m_width;
    if (m_kind != RecurrentKind::GruOfResetState) {
        multiplyState(weights, 0, m_columns, walk.memory);
        switch (m_kind) {
        case RecurrentKind::Lstm:
            return update(&Functions::lstm, &Gated::lstm, walk, time, &Memory::result);
        case RecurrentKind::Rnn:
            return update(&Functions::rnn, &Gated::rnn, walk, time, &Memory::result);
        default:
            return update(&Functions::gruOfResetProduct, &Gated::gruOfResetProduct, walk, time,
                          &Memory::result);
        }
    }
    const size_t candidate = 2 * m_width;
    multiplyState(weights, 0, candidate, walk.memory);
    update(&Functions::gruReset, &Gated::gruReset, walk, time, &Memory::carried);
    multiplyState(weights, candidate, m_columns, walk.memory);
    update(&Functions::gruCandidate, &Gated::gruCandidate, walk, time, &Memory::result);
}

void RecurrentLoops::copyPeepholes(const Walk& walk) const {
    const auto* from = reinterpret_cast<const float*>(m_peepholes.read(walk.operands)) +
                       walk.direction * 3 * m_hidden;
    std::fill(walk.memory.peepholes, walk.memory.peepholes + 3 * m_width, 0.0F);
    for (size_t gate = 0; gate < 3; ++gate)
        std::copy_n(from + gate * m_hidden, m_hidden, walk.memory.peepholes + gate * m_width);
}

/// Zeros behind a sequence's end.
void RecurrentLoops::giveOut(const Walk& walk, size_t time, float* y) const {
    for (size_t b = 0; b < m_batch; ++b) {
        const size_t row = m_batchFirst ? (b * m_length + time) * m_directions + walk.direction
                                        : (time * m_directions + walk.direction) * m_batch + b;
        if (reaches(walk.operands, b, time))
            std::copy_n(walk.memory.result + b * m_width, m_hidden, y + row * m_hidden);
        else
            std::fill_n(y + row * m_hidden, m_hidden, 0.0F);
    }
}

void RecurrentLoops::runDirection(size_t direction, const Operands& operands,
                                  const Memory& memory) const {
    Walk walk{direction, operands, memory, m_gates.empty() ? RecurrentGates{} : m_gates[direction]};
    if (m_peepholes) {
        copyPeepholes(walk);
        walk.gates.peepholes = memory.peepholes;
    }
    auto start = [&](const LibraryOperand& initial, float* to) {
        std::fill(to, to + m_batch * m_width, 0.0F);
        if (!initial)
            return;
        const auto* from = reinterpret_cast<const float*>(initial.read(operands));
        for (size_t b = 0; b < m_batch; ++b)
            std::copy_n(from + stateAt(direction, b), m_hidden, to + b * m_width);
    };
    start(m_initialC, memory.carried);
    start(m_initialH, memory.result);
    for (size_t b = 0; b < m_batch; ++b)
        storeState(b, memory.result + b * m_width, memory.state);
    multiplyInput(reinterpret_cast<const float*>(m_x.read(operands)),
                  m_inputWeights + direction * m_columns * m_depth, memory);
    auto* y = reinterpret_cast<float*>(m_y.write(operands));
    const bool backwards = m_directions == 2 ? direction == 1 : m_reverse;
    for (size_t i = 0; i < m_length; ++i) {
        const size_t t = backwards ? m_length - 1 - i : i;
        step(walk, t);
        if (y)
            giveOut(walk, t, y);
    }
    for (const auto& [final, from] :
         {std::pair(&m_finalH, memory.result), {&m_finalC, memory.carried}})
        if (auto* to = reinterpret_cast<float*>(final->write(operands)))
            for (size_t b = 0; b < m_batch; ++b)
                std::copy_n(from + b * m_width, m_hidden, to + stateAt(direction, b));
}

std::optional<Error> RecurrentLoops::wrongLength(const Operands& operands) const {
    for (size_t b = 0; m_lengths && b < m_batch; ++b)
        if (const int64_t length = m_lengths.integerAt(operands, b);
            length < 0 || length > static_cast<int64_t>(m_length))
            return Error{
                "run.input",
                fmt::format("length {} of {} is not within 0..{}", length, m_node.name, m_length),
                {},
                {}};
    return std::nullopt;
}

void RecurrentLoops::run(const Operands& operands, RunContext& context) {
    if ((context.error = wrongLength(operands)))
        return;
    const size_t floats = upTo(floatsOfRun(), laneGroup);
    auto* scratch =
        reinterpret_cast<float*>(m_scratch.reserve(m_directions * floats * sizeof(float)));
    // Two directions meet once: worth it when each takes far longer than that.
    constexpr size_t worthMeeting = size_t{1} << 22;
    const bool shared = m_length * m_batch * m_columns * (m_depth + m_width) >= worthMeeting;
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

std::unique_ptr<Kernel> makeRecurrentLoops(const LibraryCall& call, RecurrentShape shape) {
    return std::make_unique<RecurrentLoops>(call, std::move(shape));
}

} // namespace fuselage::cpu
