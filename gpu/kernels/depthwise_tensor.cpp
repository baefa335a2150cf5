// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/depthwise_tensor.h"

#include "gpu/kernels/conv_result.h"
#include "gpu/kernels/parts.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu {

namespace {

constexpr int64_t rowsAtOnce = 3;    ///< of which a thread loads before it waits for the first
constexpr int64_t farAway = 1 << 28; ///< a column that is in no row

class DepthwiseTensorEmitter {
public:
    DepthwiseTensorEmitter(const ConvSpec& spec, const DepthwiseTensorShape& shape)
        : m_spec(spec), m_shape(shape), m_result(spec, 1, "@epilogue") {}

    KernelPart emit() const;

private:
    /// Places one below the other, side by side, and all.
    int64_t bands() const { return divideUp(m_spec.rows.out, m_shape.placeHeight()); }

    int64_t strips() const { return divideUp(m_spec.columns.out, m_shape.columns()); }

    int64_t places() const { return m_spec.images * bands() * strips(); }

    int64_t chunks() const { return divideUp(m_spec.results, m_shape.channels); }

    int64_t blocks() const { return chunks() * divideUp(places(), m_shape.places()); }

    /// Elements of the taps' memory from one channel to the next.
    int64_t channelTaps() const { return m_spec.rows.kernel * m_shape.tapCopies * m_shape.tapRow; }

    /// An operand's beginning.
    static std::string pointerOf(const KernelOperand& operand) {
        return operand.access.offset == 0
                   ? operand.pointer
                   : fmt::format("{} + {}", operand.pointer, operand.access.offset);
    }

    /// What is done for the rows of all places, see eachRow().
    struct RowText {
        std::string begin, load, end;
    };

    std::string memory() const;
    std::string findRows() const;
    std::string eachRow(const char* table, int64_t rows, int64_t pairs, const RowText& text) const;
    std::string loadTaps() const;
    std::string storeTaps() const;
    std::string stagePicture() const;
    std::string eachChannel() const;
    std::string factors() const;
    std::string row() const;
    std::string write() const;
    int64_t highPiece() const;

    const ConvSpec& m_spec;
    const DepthwiseTensorShape& m_shape;
    ConvResult m_result;
};

std::string DepthwiseTensorEmitter::memory() const {
    return fmt::format("    extern __shared__ __align__(16) unsigned char sharedMemory[];\n"
                       "    unsigned* const picture = reinterpret_cast<unsigned*>(sharedMemory);\n"
                       "    unsigned short* const taps =\n"
                       "        reinterpret_cast<unsigned short*>(sharedMemory + {});\n"
                       "    int* const sources = reinterpret_cast<int*>(sharedMemory + {});\n"
                       "    int* const targets = sources + {};\n"
                       "    const int firstChannel = static_cast<int>(block % {}u) * {};\n"
                       "    const int firstPlace = static_cast<int>(block / {}u) * {};\n",
                       m_shape.pictureBytes(), m_shape.pictureBytes() + m_shape.tapBytes(m_spec),
                       4 * m_shape.places() * m_shape.rows, chunks(), m_shape.channels, chunks(),
                       m_shape.places());
}

/// Where each row of each place of the block begins, for all threads: the element of channel 0, its
/// column, and the word of the picture. The column of a row that is not there is far outside.
std::string DepthwiseTensorEmitter::findRows() const {
    const ConvAxis &rows = m_spec.rows, &columns = m_spec.columns;
    auto found = [&](const char* table, const KernelOperand& operand, int64_t height,
                     const ConvAxis& down, const ConvAxis& right, const std::string& line) {
        return fmt::format(
                   "    for (int i = static_cast<int>(threadIdx.x); i < {0}; i += {1}) {{\n"
                   "        const int row = i % {2}, own = i / {2}, place = firstPlace + own;\n"
                   "        const int y = place / {3} % {4} * {5} - {6} + row;\n"
                   "        const int x = place % {3} * {7} - {8}, n = place / {9};\n",
                   m_shape.places() * height, m_shape.threads(), height, strips(), bands(),
                   m_shape.placeHeight() * down.stride, down.pad, m_shape.columns() * right.stride,
                   right.pad, strips() * bands()) +
               fmt::format(
                   "        const bool there = place < {0} && static_cast<unsigned>(y) < {1}u;\n"
                   "        {2}[4 * i] = there ? n * {3} + y * {4} + x * {5} : 0;\n"
                   "        {2}[4 * i + 1] = there ? x : {6};\n"
                   "        {2}[4 * i + 2] = own * {7} + {8} * {9};\n    }}\n",
                   places(), down.in, table, m_spec.stride(operand, 0), m_spec.stride(operand, 2),
                   m_spec.stride(operand, 3), farAway, m_shape.placeWords, line, m_shape.words);
    };
    // The results lie on an axis of their own, without padding.
    const ConvAxis down = {rows.out}, right = {columns.out};
    return found("sources", m_spec.x, m_shape.rows, rows, columns, "row") +
           found("targets", m_spec.writes[0], m_shape.placeHeight(), down, right,
                 fmt::format("(row * {} + {})", rows.stride, (rows.kernel - 1) * rows.dilation));
}

/// The taps of the block's channels into registers, so that they are under way with the picture.
std::string DepthwiseTensorEmitter::loadTaps() const {
    const int64_t taps = m_spec.taps(), threads = m_shape.threads();
    const int64_t count = m_shape.channels * taps, kernel = m_spec.columns.kernel;
    const bool dense = m_spec.stride(m_spec.w, 0) == taps && m_spec.stride(m_spec.w, 3) == 1 &&
                       (m_spec.rows.kernel == 1 || m_spec.stride(m_spec.w, 2) == kernel);
    const std::string at =
        dense ? fmt::format("{} + firstChannel * {} + i", m_spec.w.pointer, taps)
              : m_spec.offset(m_spec.w, fmt::format("(firstChannel + i / {})", taps), "0",
                              fmt::format("i % {} / {}", taps, kernel),
                              fmt::format("i % {}", kernel));
    return fmt::format("    unsigned short mine[{0}];\n#pragma unroll\n"
                       "    for (int step = 0; step < {0}; ++step) {{\n"
                       "        const int i = static_cast<int>(threadIdx.x) + step * {1};\n"
                       "        mine[step] = i < {2} && i < {3} - firstChannel * {4} ? ({5})->bits "
                       ": 0;\n    }}\n",
                       divideUp(count, threads), threads, count, m_spec.results * taps, taps, at);
}

std::string DepthwiseTensorEmitter::storeTaps() const {
    const int64_t taps = m_spec.taps(), threads = m_shape.threads();
    const int64_t count = m_shape.channels * taps;
    std::string out =
        fmt::format("#pragma unroll\n    for (int step = 0; step < {0}; ++step) {{\n"
                    "        const int i = static_cast<int>(threadIdx.x) + step * {1};\n"
                    "        if (i >= {2})\n            continue;\n"
                    "        unsigned short* const to = taps + i / {3} * {4} + {5};\n"
                    "        to[0] = mine[step];\n",
                    divideUp(count, threads), threads, count, m_spec.columns.kernel,
                    m_shape.tapCopies * m_shape.tapRow,
                    fmt::format("(i % {} * {} + {})", m_spec.columns.kernel,
                                m_spec.columns.dilation, 7 * m_spec.columns.stride));
    if (m_shape.tapCopies > 1)
        out += fmt::format("        to[{}] = mine[step];\n", m_shape.tapRow + 1);
    return out + "    }\n";
}

/// Statements over the rows of all places; a thread keeps its eight of channels and its pair of
/// columns. `begin` stands before the rows, `load` and `end` are of a row's `at`, several together.
std::string DepthwiseTensorEmitter::eachRow(const char* table, int64_t rows, int64_t pairs,
                                            const RowText& text) const {
    const int64_t lines = m_shape.places() * rows, perLine = m_shape.eights() * pairs;
    const int64_t across = std::min(perLine, m_shape.threads());
    const int64_t atATime = m_shape.threads() / across;
    const int64_t atOnce = perRound(divideUp(lines, atATime), rowsAtOnce);
    return fmt::format(
               "#pragma unroll 1\n    for (int own = threadIdx.x < {0}u ? "
               "static_cast<int>(threadIdx.x % {1}u) : {2}; own < {2};\n         own += {1}) {{\n"
               "        const int eight = own % {3}, pair = own / {3};\n"
               "        const int c = firstChannel + eight * 8;\n{4}"
               "#pragma unroll 1\n        for (int first = static_cast<int>(threadIdx.x / {1}u); "
               "first < {5}; first += {6}) {{\n",
               across * atATime, across, perLine, m_shape.eights(), text.begin, lines,
               atOnce * atATime) +
           fmt::format(
               "            unsigned left[{0}][4], right[{0}][4];\n            int at[{0}][4];\n"
               "#pragma unroll\n            for (int step = 0; step < {0}; ++step) {{\n"
               "                const int i = first + step * {1};\n"
               "                at[step][1] = {2};\n                if (i < {3})\n"
               "                    loadShared16({4} + 4 * i, at[step]);\n{5}"
               "            }}\n#pragma unroll\n"
               "            for (int step = 0; step < {0}; ++step) {{\n"
               "                if (first + step * {1} >= {3})\n"
               "                    continue;\n{6}            }}\n        }}\n    }}\n",
               atOnce, atATime, farAway, lines, table, text.load, text.end);
}

/// Channel by channel, in words of two neighbours of a row; zero outside of the operand.
std::string DepthwiseTensorEmitter::stagePicture() const {
    const ConvAxis& columns = m_spec.columns;
    // What no result reaches is zero too: it is multiplied by zero.
    const int64_t reached =
        (m_shape.columns() - 1) * columns.stride + (columns.kernel - 1) * columns.dilation + 1;
    RowText text;
    text.begin = fmt::format(
        "        const int leftColumn = c < {0} && 2 * pair < {1} ? 2 * pair : {2};\n"
        "        const int rightColumn = c < {0} && 2 * pair + 1 < {1} ? 2 * pair + 1 : {2};\n"
        "        const {3}* const from = {4} + c + 2 * pair * {5};\n"
        "        unsigned* const to = picture + eight * {6} + pair;\n",
        m_spec.channels, reached, farAway, storageType(m_spec.x.dtype), pointerOf(m_spec.x),
        m_spec.stride(m_spec.x, 3), 8 * m_shape.channelWords() + m_shape.eightShift());
    text.load =
        fmt::format("#pragma unroll\n                for (int v = 0; v < 4; ++v)\n"
                    "                    left[step][v] = right[step][v] = 0;\n"
                    "                if (static_cast<unsigned>(at[step][1] + leftColumn) < {0}u)\n"
                    "                    loadWords<16>(from + at[step][0], left[step]);\n"
                    "                if (static_cast<unsigned>(at[step][1] + rightColumn) < {0}u)\n"
                    "                    loadWords<16>(from + at[step][0] + {1}, right[step]);\n",
                    columns.in, m_spec.stride(m_spec.x, 3));
    text.end = fmt::format(
        "                unsigned* const words = to + at[step][2];\n"
        "#pragma unroll\n                for (int v = 0; v < 4; ++v) {{\n"
        "                    words[2 * v * {0}] = lowHalves(left[step][v], right[step][v]);\n"
        "                    words[(2 * v + 1) * {0}] = highHalves(left[step][v], "
        "right[step][v]);\n                }}\n",
        m_shape.channelWords());
    return eachRow("sources", m_shape.rows, m_shape.words, text);
}

/// The banded matrix of each row of taps: a lane's columns are results g, its rows elements 2 t
/// and following, and 8 further.
std::string DepthwiseTensorEmitter::factors() const {
    return fmt::format(
        "        unsigned b[{0}][{1}][2];\n#pragma unroll\n"
        "        for (int k = 0; k < {0}; ++k)\n#pragma unroll\n"
        "            for (int s = 0; s < {1}; ++s) {{\n"
        "                b[k][s][0] = band[own * {2} + k * {3} + s * 8];\n"
        "                b[k][s][1] = band[own * {2} + k * {3} + s * 8 + 4];\n            }}\n",
        m_spec.rows.kernel, m_shape.steps, channelTaps() / 2,
        m_shape.tapCopies * m_shape.tapRow / 2);
}

/// One row of the operand: its products with every row of taps that meets it; the results that are
/// complete take its place in shared memory.
std::string DepthwiseTensorEmitter::row() const {
    const ConvAxis& axis = m_spec.rows;
    std::string out =
        fmt::format("            unsigned a[{0}][4];\n#pragma unroll\n"
                    "            for (int s = 0; s < {0}; ++s)\n"
                    "                loadFragments(a[s], from + r * {1} + s * 8);\n"
                    "#pragma unroll\n            for (int k = 0; k < {2}; ++k) {{\n"
                    "                const int below = r - k * {3}, y = below / {4};\n"
                    "                if (below < 0 || below % {4} != 0 || y >= {5})\n"
                    "                    continue;\n"
                    "                float(&sum)[4] = sums[y % {6}];\n"
                    "                if (k == 0)\n"
                    "                    sum[0] = sum[1] = sum[2] = sum[3] = 0.0f;\n"
                    "#pragma unroll\n                for (int s = 0; s < {0}; ++s)\n"
                    "                    multiply(sum, a[s], b[k][s][0], b[k][s][1], "
                    "static_cast<const {7}*>(0));\n"
                    "                if (k < {8})\n                    continue;\n"
                    "                float done[4];\n#pragma unroll\n"
                    "                for (int i = 0; i < 4; ++i) {{\n"
                    "                    const float total[1] = {{sum[i]}};\n",
                    m_shape.steps, m_shape.words, axis.kernel, axis.dilation, axis.stride,
                    m_shape.height, m_shape.live, storageType(m_spec.x.dtype), axis.kernel - 1);
    out += m_result.apply("total[v]", "0", "c", "0", "0", "                    ");
    return out + fmt::format("                    done[i] = z0[0];\n                }}\n"
                             "                __syncwarp(); // every lane has read the row\n"
                             "                to[r * {0}] = packPair(done[0], done[1], "
                             "static_cast<const {1}*>(0));\n"
                             "                to[r * {0} + {2}] = packPair(done[2], done[3], "
                             "static_cast<const {1}*>(0));\n            }}\n",
                             m_shape.words, storageType(m_spec.writes[0].dtype), highPiece());
}

std::string DepthwiseTensorEmitter::eachChannel() const {
    const int64_t stride = m_spec.columns.stride, pieces = m_shape.pieces;
    auto piece = [&](const std::string& number, int64_t words) {
        return fmt::format("{0} / {1} * {2} + {0} / {3} % {4} * {5} + {0} % {3} * {6}", number,
                           pieces * m_shape.stack, m_shape.placeWords, pieces, m_shape.stack,
                           m_shape.bandWords(m_spec), words);
    };
    std::string out = fmt::format(
        "    const int warp = static_cast<int>(threadIdx.x / 32u);\n"
        "    const int lane = static_cast<int>(threadIdx.x % 32u), g = lane / 4, t = lane % 4;\n"
        "    const int line = lane % 16;\n"
        "    const unsigned* const lines = picture + {} + lane / 16 * 4;\n"
        "    unsigned* const ends = picture + {} + t;\n",
        piece("line", 4 * stride), piece("g", 4));
    out += m_shape.tapCopies > 1
               ? fmt::format("    const int odd = (g + 1) % 2;\n"
                             "    const unsigned* const band = reinterpret_cast<const unsigned*>("
                             "taps) + odd * {} +\n        (2 * t + {} - g * {} + odd) / 2;\n",
                             m_shape.tapRow / 2, 7 * stride, stride)
               : fmt::format("    const unsigned* const band = reinterpret_cast<const unsigned*>("
                             "taps) +\n        (2 * t + {} - g * {}) / 2;\n",
                             7 * stride, stride);
    out += fmt::format("#pragma unroll 1\n    for (int own = warp; own < {}; own += {}) {{\n"
                       "        const int c = firstChannel + own;\n",
                       m_shape.channels, m_shape.warps);
    if (m_spec.results % m_shape.channels != 0)
        out += fmt::format("        if (c >= {})\n            break;\n", m_spec.results);
    const std::string at =
        m_shape.eights() == 1
            ? fmt::format("own * {}", m_shape.channelWords())
            : fmt::format("own * {} + own / 8 * {}", m_shape.channelWords(), m_shape.eightShift());
    out += fmt::format("        const unsigned* const from = lines + {0};\n"
                       "        unsigned* const to = ends + {0};\n",
                       at);
    out += m_result.hoisted("c", "        ") + factors();
    out += fmt::format("        float sums[{}][4];\n#pragma unroll\n"
                       "        for (int r = 0; r < {}; ++r) {{\n",
                       m_shape.live, m_shape.walked);
    return out + row() + "        }\n    }\n";
}

/// Words from the results of piece g to those of piece g + 8.
int64_t DepthwiseTensorEmitter::highPiece() const {
    if (m_shape.pieces == 16)
        return 32;
    const int64_t bands = 8 / m_shape.pieces; // further; they are places, or all in one
    return bands % m_shape.stack == 0 ? bands / m_shape.stack * m_shape.placeWords
                                      : bands * m_shape.bandWords(m_spec);
}

/// Eight channels of two neighbouring results a thread.
std::string DepthwiseTensorEmitter::write() const {
    const KernelOperand& to = m_spec.writes[0];
    RowText text;
    text.begin =
        fmt::format("        const int column = c < {0} ? 2 * pair : {1};\n"
                    "        {2}* const to = {3} + c + 2 * pair * {4};\n"
                    "        const unsigned* const from = picture + eight * {5} + pair;\n",
                    m_spec.results, farAway, storageType(to.dtype), pointerOf(to),
                    m_spec.stride(to, 3), 8 * m_shape.channelWords() + m_shape.eightShift());
    text.load = fmt::format(
        "                if (static_cast<unsigned>(at[step][1] + column) >= {0}u)\n"
        "                    continue;\n"
        "                const unsigned* const words = from + at[step][2];\n"
        "#pragma unroll\n                for (int v = 0; v < 4; ++v) {{\n"
        "                    const unsigned even = words[2 * v * {1}], odd = words[(2 * v + 1) * "
        "{1}];\n"
        "                    left[step][v] = lowHalves(even, odd);\n"
        "                    right[step][v] = highHalves(even, odd);\n                }}\n",
        m_spec.columns.out, m_shape.channelWords());
    text.end = fmt::format(
        "                if (static_cast<unsigned>(at[step][1] + column) < {0}u)\n"
        "                    storeWords<16, false>(to + at[step][0], left[step]);\n"
        "                if (static_cast<unsigned>(at[step][1] + column + 1) < {0}u)\n"
        "                    storeWords<16, false>(to + at[step][0] + {1}, right[step]);\n",
        m_spec.columns.out, m_spec.stride(to, 3));
    return eachRow("targets", m_shape.placeHeight(), m_shape.columns() / 2, text);
}

KernelPart DepthwiseTensorEmitter::emit() const {
    KernelPart part;
    part.helpers = {"vectors", "async", "mma"};
    part.threads = static_cast<uint32_t>(m_shape.threads());
    part.blocks = blocks();
    part.sharedBytes = static_cast<uint32_t>(m_shape.sharedBytes(m_spec));
    part.residentBlocks = residentBlocks(m_spec, m_shape);
    part.comment = {
        fmt::format("depthwise, {} by {} taps by tensor cores: a block makes {} channels of {} "
                    "places of {} by {} results, a warp a channel at a time",
                    m_spec.rows.kernel, m_spec.columns.kernel, m_shape.channels, m_shape.places(),
                    m_shape.placeHeight(), m_shape.columns()),
        "eight results of a row are a product with the banded matrix of a row of taps"};
    part.functions = m_result.function().text;
    part.numeric = std::max(m_result.function().numeric, NumericClass::Reassociated);
    part.body = memory() + loadTaps() +
                fmt::format("    for (int i = static_cast<int>(threadIdx.x); i < {}; i += {})\n"
                            "        fillShared16(taps + i * 8, 0);\n",
                            m_shape.tapBytes(m_spec) / 16, m_shape.threads()) +
                findRows() + "    __syncthreads();\n" + stagePicture() + storeTaps() +
                "    __syncthreads();\n" + eachChannel() + "    __syncthreads();\n" + write();
    return part;
}

} // namespace

EmitResult emitDepthwiseTensor(const KernelRequest& request) {
    const char* name = "depthwise_tensor";
    auto made = convSpec(request);
    if (auto* reason = std::get_if<Reason>(&made))
        return finish(name, request, PartResult(*reason));
    const ConvSpec& spec = std::get<ConvSpec>(made);
    auto shape = depthwiseTensorShape(spec);
    if (auto* reason = std::get_if<Reason>(&shape))
        return finish(name, request, PartResult(*reason));
    return finish(name, request,
                  DepthwiseTensorEmitter(spec, std::get<DepthwiseTensorShape>(shape)).emit());
}

} // namespace fuselage::gpu
