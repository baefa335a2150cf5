// SPDX-License-Identifier: Apache-2.0
// A thread owns `strip` results along the last spatial dim and `width` neighbouring channels; with
// a strip or channels of its own it loads each input element of its window once.
#include "gpu/kernels/window.h"

#include "core/graph/type.h"
#include "gpu/emit/lane_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace fuselage::gpu {

namespace {

constexpr int64_t mostColumns = 16;

struct WindowGeometry {
    int strip = 1, width = 1;
    bool columns = false; ///< the last spatial dim is written out column by column
};

class WindowEmitter {
public:
    explicit WindowEmitter(const KernelRequest& request);

    int64_t columnCount(int strip) const {
        const size_t last = spatial() - 1;
        return (strip - 1) * window().strides[last] +
               (window().kernel[last] - 1) * window().dilations[last] + 1;
    }

    int widestVector() const;
    bool fitsInts() const;
    KernelPart emit(const WindowGeometry& geometry);

private:
    const SlidingWindow& window() const { return m_program.window; }

    size_t spatial() const { return m_program.space.size() - 2; }

    size_t lastDim() const { return m_program.space.size() - 1; }

    std::string offset(const KernelOperand& operand, const std::vector<std::string>& index) const;
    std::string sourceIndex(size_t d) const { return fmt::format("q{}", d); }

    std::vector<std::string> sourceIndices(const char* lane) const;
    std::string placeThread();
    std::vector<size_t> orderOfThreads() const;
    Extents threadExtents() const;
    MemoryAsked memory() const;
    std::string element(const std::string& indent);
    std::string combine(const std::string& target) const;
    std::string taps();
    std::string results();
    std::string finished(const std::string& accumulator) const;
    std::string count() const;

    const KernelRequest& m_request;
    const Window& m_program;
    KernelOperand m_source;
    std::vector<KernelOperand> m_prologueReads, m_reads, m_writes;
    bool m_narrow;
    DType m_type; ///< of what is pooled
    TapeFunction m_prologue, m_epilogue;
    WindowGeometry m_geometry;
    KernelPart m_part;
};

WindowEmitter::WindowEmitter(const KernelRequest& request)
    : m_request(request), m_program(std::get<Window>(request.program->code)) {
    const OperandLayout& layout = request.inputs[m_program.operand];
    const size_t dims = m_program.space.size();
    m_source = {fmt::format("in{}", m_program.operand),
                layout.dtype,
                {0, layout.strides},
                layout.alignment};
    m_type = layout.dtype;
    if (m_program.prologue) {
        for (const Access& read : m_program.prologue->reads)
            m_prologueReads.push_back(readOperand(request, read, dims));
        m_type = m_program.prologue->tape.type(m_program.prologue->tape.outputs[0]);
    }
    for (const Access& read : m_program.epilogue.reads)
        m_reads.push_back(readOperand(request, read, dims));
    for (const Access& write : m_program.epilogue.writes)
        m_writes.push_back(writtenOperand(request, write, dims));
    m_narrow = storesNarrow(request, m_writes);
}

std::string WindowEmitter::offset(const KernelOperand& operand,
                                  const std::vector<std::string>& index) const {
    std::string out = fmt::format("{} + {}", operand.pointer, operand.access.offset);
    for (size_t d = 0; d < index.size(); ++d)
        if (operand.access.strides[d] != 0)
            out += fmt::format(" + {} * {}", index[d], operand.access.strides[d]);
    return out;
}

std::vector<std::string> WindowEmitter::sourceIndices(const char* lane) const {
    std::vector<std::string> out = {"i0", fmt::format("(i1 + {})", lane)};
    for (size_t d = 0; d < spatial(); ++d)
        out.push_back(sourceIndex(d));
    return out;
}

/// Every index and offset fits 32 bits.
bool WindowEmitter::fitsInts() const {
    auto reach = [](const OperandLayout& layout) {
        __int128 out = 0;
        for (size_t d = 0; d < layout.extents.size(); ++d)
            out += static_cast<__int128>(std::abs(layout.strides[d])) * layout.extents[d];
        return out;
    };
    constexpr int64_t limit = std::numeric_limits<int32_t>::max() / 2;
    for (const auto* layouts : {&m_request.inputs, &m_request.outputs})
        for (const OperandLayout& layout : *layouts)
            if (reach(layout) > limit)
                return false;
    return true;
}

/// Channels that one access moves, when they are contiguous in what is read and written.
int WindowEmitter::widestVector() const {
    if (m_source.access.strides[1] != 1 || m_writes.size() != 1 ||
        m_writes[0].access.strides[1] != 1)
        return 1;
    const size_t smallest = std::min(sizeOf(m_source.dtype), sizeOf(m_writes[0].dtype));
    for (int width = std::min<int>(8, static_cast<int>(16 / smallest)); width >= 2; width /= 2) {
        bool all = m_program.space[1] % width == 0;
        for (const KernelOperand* operand : {&m_source, &m_writes[0]}) {
            const auto size = static_cast<int64_t>(sizeOf(operand->dtype));
            const int64_t bytes = std::min<int64_t>(16, width * size);
            all = all && width * size >= 2 && operand->alignment % bytes == 0 &&
                  operand->access.offset * size % bytes == 0;
            for (size_t d = 0; d < operand->access.strides.size(); ++d)
                all = all && (d == 1 || operand->access.strides[d] * size % bytes == 0);
        }
        if (all)
            return width;
    }
    return 1;
}

/// Threads along each dim.
Extents WindowEmitter::threadExtents() const {
    Extents extents = m_program.space;
    extents[1] /= m_geometry.width;
    extents[lastDim()] = (extents[lastDim()] + m_geometry.strip - 1) / m_geometry.strip;
    return extents;
}

/// Dims of the results as they lie in memory, innermost last.
std::vector<size_t> WindowEmitter::orderOfThreads() const {
    std::vector<size_t> order(m_program.space.size());
    std::iota(order.begin(), order.end(), 0);
    const Extents& strides = m_writes[0].access.strides;
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return strides[a] > strides[b]; });
    return order;
}

/// Of the taps of one row of a window, which those of its other rows are like, and of the results.
MemoryAsked WindowEmitter::memory() const {
    const Extents extents = threadExtents();
    const size_t last = lastDim();
    const int64_t taps =
        m_geometry.columns ? columnCount(m_geometry.strip) : window().kernel[last - 2];
    const int64_t apart = m_geometry.columns ? 1 : window().dilations[last - 2];
    std::vector<KernelOperand> operands = m_writes;
    operands.push_back(m_source);
    std::vector<Loop> loops;
    for (size_t d : orderOfThreads()) {
        const int64_t scale = d == 1 ? m_geometry.width : d == last ? m_geometry.strip : 1;
        loops.push_back({extents[d], {}});
        for (size_t k = 0; k < operands.size(); ++k) {
            const bool steps = k == m_writes.size() && d >= 2;
            loops.back().strides.push_back(operands[k].access.strides[d] * scale *
                                           (steps ? window().strides[d - 2] : 1));
        }
    }
    const LoopNest nest(std::move(loops), false);
    const int64_t all = nest.count(), sampled = std::min<int64_t>(defaultThreads, all);
    const int64_t first = sampled == 0 ? 0 : all / 2 / sampled * sampled;
    int64_t rows = 1;
    for (size_t d = 0; d + 1 < spatial(); ++d)
        rows *= window().kernel[d];
    MemoryAsked out;
    for (size_t k = 0; k < operands.size() && sampled > 0; ++k) {
        const bool isSource = k == m_writes.size();
        const int64_t stride = operands[k].access.strides[last] * (isSource ? apart : 1);
        LaneRequests requests;
        requests.dtype = operands[k].dtype;
        requests.isWritten = !isSource;
        requests.width = m_geometry.width;
        requests.places = isSource ? taps : m_geometry.strip;
        requests.at = [&nest, &operands, k, first, stride](int64_t thread, int64_t place) {
            return operands[k].access.offset + elementAt(nest, k, first + thread) + place * stride;
        };
        out += askedBy(sampled, requests,
                       static_cast<double>(all) / static_cast<double>(sampled) *
                           static_cast<double>(isSource ? rows : 1));
    }
    return out;
}

/// Declares i0, i1 ... in the order in which results lie in memory.
std::string WindowEmitter::placeThread() {
    const Extents extents = threadExtents();
    const std::vector<size_t> order = orderOfThreads();
    int64_t total = 1;
    for (int64_t extent : extents)
        total *= extent;
    m_part.blocks = (total + defaultThreads - 1) / defaultThreads;
    std::string out = fmt::format("    const unsigned index = block * {}u + threadIdx.x;\n"
                                  "    if (index >= {}u)\n        return;\n",
                                  defaultThreads, total);
    std::string rest = "index";
    for (size_t k = order.size(); k-- > 0;) {
        const size_t d = order[k];
        const int scale = d == 1 ? m_geometry.width : d == lastDim() ? m_geometry.strip : 1;
        out += fmt::format("    const int i{} = static_cast<int>({}{}){};\n", d, rest,
                           k == 0 ? "" : fmt::format(" % {}u", extents[d]),
                           scale == 1 ? "" : fmt::format(" * {}", scale));
        if (k == 0)
            break;
        out += fmt::format("    const unsigned over{} = {} / {}u;\n", d, rest, extents[d]);
        rest = fmt::format("over{}", d);
    }
    return out;
}

std::string WindowEmitter::combine(const std::string& target) const {
    switch (m_program.kind) {
    case PoolKind::Max:
        return fmt::format("{0} = maximum({0}, x[v])", target);
    case PoolKind::Lp:
        if (m_program.p == 1)
            return fmt::format("{} += fabsf(x[v])", target);
        if (m_program.p == 2)
            return fmt::format("{} += x[v] * x[v]", target);
        return fmt::format("{} += powf(fabsf(x[v]), {}.0f)", target, m_program.p);
    default:
        return fmt::format("{} += x[v]", target);
    }
}

/// Loads x[width] at q0, q1 ... and applies the prologue.
std::string WindowEmitter::element(const std::string& indent) {
    const char* raw = registerType(m_source.dtype);
    std::string out = fmt::format("{}{} e[{}];\n", indent, raw, m_geometry.width);
    if (m_geometry.width > 1)
        out += fmt::format("{}loadLanes<{}>({}, e);\n", indent, m_geometry.width,
                           offset(m_source, sourceIndices("0")));
    else
        out += fmt::format("{}e[0] = load({});\n", indent, offset(m_source, sourceIndices("0")));
    out += fmt::format("{}{} x[{}];\n#pragma unroll\n{}for (int v = 0; v < {}; ++v)\n", indent,
                       registerType(m_type), m_geometry.width, indent, m_geometry.width);
    if (!m_program.prologue)
        return out + fmt::format("{}    x[v] = e[v];\n", indent);
    std::vector<std::string> inputs = {"e[v]"};
    for (const KernelOperand& read : m_prologueReads)
        inputs.push_back(fmt::format("load({})", offset(read, sourceIndices("v"))));
    return out + fmt::format("{}    {};\n", indent, m_prologue.call(inputs, {"x[v]"}));
}

std::string WindowEmitter::taps() {
    const size_t loops = m_geometry.columns ? spatial() - 1 : spatial();
    std::string out, indent = "    ";
    for (size_t d = 0; d < loops; ++d) {
        out += fmt::format("{0}for (int t{1} = 0; t{1} < {2}; ++t{1}) {{\n"
                           "{0}    const int q{1} = i{3} * {4} - {5} + t{1} * {6};\n"
                           "{0}    if (q{1} < 0 || q{1} >= {7})\n{0}        continue;\n",
                           indent, d, window().kernel[d], d + 2, window().strides[d],
                           window().padsBegin[d], window().dilations[d],
                           m_request.inputs[m_program.operand].extents[d + 2]);
        indent += "    ";
    }
    if (!m_geometry.columns) {
        out += element(indent);
        out += fmt::format("#pragma unroll\n{0}for (int v = 0; v < {1}; ++v)\n{0}    {2};\n",
                           indent, m_geometry.width, combine("a[0][v]"));
    } else {
        const size_t last = spatial() - 1;
        out += fmt::format("{}const int first = i{} * {} - {};\n", indent, lastDim(),
                           window().strides[last], window().padsBegin[last]);
        for (int64_t column = 0; column < columnCount(m_geometry.strip); ++column) {
            std::string uses;
            for (int r = 0; r < m_geometry.strip; ++r) {
                const int64_t from = column - r * window().strides[last];
                if (from >= 0 && from % window().dilations[last] == 0 &&
                    from / window().dilations[last] < window().kernel[last])
                    uses +=
                        fmt::format("{}        {};\n", indent, combine(fmt::format("a[{}][v]", r)));
            }
            if (uses.empty())
                continue;
            out += fmt::format("{0}if (const int q{1} = first + {2}; q{1} >= 0 && q{1} < {3}) {{\n",
                               indent, last, column,
                               m_request.inputs[m_program.operand].extents[lastDim()]);
            out += element(indent + "    ");
            out += fmt::format("#pragma unroll\n{0}    for (int v = 0; v < {1}; ++v) {{\n{2}{0}    "
                               "}}\n{0}}}\n",
                               indent, m_geometry.width, uses);
        }
    }
    for (size_t d = loops; d-- > 0;)
        out += std::string(4 * (d + 1), ' ') + "}\n";
    return out;
}

/// Taps of the result at i2, i3 ... (+ r along the last dim) that an average divides by.
std::string WindowEmitter::count() const {
    const bool padded = m_program.kind == PoolKind::AverageIncludingPad;
    std::string out;
    for (size_t d = 0; d < spatial(); ++d) {
        const int64_t extent = m_request.inputs[m_program.operand].extents[d + 2];
        const int64_t begin = window().padsBegin[d];
        const bool last = d + 1 == spatial();
        out += fmt::format("{}tapsInside((i{}{}) * {} - {}, {}, {}, {})", d == 0 ? "" : " * ",
                           d + 2, last ? " + r" : "", window().strides[d], padded ? 0 : begin,
                           window().dilations[d], window().kernel[d],
                           padded ? extent + begin + window().padsEnd[d] : extent);
    }
    return out;
}

std::string WindowEmitter::finished(const std::string& accumulator) const {
    switch (m_program.kind) {
    case PoolKind::Average:
    case PoolKind::AverageIncludingPad:
        return fmt::format("{} / static_cast<{}>(taps)", accumulator, registerType(m_type));
    case PoolKind::Lp:
        if (m_program.p == 1)
            return accumulator;
        if (m_program.p == 2)
            return fmt::format("sqrtf({})", accumulator);
        return fmt::format("powf({}, {})", accumulator,
                           floatLiteral(DType::Float32, 1.0 / static_cast<double>(m_program.p)));
    default:
        return accumulator;
    }
}

std::string WindowEmitter::results() {
    std::string out =
        fmt::format("#pragma unroll\n    for (int r = 0; r < {}; ++r) {{\n", m_geometry.strip);
    if (m_program.space[lastDim()] % m_geometry.strip != 0)
        out += fmt::format("        if (i{} + r >= {})\n            continue;\n", lastDim(),
                           m_program.space[lastDim()]);
    if (m_program.kind == PoolKind::Average || m_program.kind == PoolKind::AverageIncludingPad)
        out += "        const int taps = " + count() + ";\n";
    std::vector<std::string> index;
    for (size_t d = 0; d < m_program.space.size(); ++d)
        index.push_back(d == 1           ? "(i1 + v)"
                        : d == lastDim() ? fmt::format("(i{} + r)", d)
                                         : fmt::format("i{}", d));
    const DType type = m_program.epilogue.tape.inputs[0];
    std::vector<std::string> inputs = {
        fmt::format("static_cast<{}>({})", registerType(type), finished("a[r][v]"))};
    for (const KernelOperand& read : m_reads)
        inputs.push_back(fmt::format("load({})", offset(read, index)));
    std::vector<std::string> values;
    for (size_t w = 0; w < m_writes.size(); ++w) {
        out += fmt::format("        {} y{}[{}];\n", registerType(m_epilogue.outputs[w]), w,
                           m_geometry.width);
        values.push_back(fmt::format("y{}[v]", w));
    }
    out += fmt::format("#pragma unroll\n        for (int v = 0; v < {}; ++v)\n            {};\n",
                       m_geometry.width, m_epilogue.call(inputs, values));
    index[1] = "i1";
    for (size_t w = 0; w < m_writes.size(); ++w)
        out += m_geometry.width > 1
                   ? fmt::format("        storeLanes<{}, false>({}, y{});\n", m_geometry.width,
                                 offset(m_writes[w], index), w)
                   : fmt::format("        store({}, y{}[0]);\n", offset(m_writes[w], index), w);
    return out + "    }\n";
}

KernelPart WindowEmitter::emit(const WindowGeometry& geometry) {
    m_geometry = geometry;
    m_part = {};
    m_part.helpers = {"vectors", "window"};
    const TapeStyle style{m_request.strict, m_narrow, {}, {}};
    if (m_program.prologue)
        m_prologue = printTape("@prologue", m_program.prologue->tape, style);
    TapeStyle stored = style;
    for (const KernelOperand& write : m_writes)
        stored.stored.push_back(write.dtype);
    m_epilogue = printTape("@epilogue", m_program.epilogue.tape, stored);
    m_part.functions = m_prologue.text + m_epilogue.text;
    m_part.numeric = std::max(m_prologue.numeric, m_epilogue.numeric);
    m_part.comment = {fmt::format("windows of {} by {} over {}, {} results along the last dim and "
                                  "{} channels a thread",
                                  text(window().kernel), text(window().strides),
                                  text(m_program.space), geometry.strip, geometry.width)};
    m_part.body = placeThread();
    const bool maximum = m_program.kind == PoolKind::Max;
    std::string start = "0";
    if (maximum && isFloat(m_type))
        start = floatLiteral(m_type, -std::numeric_limits<double>::infinity());
    else if (maximum && isSigned(m_type))
        start = integerLiteral(m_type,
                               std::numeric_limits<int64_t>::min() >> (64 - 8 * sizeOf(m_type)));
    m_part.body +=
        fmt::format("    {} a[{}][{}];\n#pragma unroll\n    for (int r = 0; r < {}; ++r)\n"
                    "#pragma unroll\n        for (int v = 0; v < {}; ++v)\n"
                    "            a[r][v] = {};\n",
                    registerType(m_type), geometry.strip, geometry.width, geometry.strip,
                    geometry.width, start);
    m_part.body += taps() + results();
    m_part.memory = memory();
    return m_part;
}

std::optional<Reason> refuseWindow(const KernelRequest& request) {
    if (auto reason = refuseTypes(request))
        return reason;
    const auto& program = std::get<Window>(request.program->code);
    if (program.space.size() < 3)
        return refusal("support", "a window needs a spatial dim");
    const DType type = program.prologue
                           ? program.prologue->tape.type(program.prologue->tape.outputs[0])
                           : request.inputs[program.operand].dtype;
    if (program.kind != PoolKind::Max && !isFloat(type))
        return refusal("dtype", "averages of integers are not supported");
    if (program.kind == PoolKind::Lp && type == DType::Float64)
        return refusal("dtype", "norms of double are not supported");
    return std::nullopt;
}

EmitResult emitWindow(const char* variant, const KernelRequest& request, bool row) {
    if (auto reason = refuseWindow(request))
        return finish(variant, request, PartResult(*reason));
    WindowEmitter emitter(request);
    if (!emitter.fitsInts())
        return finish(variant, request,
                      PartResult(refusal("support", "an operand has more than 2^30 elements")));
    if (!row)
        return finish(variant, request, PartResult(emitter.emit({})));
    const int width = emitter.widestVector();
    const int strip = width > 4 ? 2 : 4;
    if (emitter.columnCount(strip) > mostColumns)
        return finish(variant, request,
                      PartResult(refusal("code-size", fmt::format("{} columns a strip are too many",
                                                                  emitter.columnCount(strip)))));
    return finish(variant, request, PartResult(emitter.emit({strip, width, true})));
}

} // namespace

EmitResult emitWindowRow(const KernelRequest& request) {
    return emitWindow("window_row", request, true);
}

EmitResult emitWindowPlain(const KernelRequest& request) {
    return emitWindow("window_plain", request, false);
}

} // namespace fuselage::gpu
