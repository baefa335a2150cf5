// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN of float data: by oneDNN, for which weights that vary are packed at every run,
// or by loops of our own.
#include "core/cpu/library.h"
#include "core/cpu/onednn_internal.h"
#include "core/cpu/recurrent_loops.h"
#include "core/ops/recurrent.h"

#include <algorithm>
#include <cstring>

namespace fuselage::cpu {

namespace {

using namespace onednn;
using dnnl::memory;
using Tag = memory::format_tag;

/// Sizes of a layer, and where its gates stand in ONNX's order.
struct Layer {
    Op op = Op::LSTM;
    int64_t length = 0, batch = 0, inputs = 0, hidden = 0, directions = 1;
    dnnl::rnn_direction direction = dnnl::rnn_direction::unidirectional_left2right;
    bool linearBeforeReset = false;
    std::vector<size_t> gates; ///< oneDNN's order -> ONNX's

    /// oneDNN keeps the recurrent bias of the candidate apart when it is inside of the reset.
    size_t biases() const { return gates.size() + (linearBeforeReset ? 1 : 0); }

    size_t rows() const { return gates.size() * static_cast<size_t>(hidden); }

    bool isReverse() const { return direction == dnnl::rnn_direction::unidirectional_right2left; }

    /// Threads meet at the end of every element of a sequence: work that is small there is done by
    /// one, however long the sequence.
    bool isForOneThread() const {
        constexpr double multiplyAddsWorthMeeting = 1 << 20;
        return static_cast<double>(rows()) * static_cast<double>(hidden) *
                   static_cast<double>(batch) <
               multiplyAddsWorthMeeting;
    }
};

/// W or R, [directions, gates * hidden, columns], as [directions, columns, gates, hidden].
void transposeWeights(const Layer& layer, const float* from, size_t columns, float* to) {
    auto hidden = static_cast<size_t>(layer.hidden);
    for (size_t d = 0; d < static_cast<size_t>(layer.directions); ++d)
        for (size_t g = 0; g < layer.gates.size(); ++g)
            for (size_t o = 0; o < hidden; ++o) {
                const float* line =
                    from + (d * layer.rows() + layer.gates[g] * hidden + o) * columns;
                float* column = to + d * columns * layer.rows() + g * hidden + o;
                for (size_t k = 0; k < columns; ++k)
                    column[k * layer.rows()] = line[k];
            }
}

/// [directions, 2 * gates * hidden] as [directions, biases, hidden]: both biases added up.
void joinBiases(const Layer& layer, const float* from, float* to) {
    auto hidden = static_cast<size_t>(layer.hidden);
    for (size_t d = 0; d < static_cast<size_t>(layer.directions); ++d) {
        const float* input = from + d * 2 * layer.rows();
        const float* recurrent = input + layer.rows();
        for (size_t g = 0; g < layer.biases(); ++g)
            for (size_t o = 0; o < hidden; ++o) {
                bool apart = g == layer.gates.size();
                bool candidate = layer.linearBeforeReset && g + 1 == layer.gates.size();
                size_t at = layer.gates[std::min(g, layer.gates.size() - 1)] * hidden + o;
                *to++ = (apart ? 0.0F : input[at]) + (candidate ? 0.0F : recurrent[at]);
            }
    }
}

/// What the three kinds of primitive have in common.
struct Recurrence {
    dnnl::primitive primitive;
    std::string implementation;
    memory::desc inputWeights, recurrentWeights, bias, scratchpad;
};

class RecurrentKernel final : public Kernel {
public:
    RecurrentKernel(const LibraryCall& call, const Layer& layer);
    void run(const Operands& operands, RunContext& context) override;

private:
    Recurrence build() const;
    memory::desc stateDesc(bool used) const;
    void pack(const std::byte* w, const std::byte* r, const std::byte* b);

    Layer m_layer;
    LibraryOperand m_x, m_w, m_r, m_b, m_initialH, m_initialC, m_y, m_finalH, m_finalC;
    bool m_hasCell = false, m_startsAtZero = false, m_wantsFinal = false, m_constantWeights = false;
    Recurrence m_recurrence;
    memory m_inputWeights, m_recurrentWeights, m_bias;
    std::byte* m_zeros = nullptr; ///< an initial state that is omitted while the other is given
    std::unordered_map<int, memory> m_arguments;
    Scratch m_scratch;
};

memory::desc floats(const memory::dims& dims, Tag tag) {
    return {dims, memory::data_type::f32, tag};
}

memory::desc RecurrentKernel::stateDesc(bool used) const {
    return used ? floats({1, m_layer.directions, m_layer.batch, m_layer.hidden}, Tag::ldnc)
                : memory::desc();
}

template <typename Primitive, typename... Arguments> Recurrence makeRecurrence(Arguments... given) {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    typename Primitive::desc desc(dnnl::prop_kind::forward_inference, given...);
    typename Primitive::primitive_desc pd(desc, attributes, engine());
    return {Primitive(pd),          pd.impl_info_str(), pd.weights_layer_desc(),
            pd.weights_iter_desc(), pd.bias_desc(),     pd.scratchpad_desc()};
}

Recurrence RecurrentKernel::build() const {
    const Layer& l = m_layer;
    auto gates = static_cast<int64_t>(l.gates.size()), biases = static_cast<int64_t>(l.biases());
    memory::desc x = floats({l.length, l.batch, l.inputs}, Tag::tnc);
    memory::desc y = floats({l.length, l.batch, l.directions * l.hidden}, Tag::tnc);
    memory::desc w = floats({1, l.directions, l.inputs, gates, l.hidden}, Tag::any);
    memory::desc r = floats({1, l.directions, l.hidden, gates, l.hidden}, Tag::any);
    memory::desc b = floats({1, l.directions, biases, l.hidden}, Tag::ldgo);
    memory::desc first = stateDesc(!m_startsAtZero), last = stateDesc(m_wantsFinal);
    if (l.op == Op::LSTM)
        return makeRecurrence<dnnl::lstm_forward>(l.direction, x, first, first, w, r, b, y, last,
                                                  last);
    if (l.op == Op::RNN)
        return makeRecurrence<dnnl::vanilla_rnn_forward>(dnnl::algorithm::eltwise_tanh, l.direction,
                                                         x, first, w, r, b, y, last);
    if (l.linearBeforeReset)
        return makeRecurrence<dnnl::lbr_gru_forward>(l.direction, x, first, w, r, b, y, last);
    return makeRecurrence<dnnl::gru_forward>(l.direction, x, first, w, r, b, y, last);
}

RecurrentKernel::RecurrentKernel(const LibraryCall& call, const Layer& layer)
    : m_layer(layer), m_x(call.input(0)), m_w(call.input(1)), m_r(call.input(2)),
      m_b(call.input(3)), m_initialH(call.input(5)), m_y(call.output(0)), m_finalH(call.output(1)) {
    m_hasCell = layer.op == Op::LSTM;
    if (m_hasCell) {
        m_initialC = call.input(6);
        m_finalC = call.output(2);
    }
    m_startsAtZero = !m_initialH && !m_initialC;
    m_wantsFinal = m_finalH.slot >= 0 || m_finalC.slot >= 0;
    {
        const Threads::Alone alone(call.context().threads, m_layer.isForOneThread());
        m_recurrence = build();
    }
    Pages& pages = call.context().threads.pages();
    auto place = [&](const memory::desc& desc) {
        return memory(desc, engine(), pages.take(desc.get_size()));
    };
    m_inputWeights = place(m_recurrence.inputWeights);
    m_recurrentWeights = place(m_recurrence.recurrentWeights);
    m_bias = place(m_recurrence.bias);
    std::memset(m_bias.get_data_handle(), 0, m_recurrence.bias.get_size());
    size_t stateBytes = stateDesc(true).get_size();
    m_zeros = pages.take(stateBytes);
    std::memset(m_zeros, 0, stateBytes);
    auto constant = [](const LibraryOperand& operand) {
        return !operand || operand.layout.constant;
    };
    m_constantWeights = constant(m_w) && constant(m_r) && constant(m_b);
    if (m_constantWeights)
        pack(m_w.layout.constant->bytes(), m_r.layout.constant->bytes(),
             m_b ? m_b.layout.constant->bytes() : nullptr);
    m_arguments = {{DNNL_ARG_WEIGHTS_LAYER, m_inputWeights},
                   {DNNL_ARG_WEIGHTS_ITER, m_recurrentWeights},
                   {DNNL_ARG_BIAS, m_bias}};
    tactic = "onednn " + m_recurrence.implementation;
    if (m_layer.isForOneThread() && call.context().threads.count() > 1)
        tactic += ", one thread";
}

void RecurrentKernel::pack(const std::byte* w, const std::byte* r, const std::byte* b) {
    auto gates = static_cast<int64_t>(m_layer.gates.size());
    auto packOne = [&](const std::byte* from, int64_t columns, memory& packed) {
        memory::desc plain =
            floats({1, m_layer.directions, columns, gates, m_layer.hidden}, Tag::ldigo);
        std::vector<float> values(plain.get_size() / sizeof(float));
        transposeWeights(m_layer, reinterpret_cast<const float*>(from),
                         static_cast<size_t>(columns), values.data());
        memory source(plain, engine(), values.data());
        execute(dnnl::reorder(source, packed), {{DNNL_ARG_FROM, source}, {DNNL_ARG_TO, packed}});
    };
    packOne(w, m_layer.inputs, m_inputWeights);
    packOne(r, m_layer.hidden, m_recurrentWeights);
    if (b)
        joinBiases(m_layer, reinterpret_cast<const float*>(b),
                   static_cast<float*>(m_bias.get_data_handle()));
}

void RecurrentKernel::run(const Operands& operands, RunContext& context) {
    if (!m_constantWeights)
        pack(m_w.read(operands), m_r.read(operands), m_b ? m_b.read(operands) : nullptr);
    const Layer& l = m_layer;
    auto hiddenBytes = static_cast<size_t>(l.hidden) * sizeof(float);
    size_t stateBytes = static_cast<size_t>(l.directions * l.batch) * hiddenBytes;
    size_t resultBytes = static_cast<size_t>(l.length) * stateBytes;
    auto aligned = [](size_t bytes) { return (bytes + 63) / 64 * 64; };
    std::byte* scratch = m_scratch.reserve(aligned(m_recurrence.scratchpad.get_size()) +
                                           aligned(resultBytes) + 2 * aligned(stateBytes));
    auto bind = [&](int argument, const memory::desc& desc, const std::byte* data) {
        m_arguments[argument] = memory(desc, engine(), const_cast<std::byte*>(data));
    };
    bind(DNNL_ARG_SCRATCHPAD, m_recurrence.scratchpad, scratch);
    scratch += aligned(m_recurrence.scratchpad.get_size());
    // Two directions side by side in a row are ONNX's only when there is one.
    std::byte* y = m_y.slot >= 0 ? m_y.write(operands) : nullptr;
    std::byte* together = l.directions == 1 && y ? y : scratch;
    scratch += aligned(resultBytes);
    bind(DNNL_ARG_SRC_LAYER, floats({l.length, l.batch, l.inputs}, Tag::tnc), m_x.read(operands));
    bind(DNNL_ARG_DST_LAYER, floats({l.length, l.batch, l.directions * l.hidden}, Tag::tnc),
         together);
    if (!m_startsAtZero) {
        bind(DNNL_ARG_SRC_ITER, stateDesc(true), m_initialH ? m_initialH.read(operands) : m_zeros);
        if (m_hasCell)
            bind(DNNL_ARG_SRC_ITER_C, stateDesc(true),
                 m_initialC ? m_initialC.read(operands) : m_zeros);
    }
    if (m_wantsFinal) {
        bind(DNNL_ARG_DST_ITER, stateDesc(true),
             m_finalH.slot >= 0 ? m_finalH.write(operands) : scratch);
        if (m_hasCell)
            bind(DNNL_ARG_DST_ITER_C, stateDesc(true),
                 m_finalC.slot >= 0 ? m_finalC.write(operands) : scratch + aligned(stateBytes));
    }
    {
        const Threads::Alone alone(context.threads, m_layer.isForOneThread());
        execute(m_recurrence.primitive, m_arguments);
    }
    if (!y || together == y)
        return;
    auto rows = static_cast<size_t>(l.length * l.batch * l.directions);
    context.threads.forRange(rows, 4096, [&](size_t, size_t begin, size_t end) {
        auto batch = static_cast<size_t>(l.batch), directions = static_cast<size_t>(l.directions);
        for (size_t row = begin; row < end; ++row) { // of y: step, direction, sequence
            size_t step = row / (batch * directions), direction = row / batch % directions;
            size_t from = (step * batch + row % batch) * directions + direction;
            std::memcpy(y + row * hiddenBytes, together + from * hiddenBytes, hiddenBytes);
        }
    });
}

/// Why oneDNN does not compute this node; none when it does.
std::optional<std::string> refusal(const LibraryCall& call) {
    const Attributes& attributes = call.node().attributes;
    if (call.input(4))
        return "sequences of their own length";
    if (attributes.integer("layout") != 0)
        return "the batch in front";
    if (call.node().op == Op::LSTM && (call.input(7) || attributes.integer("input_forget") != 0))
        return "peepholes, or forget gates that are coupled";
    return std::nullopt;
}

/// Gates by direction; empty where they are the usual, none where an activation is unknown.
std::optional<std::vector<RecurrentGates>> unusualGates(const LibraryCall& call,
                                                        size_t directions) {
    using Name = RecurrentFunctionName;
    const Node& node = call.node();
    const auto functions = recurrentActivations(node);
    if (!functions)
        return std::nullopt;
    const std::vector<RecurrentActivation> usual =
        node.op == Op::RNN
            ? std::vector<RecurrentActivation>{{Name::Tanh}}
            : std::vector<RecurrentActivation>{{Name::Sigmoid}, {Name::Tanh}, {Name::Tanh}};
    const size_t each = functions->size() / directions;
    const auto clip = static_cast<float>(node.attributes.number("clip"));
    const bool coupled = node.op == Op::LSTM && node.attributes.integer("input_forget") != 0;
    bool isUsual = clip <= 0 && !coupled && !(node.op == Op::LSTM && call.input(7));
    std::vector<RecurrentGates> out;
    for (size_t d = 0; d < directions; ++d) {
        auto at = [&](size_t i) {
            const RecurrentActivation function =
                i < each ? (*functions)[d * each + i] : RecurrentActivation{};
            isUsual = isUsual && (i >= each || function == usual[i]);
            return function;
        };
        out.push_back({at(0), at(1), at(2), clip, coupled, nullptr});
    }
    return isUsual ? std::vector<RecurrentGates>{} : out;
}

std::optional<Layer> layerOf(const LibraryCall& call) {
    const Attributes& attributes = call.node().attributes;
    const Extents &x = call.input(0).layout.extents, &w = call.input(1).layout.extents,
                  &r = call.input(2).layout.extents;
    if (x.size() != 3 || w.size() != 3 || r.size() != 3)
        return std::nullopt;
    Layer out;
    out.op = call.node().op;
    const bool batchFirst = attributes.integer("layout") != 0;
    out.length = x[batchFirst ? 1 : 0];
    out.batch = x[batchFirst ? 0 : 1];
    out.inputs = x[2];
    out.hidden = r[2];
    const std::string direction = attributes.string("direction", "forward");
    using dnnl::rnn_direction;
    out.direction = direction == "bidirectional" ? rnn_direction::bidirectional_concat
                    : direction == "reverse"     ? rnn_direction::unidirectional_right2left
                                                 : rnn_direction::unidirectional_left2right;
    out.directions = direction == "bidirectional" ? 2 : 1;
    out.linearBeforeReset = out.op == Op::GRU && attributes.integer("linear_before_reset") != 0;
    // LSTM: ONNX has input, output, forget, cell; oneDNN input, forget, cell, output.
    out.gates = out.op == Op::RNN   ? std::vector<size_t>{0}
                : out.op == Op::GRU ? std::vector<size_t>{0, 1, 2}
                                    : std::vector<size_t>{0, 2, 3, 1};
    auto rows = static_cast<int64_t>(out.rows());
    const int64_t d = out.directions;
    const Extents state =
        batchFirst ? Extents{out.batch, d, out.hidden} : Extents{d, out.batch, out.hidden};
    auto fits = [](const LibraryOperand& operand, const Extents& extents) {
        return !operand || operand.layout.extents == extents;
    };
    bool whole = elementCount(x).value_or(0) > 0 && out.hidden > 0 &&
                 w == Extents{d, rows, out.inputs} && r == Extents{d, rows, out.hidden} &&
                 fits(call.input(3), {d, 2 * rows}) && fits(call.input(4), {out.batch}) &&
                 fits(call.input(5), state) &&
                 (out.op != Op::LSTM ||
                  (fits(call.input(6), state) && fits(call.input(7), {d, 3 * out.hidden})));
    return whole ? std::optional(out) : std::nullopt;
}

RecurrentKind kindOf(const Layer& layer) {
    if (layer.op != Op::GRU)
        return layer.op == Op::LSTM ? RecurrentKind::Lstm : RecurrentKind::Rnn;
    return layer.linearBeforeReset ? RecurrentKind::GruOfResetProduct
                                   : RecurrentKind::GruOfResetState;
}

} // namespace

KernelResult prepareRecurrent(const LibraryCall& call) {
    for (size_t i = 0; i < 8; ++i)
        if (i != 4 && call.input(i) && call.input(i).layout.dtype != DType::Float32)
            return failure("cpu.support", std::string("operands of ") +
                                              nameOf(call.input(i).layout.dtype) +
                                              " run through the reference function");
    auto layer = layerOf(call);
    if (!layer)
        return failure("cpu.shape", "operands are empty or do not go together");
    auto gates = unusualGates(call, static_cast<size_t>(layer->directions));
    if (!gates)
        return failure("cpu.support", "unknown activations run through the reference function");
    const auto isConstant = [&](size_t i) {
        return !call.input(i) || call.input(i).layout.constant;
    };
    RecurrentShape shape{kindOf(*layer),     layer->length,
                         layer->batch,       layer->inputs,
                         layer->hidden,      layer->directions,
                         layer->isReverse(), call.node().attributes.integer("layout") != 0,
                         std::move(*gates)};
    std::optional<std::string> why = refusal(call);
    if (!why && !shape.gates.empty())
        why = "gates that are bounded or of other functions";
    if (isConstant(1) && isConstant(2) && isConstant(3) &&
        (why || (layer->isForOneThread() && fitsRecurrentLoops(shape, call.context().table))))
        return makeRecurrentLoops(call, std::move(shape));
    if (why)
        return failure("cpu.support",
                       *why + " with weights that vary run through the reference function");
    try {
        return std::unique_ptr<Kernel>(std::make_unique<RecurrentKernel>(call, *layer));
    } catch (const dnnl::error& error) {
        return failure("cpu.support", std::string("oneDNN: ") + error.what());
    }
}

} // namespace fuselage::cpu
