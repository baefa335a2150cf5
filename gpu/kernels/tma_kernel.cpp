// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/tma_kernel.h"

#include "core/graph/type.h"
#include "core/support/text.h"
#include "gpu/kernels/tma_landed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuselage::gpu {

namespace {

constexpr int producerRegisters = 40, consumerRegisters = 232;
constexpr size_t longTape = 10;
static_assert((producerRegisters + 2 * consumerRegisters) * 128 <= 65536);

class TmaEmitter {
public:
    TmaEmitter(const TmaPlan& plan, const EpilogueText& epilogue)
        : m_plan(plan), m_tile(plan.tile), m_view(plan.view), m_epilogue(epilogue), m_landed(plan) {
    }

    KernelPart emit() const;

private:
    /// Of a sum.
    const char* sumType() const { return m_plan.zeros ? "int" : "float"; }

    std::string functions() const;
    std::string setup() const;
    std::string producer() const;
    std::string copy(const TmaOperand& operand, bool isA) const;
    std::string turns(const std::string& indent, const std::string& first, int64_t step) const;
    std::string giveBack(const std::string& indent, const std::string& condition) const;
    bool paired() const { return m_plan.cluster.blocks() > 1; }
    const char* firstOfBlock() const { return paired() ? "block / 2u" : "block"; }
    /// No tile reaches beyond the results.
    bool wholeM() const { return m_view.mCount % (m_tile.m * m_plan.cluster.m) == 0; }
    bool wholeN() const { return m_view.nCount % (m_tile.n * m_plan.cluster.n) == 0; }
    std::string consumer() const;
    std::string products() const;
    std::string results() const;
    std::string endColumns() const;
    std::string ending() const;
    std::string fromSlab() const;
    std::string outside() const;

    const TmaPlan& m_plan;
    const TmaTile& m_tile;
    const ContractionView& m_view;
    const EpilogueText& m_epilogue;
    TmaLandedText m_landed;
};

/// Where a tile, or those of a cluster, lie: bands of rows of tiles, so that what is multiplied at
/// a time is about as wide as high and shares its operands in the cache; and a position in the ring
/// `count` stages on.
std::string TmaEmitter::functions() const {
    const int64_t m = m_plan.groupsM(), n = m_plan.groupsN();
    const TmaCluster& cluster = m_plan.cluster;
    const double square = std::sqrt(static_cast<double>(m_plan.clusters * m_tile.n * cluster.n) /
                                    static_cast<double>(m_tile.m * cluster.m));
    const int64_t height = std::clamp<int64_t>(std::llround(square), 1, m);
    const int64_t last = m - (m - 1) / height * height; // of the last band
    return fmt::format(
        "__device__ __forceinline__ void @place(unsigned tile, unsigned& batch, unsigned& tileM,\n"
        "                                       unsigned& tileN) {{\n"
        "    const unsigned inBatch = tile % {0}u, band = inBatch / {1}u, inBand = inBatch % "
        "{1}u;\n"
        "    const unsigned height = band == {2}u ? {3}u : {4}u;\n"
        "    batch = tile / {0}u;\n    tileM = band * {4}u + inBand % height;\n"
        "    tileN = inBand / height;\n}}\n\n"
        "template <int count>\n"
        "__device__ __forceinline__ void @advance(int& stage, unsigned& parity) {{\n"
        "    stage += count % {5};\n    parity ^= count / {5} & 1;\n    if (stage >= {5}) {{\n"
        "        stage -= {5};\n        parity ^= 1;\n    }}\n}}\n\n",
        m * n, height * n, (m - 1) / height, last, height, m_tile.stages);
}

std::string TmaEmitter::setup() const {
    return fmt::format(
        "    extern __shared__ __align__(1024) unsigned char sharedMemory[];\n"
        "    Barrier* const full = reinterpret_cast<Barrier*>(sharedMemory + {0});\n"
        "    Barrier *const empty = full + {1}, *const turn = empty + {1};\n"
        "    const int lane = threadIdx.x % 32u;\n" // all lanes of a warp go the same way:
        "    const int warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x / 32u), 0);\n"
        "    if (threadIdx.x == 0) {{\n        for (int i = 0; i < {1}; ++i) {{\n"
        "            initBarrier(full + i, 1);\n            initBarrier(empty + i, {2});\n"
        "        }}\n        initBarrier(turn, 1);\n        initBarrier(turn + 1, 1);\n{6}"
        "        publishBarriers();\n        fetchMap(map0);\n        fetchMap(map1);\n{7}"
        "    }}\n{5}    {3}();\n{4}",
        m_plan.barriersAt(), m_tile.stages, 4 * m_plan.cluster.blocks(),
        paired() ? "meetCluster" : "__syncthreads",
        paired()
            ? fmt::format("    const unsigned inCluster = block % {}u;\n", m_plan.cluster.blocks())
            : "",
        m_plan.zeros ? m_plan.zeros->fillOnes(m_tile.ringBytes()) : "", m_landed.barriers(),
        m_landed.map());
}

/// The box of an operand for a stage; what the cluster shares goes to all of its blocks.
std::string TmaEmitter::copy(const TmaOperand& operand, bool isA) const {
    const int sharers = isA ? m_plan.cluster.n : m_plan.cluster.m;
    const int own = (isA ? m_plan.ownRows() : m_plan.ownColumns()) * tmaRowBytes;
    const auto list = [](const std::vector<std::string>& texts) {
        return joined(texts, [](const std::string& text) { return text; });
    };
    const char* const name = isA ? "a" : "b";
    const bool pixels = operand.map.pixels.has_value();
    return (pixels ? fmt::format("                    const unsigned short {}By[] = {{{}}};\n",
                                 name, list(operand.offsets))
                   : std::string()) +
           fmt::format("                    const int {0}At[] = {{{1}}};\n"
                       "                    {2}{3}(to{4}{5}, map{6}, full + stage, {0}At{7});\n",
                       name, list(operand.coordinates), pixels ? "copyPixels" : "copyBox",
                       sharers == 1
                           ? ""
                           : fmt::format("<{}, {}u>", operand.map.dims.size(), (1 << sharers) - 1),
                       isA ? "" : fmt::format(" + {}", m_tile.m * tmaRowBytes),
                       sharers == 1 ? "" : fmt::format(" + inCluster * {}u", own), isA ? 0 : 1,
                       pixels ? fmt::format(", {}By", name) : "");
}

/// A loop over the tiles of a block, `step` clusters on at a time, and where each lies.
std::string TmaEmitter::turns(const std::string& indent, const std::string& first,
                              int64_t step) const {
    const TmaCluster& cluster = m_plan.cluster;
    std::string out = fmt::format("#pragma unroll 1\n"
                                  "{0}for (unsigned tile = {1}; tile < {2}u; tile += {3}u) {{\n"
                                  "{0}    unsigned batch, tileM, tileN;\n"
                                  "{0}    @place(tile, batch, tileM, tileN);\n",
                                  indent, first, m_plan.groups(), step * m_plan.clusters);
    if (cluster.m > 1)
        out += fmt::format("{}    tileM = tileM * {}u + inCluster;\n", indent, cluster.m);
    if (cluster.n > 1)
        out += fmt::format("{}    tileN = tileN * {}u + inCluster;\n", indent, cluster.n);
    return out;
}

/// A warp says that it has used the stage before, to all who fill it.
std::string TmaEmitter::giveBack(const std::string& indent, const std::string& condition) const {
    const std::string also = condition.empty() ? "" : " && " + condition;
    if (!paired())
        return fmt::format("{0}if (lane == 0{1})\n{0}    arrive(empty + before);\n", indent, also);
    return fmt::format("{0}if (lane < {2}{1})\n{0}    arriveIn(lane, empty + before);\n", indent,
                       also, m_plan.cluster.blocks());
}

std::string TmaEmitter::producer() const {
    const char* wait = paired() ? "waitForCluster" : "waitBarrier";
    const std::string leave =
        paired() ? fmt::format("#pragma unroll 1\n            for (int i = 0; i < {}; ++i) {{\n"
                               "                waitForCluster(empty + stage, parity);\n"
                               "                @advance<1>(stage, parity);\n            }}\n",
                               m_tile.stages)
                 : "";
    const std::string tap =
        m_plan.taps == 1
            ? ""
            : fmt::format("                    const unsigned tap = static_cast<unsigned>(k) / "
                          "{0}u;\n                    const int slice = k % {0};\n",
                          m_plan.slices());
    return fmt::format("        releaseRegisters<{0}>();\n        if (threadIdx.x == 0) {{\n"
                       "            int stage = 0;\n            unsigned parity = 1;\n",
                       producerRegisters) +
           turns("            ", firstOfBlock(), 1) + m_plan.a.setup + m_plan.b.setup +
           fmt::format("#pragma unroll 1\n                for (int k = 0; k < {0}; ++k) {{\n"
                       "                    unsigned char* const to = sharedMemory + stage * {1};\n"
                       "                    {2}(empty + stage, parity);\n"
                       "                    arriveExpecting(full + stage, {1});\n",
                       m_plan.tilesK(), m_tile.stageBytes(), wait) +
           tap + m_plan.a.stageSetup + m_plan.b.stageSetup + copy(m_plan.a, true) +
           copy(m_plan.b, false) +
           "                    @advance<1>(stage, parity);\n                }\n            }\n" +
           leave + "        }\n";
}

/// The products of a tile; a stage is given back when the products of the next one are under way.
std::string TmaEmitter::products() const {
    std::string element = storageType(m_plan.a.map.element), ones, rowSums;
    if (m_plan.zeros) // both may be signed or not
        element += std::string(", ") + storageType(m_plan.b.map.element);
    if (m_plan.shiftsB()) {
        rowSums = fmt::format("            int rowSums[{}][1][4] = {{}};\n"
                              "            const unsigned long long ones = "
                              "rowsOf128Bytes(sharedMemory + {});\n",
                              m_tile.pieces(), m_tile.ringBytes());
        ones = fmt::format("#pragma unroll\n                    for (int i = 0; i < {}; ++i)\n"
                           "                        multiplyGroup<8, {}, unsigned char>("
                           "rowSums[i], rowsA + i * 512 + step * 2, ones);\n",
                           m_tile.pieces(), storageType(m_plan.a.map.element));
    }
    // Arithmetic on rows' sums stays behind the wait.
    std::string kept;
    for (int i = 0; m_plan.shiftsB() && i < m_tile.pieces(); ++i)
        kept += fmt::format("            keepBehindWait(rowSums[{0}]);\n"
                            "            keepBehindWait(sums[{0}]);\n",
                            i);
    return fmt::format(
        "            {7} sums[{0}][{1}][4];\n{8}#pragma unroll\n"
        "            for (int i = 0; i < {0}; ++i)\n#pragma unroll\n"
        "                for (int j = 0; j < {1}; ++j)\n"
        "                    sums[i][j][0] = sums[i][j][1] = sums[i][j][2] = sums[i][j][3] = 0;\n"
        "            waitBarrier(turn + group, mine);\n            mine ^= 1;\n"
        "            int before = 0;\n#pragma unroll 1\n"
        "            for (int k = 0; k < {2}; ++k) {{\n"
        "                const unsigned char* const from = sharedMemory + stage * {3};\n"
        "                waitBarrier(full + stage, parity);\n                openProducts();\n"
        "                const unsigned long long rowsA = rowsOf128Bytes(from);\n"
        "                const unsigned long long rowsB = rowsOf128Bytes(from + {4});\n"
        "#pragma unroll\n                for (int step = 0; step < 4; ++step) {{\n"
        "#pragma unroll\n                    for (int i = 0; i < {0}; ++i)\n"
        "                        multiplyGroup<{5}, {6}>(sums[i], rowsA + i * 512 + step * 2,\n"
        "                                                rowsB + step * 2);\n{9}"
        "                }}\n"
        "                commitProducts();\n                waitProducts<1>();\n"
        "                __syncwarp();\n{10}"
        "                before = stage;\n                @advance<1>(stage, parity);\n"
        "            }}\n            if (threadIdx.x % 128u == 0)\n"
        "                arrive(turn + (group ^ 1));\n"
        "            waitProducts<0>();\n{12}            __syncwarp();\n{11}"
        "            @advance<{2}>(stage, parity);\n",
        m_tile.pieces(), m_tile.n / 8, m_plan.tilesK(), m_tile.stageBytes(), m_tile.m * tmaRowBytes,
        m_tile.n, element, sumType(), rowSums, ones, giveBack("                ", "k > 0"),
        giveBack("            ", ""), kept);
}

/// `width` sums of a row from the slab, to x.
std::string TmaEmitter::fromSlab() const {
    const ResultLanes& lanes = m_epilogue.lanes();
    const std::string indent(24, ' ');
    std::string out = fmt::format("{}{} x[{}];\n", indent, sumType(), lanes.width);
    if (!lanes.alongM && lanes.width >= 4)
        for (int v = 0; v < lanes.width; v += 4)
            out += fmt::format("{}loadShared16(slab + slabAt(row, column + {}), x + {});\n", indent,
                               v, v);
    else
        out +=
            fmt::format("#pragma unroll\n{0}for (int v = 0; v < {1}; ++v)\n"
                        "{0}    x[v] = slab[slabAt({2})];\n",
                        indent, lanes.width, lanes.alongM ? "row + v, column" : "row, column + v");
    if (!m_plan.shiftsA())
        return out;
    const bool columns = tmaEndOf(lanes) == EpilogueEnd::Columns;
    return out +
           (columns ? ""
                    : fmt::format("{}const int shift = {};\n", indent,
                                  m_plan.zeros->columnShift("n"))) +
           fmt::format("#pragma unroll\n{0}for (int v = 0; v < {1}; ++v)\n"
                       "{0}    x[v] = subtractWrapped(x[v], shift{2});\n",
                       indent, lanes.width, columns ? "[v]" : "");
}

/// Lanes that go down the rows of the slab, each with columns of its own: some rows read what they
/// need, then the same ones end.
std::string TmaEmitter::endColumns() const {
    const int perLine = 64 / m_epilogue.lanes().width, rounds = perLine / 2;
    // Long tapes would be much code, and three pieces of sums leave no registers for reads that are
    // under way.
    const int most = m_epilogue.length() > longTape ? 2 : 4;
    const int together = m_tile.pieces() <= 2          ? std::min(rounds, most)
                         : m_epilogue.fetchesForRows() ? 1
                                                       : 2;
    const std::string beyond = outside(), indent(24, ' ');
    const std::string row =
        fmt::format("{0}    const int row = lane / {1} + (first + u) * {2};\n"
                    "{0}    const unsigned m = tileM * {3}u + i * 64 + warp % 4 * 16 + row;\n",
                    indent, perLine, 32 / perLine, m_tile.m);
    return fmt::format("#pragma unroll 1\n                    for (int first = 0; first < {0}; "
                       "first += {1}) {{\n"
                       "{2}@Rows rows[{1}];\n#pragma unroll\n"
                       "{2}for (int u = 0; u < {1}; ++u) {{\n",
                       rounds, together, indent) +
           row +
           fmt::format("{}    {}{};\n{}}}\n", indent,
                       beyond.empty() ? "" : fmt::format("if (!({}))\n{}        ", beyond, indent),
                       m_epilogue.rowsCall("rows[u]", "columns", "m", m_landed.ofLane()), indent) +
           fmt::format("#pragma unroll\n{}for (int u = 0; u < {}; ++u) {{\n", indent, together) +
           row +
           (beyond.empty()
                ? std::string()
                : fmt::format("{0}    if ({1})\n{0}        continue;\n", indent, beyond)) +
           fromSlab() +
           fmt::format("{0}    {1};\n{0}}}\n                    }}\n", indent,
                       m_epilogue.finishCall("x", "columns", "rows[u]", "m"));
}

/// The condition that a result is none.
std::string TmaEmitter::outside() const {
    std::string out = wholeM() ? "" : fmt::format("m >= {}u", m_view.mCount);
    if (!wholeN())
        out += fmt::format("{}n >= {}u", out.empty() ? "" : " || ", m_view.nCount);
    return out;
}

/// The neighbouring results of one lane from the slab, ended, where lanes have no column.
std::string TmaEmitter::ending() const {
    const ResultLanes& lanes = m_epilogue.lanes();
    const int width = lanes.width, perLine = (lanes.alongM ? 16 : 64) / width;
    const std::string line = fmt::format("part / {}", perLine);
    const std::string along = fmt::format("part % {} * {}", perLine, width);
    return fmt::format(
               "#pragma unroll 1\n                    for (int part = lane; part < {0}; "
               "part += 32) {{\n"
               "                        const int row = {1}, column = {2};\n"
               "                        const unsigned m = tileM * {3}u + i * 64 + warp % 4 "
               "* 16 + row;\n"
               "                        const unsigned n = tileN * {4}u + j * 64 + column;\n"
               "                        if (m >= {5}u || n >= {6}u)\n"
               "                            continue;\n",
               1024 / width, lanes.alongM ? along : line, lanes.alongM ? line : along, m_tile.m,
               m_tile.n, m_view.mCount, m_view.nCount) +
           fromSlab() +
           fmt::format("                        {};\n                    }}\n",
                       m_epilogue.call("x", "batch", "m", "n"));
}

/// 16 x 64 sums of a warp at a time, through its slab: down the rows, then the next columns.
std::string TmaEmitter::results() const {
    const bool columns = tmaEndOf(m_epilogue.lanes()) == EpilogueEnd::Columns;
    std::string out =
        fmt::format("#pragma unroll\n            for (int j = 0; j < {}; ++j) {{\n", m_tile.n / 64);
    if (columns) {
        const int width = m_epilogue.lanes().width;
        out +=
            fmt::format("                const int column = lane % {} * {};\n"
                        "                const unsigned n = tileN * {}u + j * 64 + column;\n"
                        "                @Columns columns;\n                {}{};\n",
                        64 / width, width, m_tile.n,
                        wholeN() ? std::string()
                                 : fmt::format("if (n < {}u)\n                    ", m_view.nCount),
                        m_epilogue.columnsCall("columns", "batch", "n"));
        if (m_plan.shiftsA())
            out += fmt::format("                int shift[{0}] = {{}};\n"
                               "                if (n < {1}u)\n#pragma unroll\n"
                               "                    for (int v = 0; v < {0}; ++v)\n"
                               "                        shift[v] = {2};\n",
                               width, m_view.nCount, m_plan.zeros->columnShift("n + v"));
    }
    const char* low = m_plan.shiftsB() ? "subtractWrapped(sum[{}], rowLow)" : "sum[{}]";
    const char* high = m_plan.shiftsB() ? "subtractWrapped(sum[{}], rowHigh)" : "sum[{}]";
    auto sum = [](const char* form, int i) { return fmt::format(fmt::runtime(form), i); };
    return out +
           fmt::format(
               "#pragma unroll\n                for (int i = 0; i < {0}; ++i) {{\n{7}"
               "                    __syncwarp();\n{8}{1}#pragma unroll\n"
               "                    for (int c = 0; c < 8; ++c) {{\n"
               "                        {2}* const at = slab + slabAt(lane / 4, c * 8 + lane % 4 "
               "* 2);\n"
               "                        const {2}* const sum = sums[i][j * 8 + c];\n"
               "                        storeShared8(at, {3}, {4});\n"
               "                        storeShared8(at + 512, {5}, {6});\n"
               "                    }}\n{9}                    __syncwarp();\n",
               m_tile.pieces(),
               m_plan.shiftsB()
                   ? "                    const int rowLow = multiplyWrapped(bZero, "
                     "rowSums[i][0][0]), rowHigh = multiplyWrapped(bZero, rowSums[i][0][2]);\n"
                   : "",
               sumType(), sum(low, 0), sum(low, 1), sum(high, 2), sum(high, 3), m_landed.number(),
               m_landed.next(), m_landed.wait()) +
           (columns ? endColumns() : ending()) + "                }\n            }\n";
}

std::string TmaEmitter::consumer() const {
    return fmt::format("        claimRegisters<{0}>();\n"
                       "        const unsigned group = warp / 4 - 1;\n"
                       "        {4}* const slab = reinterpret_cast<{4}*>(sharedMemory + {1}) + "
                       "(warp - 4) * {2};\n{5}"
                       "        int stage = 0;\n        unsigned parity = 0, mine = group ^ 1;\n"
                       "        if (group == 1)\n            @advance<{3}>(stage, parity);\n",
                       consumerRegisters, m_plan.slabsAt(), tmaSlabBytes / 4, m_plan.tilesK(),
                       sumType(), m_plan.zeros ? m_plan.zeros->zeros("        ") : "") +
           m_landed.places() +
           turns("        ", fmt::format("{} + group * {}u", firstOfBlock(), m_plan.clusters), 2) +
           m_landed.first() + products() + results() + m_landed.turn() + "        }\n";
}

KernelPart TmaEmitter::emit() const {
    KernelPart part;
    part.comment = {fmt::format(
        "{} x {} x {} x {} products: tiles of {}, two warpgroups in turn, {} stages of {} bytes",
        m_view.batchCount, m_view.mCount, m_view.nCount, m_view.kCount, m_tile.name, m_tile.stages,
        m_tile.stageBytes())};
    if (paired())
        part.comment.push_back(
            fmt::format("two blocks a cluster, tiles {}: each fetches half of {} for both",
                        m_plan.cluster.m > 1 ? "below each other" : "side by side",
                        m_plan.cluster.m > 1 ? "B" : "A"));
    if (m_plan.taps > 1)
        part.comment.push_back(fmt::format("k is {} places of the filter, {} stages of channels "
                                           "each",
                                           m_plan.taps, m_plan.slices()));
    part.comment.push_back(
        fmt::format("operands fetched from the second cache: {} bytes", m_plan.fetchedBytes()));
    part.helpers = {"vectors", "async", "wgmma", "tma"};
    if (paired())
        part.helpers.emplace_back("cluster");
    part.ownArch = true;
    part.functions =
        functions() + (m_plan.zeros ? m_plan.zeros->function() : "") + m_epilogue.text();
    part.body =
        setup() + "    if (warp < 4) {\n" + producer() + "    } else {\n" + consumer() + "    }\n";
    part.blocks = m_plan.blocks();
    part.clusterBlocks = static_cast<uint32_t>(m_plan.cluster.blocks());
    part.threads = tmaThreads;
    part.sharedBytes = static_cast<uint32_t>(m_plan.sharedBytes());
    part.residentBlocks = 1;
    part.maps = {m_plan.a.map, m_plan.b.map};
    if (m_plan.landed)
        part.maps.push_back(m_plan.landed->operand.map);
    if (m_plan.zeros)
        part.extra = m_plan.zeros->parameters();
    // TMA asks for whole boxes, past the first cache.
    const double boxes = (static_cast<double>(m_plan.tiles() * m_plan.tilesK()) *
                              static_cast<double>(m_tile.stageBytes()) +
                          static_cast<double>(m_plan.landedBytes())) /
                         32;
    part.memory = {0, 0, boxes, boxes};
    const bool alongM = m_epilogue.lanes().alongM;
    part.memory +=
        m_epilogue.memory(alongM ? tmaEndRows : tmaEndColumns, alongM ? tmaEndColumns : tmaEndRows);
    part.numeric = std::max(m_plan.zeros ? NumericClass::Exact : NumericClass::Reassociated,
                            m_epilogue.numeric());
    return part;
}

} // namespace

EpilogueEnd tmaEndOf(const ResultLanes& lanes) {
    return !lanes.alongM && lanes.width > 1 ? EpilogueEnd::Columns : EpilogueEnd::Stores;
}

KernelPart tmaPart(const TmaPlan& plan, const EpilogueText& epilogue) {
    return TmaEmitter(plan, epilogue).emit();
}

} // namespace fuselage::gpu
