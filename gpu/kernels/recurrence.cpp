// SPDX-License-Identifier: Apache-2.0
// LinearRecurrence: a block takes some columns of a head's state through all tokens, the state in
// registers. Four lanes share a column; what a token says of all columns (key, queries, decays) is
// fetched while the token before it is computed, and read from shared memory.
#include "core/ops/linear_recurrence.h"
#include "gpu/kernels/library_view.h"

#include <fmt/format.h>

#include <utility>

namespace fuselage::gpu {

namespace {

constexpr int64_t threads = 128, teamLanes = 4, columns = threads / teamLanes;
constexpr int64_t quad = 4, quads = teamLanes * quad; ///< neighbours of a lane, of its team
constexpr int64_t mostDepth = 256;                    ///< 64 elements of the state in a lane
constexpr int64_t mostAhead = 16;                     ///< elements that a thread fetches

struct Recurrence {
    const LibraryView* view = nullptr;
    LinearRecurrence sizes;

    const LibraryOperand& input(RecurrenceInput which) const {
        return view->input(static_cast<size_t>(which));
    }
    bool hasDecayOfRows() const { return sizes.decays > 1; }
    int64_t depth() const { return (sizes.depth + quads - 1) / quads * quads; }
    /// Rows of `depth()` elements: the key, queries, decays.
    int64_t stagedRows() const { return 1 + sizes.rows + (hasDecayOfRows() ? 1 : 0); }
    int64_t staged() const { return stagedRows() * depth(); }
    int64_t ahead() const { return (staged() + threads - 1) / threads; }
    int64_t tiles() const { return (sizes.width + columns - 1) / columns; }
};

std::variant<Recurrence, Reason> recurrenceOf(const LibraryView& view) {
    std::vector<std::optional<Extents>> extents;
    for (size_t i = 0; i < view.node().inputs.size(); ++i) {
        const LibraryOperand& operand = view.input(i);
        extents.push_back(operand ? std::optional(operand.layout.extents) : std::nullopt);
        if (!operand)
            continue;
        const DType type = operand.layout.dtype;
        if (operand.pointer.empty() || !isFloat(type) || type == DType::Float64 ||
            !fitsInts(operand.layout))
            return refusal("dtype", "operands that are constants of the body, or no floats");
    }
    auto sizes = LinearRecurrence::of(view.node(), extents);
    if (!sizes)
        return refusal("support", sizes.error().message);
    Recurrence out{&view, *sizes};
    if (out.sizes.depth > mostDepth || out.ahead() > mostAhead)
        return refusal("support", fmt::format("a state of {} rows, {} queries of a head",
                                              out.sizes.depth, out.sizes.rows));
    return out;
}

/// Element `index` of the operand, an index for each of its dims.
std::string addressOf(const LibraryOperand& operand, const std::vector<std::string>& index) {
    std::string out = operand.pointer;
    for (size_t d = 0; d < index.size(); ++d)
        if (operand.layout.extents[d] != 1)
            out += fmt::format(" + ({}) * {}", index[d], operand.layout.strides[d]);
    return out;
}

class RecurrenceEmitter {
public:
    explicit RecurrenceEmitter(const Recurrence& of) : m_of(of) {}

    KernelPart emit() const {
        KernelPart part;
        part.helpers = {"reduce"};
        part.threads = static_cast<uint32_t>(threads);
        part.blocks = m_of.sizes.batch * m_of.sizes.heads * m_of.tiles();
        part.sharedBytes = static_cast<uint32_t>(2 * m_of.staged() * 4);
        part.comment = {fmt::format("states of {} x {} over {} tokens: a block {} columns of a "
                                    "head, {} lanes a column",
                                    m_of.sizes.depth, m_of.sizes.width, m_of.sizes.tokens, columns,
                                    teamLanes)};
        part.body =
            places() + eachElement("s[i] = isInside && k < " + text(m_of.sizes.depth) + " ? load(" +
                                   state(RecurrenceInput::State) + ") : 0.0f;");
        if (m_of.sizes.tokens > 0)
            part.body +=
                "    float ahead[" + text(m_of.ahead()) + "];\n" + fetched("0", "    ") + tokens();
        const LibraryOperand& last = m_of.view->output(0);
        if (last && !last.pointer.empty())
            part.body += eachElement("if (isInside && k < " + text(m_of.sizes.depth) +
                                     ")\n            store(" +
                                     addressOf(last, {"b", "h", "k", "column"}) + ", s[i]);");
        return part;
    }

private:
    static std::string text(int64_t number) { return std::to_string(number); }

    const LibraryOperand& input(RecurrenceInput which) const { return m_of.input(which); }

    std::string state(RecurrenceInput which) const {
        return addressOf(input(which), {"b", "h", "k", "column"});
    }

    std::string places() const {
        const LinearRecurrence& sizes = m_of.sizes;
        return fmt::format(
            "    extern __shared__ __align__(16) unsigned char sharedMemory[];\n"
            "    float* const staged = reinterpret_cast<float*>(sharedMemory);\n"
            "    const int head = static_cast<int>(block / {0}u);\n"
            "    const int b = head / {1}, h = head % {1};\n"
            "    const int slice = static_cast<int>(threadIdx.x % {2}u);\n"
            "    const int column = static_cast<int>(block % {0}u * {3}u + threadIdx.x / {2}u);\n"
            "    const bool isInside = column < {4};\n    float s[{5}];\n",
            m_of.tiles(), sizes.heads, teamLanes, columns, sizes.width, m_of.depth() / teamLanes);
    }

    /// For the elements i of the state that a lane has, row k of it.
    std::string eachElement(const std::string& statement) const {
        return fmt::format("#pragma unroll\n    for (int i = 0; i < {}; ++i) {{\n"
                           "        const int k = i / {} * {} + slice * {} + i % {};\n"
                           "        {}\n    }}\n",
                           m_of.depth() / teamLanes, quad, quads, quad, quad, statement);
    }

    /// What a token says of all columns, into registers.
    std::string fetched(const std::string& token, const std::string& indent) const {
        const LinearRecurrence& sizes = m_of.sizes;
        std::string out =
            fmt::format("{0}#pragma unroll\n{0}for (int j = 0; j < {1}; ++j) {{\n"
                        "{0}    const int at = static_cast<int>(threadIdx.x) + j * {2};\n"
                        "{0}    const int part = at / {3}, k = at % {3};\n{0}    ahead[j] = 0.0f;\n"
                        "{0}    if (k < {4}) {{\n{0}        if (part == 0)\n"
                        "{0}            ahead[j] = load({5});\n",
                        indent, m_of.ahead(), threads, m_of.depth(), sizes.depth,
                        addressOf(input(RecurrenceInput::Key), {"b", token, "h", "k", "0"}));
        if (sizes.rows > 0)
            out += fmt::format(
                "{0}        else if (part <= {1})\n{0}            ahead[j] = load({2});\n", indent,
                sizes.rows,
                addressOf(input(RecurrenceInput::Query), {"b", token, "h", "(part - 1)", "k"}));
        if (m_of.hasDecayOfRows())
            out += fmt::format(
                "{0}        else if (part == {1})\n{0}            ahead[j] = load({2});\n", indent,
                sizes.rows + 1,
                addressOf(input(RecurrenceInput::Decay), {"b", token, "h", "k", "0"}));
        return out + indent + "    }\n" + indent + "}\n";
    }

    /// One sum of a column over the rows of the state.
    std::string summed(const std::string& name, const std::string& statement) const {
        return fmt::format("        float {0} = 0.0f;\n", name) + eachElement(statement) +
               fmt::format("        {0} = reduceWarp<Sum, {1}>({0});\n", name, teamLanes);
    }

    std::string tokens() const {
        const LinearRecurrence& sizes = m_of.sizes;
        std::string out = fmt::format(
            "    for (int t = 0; t < {0}; ++t) {{\n"
            "        float* const now = staged + t % 2 * {1};\n#pragma unroll\n"
            "        for (int j = 0; j < {2}; ++j) {{\n"
            "            const int at = static_cast<int>(threadIdx.x) + j * {3};\n"
            "            if (at < {1})\n                now[at] = ahead[j];\n        }}\n"
            "        __syncthreads();\n"
            "        float more = isInside ? load({4}) : 0.0f;\n",
            sizes.tokens, m_of.staged(), m_of.ahead(), threads,
            addressOf(input(RecurrenceInput::Value), {"b", "t", "h", "0", "column"}));
        if (sizes.decays == 1)
            out += fmt::format("        const float kept = load({});\n",
                               addressOf(input(RecurrenceInput::Decay), {"b", "t", "h", "0", "0"}));
        if (sizes.rates > 0)
            out += fmt::format("        const float rate = load({});\n",
                               addressOf(input(RecurrenceInput::Rate), {"b", "t", "h", "0", "0"}));
        out += fmt::format("        if (t + 1 < {}) {{\n{}        }}\n", sizes.tokens,
                           fetched("(t + 1)", "            "));
        if (sizes.decays > 0)
            out += eachElement(m_of.hasDecayOfRows() ? fmt::format("s[i] *= now[{} + k];",
                                                                   (sizes.rows + 1) * m_of.depth())
                                                     : std::string("s[i] *= kept;"));
        if (sizes.rates > 0)
            out +=
                summed("said", "said += now[k] * s[i];") + "        more = rate * (more - said);\n";
        // What is behind the last row stays 0, whatever an infinite value would make of it.
        out +=
            eachElement(m_of.depth() == sizes.depth
                            ? std::string("s[i] += now[k] * more;")
                            : fmt::format("s[i] += k < {} ? now[k] * more : 0.0f;", sizes.depth));
        const LibraryOperand& results = m_of.view->output(1);
        for (int64_t r = 0; r < sizes.rows && results && !results.pointer.empty(); ++r) {
            const std::string name = fmt::format("result{}", r);
            out += summed(name,
                          fmt::format("{} += now[{} + k] * s[i];", name, (r + 1) * m_of.depth()));
            out += fmt::format("        if (slice == 0 && isInside)\n            store({}, {});\n",
                               addressOf(results, {"b", "t", "h", text(r), "column"}), name);
        }
        return out + "    }\n";
    }

    const Recurrence& m_of;
};

} // namespace

EmitResult emitRecurrence(const KernelRequest& request) {
    const char* name = "recurrence";
    auto view = LibraryView::make(request, {Op::LinearRecurrence});
    if (auto* reason = std::get_if<Reason>(&view))
        return finish(name, request, PartResult(*reason));
    auto recurrence = recurrenceOf(std::get<LibraryView>(view));
    if (auto* reason = std::get_if<Reason>(&recurrence))
        return finish(name, request, PartResult(*reason));
    return finish(name, request,
                  PartResult(RecurrenceEmitter(std::get<Recurrence>(recurrence)).emit()));
}

} // namespace fuselage::gpu
