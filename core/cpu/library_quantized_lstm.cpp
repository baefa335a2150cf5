// SPDX-License-Identifier: Apache-2.0
// DynamicQuantizeLSTM of constant weights: X is quantised once and multiplied with the weights of
// each direction, then the state step by step, in the range of all its sequences. Sums of products
// are exact integers; gates are those of the float LSTM. One thread a direction where there are
// two.
#include "core/cpu/dynamic_scale.h"
#include "core/cpu/integer_product.h"
#include "core/cpu/library.h"

#include <algorithm>
#include <cstring>

namespace fuselage::cpu {

namespace {

constexpr size_t lstmGates = 4;
constexpr int64_t mostDepth = 1 << 14; ///< 2 * 255 * 255 of each product still fit in int32

struct QuantizedLstmShape {
    int64_t length = 0, batch = 0, inputs = 0, hidden = 0, directions = 1;
    bool reverse = false; ///< of one direction

    int64_t columns() const { return static_cast<int64_t>(lstmGates) * hidden; }
};

size_t alignedBytes(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

/// Weights [directions, depth, columns] of 8-bit integers, ready for products.
class QuantizedWeights {
public:
    /// `first`: of the operands weights, scale and zero point. None of them varies.
    QuantizedWeights(const LibraryOperand& weights, const LibraryOperand& scale,
                     const LibraryOperand& zero) {
        const Tensor& stored = *weights.layout.constant;
        const int64_t directions = stored.extents()[0];
        m_depth = stored.extents()[1];
        m_columns = stored.extents()[2];
        const int64_t scales = scale.layout.constant->elementCount();
        const auto columns = static_cast<size_t>(m_columns);
        const auto* elements = reinterpret_cast<const uint8_t*>(stored.bytes());
        const bool isSigned = stored.dtype() == DType::Int8;
        for (int64_t d = 0; d < directions; ++d) {
            std::vector<int32_t> origins, sums(columns, 0);
            for (int64_t column = 0; column < m_columns; ++column) {
                const int64_t at = scales == directions ? d : d * m_columns + column;
                origins.push_back(zero ? static_cast<int32_t>(zero.layout.constant->intAt(at)) : 0);
                m_scales.push_back(static_cast<float>(scale.layout.constant->at(at)));
            }
            IntegerMatrix matrix{m_depth, m_columns,
                                 std::vector<int32_t>(static_cast<size_t>(m_depth) * columns)};
            int32_t* to = matrix.values.data();
            for (int64_t row = 0; row < m_depth; ++row, elements += columns, to += columns)
                for (size_t i = 0; i < columns; ++i) {
                    const int32_t element =
                        isSigned ? static_cast<int8_t>(elements[i]) : elements[i];
                    to[i] = element - origins[i];
                    sums[i] += to[i];
                }
            m_matrices.push_back(std::move(matrix));
            m_sums.insert(m_sums.end(), sums.begin(), sums.end());
        }
    }

    /// For `rows` rows at a time; the reason where there is no such product.
    std::optional<Reason> pack(int64_t rows, const PrepareContext& context) {
        auto product = makeIntegerProduct({rows, m_depth, m_columns, m_depth, m_columns},
                                          m_matrices, context.table, context.threads.pages());
        if (auto* reason = std::get_if<Reason>(&product))
            return *reason;
        m_product = std::move(std::get<std::unique_ptr<IntegerProduct>>(product));
        m_rows = rows;
        m_addScaled = context.table.integer.addScaled;
        m_matrices.clear();
        return std::nullopt;
    }

    /// out = a * weights, as floats.
    void multiply(const uint8_t* a, const DynamicScale& steps, size_t direction, float* out,
                  std::byte* scratch) const {
        const auto columns = static_cast<size_t>(m_columns), rows = static_cast<size_t>(m_rows);
        auto* sums = reinterpret_cast<int32_t*>(scratch);
        m_product->run(a, direction, sums, scratch + sumBytes());
        const float* scales = m_scales.data() + direction * columns;
        for (size_t row = 0; row < rows; ++row, sums += columns, out += columns) {
            m_addScaled(sums, m_sums.data() + direction * columns,
                        -static_cast<int32_t>(steps.zero), columns);
            for (size_t i = 0; i < columns; ++i)
                out[i] = static_cast<float>(sums[i]) * (steps.scale * scales[i]);
        }
    }

    size_t scratchBytes() const { return sumBytes() + alignedBytes(m_product->scratchBytes); }

    const std::string& implementation() const { return m_product->implementation; }

private:
    size_t sumBytes() const { return alignedBytes(static_cast<size_t>(m_rows * m_columns) * 4); }

    int64_t m_depth = 0, m_columns = 0, m_rows = 0;
    std::vector<IntegerMatrix> m_matrices; ///< until they are packed
    std::vector<int32_t> m_sums;           ///< [direction][column]: of all rows
    std::vector<float> m_scales;           ///< [direction][column]
    std::unique_ptr<IntegerProduct> m_product;
    void (*m_addScaled)(int32_t*, const int32_t*, int32_t, size_t) = nullptr;
};

class QuantizedLstm final : public Kernel {
public:
    QuantizedLstm(const LibraryCall& call, const QuantizedLstmShape& shape)
        : m_shape(shape), m_integer(call.context().table.integer),
          m_gates(call.context().table.recurrent.lstm), m_x(call.input(0)),
          m_initialH(call.input(5)), m_initialC(call.input(6)), m_y(call.output(0)),
          m_finalH(call.output(1)), m_finalC(call.output(2)),
          m_inputWeights(call.input(1), call.input(8), call.input(9)),
          m_stateWeights(call.input(2), call.input(10), call.input(11)) {
        addBias(call.input(3));
    }

    std::optional<Reason> prepare(const PrepareContext& context) {
        if (auto why = m_inputWeights.pack(m_shape.length * m_shape.batch, context))
            return why;
        {
            const Threads::Alone alone(context.threads, isStepForOneThread());
            if (auto why = m_stateWeights.pack(m_shape.batch, context))
                return why;
        }
        tactic = "quantised lstm, " + m_stateWeights.implementation();
        return std::nullopt;
    }

    void run(const Operands& operands, RunContext& context) override {
        const auto directions = static_cast<size_t>(m_shape.directions);
        const size_t xBytes = alignedBytes(inputElements()), each = bytesOfDirection();
        std::byte* scratch = m_scratch.reserve(xBytes + directions * each);
        auto* x = reinterpret_cast<uint8_t*>(scratch);
        const DynamicScale steps =
            quantise(reinterpret_cast<const float*>(m_x.read(operands)), inputElements(), x);
        context.threads.forRange(directions, 1, [&](size_t, size_t begin, size_t end) {
            for (size_t d = begin; d < end; ++d)
                runDirection(d, operands, {x, steps, scratch + xBytes + d * each}, context);
        });
    }

private:
    /// What one direction gets of a run.
    struct Work {
        const uint8_t* x;
        DynamicScale steps; ///< of x
        std::byte* scratch;
    };

    size_t inputElements() const {
        return static_cast<size_t>(m_shape.length * m_shape.batch * m_shape.inputs);
    }

    size_t stateElements() const { return static_cast<size_t>(m_shape.batch * m_shape.hidden); }

    size_t columns() const { return static_cast<size_t>(m_shape.columns()); }

    /// Threads meet after every step: small ones are not worth it.
    bool isStepForOneThread() const {
        constexpr int64_t multiplyAddsWorthMeeting = 1 << 22;
        return m_shape.directions > 1 ||
               m_shape.batch * m_shape.hidden * m_shape.columns() < multiplyAddsWorthMeeting;
    }

    size_t bytesOfDirection() const {
        const size_t floats =
            static_cast<size_t>((m_shape.length + 1) * m_shape.batch) * columns() +
            2 * stateElements();
        return alignedBytes(floats * sizeof(float)) + alignedBytes(stateElements()) +
               std::max(m_inputWeights.scratchBytes(), m_stateWeights.scratchBytes());
    }

    void addBias(const LibraryOperand& bias) {
        m_bias.assign(static_cast<size_t>(m_shape.directions) * columns(), 0.0F);
        for (size_t i = 0; bias && i < m_bias.size(); ++i) {
            const size_t d = i / columns(), at = i + d * columns();
            m_bias[i] =
                static_cast<float>(bias.layout.constant->at(static_cast<int64_t>(at))) +
                static_cast<float>(bias.layout.constant->at(static_cast<int64_t>(at + columns())));
        }
    }

    DynamicScale quantise(const float* from, size_t count, uint8_t* to) const {
        float low = 0, high = 0;
        m_integer.range(from, count, &low, &high);
        const DynamicScale steps = DynamicScale::of(low, high);
        m_integer.quantise(from, to, count, steps.scale, steps.zero);
        return steps;
    }

    void start(const LibraryOperand& initial, const Operands& operands, size_t direction,
               float* to) const {
        if (initial)
            std::memcpy(to,
                        reinterpret_cast<const float*>(initial.read(operands)) +
                            direction * stateElements(),
                        stateElements() * sizeof(float));
        else
            std::fill_n(to, stateElements(), 0.0F);
    }

    void runDirection(size_t direction, const Operands& operands, const Work& work,
                      RunContext& context) const {
        const auto hidden = static_cast<size_t>(m_shape.hidden),
                   batch = static_cast<size_t>(m_shape.batch),
                   length = static_cast<size_t>(m_shape.length);
        auto* fromInput = reinterpret_cast<float*>(work.scratch);
        float* fromState = fromInput + length * batch * columns();
        float* cell = fromState + batch * columns();
        float* result = cell + stateElements();
        std::byte* rest =
            work.scratch +
            alignedBytes(static_cast<size_t>(result + stateElements() - fromInput) * sizeof(float));
        auto* quantised = reinterpret_cast<uint8_t*>(rest);
        rest += alignedBytes(stateElements());
        m_inputWeights.multiply(work.x, work.steps, direction, fromInput, rest);
        start(m_initialC, operands, direction, cell);
        start(m_initialH, operands, direction, result);
        auto* y = reinterpret_cast<float*>(m_y.write(operands));
        const bool backwards = m_shape.directions == 2 ? direction == 1 : m_shape.reverse;
        const Threads::Alone alone(context.threads,
                                   m_shape.directions == 1 && isStepForOneThread());
        for (size_t i = 0; i < length; ++i) {
            const size_t t = backwards ? length - 1 - i : i;
            const DynamicScale steps = quantise(result, stateElements(), quantised);
            m_stateWeights.multiply(quantised, steps, direction, fromState, rest);
            for (size_t b = 0; b < batch; ++b)
                m_gates(fromInput + (t * batch + b) * columns(), fromState + b * columns(),
                        m_bias.data() + direction * columns(), cell + b * hidden,
                        result + b * hidden, hidden);
            if (y)
                std::memcpy(y + (t * static_cast<size_t>(m_shape.directions) + direction) *
                                    stateElements(),
                            result, stateElements() * sizeof(float));
        }
        for (const auto& [final, from] : {std::pair(&m_finalH, result), {&m_finalC, cell}})
            if (auto* to = reinterpret_cast<float*>(final->write(operands)))
                std::memcpy(to + direction * stateElements(), from,
                            stateElements() * sizeof(float));
    }

    QuantizedLstmShape m_shape;
    const IntegerLoops& m_integer;
    RecurrentFunction m_gates;
    LibraryOperand m_x, m_initialH, m_initialC, m_y, m_finalH, m_finalC;
    QuantizedWeights m_inputWeights, m_stateWeights;
    std::vector<float> m_bias; ///< [direction][column]: both added up
    Scratch m_scratch;         ///< its own: operands that were reordered lie in the step's
};

/// Why the reference function runs it; none when this kernel does.
std::optional<std::string> refusalOf(const LibraryCall& call) {
    const Attributes& attributes = call.node().attributes;
    if (call.input(4) || call.input(7))
        return "sequences of their own length, or peepholes";
    if (attributes.integer("input_forget") != 0 || attributes.number("clip") > 0)
        return "forget gates that are coupled, or clipped gates";
    const std::vector<std::string> usual{"Sigmoid", "Tanh", "Tanh"};
    const std::vector<std::string> names = attributes.strings("activations");
    for (size_t i = 0; i < names.size(); ++i)
        if (names[i] != usual[i % usual.size()])
            return "activation `" + names[i] + "`";
    for (size_t i : {1, 2, 3, 8, 9, 10, 11})
        if (call.input(i) && !call.input(i).layout.constant)
            return "weights, scales or biases that vary";
    for (size_t i : {1, 2})
        if (call.input(i).layout.dtype != DType::Int8 && call.input(i).layout.dtype != DType::UInt8)
            return std::string("weights of ") + nameOf(call.input(i).layout.dtype);
    for (size_t i : {9, 11})
        if (call.input(i) && call.input(i).layout.dtype != call.input(i == 9 ? 1 : 2).layout.dtype)
            return "zero points of another type than the weights";
    for (size_t i : {0, 3, 5, 6, 8, 10})
        if (call.input(i) && call.input(i).layout.dtype != DType::Float32)
            return std::string("operands of ") + nameOf(call.input(i).layout.dtype);
    return std::nullopt;
}

std::optional<QuantizedLstmShape> shapeOfCall(const LibraryCall& call) {
    const Extents &x = call.input(0).layout.extents, &w = call.input(1).layout.extents,
                  &r = call.input(2).layout.extents;
    const std::string direction = call.node().attributes.string("direction", "forward");
    if (x.size() != 3 || r.size() != 3 || elementCount(x).value_or(0) == 0)
        return std::nullopt;
    QuantizedLstmShape out{
        x[0], x[1], x[2], r[1], direction == "bidirectional" ? 2 : 1, direction == "reverse"};
    const int64_t d = out.directions;
    if (out.hidden < 1 || out.hidden > mostDepth || out.inputs > mostDepth)
        return std::nullopt;
    const auto isOneOf = [&](size_t i, std::initializer_list<Extents> allowed) {
        return !call.input(i) || std::find(allowed.begin(), allowed.end(),
                                           call.input(i).layout.extents) != allowed.end();
    };
    bool fits = w == Extents{d, out.inputs, out.columns()} &&
                r == Extents{d, out.hidden, out.columns()} &&
                isOneOf(3, {{d, 2 * out.columns()}}) && isOneOf(5, {{d, out.batch, out.hidden}}) &&
                isOneOf(6, {{d, out.batch, out.hidden}});
    for (size_t i : {8, 10}) {
        fits = fits && call.input(i) && isOneOf(i, {{d}, {d, out.columns()}});
        fits = fits && (!call.input(i + 1) ||
                        call.input(i + 1).layout.extents == call.input(i).layout.extents);
    }
    return fits ? std::optional(out) : std::nullopt;
}

} // namespace

KernelResult prepareQuantizedLstm(const LibraryCall& call) {
    if (auto why = refusalOf(call))
        return failure("cpu.support", *why + " run through the reference function");
    const auto shape = shapeOfCall(call);
    if (!shape)
        return failure("cpu.shape", "operands are empty, too deep or do not go together");
    auto kernel = std::make_unique<QuantizedLstm>(call, *shape);
    if (auto why = kernel->prepare(call.context()))
        return failure("cpu.support", why->message);
    return std::unique_ptr<Kernel>(std::move(kernel));
}

} // namespace fuselage::cpu
