// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/conv_halo.h"

#include "core/graph/type.h"
#include "gpu/kernels/parts.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu {

namespace {

constexpr int64_t roundsAtOnce = 4; ///< copies of a lane for one item of a line

/// Whether the epilogue reads numbers of a channel alone and makes eights of 16-bit results.
bool endsInPairs(const ConvSpec& spec) {
    return spec.writes.size() == 1 && isNarrowFloat(spec.writes[0].dtype) &&
           spec.epiloguePerChannel() && spec.vectors(spec.writes[0], 8);
}

class HaloEmitter {
public:
    HaloEmitter(const ConvSpec& spec, const HaloShape& shape)
        : m_spec(spec), m_shape(shape), m_pairs(endsInPairs(spec)),
          m_result(spec, m_pairs ? 2 : 8, "@epilogue"), m_type(storageType(spec.x.dtype)) {}

    KernelPart emit() const;

private:
    std::string functions() const;
    std::string stagePicture() const;
    std::string stageWeights() const;
    std::string begin() const;
    std::string tile() const;
    std::string arrival() const;
    std::string nextPicture() const;
    std::string nextWeights() const;
    std::string products() const;
    std::string fetch(const char* to, const std::string& step, const std::string& slice) const;
    std::string places() const;
    bool beyond() const;
    std::string channel(const char* group, const char* first, const std::string& indent) const;
    std::string eachRow(const std::string& body) const;
    std::string inside() const;
    std::string sumsOf(const char* i) const;
    std::string endPairs() const;
    std::string endEights() const;
    std::string results() const;

    const char* image() const { return m_spec.images > 1 ? "image[h]" : "0"; }

    const ConvSpec& m_spec;
    const HaloShape& m_shape;
    bool m_pairs; ///< results are ended two by two, before they come into one lane
    ConvResult m_result;
    const char* m_type;
};

/// The first line of a unit, and copies.
std::string HaloEmitter::functions() const {
    return fmt::format("__device__ __forceinline__ unsigned @lineOf(unsigned unit) {{\n"
                       "    return unit / {}u * {}u + unit / {}u % {}u * {}u;\n}}\n\n",
                       m_shape.picturesUnits(), m_shape.bandLines(), m_shape.bandColumns(),
                       m_shape.unitRows(), m_shape.down) +
           stagePicture() + stageWeights();
}

/// The lines that a tile reads, of a slice of channels, zeros where the picture ends. A warp takes
/// a part of a line at a time, eights of channels fastest.
std::string HaloEmitter::stagePicture() const {
    const ConvAxis &rows = m_spec.rows, &columns = m_spec.columns;
    const int64_t eights = m_shape.channels / 8, all = m_shape.stagedColumns() * eights;
    const int64_t rounds = perRound(divideUp(all, 32), roundsAtOnce);
    const int64_t parts = divideUp(all, 32 * rounds);
    std::string out = fmt::format(
        "/// A slice of what a tile reads of the picture.\n"
        "__device__ __forceinline__ void @stage(unsigned char* to, unsigned tile, int slice, "
        "int warp,\n    int own, {0}) {{\n"
        "    const unsigned first = @lineOf(tile * {1}u);\n"
        "    const unsigned last = @lineOf(minimum(tile * {1}u + {1}u, {2}u) - 1u);\n"
        "    const int items = static_cast<int>(last - first + {3}u) * {4};\n"
        "#pragma unroll 1\n    for (int item = warp; item < items; item += {5}) {{\n"
        "        const int line = item / {4};\n"
        "        const int at = static_cast<int>(first) + line, band = at / {6};\n"
        "        const int y = at % {6} - {7};\n"
        "        const bool within = static_cast<unsigned>(y) < {8}u;\n",
        parameterList(*m_spec.request, {}, true), m_shape.tileUnits(), m_shape.units(),
        m_shape.down + 2, parts, m_shape.groups * 4, m_shape.bandLines(), rows.pad, rows.in);
    out += fmt::format(
        "#pragma unroll\n        for (int i = 0; i < {0}; ++i) {{\n"
        "            const int piece = item % {1} * {2} + i * 32 + own;\n"
        "            const int column = piece / {3}, eight = piece % {3};\n"
        "            const int x = band % {4} * {5} + column - {6}, c = slice * {7} + eight * 8;\n"
        "            const bool inside = within && static_cast<unsigned>(x) < {8}u{9};\n"
        "            if (column < {10})\n"
        "                copyAsync16(to + line * {11} + column * {12} + eight * 16,\n"
        "                            inside ? {13} : {14}, inside);\n        }}\n    }}\n}}\n\n",
        rounds, parts, 32 * rounds, eights, m_shape.bands, m_shape.bandColumns(), columns.pad,
        m_shape.channels, columns.in,
        m_shape.paddedChannels() == m_shape.allChannels
            ? std::string()
            : fmt::format(" && c < {}", m_shape.allChannels),
        m_shape.stagedColumns(), m_shape.linePitch, m_shape.placePitch(),
        m_spec.offset(m_spec.x, fmt::format("band / {}", m_shape.bands), "c", "y", "x"),
        m_spec.x.pointer);
    return out;
}

/// Weights of three taps below each other: channels are rows, 64 results side by side, whose
/// 16-byte units lie as products want them. A thread has one unit of some rows.
std::string HaloEmitter::stageWeights() const {
    const int64_t lines = m_shape.threads() / 8, step = m_shape.stepChannels;
    return fmt::format(
        "/// Weights of some channels for the taps of a column.\n"
        "__device__ __forceinline__ void @weights(unsigned char* to, const {0}* from) {{\n"
        "    const int row = static_cast<int>(threadIdx.x) / 8;\n"
        "    const int unit = static_cast<int>(threadIdx.x) % 8;\n"
        "#pragma unroll\n    for (int panel = 0; panel < {1}; ++panel)\n"
        "#pragma unroll\n        for (int i = 0; i < {2}; i += {3}) {{\n"
        "            const int line = row + i, tap = line / {4};\n"
        "            if (line < {2}{5})\n"
        "                copyAsync16(to + panel * {6} + tileByte<8>(line, unit),\n"
        "                            from + tap * {7} + line % {4} * {8} + panel * 64 + unit * 8, "
        "true);\n        }}\n}}\n\n",
        m_type, m_shape.panels(), 3 * step, lines, step,
        m_shape.results % 64 == 0 ? std::string()
                                  : fmt::format(" && unit < {}", m_shape.results / 8),
        3 * step * HaloShape::rowBytes, m_shape.paddedChannels() * m_shape.paddedResults(),
        m_shape.paddedResults());
}

/// Copies the weights of a step of a slice to the stage `to`.
std::string HaloEmitter::fetch(const char* to, const std::string& step,
                               const std::string& slice) const {
    const int64_t results = m_shape.paddedResults(), halves = m_shape.halves();
    return fmt::format(
        "@weights(sharedMemory + {} * {}, packed0 + (firstResult + {} * {} + {} * {}{}));\n", to,
        m_shape.stageBytes(), halves == 1 ? step : fmt::format("{} / {}", step, halves),
        3 * m_shape.paddedChannels() * results, slice, m_shape.channels * results,
        halves == 1 ? std::string()
                    : fmt::format(" + {} % {} * {}", step, halves, m_shape.stepChannels * results));
}

std::string HaloEmitter::begin() const {
    std::string out = fmt::format(
        "    extern __shared__ __align__(1024) unsigned char sharedMemory[];\n"
        "    unsigned char* const pictures = sharedMemory + {};\n" // lanes go one way:
        "    const int warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x / 32u), 0);\n"
        "    const int own = static_cast<int>(threadIdx.x % 32u), g = own / 4, t = own % 4;\n"
        "    const int firstResult = static_cast<int>(block % {}u) * {};\n"
        "    const unsigned slot = block / {}u;\n"
        "    @stage(pictures, slot, 0, warp, own, {});\n",
        m_shape.weightBytes(), m_shape.parts(), m_shape.results, m_shape.parts(),
        parameterList(*m_spec.request, {}, false));
    const int64_t first = m_shape.stays() ? m_shape.stages : m_shape.ahead();
    out += fmt::format("#pragma unroll 1\n    for (int s = 0; s < {}; ++s) {{\n        ", first);
    out += m_shape.stays() ? fetch("s", fmt::format("(s % {})", m_shape.sliceSteps()),
                                   fmt::format("(s / {})", m_shape.sliceSteps())) +
                                 "    }\n    commitCopies();\n"
                           : fetch("s", "s", "0") + "        commitCopies();\n    }\n";
    if (!m_shape.stays())
        out += fmt::format("    int stage = 0, next = {};\n", m_shape.ahead());
    return out + (m_shape.pictures > 1 ? "    int picture = 0;\n" : "");
}

/// The picture of the next slice takes the place of the one before this, while the products of the
/// first step are under way: what it takes to ask for it would else keep them waiting. Where
/// weights pass, it is there with those that the next step asks for.
std::string HaloEmitter::nextPicture() const {
    if (m_shape.pictures == 1)
        return {};
    const std::string other = fmt::format("pictures + (picture ^ 1) * {}", m_shape.pictureBytes());
    const std::string rest = parameterList(*m_spec.request, {}, false);
    std::string out = "                if (step == 0) {\n                    ";
    if (m_shape.slices() > 1)
        out += fmt::format("if (slice + 1 < {})\n"
                           "                        @stage({}, tile, slice + 1, warp, own, {});\n"
                           "                    else ",
                           m_shape.slices(), other, rest);
    out += fmt::format("if (tile + {0}u < {1}u)\n"
                       "                        @stage({2}, tile + {0}u, 0, warp, own, {3});\n",
                       m_shape.blocks, m_shape.tiles(), other, rest);
    return out + (m_shape.stays() ? "                    commitCopies();\n" : "") +
           "                }\n";
}

/// Weights some steps on, of the next tile behind the last slice.
std::string HaloEmitter::nextWeights() const {
    const int64_t steps = m_shape.sliceSteps();
    return fmt::format("                {{\n"
                       "                    const int then = (step + {0}) % {1};\n"
                       "                    const int on = slice + (step + {0}) / {1};\n"
                       "                    if (on < {2} || tile + {3}u < {4}u)\n"
                       "                        ",
                       m_shape.ahead(), steps, m_shape.slices(), m_shape.blocks, m_shape.tiles()) +
           fetch("next", "then", fmt::format("(on < {0} ? on : on - {0})", m_shape.slices())) +
           fmt::format("                    next = next + 1 == {0} ? 0 : next + 1;\n"
                       "                }}\n",
                       m_shape.stages);
}

/// What a step reads is there for all; weights that come next are asked for.
std::string HaloEmitter::arrival() const {
    if (m_shape.stays())
        return "                if (step == 0) {\n"
               "                    waitCopies<0>();\n"
               "                    fenceForProducts();\n"
               "                    __syncthreads();\n                }\n";
    // The stage that is filled now was read by the products before the latest.
    return fmt::format("                waitProducts<1>();\n                waitCopies<{}>();\n"
                       "                fenceForProducts();\n                __syncthreads();\n",
                       m_shape.ahead() - 1) +
           nextWeights() + "                commitCopies();\n";
}

/// The products of a slice. Fragments of the picture lie in two sets of registers, of which one is
/// filled while the products of the other are under way; one of a row of the picture serves all
/// results of a unit that it reaches.
std::string HaloEmitter::products() const {
    const int64_t down = m_shape.down, turns = m_shape.stepChannels / 16;
    std::string out =
        fmt::format("#pragma unroll\n            for (int step = 0; step < {0}; ++step) {{\n{1}"
                    "                const unsigned long long rowsB =\n"
                    "                    rowsOf128Bytes(sharedMemory + {2} * {3});\n"
                    "#pragma unroll\n                for (int k = 0; k < {4}; ++k) {{\n"
                    "                    unsigned (&a)[{5}][4] = held[(step * {4} + k) % 2];\n",
                    m_shape.sliceSteps(), arrival(),
                    m_shape.stays() ? fmt::format("(slice * {} + step)", m_shape.sliceSteps())
                                    : std::string("stage"),
                    m_shape.stageBytes(), turns, down + 2);
    out += fmt::format(
        "                    waitProducts<1>();\n#pragma unroll\n"
        "                    for (int i = 0; i < {0}; ++i)\n"
        "                        loadFragments(a[i], rows + (i * {1} + step / {2} * {3} + "
        "step % {2} * {4} + k * 32));\n"
        "                    openProducts();\n#pragma unroll\n"
        "                    for (int tap = 0; tap < 3; ++tap)\n#pragma unroll\n"
        "                        for (int r = 0; r < {5}; ++r) {{\n",
        down + 2, m_shape.linePitch, m_shape.halves(), m_shape.placePitch(),
        2 * m_shape.stepChannels, down);
    for (int64_t panel = 0; panel < m_shape.panels(); ++panel)
        out += fmt::format("                            multiplyWeighted<{}, {}, {}>(\n"
                           "                                sums[r], a[r + tap], rowsB + ({} + tap "
                           "* {} + k * 128));\n",
                           std::min<int64_t>(64, m_shape.results - 64 * panel), 8 * panel, m_type,
                           panel * 3 * m_shape.stepChannels * 8, m_shape.stepChannels * 8);
    out += "                        }\n                    commitProducts();\n                }\n" +
           nextPicture();
    if (!m_shape.stays())
        out += fmt::format("                stage = stage + 1 == {0} ? 0 : stage + 1;\n",
                           m_shape.stages);
    // Of an odd number of groups the last one has the registers that the next slice fills first.
    return out + "            }\n" + (m_shape.drains() ? "            waitProducts<0>();\n" : "");
}

/// Where the results of the two rows that a thread has sums of lie.
std::string HaloEmitter::places() const {
    const bool several = m_spec.images > 1;
    return fmt::format(
        "        int {0}top[2], left[2];\n        bool there[2];\n#pragma unroll\n"
        "        for (int h = 0; h < 2; ++h) {{\n"
        "            const unsigned unit = tile * {1}u + warp * 16u + g + h * 8u;\n"
        "            const unsigned band = unit / {2}u;\n"
        "            there[h] = unit < {3}u;\n{4}"
        "            top[h] = static_cast<int>(unit / {5}u % {6}u) * {7};\n"
        "            left[h] = static_cast<int>(band % {8}u * {5}u + unit % {5}u);\n        }}\n",
        several ? "image[2], " : "", m_shape.tileUnits(), m_shape.picturesUnits(), m_shape.units(),
        several
            ? fmt::format("            image[h] = static_cast<int>(band / {}u);\n", m_shape.bands)
            : std::string(),
        m_shape.bandColumns(), m_shape.unitRows(), m_shape.down, m_shape.bands);
}

/// Whether there are columns of sums that are no results.
bool HaloEmitter::beyond() const {
    return m_shape.results % 32 != 0 || m_shape.paddedResults() != m_shape.allResults;
}

/// Declares the channel c of a thread's sums of column group `group`, `first` of its eight; where
/// it is none, another one that is.
std::string HaloEmitter::channel(const char* group, const char* first,
                                 const std::string& indent) const {
    const std::string at = fmt::format("firstResult + ({}) * 8{}", group, first);
    if (!beyond())
        return fmt::format("{}const int c = {};\n", indent, at);
    return fmt::format("{0}const bool known = {1} < {2} && {3} < {4};\n"
                       "{0}const int c = known ? {3} : 0;\n",
                       indent, group, m_shape.results / 8, at, m_shape.allResults);
}

/// A loop over the results of a unit and the two rows of a thread.
std::string HaloEmitter::eachRow(const std::string& body) const {
    return fmt::format("#pragma unroll\n            for (int r = 0; r < {}; ++r)\n"
                       "#pragma unroll\n                for (int h = 0; h < 2; ++h) {{\n{}"
                       "                }}\n",
                       m_shape.down, body);
}

std::string HaloEmitter::inside() const {
    std::string out = "there[h]";
    if (m_shape.rows % m_shape.down != 0)
        out += fmt::format(" && y < {}", m_shape.rows);
    return out + (beyond() ? " && known" : "");
}

/// Sums of column group q + i, one that is there.
std::string HaloEmitter::sumsOf(const char* i) const {
    const int64_t groups = m_shape.results / 8;
    return groups % 4 == 0 ? fmt::format("sums[r][q + {}]", i)
                           : fmt::format("sums[r][q + {0} < {1} ? q + {0} : 0]", i, groups);
}

/// Results that need numbers of their channel alone are ended where their sums are; then eight of a
/// place, which lie in four lanes, come into one.
std::string HaloEmitter::endPairs() const {
    const std::string indent(24, ' ');
    std::string pair =
        m_result.apply(sumsOf("i") + "[2 * h + v]", image(), "c", "y", "left[h]", indent);
    pair += fmt::format("{}words[r][h][i] = packPair(z0[0], z0[1], static_cast<const {}*>(0));\n",
                        indent, storageType(m_spec.writes[0].dtype));
    std::string out = fmt::format("            unsigned words[{}][2][4];\n#pragma unroll\n"
                                  "            for (int i = 0; i < 4; ++i) {{\n",
                                  m_shape.down);
    out += channel("q + i", " + 2 * t", "                ") +
           m_result.hoisted("c", "                ") + eachRow(pair) + "            }\n" +
           channel("q + t", "", "            ");
    return out + eachRow(fmt::format(
                     "                    exchangeQuad(words[r][h]);\n"
                     "                    const int y = top[h] + r;\n"
                     "                    if ({})\n"
                     "                        storeWords<16, false>({}, words[r][h]);\n",
                     inside(), m_spec.offset(m_spec.writes[0], image(), "c", "y", "left[h]")));
}

/// Eight sums of a place, which lie in four lanes, come into one, which ends and stores them.
std::string HaloEmitter::endEights() const {
    const std::string indent(24, ' ');
    std::string body = "                    unsigned low[4], high[4];\n"
                       "                    float x[8];\n#pragma unroll\n"
                       "                    for (int i = 0; i < 4; ++i) {\n";
    body += fmt::format("                        low[i] = bitsOf({0}[2 * h]);\n"
                        "                        high[i] = bitsOf({0}[2 * h + 1]);\n",
                        sumsOf("i"));
    body += "                    }\n                    exchangeQuad(low);\n"
            "                    exchangeQuad(high);\n#pragma unroll\n"
            "                    for (int i = 0; i < 4; ++i) {\n"
            "                        x[2 * i] = floatOf(low[i]);\n"
            "                        x[2 * i + 1] = floatOf(high[i]);\n"
            "                    }\n                    const int y = top[h] + r;\n";
    body += fmt::format("                    if ({}) {{\n", inside()) +
            m_result.apply("x[v]", image(), "c", "y", "left[h]", indent) +
            m_result.store(image(), "c", "y", "left[h]", indent) + "                    }\n";
    return channel("q + t", "", "            ") + m_result.hoisted("c", "            ") +
           eachRow(body);
}

std::string HaloEmitter::results() const {
    return places() +
           fmt::format("#pragma unroll\n        for (int q = 0; q < {}; q += 4) {{\n",
                       m_shape.results / 8) +
           (m_pairs ? endPairs() : endEights()) + "        }\n";
}

std::string HaloEmitter::tile() const {
    const int64_t groups = m_shape.results / 8;
    std::string out = fmt::format(
        "#pragma unroll 1\n    for (unsigned tile = slot; tile < {0}u; tile += {1}u) {{\n"
        "        float sums[{2}][{3}][4];\n#pragma unroll\n        for (int r = 0; r < {2}; ++r)\n"
        "#pragma unroll\n            for (int j = 0; j < {3}; ++j)\n"
        "                sums[r][j][0] = sums[r][j][1] = sums[r][j][2] = sums[r][j][3] = 0.0f;\n"
        "        unsigned held[2][{4}][4];\n"
        "        const unsigned mine = minimum(tile * {5}u + warp * 16u + own % 16, {6}u);\n"
        "        const unsigned line = @lineOf(mine) - @lineOf(tile * {5}u);\n"
        "        const unsigned char* const from =\n"
        "            pictures + (line * {7}u + mine % {8}u * {9}u + own / 16 * 16);\n"
        "#pragma unroll 1\n        for (int slice = 0; slice < {10}; ++slice) {{\n",
        m_shape.tiles(), m_shape.blocks, m_shape.down, groups, m_shape.down + 2,
        m_shape.tileUnits(), m_shape.units() - 1, m_shape.linePitch, m_shape.bandColumns(),
        m_shape.placePitch(), m_shape.slices());
    if (m_shape.pictures > 1)
        out += fmt::format("            const unsigned char* const rows = from + picture * {};\n",
                           m_shape.pictureBytes());
    else
        out += "            const unsigned char* const rows = from;\n";
    out += products();
    if (m_shape.pictures > 1)
        out += "            picture ^= 1;\n";
    return out + "        }\n        waitProducts<0>();\n" + results() + "    }\n";
}

KernelPart HaloEmitter::emit() const {
    KernelPart part;
    part.helpers = {"vectors", "async", "mma", "wgmma"};
    part.ownArch = true;
    part.threads = static_cast<uint32_t>(m_shape.threads());
    part.blocks = m_shape.blocks * m_shape.parts();
    part.sharedBytes = static_cast<uint32_t>(m_shape.sharedBytes());
    part.residentBlocks = static_cast<uint32_t>(m_shape.residents);
    part.comment = {
        fmt::format("3 by 3 taps over {} channels: tiles of {} units of {} results down a picture "
                    "of {} bands, {} channels of the result, {} warpgroups",
                    m_shape.allChannels, m_shape.tileUnits(), m_shape.down, m_shape.bands,
                    m_shape.results, m_shape.groups),
        fmt::format("slices of {} channels of up to {} lines; weights: {} of {} stages in shared "
                    "memory",
                    m_shape.channels, m_shape.lines, m_shape.stages, m_shape.steps())};
    part.functions = m_result.function().text + functions();
    part.numeric = std::max(m_result.function().numeric, NumericClass::Reassociated);
    part.body = begin() + tile();
    part.extra = {
        {fmt::format("const {}*", m_type), "packed0", {KernelArgument::Kind::Packed, 0, 0}}};
    return part;
}

} // namespace

EmitResult emitConvHalo(const KernelRequest& request) {
    const char* name = "conv_halo";
    if (request.capability != 90)
        return finish(name, request,
                      PartResult(refusal("support", "products of warpgroups are those of sm_90")));
    auto made = convSpec(request);
    if (auto* reason = std::get_if<Reason>(&made))
        return finish(name, request, PartResult(*reason));
    const ConvSpec& spec = std::get<ConvSpec>(made);
    auto shape = haloShape(spec);
    if (auto* reason = std::get_if<Reason>(&shape))
        return finish(name, request, PartResult(*reason));
    const auto& tiles = std::get<HaloShape>(shape);
    SetNeeds needs;
    needs.packed = {{spec.code->b.operand,
                     {3, 2, 1, 0},
                     {3, 3, tiles.paddedChannels(), tiles.paddedResults()}}};
    EmitResult out =
        finishInOrder(name, request, {HaloEmitter(spec, tiles).emit()}, std::move(needs));
    if (auto* set = std::get_if<KernelSet>(&out))
        set->busy = haloShare(tiles, spec.units());
    return out;
}

} // namespace fuselage::gpu
