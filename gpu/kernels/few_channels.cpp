// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/few_channels.h"

#include "core/graph/type.h"
#include "gpu/kernels/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace fuselage::gpu {

namespace {

constexpr int64_t loadsAtOnce = 8; ///< of a thread, before it waits for the first

/// Four columns further to the right, but for what the preprocessor reads.
std::string indented(const std::string& text) {
    std::string out;
    for (size_t from = 0; from < text.size();) {
        const size_t end = text.find('\n', from) + 1;
        out += (text[from] == '#' ? "" : "    ") + text.substr(from, end - from);
        from = end;
    }
    return out;
}

/// What goes from memory to shared memory, a piece a thread at a time.
struct Staged {
    int64_t count;    ///< pieces
    std::string type; ///< of a piece's registers
    int64_t width;    ///< how many there are
    std::string load; ///< statements that make got[width] of piece i
    std::string store;
};

class FewChannelsEmitter {
public:
    FewChannelsEmitter(const ConvSpec& spec, const FewChannelsShape& shape, bool pooled)
        : m_spec(spec), m_shape(shape), m_pooled(pooled), m_storeWidth(storeWidth(spec)),
          m_width(pooled && shape.narrowCells && spec.results % 8 == 0 ? 8 : m_storeWidth),
          m_threads(shape.warps * 32) {}

    KernelPart emit();

private:
    static int storeWidth(const ConvSpec& spec);
    std::string memory() const;
    std::string eachTile(const std::string& body) const;
    std::string place() const;
    std::string stage(const Staged& what) const;
    std::string stagePicture() const;
    std::string stageWeights() const;
    std::string stagePairs() const;
    std::string stageOffsets() const;
    std::string eachResult(const std::string& body) const;
    bool repeatsBorder() const;
    std::string pool() const;
    std::string poolStart() const;
    std::string poolTap() const;
    std::string poolEnd() const;

    int64_t tileRows() const { return divideUp(outRows(), m_shape.outRows); }

    int64_t tileColumns() const { return divideUp(outColumns(), m_shape.outColumns); }

    int64_t outRows() const { return m_pooled ? m_spec.code->poolSpace[2] : m_spec.rows.out; }

    int64_t outColumns() const { return m_pooled ? m_spec.code->poolSpace[3] : m_spec.columns.out; }

    int64_t chunks() const { return divideUp(m_spec.results, m_shape.results); }

    const char* cellType() const {
        return m_shape.narrowCells ? "unsigned short" : m_spec.accumulator();
    }

    const ConvSpec& m_spec;
    const FewChannelsShape& m_shape;
    bool m_pooled;
    int m_storeWidth; ///< neighbouring channels of the result that one access writes
    int m_width;      ///< channels of the result that a thread makes
    int64_t m_threads;
};

/// Neighbouring channels of one access, where they are neighbours in memory.
int FewChannelsEmitter::storeWidth(const ConvSpec& spec) {
    for (int width : {8, 4, 2}) {
        bool all = spec.results % width == 0;
        for (const KernelOperand& write : spec.writes)
            all = all && spec.vectors(write, width);
        if (all)
            return width;
    }
    return 1;
}

std::string FewChannelsEmitter::memory() const {
    return fmt::format("    extern __shared__ __align__(16) unsigned char sharedMemory[];\n"
                       "    {0}* const picture = reinterpret_cast<{0}*>(sharedMemory);\n"
                       "    {1}* const weights = reinterpret_cast<{1}*>(sharedMemory + {2});\n"
                       "    {3}* const cells = reinterpret_cast<{3}*>(sharedMemory + {4});\n",
                       m_shape.matrix ? "unsigned" : m_spec.accumulator(),
                       m_shape.matrix ? storageType(m_spec.w.dtype) : m_spec.accumulator(),
                       m_shape.pictureBytes, cellType(),
                       m_shape.sharedBytes() - m_shape.cellBytes) +
           fmt::format("    const int firstResult = static_cast<int>(block % {}u) * {};\n",
                       chunks(), m_shape.results);
}

/// The tiles of this block, one after the other.
std::string FewChannelsEmitter::eachTile(const std::string& body) const {
    return fmt::format("#pragma unroll 1\n    for (unsigned tile = block / {}u; tile < {}u; "
                       "tile += {}u) {{\n",
                       chunks(), m_spec.images * tileRows() * tileColumns(), m_shape.blocks) +
           indented(body) + "    }\n";
}

std::string FewChannelsEmitter::place() const {
    std::string out = fmt::format(
        "    const int outColumn = static_cast<int>(tile % {0}u) * {1};\n"
        "    const int outRow = static_cast<int>(tile / {0}u % {2}u) * {3};\n"
        "    const int n = static_cast<int>(tile / {4}u);\n",
        tileColumns(), m_shape.outColumns, tileRows(), m_shape.outRows, tileColumns() * tileRows());
    if (!m_pooled)
        return out + "    const int convRow = outRow, convColumn = outColumn;\n";
    const SlidingWindow& pool = *m_spec.code->poolWindow;
    return out + fmt::format("    const int convRow = outRow * {} - {};\n"
                             "    const int convColumn = outColumn * {} - {};\n",
                             pool.strides[0], pool.padsBegin[0], pool.strides[1],
                             pool.padsBegin[1]);
}

/// All loads of a thread are under way before the first is stored.
std::string FewChannelsEmitter::stage(const Staged& what) const {
    const int64_t atOnce = perRound(divideUp(what.count, m_threads), loadsAtOnce);
    return fmt::format(
        "#pragma unroll 1\n"
        "    for (int from = static_cast<int>(threadIdx.x); from < {0}; from += {1}) {{\n"
        "        {2} words[{3}][{4}];\n#pragma unroll\n"
        "        for (int step = 0; step < {3}; ++step) {{\n"
        "            const int i = from + step * {5} < {0} ? from + step * {5} : from;\n"
        "            {2}(&got)[{4}] = words[step];\n{6}        }}\n#pragma unroll\n"
        "        for (int step = 0; step < {3}; ++step) {{\n"
        "            const int i = from + step * {5};\n            if (i >= {0})\n"
        "                continue;\n            const {2}(&got)[{4}] = words[step];\n"
        "{7}        }}\n    }}\n",
        what.count, atOnce * m_threads, what.type, atOnce, what.width, m_threads, what.load,
        what.store);
}

/// The piece of the picture that the tile's taps reach, zero outside of it. A thread keeps its
/// column and goes down the rows, so that what it reads lies whole steps apart.
std::string FewChannelsEmitter::stagePicture() const {
    const ConvAxis &rows = m_spec.rows, &columns = m_spec.columns;
    const int64_t across = std::min(m_shape.inColumns, m_threads), lines = m_threads / across;
    const int64_t atOnce = perRound(divideUp(m_shape.inRows, lines), loadsAtOnce);
    const int64_t width = m_shape.matrix ? m_shape.channels / 2 : m_shape.channels;
    auto at = [&](int64_t c) { return m_spec.offset(m_spec.x, "n", std::to_string(c), "y", "x"); };
    std::string load, store;
    if (m_shape.matrix) {
        auto channel = [&](int64_t c) {
            return c < m_spec.channels
                       ? fmt::format("(inside ? static_cast<unsigned>(({})->bits) : 0u)", at(c))
                       : std::string("0u");
        };
        for (int64_t word = 0; word < width; ++word)
            load += fmt::format("                words[step][{}] = {} |\n"
                                "                                 ({} << 16);\n",
                                word, channel(2 * word), channel(2 * word + 1));
        const std::string to =
            fmt::format("picture + row * {} + column * {}", m_shape.picturePitch(), width);
        store = width == 2 ? fmt::format("storeShared8({}, words[step][0], words[step][1]);\n", to)
                           : fmt::format("*({}) = words[step][0];\n", to);
        store = "                " + store;
    } else {
        for (int64_t c = 0; c < m_spec.channels; ++c) {
            load +=
                fmt::format("                words[step][{}] = inside ? load({}) : 0;\n", c, at(c));
            store += fmt::format("                picture[({} + row) * {} + column] = "
                                 "words[step][{}];\n",
                                 c * m_shape.inRows, m_shape.picturePitch(), c);
        }
    }
    return fmt::format(
               "    const int line = static_cast<int>(threadIdx.x / {0}u);\n#pragma unroll 1\n"
               "    for (int column = line < {1} ? static_cast<int>(threadIdx.x % {0}u) : {2};\n"
               "         column < {2}; column += {0}) {{\n"
               "        const int x = convColumn * {3} - {4} + column;\n"
               "        const bool within = static_cast<unsigned>(x) < {5}u;\n"
               "#pragma unroll 1\n        for (int first = line; first < {6}; first += {7}) {{\n"
               "            {8} words[{9}][{10}];\n#pragma unroll\n"
               "            for (int step = 0; step < {9}; ++step) {{\n",
               across, lines, m_shape.inColumns, columns.stride, columns.pad, columns.in,
               m_shape.inRows, atOnce * lines, m_shape.matrix ? "unsigned" : m_spec.accumulator(),
               atOnce, width) +
           fmt::format(
               "                const int row = first + step * {0};\n"
               "                const int y = convRow * {1} - {2} + row;\n"
               "                const bool inside =\n"
               "                    within && row < {3} && static_cast<unsigned>(y) < {4}u;\n"
               "{5}            }}\n#pragma unroll\n"
               "            for (int step = 0; step < {6}; ++step) {{\n"
               "                const int row = first + step * {0};\n"
               "                if (row >= {3})\n                    continue;\n"
               "{7}            }}\n        }}\n    }}\n",
               lines, rows.stride, rows.pad, m_shape.inRows, rows.in, load, atOnce, store);
}

std::string FewChannelsEmitter::stageWeights() const {
    if (m_shape.matrix)
        return stagePairs() + (m_shape.fragments ? "" : stageOffsets());
    const int64_t kernel = m_spec.columns.kernel, taps = m_spec.taps();
    const std::string at = m_spec.offset(m_spec.w, "k", "c", fmt::format("tap / {}", kernel),
                                         fmt::format("tap % {}", kernel));
    return stage(
        {m_shape.channels * taps * m_shape.results, m_spec.accumulator(), 1,
         fmt::format("            const int k = firstResult + i % {0}, tap = i / {0} % {1}, "
                     "c = i / {2};\n            got[0] = k < {3} ? load({4}) : 0;\n",
                     m_shape.results, taps, m_shape.results * taps, m_spec.results, at),
         "            weights[i] = got[0];\n"});
}

/// Weights as the tensor cores see them: a result's lie one after the other, zeros behind them.
std::string FewChannelsEmitter::stagePairs() const {
    const int64_t channels = m_shape.channels, kernel = m_spec.columns.kernel;
    const int64_t row = 2 * m_shape.pairs(m_spec), padded = m_shape.steps(m_spec) * 16;
    Staged out{0, "unsigned", 1, "", ""};
    if (m_shape.packed)
        out.width = row % 8 == 0 ? 4 : row % 4 == 0 ? 2 : 1;
    const int64_t perResult = padded / 2 / out.width;
    out.count = m_shape.results * perResult;
    const std::string place =
        fmt::format("            const int e = i % {} * {};\n", perResult, 2 * out.width);
    out.load = place + fmt::format("            const int k = firstResult + i / {};\n"
                                   "            const bool there = k < {} && e < {};\n",
                                   perResult, m_spec.results, row);
    if (m_shape.packed) {
        out.load += fmt::format("#pragma unroll\n            for (int v = 0; v < {0}; ++v)\n"
                                "                got[v] = 0;\n            if (there)\n"
                                "                loadWords<{1}>(packed0 + k * {2} + e, got);\n",
                                out.width, 4 * out.width, row);
    } else {
        const std::string down = fmt::format("e / {}", channels * m_shape.tapColumns);
        const std::string right = fmt::format("e / {} % {}", channels, m_shape.tapColumns);
        auto element = [&](int64_t step) {
            const std::string c = fmt::format("(e % {} + {})", channels, step);
            std::string known = "there"; // and not padding
            if (m_spec.channels != channels)
                known += fmt::format(" && {} < {}", c, m_spec.channels);
            if (m_shape.tapColumns != kernel)
                known += fmt::format(" && {} < {}", right, kernel);
            return fmt::format("({} ? static_cast<unsigned>(({})->bits) : 0u)", known,
                               m_spec.offset(m_spec.w, "k", c, down, right));
        };
        out.load += fmt::format("            got[0] = {} |\n                     ({} << 16);\n",
                                element(0), element(1));
    }
    const std::string to = fmt::format("reinterpret_cast<unsigned*>(weights + i / {} * {} + e)",
                                       perResult, m_shape.weightPitch(m_spec));
    out.store = place + (out.width == 4 ? fmt::format("            storeShared16({}, got);\n", to)
                         : out.width == 2
                             ? fmt::format("            storeShared8({}, got[0], got[1]);\n", to)
                             : fmt::format("            *{} = got[0];\n", to));
    return stage(out);
}

/// Where each pair of K lies in the picture, from its place on.
std::string FewChannelsEmitter::stageOffsets() const {
    const int64_t rowPairs = m_spec.columns.kernel * m_shape.channels / 2;
    return fmt::format("    int* const offsets = reinterpret_cast<int*>(sharedMemory + {0});\n"
                       "    for (int i = static_cast<int>(threadIdx.x); i < {1}; i += {2})\n"
                       "        offsets[i] = i < {3} ? i / {4} * {5} + i % {4} : 0;\n",
                       m_shape.pictureBytes + m_shape.weightBytes, m_shape.steps(m_spec) * 8,
                       m_threads, m_shape.pairs(m_spec), rowPairs,
                       m_spec.rows.dilation * m_shape.picturePitch());
}

/// Threads over the results of the tile: channels fastest where they are neighbours in memory.
std::string FewChannelsEmitter::eachResult(const std::string& body) const {
    const int64_t groups = m_shape.results / m_width, places = m_shape.outRows * m_shape.outColumns;
    const bool channelsFirst = m_storeWidth > 1;
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
    if (m_shape.narrowCells && m_width == m_storeWidth && m_width > 1)
        return fmt::format("        storeWords<{}, false>({}, best);\n", 2 * m_width, to);
    if (m_shape.narrowCells)
        return fmt::format("#pragma unroll\n        for (int v = 0; v < {}; ++v)\n"
                           "            ({})->bits =\n                static_cast<unsigned "
                           "short>(best[v / 2] >> (v % 2 * 16));\n",
                           m_width, m_spec.offset(write, "n", "c + v", "outY", "outX"));
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

/// Whether a tap beyond the border may be taken for the nearest one within: of a maximum, whose
/// windows all reach into the picture without gaps.
bool FewChannelsEmitter::repeatsBorder() const {
    const SlidingWindow& pool = *m_spec.code->poolWindow;
    bool out = m_spec.code->poolKind == PoolKind::Max;
    for (size_t d = 0; d < 2; ++d) {
        const int64_t extent = d == 0 ? m_spec.rows.out : m_spec.columns.out;
        const int64_t last = (m_spec.code->poolSpace[d + 2] - 1) * pool.strides[d];
        out = out && pool.dilations[d] == 1 && pool.padsBegin[d] < pool.kernel[d] &&
              last - pool.padsBegin[d] < extent;
    }
    return out;
}

std::string FewChannelsEmitter::pool() const {
    const SlidingWindow& pool = *m_spec.code->poolWindow;
    const bool repeats = repeatsBorder();
    std::string out = poolStart();
    auto tap = [&](const char* name, const std::string& index, const char* first, size_t d,
                   int64_t extent, const char* inner) {
        std::string text =
            fmt::format("{} * {} + {} * {}", index, pool.strides[d], inner, pool.dilations[d]);
        if (repeats)
            text = fmt::format("clamped({0} + {1}, {2}) - {0}", first, text, extent - 1);
        return fmt::format("const int {} = {};\n", name, text);
    };
    const std::string y = fmt::format("outPlace / {}", m_shape.outColumns);
    const std::string x = fmt::format("outPlace % {}", m_shape.outColumns);
    out += fmt::format("#pragma unroll\n        for (int ky = 0; ky < {}; ++ky)\n"
                       "#pragma unroll\n            for (int kx = 0; kx < {}; ++kx) {{\n",
                       pool.kernel[0], pool.kernel[1]);
    out += "                " + tap("row", y, "convRow", 0, m_spec.rows.out, "ky");
    out += "                " + tap("column", x, "convColumn", 1, m_spec.columns.out, "kx");
    if (!repeats)
        out +=
            fmt::format("                if (static_cast<unsigned>(convRow + row) >= {}u ||\n"
                        "                    static_cast<unsigned>(convColumn + column) >= {}u)\n"
                        "                    continue;\n",
                        m_spec.rows.out, m_spec.columns.out);
    out += fmt::format(
        "                const {}* const from = cells + (row * {} + column) * {} + channel;\n",
        cellType(), m_shape.convColumns, m_shape.cellPitch());
    return out + poolTap() + "            }\n" + poolEnd();
}

KernelPart FewChannelsEmitter::emit() {
    KernelPart part;
    part.helpers = {"vectors", "window"};
    if (m_shape.matrix)
        part.helpers.insert(part.helpers.end(), {"async", "mma"});
    part.threads = static_cast<uint32_t>(m_threads);
    part.blocks = m_shape.blocks * chunks();
    part.sharedBytes = static_cast<uint32_t>(m_shape.sharedBytes());
    part.residentBlocks = static_cast<uint32_t>(m_shape.residents);
    part.comment = {fmt::format(
        "{} by {} taps over {} channels: a block makes tiles of {} by {} results{} of "
        "{} channels from {} by {} sums, by {}",
        m_spec.rows.kernel, m_spec.columns.kernel, m_spec.channels, m_shape.outRows,
        m_shape.outColumns, m_pooled ? " of a pool" : "", m_shape.results, m_shape.convRows,
        m_shape.convColumns, m_shape.matrix ? "tensor cores" : "multiply-adds")};
    const ConvResult result(m_spec, m_pooled ? epilogueWidth(m_shape) : m_width, "@epilogue");
    part.functions = result.function().text;
    part.numeric = std::max(result.function().numeric,
                            m_shape.matrix ? NumericClass::Reassociated : NumericClass::Exact);
    std::string results = m_pooled ? pool() : std::string();
    if (!m_pooled)
        results = fmt::format("        const {}* const from = cells + outPlace * {} + channel;\n",
                              cellType(), m_shape.cellPitch()) +
                  result.hoisted("c", "        ") +
                  result.apply("from[v]", "n", "c", "outY", "outX", "        ") +
                  result.store("n", "c", "outY", "outX", "        ");
    // Behind the last barrier of a tile the cells are read, while the next one's picture comes.
    part.body = memory() + stageWeights() +
                eachTile(place() + stagePicture() + "    __syncthreads();\n" +
                         fewChannelsProducts(m_spec, m_shape, result) + "    __syncthreads();\n" +
                         eachResult(results));
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
                         {spec.results, spec.rows.kernel, tiles.tapColumns, tiles.channels}}};
    std::vector<KernelPart> parts;
    parts.push_back(FewChannelsEmitter(spec, tiles, pooled).emit());
    EmitResult out = finishInOrder(name, request, std::move(parts), std::move(needs));
    // The stem of a ResNet-50 on an H200: a picture's channels come from as many lines.
    constexpr double shareOfChannelsFirst = 42.0 / 51;
    if (auto* set = std::get_if<KernelSet>(&out); set && spec.channels > 1)
        set->busy = spec.x.access.strides[1] == 1 ? 1 : shareOfChannelsFirst;
    return out;
}

} // namespace

EmitResult emitStemPool(const KernelRequest& request) {
    return emitFewChannels("stem_pool", request, true);
}

EmitResult emitConvDirect(const KernelRequest& request) {
    return emitFewChannels("conv_direct", request, false);
}

} // namespace fuselage::gpu
