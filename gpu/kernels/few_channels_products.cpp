// SPDX-License-Identifier: Apache-2.0
// The sums of a tile of a convolution with few channels: by tensor cores, a warp takes 32 places
// and all results; without them, 64 places and 8 results.
#include "gpu/kernels/few_channels.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu {

namespace {

constexpr int64_t mostUnrolled = 20; ///< steps, of 36 instructions each

class ProductText {
public:
    ProductText(const ConvSpec& spec, const FewChannelsShape& shape, const ConvResult& result)
        : m_spec(spec), m_shape(shape), m_result(result),
          m_pooled(spec.code->poolWindow.has_value()) {}

    std::string matrix() const;
    std::string plain() const;

private:
    std::string perChannel(const std::string& channel, const std::string& indent) const;
    std::string cells(const std::string& sum, const std::string& channel,
                      const std::string& indent) const;
    std::string places() const;
    std::string fetch() const;
    std::string steps() const;

    const ConvSpec& m_spec;
    const FewChannelsShape& m_shape;
    const ConvResult& m_result;
    bool m_pooled;
};

/// What the epilogue reads of channels `channel` of the block and following, wherever the place.
std::string ProductText::perChannel(const std::string& channel, const std::string& indent) const {
    if (!m_pooled)
        return {};
    const std::string c = "firstResult + " + channel;
    const std::string skip =
        m_spec.results % m_shape.results == 0
            ? ""
            : fmt::format("{0}if ({1} >= {2})\n{0}    continue;\n", indent, c, m_spec.results);
    return skip + m_result.hoisted(c, indent);
}

/// Leaves the sums of `place`, channels `channel` of the block and following, in the tile; `sum` is
/// an lvalue with [v].
std::string ProductText::cells(const std::string& sum, const std::string& channel,
                               const std::string& indent) const {
    const int width = epilogueWidth(m_shape);
    const std::string to = fmt::format("place * {} + {}", m_shape.cellPitch(), channel);
    if (!m_pooled)
        return fmt::format("#pragma unroll\n{0}for (int v = 0; v < {1}; ++v)\n"
                           "{0}    cells[{2} + v] = {3};\n",
                           indent, width, to, sum);
    const std::string c = fmt::format("firstResult + {}", channel);
    // What lies beyond the convolution's own result is never pooled; operands of its places are
    // not there.
    std::string out;
    const bool guarded = !m_spec.epiloguePerChannel();
    if (guarded)
        out = fmt::format("{0}const int y = convRow + place / {1}, x = convColumn + place % {1};\n"
                          "{0}if (place < {2} && static_cast<unsigned>(y) < {3}u && "
                          "static_cast<unsigned>(x) < {4}u)\n",
                          indent, m_shape.convColumns, m_shape.places(), m_spec.rows.out,
                          m_spec.columns.out);
    out += indent + "{\n";
    out += m_result.apply(sum, "n", c, "y", "x", indent + "    ");
    if (m_shape.narrowCells)
        out +=
            fmt::format("#pragma unroll\n{0}    for (int v = 0; v < {1}; v += 2)\n"
                        "{0}        *reinterpret_cast<unsigned*>(cells + {2} + v) =\n"
                        "{0}            packPair(z0[v], z0[v + 1], static_cast<const {3}*>(0));\n",
                        indent, width, to, storageType(m_spec.writes[0].dtype));
    else
        out += fmt::format("#pragma unroll\n{0}    for (int v = 0; v < {1}; ++v)\n"
                           "{0}        cells[{2} + v] = z0[v];\n",
                           indent, width, to);
    return out + indent + "}\n";
}

/// Words of the picture where the taps of a warp's places begin. With fragments: of the two rows
/// that this lane gives the address of, at the half of a step that it does; else of its four.
std::string ProductText::places() const {
    const int64_t count = m_shape.places(), columns = m_shape.convColumns;
    const int64_t down = m_spec.rows.stride * m_shape.picturePitch();
    const int64_t right = m_spec.columns.stride * m_shape.channels / 2;
    return fmt::format("        int at[{0}];\n#pragma unroll\n"
                       "        for (int i = 0; i < {0}; ++i) {{\n"
                       "            const int place = first + i * {1};\n"
                       "            at[i] = {2}(place < {3} ? place / {4} * {5} + place % {4} * "
                       "{6} : 0);\n        }}\n",
                       m_shape.fragments ? 2 : 4, m_shape.fragments ? "16 + own % 16" : "8 + g",
                       m_shape.fragments ? "own / 16 * 4 + " : "", count, columns, down, right);
}

/// The picture's side of a step: a[2][4] of 16 places each.
std::string ProductText::fetch() const {
    if (m_shape.fragments) {
        const int64_t perRow = m_shape.tapColumns * m_shape.channels / 16;
        return fmt::format("                loadFragments(a[i], lines[i] + (step / {0} * {1} "
                           "+ step % {0} * 8));\n",
                           perRow, m_spec.rows.dilation * m_shape.picturePitch());
    }
    return "                a[i][0] = picture[at[2 * i] + low];\n"
           "                a[i][1] = picture[at[2 * i + 1] + low];\n"
           "                a[i][2] = picture[at[2 * i] + high];\n"
           "                a[i][3] = picture[at[2 * i + 1] + high];\n";
}

/// All steps of 16 elements of K = row, column, channel of a tap. All that a step adds to an
/// address is known when they are unrolled.
std::string ProductText::steps() const {
    const int64_t steps = m_shape.steps(m_spec), words = m_shape.channels / 2;
    // Steps after which padding begins, and the words of the last one that are taps.
    const int64_t period = m_shape.fragments ? m_shape.tapColumns * words / 8 : steps;
    const int64_t taps =
        (m_shape.fragments ? m_spec.columns.kernel * words : m_shape.pairs(m_spec)) -
        (period - 1) * 8;
    const int64_t together = steps <= mostUnrolled ? steps : std::max<int64_t>(period, 2);
    std::string out;
    if (m_shape.fragments)
        out = "        const unsigned* const lines[2] = {picture + at[0], picture + at[1]};\n";
    out += fmt::format("        const {}* const taps = weights + row * {} + column;\n"
                       "#pragma unroll {}\n        for (int step = 0; step < {}; ++step) {{\n",
                       storageType(m_spec.w.dtype), m_shape.weightPitch(m_spec), together, steps);
    if (!m_shape.fragments)
        out += "            const int low = offsets[step * 8 + t], high = offsets[step * 8 + t + "
               "4];\n";
    out += "            unsigned a[2][4];\n#pragma unroll\n"
           "            for (int i = 0; i < 2; ++i) {\n" +
           fetch();
    // What lies beyond the last tap is zero, whatever the picture holds there.
    const std::string last = fmt::format("step % {} == {}", period, period - 1);
    if (taps < 4)
        out += fmt::format("                if ({} && t >= {})\n"
                           "                    a[i][0] = a[i][1] = 0;\n",
                           last, taps);
    if (taps < 8)
        out += fmt::format("                if ({} && t + 4 >= {})\n"
                           "                    a[i][2] = a[i][3] = 0;\n",
                           last, taps);
    out += "            }\n";
    return out +
           fmt::format(
               "#pragma unroll\n            for (int j = 0; j < {0}; j += 2) {{\n"
               "                unsigned b[4];\n"
               "                loadFragments(b, taps + (j * {1} + step * 16));\n"
               "#pragma unroll\n                for (int i = 0; i < 2; ++i) {{\n"
               "                    multiply(sums[i][j], a[i], b[0], b[1], static_cast<const "
               "{2}*>(0));\n"
               "                    multiply(sums[i][j + 1], a[i], b[2], b[3], "
               "static_cast<const {2}*>(0));\n                }}\n            }}\n        }}\n",
               m_shape.results / 8, 8 * m_shape.weightPitch(m_spec), storageType(m_spec.x.dtype));
}

std::string ProductText::matrix() const {
    std::string out = fmt::format(
        "    const int warp = static_cast<int>(threadIdx.x / 32u);\n"
        "    const int own = static_cast<int>(threadIdx.x % 32u), g = own / 4, t = own % 4;\n"
        "    const int row = own % 8 + own / 16 * 8, column = own / 8 % 2 * 8;\n"
        "#pragma unroll 1\n    for (int first = warp * 32; first < {}; first += {}) {{\n",
        m_shape.places(), m_shape.warps * 32);
    out += places();
    out += fmt::format("        float sums[2][{0}][4];\n#pragma unroll\n"
                       "        for (int i = 0; i < 2; ++i)\n#pragma unroll\n"
                       "            for (int j = 0; j < {0}; ++j)\n#pragma unroll\n"
                       "                for (int k = 0; k < 4; ++k)\n"
                       "                    sums[i][j][k] = 0.0f;\n",
                       m_shape.results / 8);
    out += steps();
    out += fmt::format("#pragma unroll\n        for (int j = 0; j < {}; ++j) {{\n",
                       m_shape.results / 8);
    out += perChannel("j * 8 + 2 * t", "            ");
    out += "#pragma unroll\n            for (int i = 0; i < 4; ++i) {\n"
           "                const int place = first + i * 8 + g;\n";
    out += cells("sums[i / 2][j][i % 2 * 2 + v]", "j * 8 + 2 * t", "                ");
    return out + "            }\n        }\n    }\n";
}

std::string ProductText::plain() const {
    const int64_t groups = m_shape.results / 8, pitch = m_shape.picturePitch();
    const char* type = m_spec.accumulator();
    std::string out = fmt::format(
        "    const int warp = static_cast<int>(threadIdx.x / 32u);\n"
        "    const int own = static_cast<int>(threadIdx.x % 32u);\n"
        "#pragma unroll 1\n    for (int task = warp; task < {0}; task += {1}) {{\n"
        "        const int channel = task % {2} * 8;\n        int at[2];\n"
        "#pragma unroll\n        for (int i = 0; i < 2; ++i) {{\n"
        "            const int place = task / {2} * 64 + i * 32 + own;\n"
        "            at[i] = place < {3} ? place / {4} * {5} + place % {4} * {6} : 0;\n        }}\n"
        "        {7} sums[2][8];\n#pragma unroll\n        for (int i = 0; i < 2; ++i)\n"
        "#pragma unroll\n            for (int v = 0; v < 8; ++v)\n"
        "                sums[i][v] = 0;\n",
        (m_shape.places() + 63) / 64 * groups, m_shape.warps, groups, m_shape.places(),
        m_shape.convColumns, m_spec.rows.stride * pitch, m_spec.columns.stride, type);
    out += fmt::format(
        "#pragma unroll 1\n        for (int k = 0; k < {0}; ++k) {{\n"
        "            const int from = k / {1} * {2} + k % {1} * {3};\n"
        "#pragma unroll\n            for (int kx = 0; kx < {4}; ++kx) {{\n"
        "                {5} w[8];\n"
        "                loadShared<4>(weights + (k * {4} + kx) * {6} + channel, w);\n"
        "                loadShared<4>(weights + (k * {4} + kx) * {6} + channel + 4, w + 4);\n"
        "#pragma unroll\n                for (int i = 0; i < 2; ++i) {{\n"
        "                    const {5} x = picture[at[i] + from + kx * {7}];\n"
        "#pragma unroll\n                    for (int v = 0; v < 8; ++v)\n"
        "                        sums[i][v] += x * w[v];\n                }}\n            }}\n"
        "        }}\n",
        m_shape.channels * m_spec.rows.kernel, m_spec.rows.kernel, m_shape.inRows * pitch,
        m_spec.rows.dilation * pitch, m_spec.columns.kernel, type, m_shape.results,
        m_spec.columns.dilation);
    out += perChannel("channel", "        ");
    out += fmt::format("#pragma unroll\n        for (int i = 0; i < 2; ++i) {{\n"
                       "            const int place = task / {} * 64 + i * 32 + own;\n"
                       "            if (place >= {})\n                continue;\n",
                       groups, m_shape.places());
    out += cells("sums[i][v]", "channel", "            ");
    return out + "        }\n    }\n";
}

} // namespace

std::string fewChannelsProducts(const ConvSpec& spec, const FewChannelsShape& shape,
                                const ConvResult& result) {
    const ProductText text(spec, shape, result);
    return shape.matrix ? text.matrix() : text.plain();
}

} // namespace fuselage::gpu
