// SPDX-License-Identifier: Apache-2.0
#include "core/ops/linear_recurrence.h"

#include "core/ops/infer_support.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace fuselage {

namespace {

constexpr size_t at(RecurrenceInput input) {
    return static_cast<size_t>(input);
}

constexpr size_t ofState = at(RecurrenceInput::State), ofQuery = at(RecurrenceInput::Query),
                 ofKey = at(RecurrenceInput::Key), ofValue = at(RecurrenceInput::Value),
                 ofDecay = at(RecurrenceInput::Decay), ofRate = at(RecurrenceInput::Rate);

void inferLinearRecurrence(InferContext& context) {
    std::vector<std::optional<Extents>> known;
    bool isKnown = true;
    for (size_t i = 0; i < context.inputCount(); ++i) {
        known.push_back(context.has(i) ? context.input(i).extents() : std::nullopt);
        isKnown = isKnown && (!context.has(i) || known.back());
        const DType type = dtypeOf(context, i);
        if (context.has(i) && type != DType::Undefined && !isFloat(type))
            return context.fail(fmt::format("LinearRecurrence: an operand is {}", nameOf(type)));
    }
    if (isKnown)
        if (auto sizes = LinearRecurrence::of(context.node(), known); !sizes)
            return context.fail(sizes.error().message);
    setSameAs(context, 0, ofState);
    const Shape *query = shapeOf(context, ofQuery), *value = shapeOf(context, ofValue);
    constexpr size_t rank = 5;
    Shape y(rank);
    if (query && query->size() == rank)
        std::copy_n(query->begin(), rank - 1, y.begin());
    if (value && value->size() == rank)
        y.back() = value->back();
    setTensor(context, 1, dtypeOf(context, ofQuery), std::move(y));
}

/// The operands of a call, whose sizes are checked.
class Recurrence {
public:
    Recurrence(const LinearRecurrence& sizes, ReferenceInputs inputs)
        : m_sizes(sizes), m_query(*inputs[ofQuery]), m_key(*inputs[ofKey]),
          m_value(*inputs[ofValue]), m_decay(inputAt(inputs, ofDecay)),
          m_rate(inputAt(inputs, ofRate)) {}

    /// Column `v` of the state and of the results of a head.
    void run(int64_t b, int64_t h, int64_t v, ReferenceValue& state, ReferenceValue& y) const {
        const int64_t k = m_sizes.depth, width = m_sizes.width;
        double* s = state.floats.data() + (b * m_sizes.heads + h) * k * width + v;
        for (int64_t t = 0; t < m_sizes.tokens; ++t) {
            const double* key = m_key.floats.data() + m_sizes.first(b, t, h, k);
            double more = m_value.floats[index(m_sizes.first(b, t, h, width) + v)], said = 0;
            for (int64_t i = 0; i < k; ++i) {
                if (m_decay)
                    s[i * width] *= m_decay->floats[decayAt(b, t, h, i)];
                said += key[i] * s[i * width];
            }
            if (m_rate)
                more = m_rate->floats[index(m_sizes.rateAt(b, t, h))] * (more - said);
            for (int64_t i = 0; i < k; ++i)
                s[i * width] += key[i] * more;
            for (int64_t r = 0; r < m_sizes.rows; ++r) {
                const int64_t row = m_sizes.first(b, t, h, m_sizes.rows) + r;
                const double* query = m_query.floats.data() + row * k;
                double sum = 0;
                for (int64_t i = 0; i < k; ++i)
                    sum += query[i] * s[i * width];
                y.floats[index(row * width + v)] = sum;
            }
        }
    }

private:
    static size_t index(int64_t place) { return static_cast<size_t>(place); }

    size_t decayAt(int64_t b, int64_t t, int64_t h, int64_t i) const {
        return index(m_sizes.first(b, t, h, m_sizes.decays) + (m_sizes.decays == 1 ? 0 : i));
    }

    const LinearRecurrence& m_sizes;
    const ReferenceValue &m_query, &m_key, &m_value, *m_decay, *m_rate;
};

Result<std::vector<ReferenceValue>> runLinearRecurrence(const Node& node, ReferenceInputs inputs,
                                                        ReferenceContext& context) {
    std::vector<std::optional<Extents>> extents;
    for (const ReferenceValue* input : inputs) {
        extents.push_back(input ? std::optional(input->extents) : std::nullopt);
        if (input && !isFloat(input->dtype))
            return badInput(node, fmt::format("an operand is {}", nameOf(input->dtype)));
    }
    const auto sizes = LinearRecurrence::of(node, extents);
    if (!sizes)
        return failure(sizes.error());
    ReferenceValue state = *inputs[ofState];
    auto y = allocateResult(node, inputs[ofQuery]->dtype,
                            {sizes->batch, sizes->tokens, sizes->heads, sizes->rows, sizes->width});
    if (!y)
        return failure(y.error());
    const Recurrence recurrence(*sizes, inputs);
    const int64_t columns = sizes->heads * sizes->width;
    context.threads().forRange(
        static_cast<size_t>(sizes->batch * columns), 1, [&](size_t begin, size_t end) {
            for (size_t column = begin; column < end; ++column) {
                const auto place = static_cast<int64_t>(column);
                recurrence.run(place / columns, place % columns / sizes->width,
                               place % sizes->width, state, *y);
            }
        });
    std::vector<ReferenceValue> out;
    out.push_back(std::move(state));
    out.push_back(std::move(*y));
    return trimmed(node, std::move(out));
}

} // namespace

Result<LinearRecurrence> LinearRecurrence::of(const Node& node, Operands inputs) {
    const auto given = [&](size_t i) { return i < inputs.size() && inputs[i]; };
    for (size_t i : {ofState, ofQuery, ofKey, ofValue})
        if (!given(i))
            return badInput(node, "it takes a state, queries, keys and values");
    const Extents &state = *inputs[ofState], &query = *inputs[ofQuery];
    const auto refuse = [&](const std::string& what) {
        return badInput(node, fmt::format("{}: state {}, queries {}, keys {}, values {}", what,
                                          text(state), text(query), text(*inputs[ofKey]),
                                          text(*inputs[ofValue])));
    };
    constexpr size_t stateRank = 4, rank = 5;
    if (state.size() != stateRank || query.size() != rank)
        return refuse("operands of such ranks do not go together");
    LinearRecurrence out;
    out.batch = state[0];
    out.heads = state[1];
    out.depth = state[2];
    out.width = state[3];
    out.tokens = query[1];
    out.rows = query[3];
    // With `depth` or 1 rows, or `heads` or 1 of them, where `free` says so.
    const auto has = [&](size_t input, const Extents& wanted, std::optional<size_t> free = {}) {
        Extents found = *inputs[input];
        if (free && *free < found.size() && found[*free] == 1)
            found[*free] = wanted[*free];
        return found == wanted;
    };
    constexpr size_t ofHead = 2, ofRow = 3;
    const Extents head{out.batch, out.tokens, out.heads};
    const auto with = [&](int64_t rows, int64_t columns) {
        Extents all = head;
        all.insert(all.end(), {rows, columns});
        return all;
    };
    if (!has(ofQuery, with(out.rows, out.depth)) || !has(ofKey, with(out.depth, 1)) ||
        !has(ofValue, with(1, out.width)))
        return refuse("the sizes do not go together");
    if (given(ofDecay)) {
        if (!has(ofDecay, with(out.depth, 1), ofRow))
            return refuse("decay of another size, " + text(*inputs[ofDecay]));
        out.decays = (*inputs[ofDecay])[ofRow];
    }
    if (given(ofRate)) {
        if (!has(ofRate, with(1, 1), ofHead))
            return refuse("a rate of another size, " + text(*inputs[ofRate]));
        out.rates = (*inputs[ofRate])[ofHead];
    }
    return out;
}

std::span<const OpRow> linearRecurrenceRows() {
    static const OpRow rows[] = {
        {.op = Op::LinearRecurrence,
         .name = "LinearRecurrence",
         .domain = "fuselage",
         .minInputs = 4,
         .maxInputs = 6,
         .minOutputs = 2,
         .maxOutputs = 2,
         .inputs = "state query key value decay rate",
         .infer = inferLinearRecurrence,
         .reference = onTensors<runLinearRecurrence>},
    };
    return rows;
}

namespace {

/// The graph of one token, whose operands are those of the whole without that axis.
std::shared_ptr<Graph> tokenOf(const Type& type, bool hasDecay, bool hasRate) {
    auto out = std::make_shared<Graph>("token");
    const auto input = [&](const char* name) { return out->addInput(name, type); };
    const auto add = [&](Op op, std::vector<ValueId> inputs, const char* name,
                         Attributes attributes = {}) {
        const NodeId node =
            out->addNode({op, "", std::move(inputs), {name}, std::move(attributes)});
        return out->node(node).outputs[0];
    };
    ValueId state = input("state");
    const ValueId query = input("query"), key = input("key");
    ValueId more = input("value");
    const ValueId decay = hasDecay ? input("decay") : ValueId();
    const ValueId rate = hasRate ? input("rate") : ValueId();
    if (hasDecay)
        state = add(Op::Mul, {state, decay}, "kept");
    if (hasRate) {
        const ValueId rows =
            out->addConstant("rows", std::make_shared<const Tensor>(Tensor::ofInts({2})));
        const ValueId said = add(Op::ReduceSum, {add(Op::Mul, {key, state}, "seen"), rows}, "said");
        more = add(Op::Mul, {rate, add(Op::Sub, {more, said}, "wrong")}, "part");
    }
    const ValueId next = add(Op::Add, {state, add(Op::Mul, {key, more}, "product")}, "next");
    out->addOutput(next);
    out->addOutput(add(Op::MatMul, {query, next}, "result"));
    return out;
}

} // namespace

std::shared_ptr<const Graph> linearRecurrenceBody(const Graph& graph, const Node& node) {
    static const char* const names[] = {"state", "query", "key", "value", "decay", "rate"};
    const size_t count = std::min(node.inputs.size(), std::size(names));
    const auto typeOf = [&](size_t i) {
        return i < count && node.inputs[i].valid() ? graph.value(node.inputs[i]).type.dtype
                                                   : DType::Undefined;
    };
    const auto has = [&](size_t i) { return i < count && node.inputs[i].valid(); };
    bool isMixed = false;
    DType wide = DType::Float32;
    for (size_t i = 0; i < count; ++i) {
        isMixed = isMixed || (has(i) && typeOf(i) != typeOf(ofState));
        wide = typeOf(i) == DType::Float64 ? DType::Float64 : wide;
    }
    Graph body;
    const auto cast = [&](ValueId value, DType to) {
        Attributes attributes;
        attributes.set("to", onnxNumber(to));
        const NodeId made = body.addNode({Op::Cast, "", {value}, {"cast"}, std::move(attributes)});
        return body.node(made).outputs[0];
    };
    std::vector<ValueId> inputs, given;
    for (size_t i = 0; i < count; ++i)
        inputs.push_back(
            body.addInput(names[i], has(i) ? graph.value(node.inputs[i]).type : Type()));
    for (size_t i = 0; i < count; ++i)
        if (has(i))
            given.push_back(isMixed ? cast(inputs[i], wide) : inputs[i]);
    const int64_t scanned = std::ssize(given) - 1;
    Attributes attributes;
    attributes.set("num_scan_inputs", scanned);
    attributes.set("scan_input_axes", std::vector<int64_t>(static_cast<size_t>(scanned), 1));
    attributes.set("scan_output_axes", std::vector<int64_t>{1});
    Type type;
    type.dtype = isMixed ? wide : typeOf(ofState);
    attributes.set("body", tokenOf(type, has(ofDecay), has(ofRate)));
    const NodeId scan =
        body.addNode({Op::Scan, "", std::move(given), {"last", "results"}, std::move(attributes)});
    const std::vector<ValueId> made = body.node(scan).outputs;
    for (size_t i = 0; i < made.size(); ++i)
        body.addOutput(isMixed ? cast(made[i], typeOf(i == 0 ? ofState : ofQuery)) : made[i]);
    return std::make_shared<const Graph>(std::move(body));
}

} // namespace fuselage
