// SPDX-License-Identifier: Apache-2.0
// Sequences of one direction, step by step: gates from the input and the state, then the cell's own
// update. Sequences stop at their length; reversed ones start there.
#include "core/ops/recurrent.h"

#include "core/ops/infer_support.h"
#include "core/ops/quantize.h"
#include "core/ops/recurrent_internal.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuselage {

namespace {

using Results = Result<std::vector<ReferenceValue>>;

// --- the layer ----------------------------------------------------------------------------

struct CellKind {
    Op op = Op::RNN;
    int64_t gates = 1;
    bool hasCellState = false;
    size_t activations = 1; ///< of one direction
};

CellKind kindOf(Op op) {
    if (op == Op::RNN)
        return {op, 1, false, 1};
    if (op == Op::GRU)
        return {op, 3, false, 2};
    return {op, 4, true, 3};
}

size_t directionsOf(const Node& node) {
    return node.attributes.string("direction", "forward") == "bidirectional" ? 2 : 1;
}

/// Sizes and operands of one recurrent node, checked against each other.
struct Layer {
    CellKind kind;
    int64_t length = 0, batch = 0, inputs = 0, hidden = 0, directions = 1;
    bool batchFirst = false, inputForget = false, linearBeforeReset = false;
    bool quantizesState = false;
    double clip = 0;
    std::vector<RecurrentActivation> activations;
    const double *x = nullptr, *w = nullptr, *r = nullptr, *b = nullptr, *p = nullptr;
    const double *initialH = nullptr, *initialC = nullptr;
    std::vector<int64_t> lengths;

    int64_t rows() const { return kind.gates * hidden; }

    double clipped(double value) const { return clip > 0 ? std::clamp(value, -clip, clip) : value; }

    /// Row of a state tensor ([directions, batch, hidden], or batch first).
    int64_t stateAt(int64_t direction, int64_t n) const {
        return (batchFirst ? n * directions + direction : direction * batch + n) * hidden;
    }

    int64_t inputAtStep(int64_t t, int64_t n) const {
        return (batchFirst ? n * length + t : t * batch + n) * inputs;
    }

    int64_t outputAt(int64_t t, int64_t direction, int64_t n) const {
        return (batchFirst ? (n * length + t) * directions + direction
                           : (t * directions + direction) * batch + n) *
               hidden;
    }
};

/// out[row] += matrix[row] . vector
void addProduct(const double* matrix, const double* vector, int64_t rows, int64_t columns,
                double* out) {
    for (int64_t row = 0; row < rows; ++row) {
        const double* line = matrix + row * columns;
        double sums[4] = {0, 0, 0, 0};
        int64_t k = 0;
        for (; k + 4 <= columns; k += 4)
            for (int64_t lane = 0; lane < 4; ++lane)
                sums[lane] += line[k + lane] * vector[k + lane];
        for (; k < columns; ++k)
            sums[0] += line[k] * vector[k];
        out[row] += sums[0] + sums[1] + sums[2] + sums[3];
    }
}

/// One sequence under way: its state and scratch memory.
struct Walker {
    const Layer& layer;
    int64_t direction;
    int64_t sequence;
    std::vector<double> h, c, gates, recurrent, reset;

    Walker(const Layer& layerToRun, int64_t whichDirection, int64_t n)
        : layer(layerToRun), direction(whichDirection), sequence(n),
          h(static_cast<size_t>(layer.hidden), 0.0), c(h), gates(static_cast<size_t>(layer.rows())),
          recurrent(gates), reset(h) {
        const int64_t at = layer.stateAt(direction, n);
        if (layer.initialH)
            std::copy_n(layer.initialH + at, layer.hidden, h.begin());
        if (layer.initialC)
            std::copy_n(layer.initialC + at, layer.hidden, c.begin());
    }

    double activate(size_t which, double x) const { return unclipped(which, layer.clipped(x)); }

    double unclipped(size_t which, double x) const {
        const size_t count = layer.kind.activations;
        return valueOf(layer.activations[static_cast<size_t>(direction) * count + which], x);
    }

    const double* recurrentRow(int64_t gate) const {
        return layer.r + (direction * layer.rows() + gate * layer.hidden) * layer.hidden;
    }

    const double* recurrentBias() const {
        return layer.b ? layer.b + (2 * direction + 1) * layer.rows() : nullptr;
    }

    int64_t length() const { return layer.lengths[static_cast<size_t>(sequence)]; }

    /// gates = W x + Wb, recurrent = R state + Rb.
    void project(const double* x, const double* state) {
        std::fill(gates.begin(), gates.end(), 0.0);
        std::fill(recurrent.begin(), recurrent.end(), 0.0);
        if (layer.b) {
            std::copy_n(layer.b + 2 * direction * layer.rows(), layer.rows(), gates.begin());
            std::copy_n(recurrentBias(), layer.rows(), recurrent.begin());
        }
        addProduct(layer.w + direction * layer.rows() * layer.inputs, x, layer.rows(), layer.inputs,
                   gates.data());
        addProduct(recurrentRow(0), state, layer.rows(), layer.hidden, recurrent.data());
    }

    /// `state` is h as the products see it.
    void step(const double* x, const double* state) {
        project(x, state);
        if (layer.kind.op == Op::RNN)
            stepRnn();
        else if (layer.kind.op == Op::GRU)
            stepGru();
        else
            stepLstm();
    }

    void stepRnn() {
        for (size_t i = 0; i < h.size(); ++i)
            h[i] = activate(0, gates[i] + recurrent[i]);
    }

    void stepGru() {
        const size_t size = h.size();
        std::vector<double> candidate(size, 0.0);
        for (size_t i = 0; i < size; ++i)
            reset[i] = activate(0, gates[size + i] + recurrent[size + i]);
        if (layer.linearBeforeReset) {
            for (size_t i = 0; i < size; ++i)
                candidate[i] = reset[i] * recurrent[2 * size + i];
        } else {
            for (size_t i = 0; i < size; ++i)
                reset[i] *= h[i];
            if (layer.b)
                std::copy_n(recurrentBias() + 2 * layer.hidden, layer.hidden, candidate.begin());
            addProduct(recurrentRow(2), reset.data(), layer.hidden, layer.hidden, candidate.data());
        }
        for (size_t i = 0; i < size; ++i) {
            const double update = activate(0, gates[i] + recurrent[i]);
            const double fresh = activate(1, gates[2 * size + i] + candidate[i]);
            h[i] = (1 - update) * fresh + update * h[i];
        }
    }

    double peephole(int64_t gate, size_t i) const {
        return layer.p ? layer.p[(direction * 3 + gate) * layer.hidden + static_cast<int64_t>(i)]
                       : 0.0;
    }

    void stepLstm() { // gates come as input, output, forget, cell
        const size_t size = h.size();
        const auto sum = [&](size_t gate, size_t i) {
            return gates[gate * size + i] + recurrent[gate * size + i];
        };
        for (size_t i = 0; i < size; ++i) {
            const double input = activate(0, sum(0, i) + peephole(0, i) * c[i]);
            const double forget =
                layer.inputForget ? 1 - input : activate(0, sum(2, i) + peephole(2, i) * c[i]);
            c[i] = forget * c[i] + input * activate(1, sum(3, i));
            const double output = activate(0, sum(1, i) + peephole(1, i) * c[i]);
            h[i] = output * unclipped(2, c[i]); // runtimes clip gates, not the cell
        }
    }
};

/// True when the value has these extents and floats; null is allowed.
bool fits(const ReferenceValue* value, const Extents& extents) {
    return !value || (isFloat(value->dtype) && value->extents == extents);
}

const double* dataOf(const ReferenceValue* value) {
    return value ? value->floats.data() : nullptr;
}

Result<Layer> layerOf(const Node& node, ReferenceInputs inputs) {
    const ReferenceValue &x = *inputs[0], &w = *inputs[1], &r = *inputs[2];
    Layer out;
    out.kind = kindOf(node.op);
    const Attributes& attributes = node.attributes;
    out.directions = static_cast<int64_t>(directionsOf(node));
    out.batchFirst = attributes.integer("layout") != 0;
    out.inputForget = attributes.integer("input_forget") != 0;
    out.linearBeforeReset = attributes.integer("linear_before_reset") != 0;
    out.quantizesState = node.op == Op::DynamicQuantizeLSTM;
    out.clip = attributes.number("clip");
    if (x.extents.size() != 3 || r.extents.size() != 3)
        return badInput(node, "X, W and R must have three dimensions");
    out.length = x.extents[out.batchFirst ? 1 : 0];
    out.batch = x.extents[out.batchFirst ? 0 : 1];
    out.inputs = x.extents[2];
    out.hidden = r.extents[2];
    const int64_t hidden = out.hidden, directions = out.directions, rows = out.rows();
    const Extents state = out.batchFirst ? Extents{out.batch, directions, hidden}
                                         : Extents{directions, out.batch, hidden};
    const ReferenceValue *b = inputAt(inputs, 3), *initialH = inputAt(inputs, 5);
    const ReferenceValue* initialC = out.kind.hasCellState ? inputAt(inputs, 6) : nullptr;
    const ReferenceValue* p = out.kind.hasCellState ? inputAt(inputs, 7) : nullptr;
    if (hidden > (int64_t(1) << 24) || !isFloat(x.dtype) ||
        !fits(&w, {directions, rows, out.inputs}) || !fits(&r, {directions, rows, hidden}) ||
        !fits(b, {directions, 2 * rows}) || !fits(initialH, state) || !fits(initialC, state) ||
        !fits(p, {directions, 3 * hidden}))
        return badInput(node,
                        fmt::format("X {}, W {}, R {} and the other inputs do not go together",
                                    text(x.extents), text(w.extents), text(r.extents)));
    auto functions = recurrentActivations(node);
    if (!functions)
        return badInput(node, "`activations` has an unknown name or the wrong number of them");
    out.activations = std::move(*functions);
    out.lengths.assign(static_cast<size_t>(out.batch), out.length);
    if (const ReferenceValue* lengths = inputAt(inputs, 4)) {
        out.lengths = intsOf(*lengths);
        if (static_cast<int64_t>(out.lengths.size()) != out.batch)
            return badInput(node, "`sequence_lens` does not have one length for each sequence");
        for (int64_t length : out.lengths)
            if (length < 0 || length > out.length)
                return badInput(node,
                                fmt::format("length {} is not within 0..{}", length, out.length));
    }
    out.x = x.floats.data();
    out.w = w.floats.data();
    out.r = r.floats.data();
    out.b = dataOf(b);
    out.p = dataOf(p);
    out.initialH = dataOf(initialH);
    out.initialC = dataOf(initialC);
    return out;
}

/// One direction of some sequences side by side. Those that still run share the range in which
/// their states are quantized.
void walk(std::vector<Walker>& walkers, bool backwards, std::vector<double>& y) {
    const Layer& layer = walkers.front().layer;
    std::vector<double> seen(static_cast<size_t>(layer.hidden));
    for (int64_t step = 0; step < layer.length; ++step) {
        DynamicRange range;
        for (const Walker& walker : walkers)
            for (size_t i = 0; layer.quantizesState && step < walker.length() && i < seen.size();
                 ++i)
                range.add(walker.h[i]);
        for (Walker& walker : walkers) {
            if (step >= walker.length())
                continue;
            seen = walker.h;
            if (layer.quantizesState)
                requantize(range, seen);
            const int64_t at = backwards ? walker.length() - 1 - step : step;
            walker.step(layer.x + layer.inputAtStep(at, walker.sequence), seen.data());
            std::copy(walker.h.begin(), walker.h.end(),
                      y.begin() + layer.outputAt(at, walker.direction, walker.sequence));
        }
    }
}

void inferLayer(InferContext& context) {
    const Node& node = context.node();
    const Shape* x = shapeOf(context, 0);
    const Shape* r = shapeOf(context, 2);
    const bool batchFirst = node.attributes.integer("layout") != 0;
    const bool quantized = node.op == Op::DynamicQuantizeLSTM;
    const auto directions = static_cast<int64_t>(directionsOf(node));
    if ((x && x->size() != 3) || (r && r->size() != 3))
        return context.fail("X, W and R must have three dimensions");
    const Dim length = x ? (*x)[batchFirst ? 1 : 0] : Dim();
    const Dim batch = x ? (*x)[batchFirst ? 0 : 1] : Dim();
    Dim hidden = r ? (*r)[quantized ? 1 : 2] : Dim();
    if (hidden.isUnknown() && node.attributes.has("hidden_size"))
        hidden = node.attributes.integer("hidden_size");
    const DType dtype = dtypeOf(context, 0);
    setTensor(context, 0, dtype,
              batchFirst ? Shape{batch, length, directions, hidden}
                         : Shape{length, directions, batch, hidden});
    for (size_t i = 1; i < context.outputCount(); ++i)
        setTensor(context, i, dtype,
                  batchFirst ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden});
}

constexpr const char* layerAttributes =
    "activation_alpha:floats activation_beta:floats activations:strings clip:float "
    "direction:string='forward' hidden_size:int layout:int=0";

} // namespace

Result<std::vector<ReferenceValue>> runRecurrent(const Node& node, ReferenceInputs inputs,
                                                 ReferenceContext& context) {
    const auto checked = layerOf(node, inputs);
    if (!checked)
        return failure(checked.error());
    const Layer& layer = *checked;
    const int64_t d = layer.directions, n = layer.batch, h = layer.hidden, t = layer.length;
    const DType dtype = inputs[0]->dtype;
    auto y =
        allocateResult(node, dtype, layer.batchFirst ? Extents{n, t, d, h} : Extents{t, d, n, h});
    auto yH = allocateResult(node, dtype, layer.batchFirst ? Extents{n, d, h} : Extents{d, n, h});
    if (!y || !yH)
        return failure(y ? yH.error() : y.error());
    ReferenceValue yC = *yH;
    const bool backwards = node.attributes.string("direction", "forward") == "reverse";
    const int64_t together = layer.quantizesState ? n : 1; // sequences that need each other
    const int64_t groups = n > 0 ? d * (n / together) : 0;
    context.threads().forRange(static_cast<size_t>(groups), 1, [&](size_t begin, size_t end) {
        for (auto group = static_cast<int64_t>(begin); group < static_cast<int64_t>(end); ++group) {
            const int64_t direction = group * together / n, first = group * together % n;
            std::vector<Walker> walkers;
            for (int64_t i = 0; i < together; ++i)
                walkers.emplace_back(layer, direction, first + i);
            walk(walkers, backwards || direction == 1, y->floats);
            for (const Walker& walker : walkers) {
                const int64_t state = layer.stateAt(direction, walker.sequence);
                std::copy(walker.h.begin(), walker.h.end(), yH->floats.begin() + state);
                std::copy(walker.c.begin(), walker.c.end(), yC.floats.begin() + state);
            }
        }
    });
    std::vector<ReferenceValue> out;
    out.push_back(std::move(*y));
    out.push_back(std::move(*yH));
    if (layer.kind.hasCellState)
        out.push_back(std::move(yC));
    return trimmed(node, std::move(out));
}

std::span<const OpRow> recurrentRows() {
    static const OpRow rows[] = {
        {.op = Op::DynamicQuantizeLSTM,
         .name = "DynamicQuantizeLSTM",
         .domain = "com.microsoft",
         .minInputs = 12,
         .maxInputs = 12,
         .minOutputs = 0,
         .maxOutputs = 3,
         .traits = Discontinuous,
         .inputs = "X W R B sequence_lens initial_h initial_c P W_scale W_zero_point R_scale "
                   "R_zero_point",
         .attributes =
             "activation_alpha:floats activation_beta:floats activations:strings clip:float "
             "direction:string='forward' hidden_size:int input_forget:int=0",
         .infer = inferLayer,
         .reference = runDynamicQuantizeLstm},
        {.op = Op::GRU,
         .name = "GRU",
         .minInputs = 3,
         .maxInputs = 6,
         .minOutputs = 0,
         .maxOutputs = 2,
         .inputs = "X W R B sequence_lens initial_h",
         .attributes =
             "activation_alpha:floats activation_beta:floats activations:strings clip:float "
             "direction:string='forward' hidden_size:int layout:int=0 "
             "linear_before_reset:int=0",
         .infer = inferLayer,
         .reference = onTensors<runRecurrent>},
        {.op = Op::LSTM,
         .name = "LSTM",
         .minInputs = 3,
         .maxInputs = 8,
         .minOutputs = 0,
         .maxOutputs = 3,
         .inputs = "X W R B sequence_lens initial_h initial_c P",
         .attributes =
             "activation_alpha:floats activation_beta:floats activations:strings clip:float "
             "direction:string='forward' hidden_size:int input_forget:int=0 layout:int=0",
         .infer = inferLayer,
         .reference = onTensors<runRecurrent>},
        {.op = Op::RNN,
         .name = "RNN",
         .minInputs = 3,
         .maxInputs = 6,
         .minOutputs = 0,
         .maxOutputs = 2,
         .inputs = "X W R B sequence_lens initial_h",
         .attributes = layerAttributes,
         .infer = inferLayer,
         .reference = onTensors<runRecurrent>},
    };
    return rows;
}

} // namespace fuselage
