// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/few_channels.h"

#include "core/graph/type.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace fuselage::gpu {

namespace {

class FewChannelsEmitter {
public:
    FewChannelsEmitter(const ConvSpec& spec, const FewChannelsShape& shape, bool pooled)
        : m_spec(spec), m_shape(shape), m_pooled(pooled), m_width(resultWidth(spec)),
          m_threads(shape.warps * 32) {}

    KernelPart emit();

private:
    static int resultWidth(const ConvSpec& spec);
    std::string place() const;
    std::string stagePicture() const;
    std::string stageWeights() const;
    std::string eachResult(const std::string& body) const;
    std::string pool() const;
    std::string poolStart() const;
    std::string poolTap() const;
    std::string poolEnd() const;

    int64_t tileRows() const { return (outRows() + m_shape.outRows - 1) / m_shape.outRows; }

    int64_t tileColumns() const {
        return (outColumns() + m_shape.outColumns - 1) / m_shape.outColumns;
    }

    int64_t outRows() const { return m_pooled ? m_spec.code->poolSpace[2] : m_spec.rows.out; }

    int64_t outColumns() const { return m_pooled ? m_spec.code->poolSpace[3] : m_spec.columns.out; }

    int64_t chunks() const { return (m_spec.results + m_shape.results - 1) / m_shape.results; }

    const char* cellType() const {
        return m_shape.narrowCells ? "unsigned short" : m_spec.accumulator();
    }

    const ConvSpec& m_spec;
    const FewChannelsShape& m_shape;
    bool m_pooled;
    int m_width; ///< channels of the result that a thread writes
    int64_t m_threads;
};

/// Neighbouring channels of one access, where they are neighbours in memory.
int FewChannelsEmitter::resultWidth(const ConvSpec& spec) {
    for (int width : {8, 4, 2}) {
        bool all = spec.results % width == 0;
        for (const KernelOperand& write : spec.writes)
            all = all && spec.vectors(write, width);
        if (all)
            return width;
    }
    return 1;
}

std::string FewChannelsEmitter::place() const {
    std::string out =
        fmt::format("    extern __shared__ __align__(16) unsigned char sharedMemory[];\n"
                    "    {0}* const picture = reinterpret_cast<{0}*>(sharedMemory);\n"
                    "    {1}* const weights = reinterpret_cast<{1}*>(sharedMemory + {2});\n"
                    "    {3}* const cells = reinterpret_cast<{3}*>(sharedMemory + {4});\n",
                    m_shape.matrix ? "unsigned" : m_spec.accumulator(),
                    m_shape.matrix ? storageType(m_spec.w.dtype) : m_spec.accumulator(),
                    m_shape.pictureBytes, cellType(), m_shape.sharedBytes() - m_shape.cellBytes);
    out += fmt::format("    const int firstResult = static_cast<int>(block % {0}u) * {1};\n"
                       "    const unsigned tile = block / {0}u;\n"
                       "    const int outColumn = static_cast<int>(tile % {2}u) * {3};\n"
                       "    const int outRow = static_cast<int>(tile / {2}u % {4}u) * {5};\n"
                       "    const int n = static_cast<int>(tile / {6}u);\n",
                       chunks(), m_shape.results, tileColumns(), m_shape.outColumns, tileRows(),
                       m_shape.outRows, tileColumns() * tileRows());
    if (!m_pooled)
        return out + "    const int convRow = outRow, convColumn = outColumn;\n";
    const SlidingWindow& pool = *m_spec.code->poolWindow;
    return out + fmt::format("    const int convRow = outRow * {} - {};\n"
                             "    const int convColumn = outColumn * {} - {};\n",
                             pool.strides[0], pool.padsBegin[0], pool.strides[1],
                             pool.padsBegin[1]);
}

/// The piece of the picture that the tile's taps reach, zero outside of it.
std::string FewChannelsEmitter::stagePicture() const {
    const ConvAxis &rows = m_spec.rows, &columns = m_spec.columns;
    std::string out = fmt::format(
        "    for (int i = static_cast<int>(threadIdx.x); i < {0}; i += {1}) {{\n"
        "        const int row = i / {2}, column = i % {2};\n"
        "        const int y = convRow * {3} - {4} + row, x = convColumn * {5} - {6} + column;\n"
        "        const bool inside = static_cast<unsigned>(y) < {7}u && "
        "static_cast<unsigned>(x) < {8}u;\n",
        m_shape.inRows * m_shape.inColumns, m_threads, m_shape.inColumns, rows.stride, rows.pad,
        columns.stride, columns.pad, rows.in, columns.in);
    for (int64_t c = 0; c < m_spec.channels; ++c) {
        const std::string at = m_spec.offset(m_spec.x, "n", std::to_string(c), "y", "x");
        if (m_shape.matrix)
            out += fmt::format("        const unsigned c{} = inside ? ({})->bits : 0u;\n", c, at);
        else
            out +=
                fmt::format("        picture[({} + row) * {} + column] = inside ? load({}) : 0;\n",
                            c * m_shape.inRows, m_shape.picturePitch(), at);
    }
    if (!m_shape.matrix)
        return out + "    }\n";
    auto channel = [&](int64_t c) {
        return c < m_spec.channels ? fmt::format("c{}", c) : std::string("0u");
    };
    const int64_t words = m_shape.channels / 2;
    out += fmt::format("        unsigned* const to = picture + row * {} + column * {};\n",
                       m_shape.picturePitch(), words);
    if (words == 2)
        out += fmt::format("        storeShared8(to, {} | ({} << 16), {} | ({} << 16));\n",
                           channel(0), channel(1), channel(2), channel(3));
    else
        out += fmt::format("        *to = {} | ({} << 16);\n", channel(0), channel(1));
    return out + "    }\n";
}

std::string FewChannelsEmitter::stageWeights() const {
    const int64_t kernel = m_spec.columns.kernel, taps = m_spec.taps();
    if (!m_shape.matrix)
        return fmt::format(
            "    for (int i = static_cast<int>(threadIdx.x); i < {0}; i += {1}) {{\n"
            "        const int k = firstResult + i % {2}, tap = i / {2} % {3}, c = i / {4};\n"
            "        weights[i] = k < {5} ? load({6}) : 0;\n    }}\n",
            m_shape.channels * taps * m_shape.results, m_threads, m_shape.results, taps,
            m_shape.results * taps, m_spec.results,
            m_spec.offset(m_spec.w, "k", "c", fmt::format("tap / {}", kernel),
                          fmt::format("tap % {}", kernel)));
    const int64_t channels = m_shape.channels, k16 = m_shape.steps(m_spec) * 16;
    const int64_t words = m_shape.packed && channels == 4 ? 2 : 1; // of one access
    std::string out =
        fmt::format("    for (int i = static_cast<int>(threadIdx.x); i < {0}; i += {1}) {{\n"
                    "        const int k = firstResult + i / {2}, e = i % {2} * {3};\n"
                    "        unsigned words[{4}] = {{}};\n        if (k < {5} && e < {6})\n",
                    m_shape.results * k16 / 2 / words, m_threads, k16 / 2 / words, 2 * words, words,
                    m_spec.results, taps * channels);
    if (m_shape.packed) {
        out += fmt::format("            loadWords<{}>(packed0 + k * {} + e, words);\n", 4 * words,
                           taps * channels);
    } else {
        const std::string tap = fmt::format("e / {}", channels);
        auto element = [&](int64_t step) {
            const std::string c = fmt::format("(e % {} + {})", channels, step);
            const std::string bits = fmt::format(
                "({})->bits", m_spec.offset(m_spec.w, "k", c, fmt::format("{} / {}", tap, kernel),
                                            fmt::format("{} % {}", tap, kernel)));
            return m_spec.channels == channels
                       ? fmt::format("static_cast<unsigned>({})", bits)
                       : fmt::format("({} < {} ? static_cast<unsigned>({}) : 0u)", c,
                                     m_spec.channels, bits);
        };
        out += fmt::format("            words[0] = {} | ({} << 16);\n", element(0), element(1));
    }
    out +=
        fmt::format("        unsigned* const to = reinterpret_cast<unsigned*>(weights + i / {} * "
                    "{} + e);\n        {};\n    }}\n",
                    k16 / 2 / words, m_shape.weightPitch(m_spec),
                    words == 2 ? "storeShared8(to, words[0], words[1])" : "*to = words[0]");
    const int64_t rowPairs = kernel * channels / 2;
    return out +
           fmt::format("    int* const offsets = reinterpret_cast<int*>(sharedMemory + {0});\n"
                       "    for (int i = static_cast<int>(threadIdx.x); i < {1}; i += {2})\n"
                       "        offsets[i] = i < {3} ? i / {4} * {5} + i % {4} : 0;\n",
                       m_shape.pictureBytes + m_shape.weightBytes, k16 / 2, m_threads,
                       m_shape.pairs(m_spec), rowPairs,
                       m_spec.rows.dilation * m_shape.picturePitch());
}

/// Threads over the results of the tile: channels fastest where they are neighbours in memory.
std::string FewChannelsEmitter::eachResult(const std::string& body) const {
    const int64_t groups = m_shape.results / m_width, places = m_shape.outRows * m_shape.outColumns;
    const bool channelsFirst = m_width > 1;
    std::string out = fmt::format(
        "    for (int i = static_cast<int>(threadIdx.x); i < {}; i += {}) {{\n"
        "        const int channel = i {} {} * {}, outPlace = i {} {};\n"
        "        const int c = firstResult + channel;\n"
        "        const int outY = outRow + outPlace / {}, outX = outColumn + outPlace % {};\n",
        groups * places, m_threads, channelsFirst ? "%" : "/", channelsFirst ? groups : places,
        m_width, channelsFirst ? "/" : "%", channelsFirst ? groups : places, m_shape.outColumns,
        m_shape.outColumns);
    std::string beyond;
    auto check = [&](const std::string& what) { beyond += (beyond.empty() ? "" : " || ") + what; };
    if (m_spec.results % m_shape.results != 0)
        check(fmt::format("c >= {}", m_spec.results));
    if (outRows() % m_shape.outRows != 0)
        check(fmt::format("outY >= {}", outRows()));
    if (outColumns() % m_shape.outColumns != 0)
        check(fmt::format("outX >= {}", outColumns()));
    if (!beyond.empty())
        out += fmt::format("        if ({})\n            continue;\n", beyond);
    return out + body + "    }\n";
}

std::string FewChannelsEmitter::poolStart() const {
    const bool maximum = m_spec.code->poolKind == PoolKind::Max;
    if (m_shape.narrowCells)
        return fmt::format("        unsigned best[{0}];\n#pragma unroll\n"
                           "        for (int v = 0; v < {0}; ++v)\n            best[v] = {1};\n",
                           (m_width + 1) / 2,
                           m_spec.writes[0].dtype == DType::Float16 ? "0xfc00fc00u"
                                                                    : "0xff80ff80u");
    return fmt::format(
        "        {0} z0[{1}];\n#pragma unroll\n"
        "        for (int v = 0; v < {1}; ++v)\n            z0[v] = {2};\n",
        m_spec.accumulator(), m_width,
        maximum ? floatLiteral(m_spec.code->accumulate, -std::numeric_limits<double>::infinity())
                : "0");
}

std::string FewChannelsEmitter::poolTap() const {
    if (m_shape.narrowCells && m_width > 1)
        return fmt::format(
            "                unsigned words[{0}];\n"
            "                loadShared<{0}>(reinterpret_cast<const unsigned*>(from), "
            "words);\n#pragma unroll\n"
            "                for (int v = 0; v < {0}; ++v)\n"
            "                    best[v] = maximumPair(best[v], words[v], "
            "static_cast<const {1}*>(0));\n",
            m_width / 2, storageType(m_spec.writes[0].dtype));
    if (m_shape.narrowCells)
        return fmt::format("                best[0] = maximumPair(best[0], *from, "
                           "static_cast<const {}*>(0));\n",
                           storageType(m_spec.writes[0].dtype));
    return fmt::format("#pragma unroll\n                for (int v = 0; v < {}; ++v)\n"
                       "                    z0[v] {};\n",
                       m_width,
                       m_spec.code->poolKind == PoolKind::Max ? "= maximum(z0[v], from[v])"
                                                              : "+= from[v]");
}

/// Divides an average by its taps and stores.
std::string FewChannelsEmitter::poolEnd() const {
    const PoolKind kind = m_spec.code->poolKind;
    const SlidingWindow& pool = *m_spec.code->poolWindow;
    const KernelOperand& write = m_spec.writes[0];
    const std::string to = m_spec.offset(write, "n", "c", "outY", "outX");
    if (m_shape.narrowCells)
        return m_width > 1
                   ? fmt::format("        storeWords<{}, false>({}, best);\n", 2 * m_width, to)
                   : fmt::format("        ({})->bits = static_cast<unsigned short>(best[0]);\n",
                                 to);
    std::string out;
    if (kind != PoolKind::Max) {
        std::string count;
        const bool padded = kind == PoolKind::AverageIncludingPad;
        for (size_t d = 0; d < 2; ++d) {
            const int64_t extent = d == 0 ? m_spec.rows.out : m_spec.columns.out;
            count += fmt::format("{}tapsInside({} * {} - {}, {}, {}, {})", d == 0 ? "" : " * ",
                                 d == 0 ? "outY" : "outX", pool.strides[d],
                                 padded ? 0 : pool.padsBegin[d], pool.dilations[d], pool.kernel[d],
                                 padded ? extent + pool.padsBegin[d] + pool.padsEnd[d] : extent);
        }
        out = fmt::format("        const int taps = {};\n#pragma unroll\n"
                          "        for (int v = 0; v < {}; ++v)\n            z0[v] /= "
                          "static_cast<{}>(taps);\n",
                          count, m_width, m_spec.accumulator());
    }
    return out + (m_width > 1 ? fmt::format("        storeLanes<{}, false>({}, z0);\n", m_width, to)
                              : fmt::format("        store({}, z0[0]);\n", to));
}

std::string FewChannelsEmitter::pool() const {
    const SlidingWindow& pool = *m_spec.code->poolWindow;
    std::string out = poolStart();
    out += fmt::format(
        "#pragma unroll\n        for (int ky = 0; ky < {}; ++ky)\n"
        "#pragma unroll\n            for (int kx = 0; kx < {}; ++kx) {{\n"
        "                const int row = outPlace / {} * {} + ky * {};\n"
        "                const int column = outPlace % {} * {} + kx * {};\n"
        "                if (static_cast<unsigned>(convRow + row) >= {}u ||\n"
        "                    static_cast<unsigned>(convColumn + column) >= {}u)\n"
        "                    continue;\n"
        "                const {}* const from = cells + (row * {} + column) * {} + channel;\n",
        pool.kernel[0], pool.kernel[1], m_shape.outColumns, pool.strides[0], pool.dilations[0],
        m_shape.outColumns, pool.strides[1], pool.dilations[1], m_spec.rows.out, m_spec.columns.out,
        cellType(), m_shape.convColumns, m_shape.cellPitch());
    return out + poolTap() + "            }\n" + poolEnd();
}

KernelPart FewChannelsEmitter::emit() {
    KernelPart part;
    part.helpers = {"vectors", "window"};
    if (m_shape.matrix)
        part.helpers.insert(part.helpers.end(), {"async", "mma"});
    part.threads = static_cast<uint32_t>(m_threads);
    part.blocks = m_spec.images * tileRows() * tileColumns() * chunks();
    part.sharedBytes = static_cast<uint32_t>(m_shape.sharedBytes());
    if (m_shape.matrix) // older units would spill for a third block, and have no memory for it
        part.residentBlocks = m_spec.request->capability >= 80 ? 3 : 2;
    part.comment = {fmt::format(
        "{} by {} taps over {} channels: a block makes {} by {} results{} of "
        "{} channels from {} by {} sums, by {}",
        m_spec.rows.kernel, m_spec.columns.kernel, m_spec.channels, m_shape.outRows,
        m_shape.outColumns, m_pooled ? " of a pool" : "", m_shape.results, m_shape.convRows,
        m_shape.convColumns, m_shape.matrix ? "tensor cores" : "multiply-adds")};
    const ConvResult result(m_spec, m_pooled ? epilogueWidth(m_shape) : m_width, "@epilogue");
    part.functions = result.function().text;
    part.numeric = std::max(result.function().numeric,
                            m_shape.matrix ? NumericClass::Reassociated : NumericClass::Exact);
    part.body = place() + stagePicture() + stageWeights() + "    __syncthreads();\n" +
                fewChannelsProducts(m_spec, m_shape, result) + "    __syncthreads();\n";
    if (m_pooled)
        part.body += eachResult(pool());
    else
        part.body += eachResult(
            fmt::format("        const {}* const from = cells + outPlace * {} + channel;\n",
                        cellType(), m_shape.cellPitch()) +
            result.hoisted("c", "        ") +
            result.apply("from[v]", "n", "c", "outY", "outX", "        ") +
            result.store("n", "c", "outY", "outX", "        "));
    if (m_shape.packed)
        part.extra = {{fmt::format("const {}*", storageType(m_spec.w.dtype)),
                       "packed0",
                       {KernelArgument::Kind::Packed, 0, 0}}};
    return part;
}

EmitResult emitFewChannels(const char* name, const KernelRequest& request, bool pooled) {
    auto made = convSpec(request);
    if (auto* reason = std::get_if<Reason>(&made))
        return finish(name, request, PartResult(*reason));
    const ConvSpec& spec = std::get<ConvSpec>(made);
    auto shape = fewChannelsShape(spec, pooled);
    if (auto* reason = std::get_if<Reason>(&shape))
        return finish(name, request, PartResult(*reason));
    const auto& tiles = std::get<FewChannelsShape>(shape);
    SetNeeds needs;
    if (tiles.packed)
        needs.packed = {{spec.code->b.operand,
                         {0, 2, 3, 1},
                         {spec.results, spec.rows.kernel, spec.columns.kernel, tiles.channels}}};
    std::vector<KernelPart> parts;
    parts.push_back(FewChannelsEmitter(spec, tiles, pooled).emit());
    return finishInOrder(name, request, std::move(parts), std::move(needs));
}

} // namespace

EmitResult emitStemPool(const KernelRequest& request) {
    return emitFewChannels("stem_pool", request, true);
}

EmitResult emitConvDirect(const KernelRequest& request) {
    return emitFewChannels("conv_direct", request, false);
}

} // namespace fuselage::gpu
