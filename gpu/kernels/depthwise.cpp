// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/depthwise.h"

#include "gpu/kernels/conv_result.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu {

namespace {

/// Multiply-adds of a thread up to which its loop over rows is unrolled: about 12 KiB of code.
constexpr int64_t mostUnrolled = 768;

class DepthwiseEmitter {
public:
    DepthwiseEmitter(const ConvSpec& spec, const DepthwiseShape& shape)
        : m_spec(spec), m_shape(shape), m_result(spec, shape.width, "@epilogue"),
          m_columns(depthwiseColumns(spec, shape.strip)), m_chunks(depthwiseChunks(spec, shape)),
          m_words(m_chunks.count > 0
                      ? 4
                      : (shape.width * static_cast<int>(sizeOf(spec.x.dtype)) + 3) / 4) {}

    KernelPart emit();

    /// The weight tap by tap, with zeros up to the last block's last channel.
    SetNeeds needs() const;

private:
    int64_t rows() const {
        return (m_shape.height - 1) * m_spec.rows.stride +
               (m_spec.rows.kernel - 1) * m_spec.rows.dilation + 1;
    }

    int64_t strips() const { return (m_spec.columns.out + m_shape.strip - 1) / m_shape.strip; }

    int64_t bands() const { return (m_spec.rows.out + m_shape.height - 1) / m_shape.height; }

    int64_t chunks() const {
        const int64_t channels = m_shape.blockChannels();
        return (m_spec.results + channels - 1) / channels;
    }

    /// Accesses that read a row.
    size_t accesses() const {
        return m_chunks.count > 0 ? static_cast<size_t>(m_chunks.count) : m_columns.size();
    }

    /// Results of a row leave together.
    bool storesLines() const;

    std::string rowFunction() const;
    std::string stageWeights() const;
    std::string stagePacked() const;
    std::string placeThread() const;
    std::string widened() const;
    std::string walkRows() const;
    std::string results() const;
    std::string lineResults() const;

    const ConvSpec& m_spec;
    const DepthwiseShape& m_shape;
    ConvResult m_result;
    std::vector<int64_t> m_columns;
    DepthwiseChunks m_chunks;
    int m_words; ///< of one access
};

/// Loads the columns of one row; only those are checked that can lie outside.
std::string DepthwiseEmitter::rowFunction() const {
    const ConvAxis& axis = m_spec.columns;
    const int64_t last = (strips() - 1) * m_shape.strip * axis.stride;
    const int64_t each = m_chunks.count > 0 ? m_chunks.elements : 1;
    const int bytes =
        m_chunks.count > 0 ? 16 : m_shape.width * static_cast<int>(sizeOf(m_spec.x.dtype));
    std::string out =
        fmt::format("/// `from` is column x0 of one row.\n"
                    "__device__ __forceinline__ void @row(const {}* from, int x0,\n"
                    "                                     unsigned (&to)[{}][{}]) {{\n",
                    storageType(m_spec.x.dtype), accesses(), m_words);
    for (size_t i = 0; i < accesses(); ++i) {
        const int64_t column = m_chunks.count > 0
                                   ? static_cast<int64_t>(i) * m_chunks.elements - m_chunks.lead
                                   : m_columns[i];
        const std::string load = fmt::format("loadWords<{}>(from + {}, to[{}]);\n", bytes,
                                             column * m_spec.stride(m_spec.x, 3), i);
        if (column >= axis.pad && last + column + each - 1 - axis.pad < axis.in) {
            out += "    " + load;
            continue;
        }
        out += "    ";
        for (int word = 0; word < m_words; ++word)
            out += fmt::format("to[{}][{}] = 0; ", i, word);
        out += fmt::format("\n    if (static_cast<unsigned>(x0 + {}) < {}u)\n        {}", column,
                           axis.in, load);
    }
    return out + "}\n\n";
}

/// The columns of the row that was loaded, as numbers.
std::string DepthwiseEmitter::widened() const {
    if (m_chunks.count == 0)
        return fmt::format("#pragma unroll\n            for (int i = 0; i < {}; ++i)\n"
                           "#pragma unroll\n                for (int v = 0; v < {}; ++v)\n"
                           "                    x[i][v] = lane(next[i], v, from);\n        }}\n",
                           m_columns.size(), m_shape.width);
    std::string out;
    for (size_t i = 0; i < m_columns.size(); ++i) {
        const int64_t at = m_columns[i] + m_chunks.lead;
        out += fmt::format("            x[{}][0] = lane(next[{}], {}, from);\n", i,
                           at / m_chunks.elements, at % m_chunks.elements);
    }
    return out + "        }\n";
}

/// A thread keeps its channels and walks down the taps: all loads, then all stores.
std::string DepthwiseEmitter::stagePacked() const {
    const int64_t perTap = m_shape.perTap(), atOnce = m_shape.tapsAtOnce();
    const int64_t steps = (m_spec.taps() + atOnce - 1) / atOnce;
    const bool idle = m_shape.threads() % perTap != 0, rest = m_spec.taps() % atOnce != 0;
    std::string inside = idle ? fmt::format("firstTap < {}", atOnce) : "";
    if (rest)
        inside +=
            fmt::format("{}firstTap + i * {} < {}", idle ? " && " : "", atOnce, m_spec.taps());
    const std::string guard = inside.empty() ? "" : fmt::format("        if ({})\n    ", inside);
    return fmt::format("    const int firstTap = static_cast<int>(threadIdx.x / {0}u);\n"
                       "    const int channel = static_cast<int>(threadIdx.x % {0}u) * {1};\n"
                       "    const {2}* const packed = packed0 + chunk * {3}u + (firstTap * {4} + "
                       "channel);\n"
                       "    {5} staged[{6}][{1}];\n#pragma unroll\n"
                       "    for (int i = 0; i < {6}; ++i)\n",
                       perTap, m_shape.staged, storageType(m_spec.w.dtype), m_shape.blockChannels(),
                       chunks() * m_shape.blockChannels(), m_spec.accumulator(), steps) +
           guard +
           fmt::format("        loadLanes<{0}>(packed + i * {1}, staged[i]);\n#pragma unroll\n"
                       "    for (int i = 0; i < {2}; ++i)\n",
                       m_shape.staged, atOnce * chunks() * m_shape.blockChannels(), steps) +
           guard +
           fmt::format("        storeShared(weights + (firstTap + i * {}) * {} + channel, "
                       "staged[i]);\n    __syncthreads();\n",
                       atOnce, m_shape.weightRow());
}

std::string DepthwiseEmitter::stageWeights() const {
    const int64_t channels = m_shape.blockChannels();
    const std::string begin =
        fmt::format("    extern __shared__ __align__(16) unsigned char sharedMemory[];\n"
                    "    {0}* const weights = reinterpret_cast<{0}*>(sharedMemory);\n"
                    "    const unsigned chunk = block % {1}u;\n",
                    m_spec.accumulator(), chunks());
    if (m_shape.staged > 0)
        return begin + stagePacked();
    return begin +
           fmt::format("    for (unsigned i = threadIdx.x; i < {0}u; i += {1}u) {{\n"
                       "        const unsigned k = chunk * {2}u + i / {3}u, tap = i % {3}u;\n"
                       "        weights[tap * {4}u + i / {3}u] = k < {5}u ? load({6}) : 0;\n"
                       "    }}\n    __syncthreads();\n",
                       channels * m_spec.taps(), m_shape.threads(), channels, m_spec.taps(),
                       m_shape.weightRow(), m_spec.results,
                       m_spec.offset(m_spec.w, "k", "0",
                                     fmt::format("tap / {}u", m_spec.columns.kernel),
                                     fmt::format("tap % {}u", m_spec.columns.kernel)));
}

std::string DepthwiseEmitter::placeThread() const {
    const char* order = m_shape.channelsFastest
                            ? "    const unsigned slot = threadIdx.x % {0}u, "
                              "place = block / {2}u * {1}u + threadIdx.x / {0}u;\n"
                            : "    const unsigned slot = threadIdx.x / {1}u, "
                              "place = block / {2}u * {1}u + threadIdx.x % {1}u;\n";
    std::string out = fmt::format(fmt::runtime(order), m_shape.lanes, m_shape.places, chunks());
    return out + fmt::format("    const int c = static_cast<int>((chunk * {}u + slot) * {}u);\n"
                             "    if (c >= {} || place >= {}u)\n        return;\n"
                             "    const int x0 = static_cast<int>(place % {}u) * {};\n"
                             "    const int y0 = static_cast<int>(place / {}u % {}u) * {};\n"
                             "    const int n = static_cast<int>(place / {}u);\n",
                             m_shape.lanes, m_shape.width, m_spec.results,
                             m_spec.images * bands() * strips(), strips(), m_shape.strip, strips(),
                             bands(), m_shape.height, bands() * strips());
}

std::string DepthwiseEmitter::walkRows() const {
    const ConvAxis &h = m_spec.rows, &w = m_spec.columns;
    const int64_t each = w.kernel * m_shape.strip * m_shape.width * m_shape.height;
    const int64_t multiplier = m_spec.results / m_spec.channels;
    const int64_t rowStride = m_spec.stride(m_spec.x, 2);
    const std::string channel = multiplier == 1 ? "c" : fmt::format("c / {}", multiplier);
    std::string out = fmt::format(
        "    const int firstRow = y0 * {0} - {1}, firstColumn = x0 * {2} - {3};\n"
        "    const {4}* const from = {5};\n"
        "    unsigned next[{6}][{7}];\n"
        "    if (static_cast<unsigned>(firstRow) < {8}u)\n"
        "        @row(from, firstColumn, next);\n"
        "    {9} a[{10}][{11}][{12}];\n"
        "#pragma unroll\n    for (int r = 0; r < {10}; ++r)\n"
        "#pragma unroll\n        for (int s = 0; s < {11}; ++s)\n"
        "#pragma unroll\n            for (int v = 0; v < {12}; ++v)\n"
        "                a[r][s][v] = 0;\n",
        h.stride, h.pad, w.stride, w.pad, storageType(m_spec.x.dtype),
        m_spec.offset(m_spec.x, "n", channel, "firstRow", "firstColumn"), accesses(), m_words, h.in,
        m_spec.accumulator(), m_shape.height, m_shape.strip, m_shape.width);
    out += fmt::format("#pragma unroll {}\n    for (int j = 0; j < {}; ++j) {{\n"
                       "        const bool inside = static_cast<unsigned>(firstRow + j) < {}u;\n"
                       "        {} x[{}][{}];\n        if (inside) {{\n",
                       rows() * each <= mostUnrolled ? rows() : 1, rows(), h.in,
                       m_spec.accumulator(), m_columns.size(), m_shape.width);
    out += widened();
    out += fmt::format("        if (j + 1 < {} && static_cast<unsigned>(firstRow + j + 1) < {}u)\n"
                       "            @row(from + (j + 1) * {}, firstColumn, next);\n"
                       "        if (!inside)\n            continue;\n",
                       rows(), h.in, rowStride);
    out += fmt::format("#pragma unroll\n        for (int r = 0; r < {}; ++r) {{\n"
                       "            const int k = j - r * {};\n",
                       m_shape.height, h.stride);
    if (m_shape.height > 1 || h.dilation > 1)
        out += fmt::format("            if (k < 0 || k > {}{})\n                continue;\n",
                           (h.kernel - 1) * h.dilation,
                           h.dilation > 1 ? fmt::format(" || k % {} != 0", h.dilation) : "");
    out +=
        fmt::format("            const {}* const row = weights + (k / {} * {}) * {} + slot * {};\n",
                    m_spec.accumulator(), h.dilation, w.kernel, m_shape.weightRow(), m_shape.width);
    for (int64_t k = 0; k < w.kernel; ++k) {
        out += fmt::format("            {{\n                {} f[{}];\n"
                           "                loadShared<{}>(row + {}, f);\n",
                           m_spec.accumulator(), m_shape.width, m_shape.width,
                           k * m_shape.weightRow());
        for (int s = 0; s < m_shape.strip; ++s) {
            const auto at =
                std::find(m_columns.begin(), m_columns.end(), s * w.stride + k * w.dilation);
            out += fmt::format("#pragma unroll\n                for (int v = 0; v < {0}; ++v)\n"
                               "                    a[r][{1}][v] += x[{2}][v] * f[v];\n",
                               m_shape.width, s, at - m_columns.begin());
        }
        out += "            }\n";
    }
    return out + "        }\n    }\n";
}

bool DepthwiseEmitter::storesLines() const {
    bool out = m_shape.strip > 1 && m_spec.columns.out % m_shape.strip == 0;
    for (const KernelOperand& write : m_spec.writes)
        out = out && m_spec.rowVectors(write, m_shape.strip);
    return out;
}

std::string DepthwiseEmitter::lineResults() const {
    std::string out =
        fmt::format("#pragma unroll\n    for (int r = 0; r < {}; ++r) {{\n", m_shape.height);
    if (m_spec.rows.out % m_shape.height != 0)
        out += fmt::format("        if (y0 + r >= {})\n            continue;\n", m_spec.rows.out);
    std::string keep, store;
    for (size_t w = 0; w < m_spec.writes.size(); ++w) {
        out += fmt::format("        {} line{}[{}][{}];\n",
                           registerType(m_result.function().outputs[w]), w, m_shape.width,
                           m_shape.strip);
        keep += fmt::format("#pragma unroll\n            for (int v = 0; v < {0}; ++v)\n"
                            "                line{1}[v][s] = z{1}[v];\n",
                            m_shape.width, w);
        store += fmt::format("#pragma unroll\n        for (int v = 0; v < {}; ++v)\n"
                             "            storeLanes<{}, false>({}, line{}[v]);\n",
                             m_shape.width, m_shape.strip,
                             m_spec.offset(m_spec.writes[w], "n", "c + v", "y0 + r", "x0"), w);
    }
    out += fmt::format("#pragma unroll\n        for (int s = 0; s < {}; ++s) {{\n", m_shape.strip);
    out += m_result.apply("a[r][s][v]", "n", "c", "y0 + r", "x0 + s", "            ");
    return out + keep + "        }\n" + store + "    }\n";
}

std::string DepthwiseEmitter::results() const {
    if (storesLines())
        return m_result.hoisted("c", "    ") + lineResults();
    std::string out = m_result.hoisted("c", "    ");
    out += fmt::format("#pragma unroll\n    for (int r = 0; r < {}; ++r)\n"
                       "#pragma unroll\n        for (int s = 0; s < {}; ++s) {{\n",
                       m_shape.height, m_shape.strip);
    const bool rowsEnd = m_spec.rows.out % m_shape.height != 0;
    const bool columnsEnd = m_spec.columns.out % m_shape.strip != 0;
    if (rowsEnd || columnsEnd)
        out += fmt::format("            if ({}{}{})\n                continue;\n",
                           rowsEnd ? fmt::format("y0 + r >= {}", m_spec.rows.out) : "",
                           rowsEnd && columnsEnd ? " || " : "",
                           columnsEnd ? fmt::format("x0 + s >= {}", m_spec.columns.out) : "");
    out += m_result.apply("a[r][s][v]", "n", "c", "y0 + r", "x0 + s", "            ");
    out += m_result.store("n", "c", "y0 + r", "x0 + s", "            ");
    return out + "        }\n";
}

KernelPart DepthwiseEmitter::emit() {
    KernelPart part;
    part.helpers = {"vectors"};
    part.threads = static_cast<uint32_t>(m_shape.threads());
    part.blocks =
        chunks() * ((m_spec.images * bands() * strips() + m_shape.places - 1) / m_shape.places);
    part.sharedBytes = static_cast<uint32_t>(m_spec.taps() * m_shape.weightRow() *
                                             static_cast<int64_t>(sizeOf(m_spec.code->accumulate)));
    part.comment = {
        fmt::format("depthwise, {} by {} taps: a thread owns {} rows of {} results of {} channels",
                    m_spec.rows.kernel, m_spec.columns.kernel, m_shape.height, m_shape.strip,
                    m_shape.width),
        fmt::format("{:.1f} lane instructions a result, {} of them multiply-adds in tap order",
                    m_shape.instructionsPerResult, m_spec.taps())};
    part.functions = m_result.function().text + rowFunction();
    part.numeric = m_result.function().numeric;
    part.body = stageWeights() + placeThread() + walkRows() + results();
    if (m_shape.staged > 0)
        part.extra = {{fmt::format("const {}*", storageType(m_spec.w.dtype)),
                       "packed0",
                       {KernelArgument::Kind::Packed, 0, 0}}};
    return part;
}

SetNeeds DepthwiseEmitter::needs() const {
    if (m_shape.staged == 0)
        return {};
    const int64_t results = chunks() * m_shape.blockChannels();
    PackedOperand packed{m_spec.code->b.operand,
                         {2, 3, 0, 1},
                         {m_spec.rows.kernel, m_spec.columns.kernel, results, 1}};
    if (m_spec.flat)
        packed = {m_spec.code->b.operand, {2, 0, 1}, {m_spec.columns.kernel, results, 1}};
    return {{std::move(packed)}};
}

} // namespace

EmitResult emitDepthwiseTiled(const KernelRequest& request) {
    const char* name = "depthwise_tiled";
    auto made = convSpec(request);
    if (auto* reason = std::get_if<Reason>(&made))
        return finish(name, request, PartResult(*reason));
    const ConvSpec& spec = std::get<ConvSpec>(made);
    if (spec.channelsPerGroup != 1 || spec.code->poolWindow || spec.results % spec.channels != 0)
        return finish(name, request, PartResult(refusal("support", "no depthwise convolution")));
    auto shape = depthwiseShape(spec);
    if (auto* reason = std::get_if<Reason>(&shape))
        return finish(name, request, PartResult(*reason));
    DepthwiseEmitter emitter(spec, std::get<DepthwiseShape>(shape));
    return finishInOrder(name, request, {emitter.emit()}, emitter.needs());
}

} // namespace fuselage::gpu
