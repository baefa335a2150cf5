// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN with their usual activations: a block walks one sequence in one direction, its
// state in shared memory; a warp computes a row of the gates.
#include "core/graph/type.h"
#include "gpu/kernels/library_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace fuselage::gpu {

namespace {

constexpr uint32_t threads = 512;
constexpr int64_t sharedLimit = 48 << 10;

struct RecurrentLayer {
    const LibraryView* view = nullptr;
    Op op = Op::LSTM;
    int64_t length = 0, batch = 0, inputs = 0, hidden = 0, directions = 1, gates = 4;
    bool backwards = false, linearBeforeReset = false, narrow = false;

    int64_t rows() const { return gates * hidden; }
};

std::string lowered(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

/// Attributes and inputs that the kernel has no text for.
bool usual(const LibraryView& view, int64_t gates, size_t directions) {
    const Attributes& attributes = view.node().attributes;
    std::vector<std::string> wanted = {"tanh"};
    if (gates > 1)
        wanted.insert(wanted.begin(), "sigmoid");
    if (gates == 4)
        wanted.push_back("tanh");
    const std::vector<std::string> names = attributes.strings("activations");
    for (size_t i = 0; i < names.size(); ++i)
        if (lowered(names[i]) != wanted[i % wanted.size()])
            return false;
    return (names.empty() || names.size() == wanted.size() * directions) &&
           attributes.number("clip") <= 0 && attributes.integer("layout") == 0 &&
           attributes.integer("input_forget") == 0 && !view.input(4) && !view.input(7);
}

std::variant<RecurrentLayer, Reason> layerOf(const LibraryView& view) {
    RecurrentLayer out;
    out.view = &view;
    out.op = view.node().op;
    out.gates = out.op == Op::LSTM ? 4 : out.op == Op::GRU ? 3 : 1;
    const std::string direction = view.node().attributes.string("direction", "forward");
    out.directions = direction == "bidirectional" ? 2 : 1;
    out.backwards = direction == "reverse";
    out.linearBeforeReset = view.node().attributes.integer("linear_before_reset") != 0;
    if (!usual(view, out.gates, static_cast<size_t>(out.directions)))
        return refusal("support", "lengths, peepholes, clips or unusual activations");
    const Extents &x = view.input(0).layout.extents, &r = view.input(2).layout.extents;
    if (x.size() != 3 || r.size() != 3)
        return refusal("support", "operands without three dims");
    out.length = x[0];
    out.batch = x[1];
    out.inputs = x[2];
    out.hidden = r[2];
    for (size_t i = 0; i < 7; ++i)
        if (const LibraryOperand& operand = view.input(i); operand) {
            const DType type = operand.layout.dtype;
            if (operand.pointer.empty() || !isFloat(type) || type == DType::Float64 ||
                !fitsInts(operand.layout))
                return refusal("dtype", "operands that are constants of the body, or no floats");
        }
    return out;
}

class RecurrentEmitter {
public:
    explicit RecurrentEmitter(const RecurrentLayer& layer) : m_layer(layer), m_view(*layer.view) {}

    KernelPart emit() const;

private:
    std::string address(const LibraryOperand& operand, std::vector<std::string> index) const;
    std::string product(const char* name, const LibraryOperand& matrix, const std::string& row,
                        const char* vector, int64_t columns) const;
    std::string bias(const std::string& row, int64_t part) const;
    std::string start() const;
    std::string gates() const;
    std::string cell() const;
    std::string gru() const;
    std::string finish() const;

    const RecurrentLayer& m_layer;
    const LibraryView& m_view;
};

std::string RecurrentEmitter::address(const LibraryOperand& operand,
                                      std::vector<std::string> index) const {
    std::string out = operand.pointer;
    for (size_t d = 0; d < index.size(); ++d)
        if (operand.layout.extents[d] != 1)
            out += fmt::format(" + ({}) * {}", index[d], operand.layout.strides[d]);
    return out;
}

/// Declares NAME: a row times a vector in shared memory, the same in all lanes of a warp.
std::string RecurrentEmitter::product(const char* name, const LibraryOperand& matrix,
                                      const std::string& row, const char* vector,
                                      int64_t columns) const {
    return fmt::format("            float {0} = 0.0f;\n"
                       "            for (int k = laneOfWarp; k < {1}; k += 32)\n"
                       "                {0} += load({2}) * {3}[k];\n"
                       "            {0} = reduceWarp<Sum>({0});\n",
                       name, columns, address(matrix, {"direction", row, "k"}), vector);
}

std::string RecurrentEmitter::bias(const std::string& row, int64_t part) const {
    if (!m_view.input(3))
        return "0.0f";
    return fmt::format("load({})",
                       address(m_view.input(3),
                               {"direction", fmt::format("{} + {}", row, part * m_layer.rows())}));
}

std::string RecurrentEmitter::start() const {
    const RecurrentLayer& l = m_layer;
    std::string out = fmt::format(
        "    extern __shared__ __align__(16) unsigned char sharedMemory[];\n"
        "    float* const x = reinterpret_cast<float*>(sharedMemory);\n"
        "    float* const h = x + {};\n    float* const c = h + {};\n"
        "    float* const gates = c + {};\n    float* const recurrent = gates + {};\n"
        "    const int n = static_cast<int>(block % {}u), direction = static_cast<int>(block / "
        "{}u);\n    const int warp = static_cast<int>(threadIdx.x / 32u);\n"
        "    const int laneOfWarp = static_cast<int>(threadIdx.x % 32u);\n",
        l.inputs, l.hidden, l.hidden, l.rows(), l.batch, l.batch);
    const LibraryOperand &h = m_view.input(5), &c = m_view.input(6);
    return out + fmt::format("    for (int i = static_cast<int>(threadIdx.x); i < {}; i += {}) {{\n"
                             "        h[i] = {};\n        c[i] = {};\n    }}\n",
                             l.hidden, threads,
                             h ? "load(" + address(h, {"direction", "n", "i"}) + ")" : "0.0f",
                             c && l.op == Op::LSTM
                                 ? "load(" + address(c, {"direction", "n", "i"}) + ")"
                                 : "0.0f");
}

std::string RecurrentEmitter::gates() const {
    const RecurrentLayer& l = m_layer;
    std::string out =
        fmt::format("        for (int i = static_cast<int>(threadIdx.x); i < {}; i += "
                    "{})\n            x[i] = load({});\n        __syncthreads();\n",
                    l.inputs, threads, address(m_view.input(0), {"t", "n", "i"}));
    out += fmt::format("        for (int row = warp; row < {}; row += {}) {{\n", l.rows(),
                       threads / 32);
    out += product("fromInput", m_view.input(1), "row", "x", l.inputs);
    out += product("fromState", m_view.input(2), "row", "h", l.hidden);
    return out + fmt::format("            if (laneOfWarp == 0) {{\n"
                             "                gates[row] = fromInput + {};\n"
                             "                recurrent[row] = fromState + {};\n            }}\n"
                             "        }}\n        __syncthreads();\n",
                             bias("row", 0), bias("row", 1));
}

/// The candidate of a GRU needs the reset state of every unit first.
std::string RecurrentEmitter::gru() const {
    const RecurrentLayer& l = m_layer;
    if (l.linearBeforeReset)
        return "";
    std::string out =
        fmt::format("        for (int i = static_cast<int>(threadIdx.x); i < {0}; i += {1})\n"
                    "            c[i] = @sigmoid(gates[{0} + i] + recurrent[{0} + i]) * h[i];\n"
                    "        __syncthreads();\n        for (int i = warp; i < {0}; i += {2}) {{\n",
                    l.hidden, threads, threads / 32);
    out +=
        product("fromReset", m_view.input(2), fmt::format("{} + i", 2 * l.hidden), "c", l.hidden);
    return out + fmt::format("            if (laneOfWarp == 0)\n"
                             "                recurrent[{0} + i] = fromReset + {1};\n        }}\n"
                             "        __syncthreads();\n",
                             2 * l.hidden, bias(fmt::format("{} + i", 2 * l.hidden), 1));
}

std::string RecurrentEmitter::cell() const {
    const int64_t h = m_layer.hidden;
    auto sum = [&](int64_t gate) {
        return fmt::format("gates[{0} + i] + recurrent[{0} + i]", gate * h);
    };
    if (m_layer.op == Op::RNN)
        return fmt::format("            h[i] = tanhf({});\n", sum(0));
    if (m_layer.op == Op::LSTM) // gates come as input, output, forget, cell
        return fmt::format("            c[i] = @sigmoid({}) * c[i] + @sigmoid({}) * tanhf({});\n"
                           "            h[i] = @sigmoid({}) * tanhf(c[i]);\n",
                           sum(2), sum(0), sum(3), sum(1));
    const std::string candidate =
        m_layer.linearBeforeReset
            ? fmt::format("gates[{0} + i] + @sigmoid({1}) * recurrent[{0} + i]", 2 * h, sum(1))
            : sum(2);
    return fmt::format("            const float update = @sigmoid({});\n"
                       "            h[i] = (1.0f - update) * tanhf({}) + update * h[i];\n",
                       sum(0), candidate);
}

std::string RecurrentEmitter::finish() const {
    std::string out;
    const char* states[] = {"h", "c"};
    for (size_t k = 0; k < 2; ++k)
        if (const LibraryOperand& last = m_view.output(1 + k);
            last && !last.pointer.empty() && (k == 0 || m_layer.op == Op::LSTM))
            out += fmt::format("    for (int i = static_cast<int>(threadIdx.x); i < {}; i += {})\n"
                               "        store({}, {}[i]);\n",
                               m_layer.hidden, threads, address(last, {"direction", "n", "i"}),
                               states[k]);
    return out;
}

KernelPart RecurrentEmitter::emit() const {
    const RecurrentLayer& l = m_layer;
    KernelPart part;
    part.helpers = {"reduce"};
    part.threads = threads;
    part.blocks = l.directions * l.batch;
    part.sharedBytes = static_cast<uint32_t>((l.inputs + 2 * l.hidden + 2 * l.rows()) * 4);
    part.comment = {fmt::format("{} of {} units over {} steps: a block a sequence and direction, a "
                                "warp a row of the gates",
                                nameOf(l.op), l.hidden, l.length)};
    part.functions = "__device__ __forceinline__ float @sigmoid(float x) {\n"
                     "    return 1.0f / (1.0f + expf(-x));\n}\n\n";
    const char* at = l.backwards ? "true" : l.directions == 2 ? "direction == 1" : "false";
    part.body = start() + fmt::format("    for (int step = 0; step < {0}; ++step) {{\n"
                                      "        const int t = {1} ? {0} - 1 - step : step;\n",
                                      l.length, at);
    part.body += gates();
    if (l.op == Op::GRU)
        part.body += gru();
    part.body += fmt::format("        for (int i = static_cast<int>(threadIdx.x); i < {}; i += {}) "
                             "{{\n",
                             l.hidden, threads) +
                 cell();
    if (const LibraryOperand& y = m_view.output(0); y && !y.pointer.empty())
        part.body +=
            fmt::format("            store({}, h[i]);\n", address(y, {"t", "direction", "n", "i"}));
    part.body += "        }\n    }\n" + finish();
    return part;
}

} // namespace

EmitResult emitRecurrent(const KernelRequest& request) {
    const char* name = "recurrent";
    auto view = LibraryView::make(request, {Op::LSTM, Op::GRU, Op::RNN});
    if (auto* reason = std::get_if<Reason>(&view))
        return finish(name, request, PartResult(*reason));
    auto layer = layerOf(std::get<LibraryView>(view));
    if (auto* reason = std::get_if<Reason>(&layer))
        return finish(name, request, PartResult(*reason));
    KernelPart part = RecurrentEmitter(std::get<RecurrentLayer>(layer)).emit();
    if (part.sharedBytes > sharedLimit)
        return finish(name, request,
                      PartResult(refusal(
                          "smem", fmt::format("{} bytes of state and gates", part.sharedBytes))));
    return finish(name, request, PartResult(std::move(part)));
}

} // namespace fuselage::gpu
