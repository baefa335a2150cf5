// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/tensor_kernel.h"

#include "core/graph/type.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu {

namespace {

class TensorEmitter {
public:
    TensorEmitter(const TensorPlan& plan, const EpilogueText& epilogue)
        : m_plan(plan), m_tile(plan.tile), m_view(plan.view), m_epilogue(epilogue),
          m_a(plan.request, plan.view, plan.tile, true),
          m_b(plan.request, plan.view, plan.tile, false) {}

    KernelPart emit();

private:
    /// Of a sum.
    const char* sumType() const { return m_tile.integer ? "int" : "float"; }

    const char* element() const {
        return m_a.element() == DType::Float32 ? "Tf32" : storageType(m_a.element());
    }

    /// Extents of a lane's sums: blocks of 16 x 8 of the warp's results, or single ones.
    int sumRows() const { return m_tile.warpM() / (m_tile.matrix ? 16 : 8); }

    int sumColumns() const { return m_tile.warpN() / (m_tile.matrix ? 8 : 4); }

    std::string place() const;
    std::string intoSlab() const;
    std::string fromSlab(int width, bool alongM) const;
    std::string fetchTile(const std::string& next, const std::string& indent) const;
    std::string moveTile(const std::string& indent) const;
    std::string pipeline() const;
    std::string products() const;
    std::string groupProducts() const;
    std::string integerProducts() const;
    std::string shiftedSums() const;
    std::string shiftedGroupRows() const;
    std::string shiftedGroupColumns(int width, bool alongM) const;
    std::string results() const;
    std::string partialStore() const;
    std::string partialSums() const;
    std::string comment() const;

    const TensorPlan& m_plan;
    const TensorTile& m_tile;
    const ContractionView& m_view;
    const EpilogueText& m_epilogue;
    TensorOperand m_a, m_b;
};

/// Which results the block, and the warp in it, own.
std::string TensorEmitter::place() const {
    const int64_t n = m_plan.tilesN(), m = m_plan.tilesM(), batch = m_view.batchCount;
    std::string out =
        fmt::format("    extern __shared__ __align__({4}) unsigned char sharedMemory[];\n"
                    "    const unsigned tileN = block % {0}u, tileM = block / {0}u % {1}u;\n"
                    "    const unsigned batch = block / {2}u % {3}u;\n",
                    n, m, n * m, batch, m_tile.warpgroup ? 1024 : 128);
    const int64_t tiles = m_plan.tilesK(), per = (tiles + m_plan.splits - 1) / m_plan.splits;
    if (m_plan.splits > 1)
        out += fmt::format("    const unsigned split = block / {0}u, firstTile = split * {1}u;\n"
                           "    const int tiles = static_cast<int>(firstTile + {1}u < {2}u ? {1}u "
                           ": {2}u - firstTile);\n",
                           n * m * batch, per, tiles);
    else
        out += fmt::format("    const unsigned firstTile = 0;\n    const int tiles = {};\n", tiles);
    return out + fmt::format("    const int lane = threadIdx.x % 32u, warp = threadIdx.x / 32u;\n"
                             "    const int warpM = warp % {0}, warpN = warp / {0};\n",
                             m_tile.warpsM);
}

/// Each line of a text further in, but for directives.
std::string indented(const std::string& text, const std::string& indent) {
    std::string out;
    for (size_t at = 0; at < text.size();) {
        const size_t end = text.find('\n', at) + 1;
        out += (text[at] == '#' ? "" : indent) + text.substr(at, end - at);
        at = end;
    }
    return out;
}

/// Begins to load tile `next` where B's way to its stage has two steps.
std::string TensorEmitter::fetchTile(const std::string& next, const std::string& indent) const {
    const std::string fetch = m_b.fetch();
    if (fetch.empty())
        return {};
    return indented(fmt::format("if (const int later = {}; later < tiles) {{\n"
                                "    const unsigned kTile = firstTile + "
                                "static_cast<unsigned>(later);\n{}}}\n",
                                next, fetch),
                    indent);
}

/// Moves `next`, the number of a tile from firstTile on, to its stage.
std::string TensorEmitter::moveTile(const std::string& indent) const {
    const std::string out = fmt::format(
        "const unsigned kTile = firstTile + static_cast<unsigned>(next);\n"
        "unsigned char* const to = sharedMemory + next % {} * {};\n{{\n"
        "    unsigned char* const stage = to;\n{}}}\n{{\n"
        "    unsigned char* const stage = to + {};\n{}}}\n",
        m_tile.stages, m_tile.stageBytes(), m_a.move(), m_tile.m * m_tile.kBytes, m_b.move());
    return indented(out, indent);
}

/// The tile's products start; those of the tile before are done afterwards, since the next copies
/// go to its stage.
std::string TensorEmitter::groupProducts() const {
    std::string elements = element(), ones;
    if (m_tile.integer) // both may be signed or not
        elements += std::string(", ") + storageType(m_b.element());
    if (m_b.shifted())
        ones = fmt::format("            multiplyGroup<8, {}, unsigned char>(rowSums, rowsA + step "
                           "* 2, rowsOf128Bytes(sharedMemory + {}));\n",
                           element(), m_tile.stages * m_tile.stageBytes());
    return fmt::format(
        "        openProducts();\n"
        "        const unsigned long long rowsA = rowsOf128Bytes(stageA + warp / 4 * "
        "8192), rowsB = rowsOf128Bytes(stageB);\n"
        "#pragma unroll\n        for (int step = 0; step < {}; ++step) {{\n"
        "            multiplyGroup<{}, {}>(sums[0], rowsA + step * 2, rowsB + step * "
        "2);\n{}        }}\n        commitProducts();\n        waitProducts<1>();\n",
        m_tile.kBytes / 32, m_tile.n, elements, ones);
}

/// Beside the products, where an operand has a zero point, those of the other one and of ones.
std::string TensorEmitter::integerProducts() const {
    const int rows = sumRows(), columns = sumColumns();
    const std::string types = fmt::format("static_cast<const {}*>(nullptr), static_cast<const "
                                          "{}*>(nullptr)",
                                          storageType(m_a.element()), storageType(m_b.element()));
    std::string out =
        fmt::format("#pragma unroll\n        for (int i = 0; i < {}; ++i)\n"
                    "#pragma unroll\n            for (int j = 0; j < {}; ++j)\n"
                    "                multiply(sums[i][j], a[i], b[j][0], b[j][1], {});\n",
                    rows, columns, types);
    if (m_a.shifted())
        out += fmt::format("#pragma unroll\n        for (int j = 0; j < {}; ++j)\n"
                           "            multiply(columnSums[j], ones, b[j][0], b[j][1], {});\n",
                           columns, types);
    if (m_b.shifted())
        out += fmt::format("#pragma unroll\n        for (int i = 0; i < {}; ++i)\n"
                           "            multiply(rowSums[i], a[i], ones[0], ones[0], {});\n",
                           rows, types);
    return out;
}

/// The sum of (a - A) (b - B) from that of a b: what a copy leaves out is A, which adds nothing.
std::string TensorEmitter::shiftedSums() const {
    if (!m_a.shifted() && !m_b.shifted())
        return {};
    std::string out = fmt::format("#pragma unroll\n    for (int i = 0; i < {}; ++i)\n"
                                  "#pragma unroll\n        for (int j = 0; j < {}; ++j)\n"
                                  "#pragma unroll\n            for (int s = 0; s < 4; ++s) {{\n",
                                  sumRows(), sumColumns());
    auto less = [&](const std::string& what) {
        out += fmt::format("                sums[i][j][s] = subtractWrapped(sums[i][j][s], {});\n",
                           what);
    };
    const std::string count = fmt::format("tiles * {}", m_plan.kElements());
    if (m_a.shifted() && m_b.shifted())
        less(fmt::format("multiplyWrapped(aZero, subtractWrapped(columnSums[j][s % 2], "
                         "multiplyWrapped(bZero, {})))",
                         count));
    else if (m_a.shifted())
        less("multiplyWrapped(aZero, columnSums[j][s % 2])");
    if (m_b.shifted())
        less("multiplyWrapped(bZero, rowSums[i][s / 2 * 2])");
    return out + "            }\n";
}

/// The same of a warpgroup's sums: what rows have, in the registers.
std::string TensorEmitter::shiftedGroupRows() const {
    if (!m_b.shifted())
        return {};
    return fmt::format("    keepBehindWait(rowSums);\n    keepBehindWait(sums[0]);\n"
                       "#pragma unroll\n    for (int j = 0; j < {}; ++j)\n"
                       "#pragma unroll\n        for (int s = 0; s < 4; ++s)\n"
                       "            sums[0][j][s] = subtractWrapped(sums[0][j][s], "
                       "multiplyWrapped(bZero, rowSums[0][s / 2 * 2]));\n",
                       sumColumns());
}

/// And what columns have, of `width` sums from the slab. Of the parts of k the first one takes it
/// off.
std::string TensorEmitter::shiftedGroupColumns(int width, bool alongM) const {
    if (!m_tile.warpgroup || !m_a.shifted())
        return {};
    return fmt::format("{}#pragma unroll\n                for (int v = 0; v < {}; ++v)\n"
                       "                    x[v] = subtractWrapped(x[v], {});\n",
                       m_plan.splits > 1 ? "                if (split == 0)\n" : "", width,
                       m_plan.zeros->columnShift(alongM ? "n" : "n + v"));
}

std::string TensorEmitter::products() const {
    const int rows = sumRows(), columns = sumColumns();
    if (m_tile.warpgroup)
        return groupProducts();
    if (!m_tile.matrix)
        return fmt::format("#pragma unroll 1\n    for (int step = 0; step < {}; ++step) {{\n"
                           "        float a[{}][4];\n{}"
                           "#pragma unroll\n        for (int j = 0; j < {}; ++j) {{\n"
                           "            float b[4];\n{}"
                           "#pragma unroll\n            for (int e = 0; e < 4; ++e)\n"
                           "#pragma unroll\n                for (int i = 0; i < {}; ++i)\n"
                           "                    sums[i][j] += a[i][e] * b[e];\n"
                           "        }}\n    }}\n",
                           m_tile.kBytes / 16, rows, m_a.fragments(), columns, m_b.fragments(),
                           rows);
    return fmt::format("#pragma unroll\n    for (int step = 0; step < {}; ++step) {{\n"
                       "        unsigned a[{}][4], b[{}][2];\n",
                       m_tile.kBytes / 32, rows, columns) +
           m_a.fragments() + m_b.fragments() +
           (m_tile.integer
                ? integerProducts() + "    }\n"
                : fmt::format(
                      "#pragma unroll\n        for (int i = 0; i < {}; ++i)\n"
                      "#pragma unroll\n            for (int j = 0; j < {}; ++j)\n"
                      "                multiply(sums[i][j], a[i], b[j][0], b[j][1],\n"
                      "                         static_cast<const {}*>(nullptr));\n    }}\n",
                      rows, columns, element()));
}

std::string TensorEmitter::pipeline() const {
    const int ahead = m_tile.ahead();
    std::string out =
        fmt::format("    {4} sums[{0}][{1}]{2};\n#pragma unroll\n"
                    "    for (int i = 0; i < {0}; ++i)\n#pragma unroll\n"
                    "        for (int j = 0; j < {1}; ++j)\n            {3} = {5};\n",
                    sumRows(), sumColumns(), m_tile.matrix ? "[4]" : "",
                    m_tile.matrix ? "sums[i][j][0] = sums[i][j][1] = sums[i][j][2] = sums[i][j][3]"
                                  : "sums[i][j]",
                    sumType(), m_tile.integer ? "0" : "0.0f");
    if (m_a.shifted() && !m_tile.warpgroup)
        out += fmt::format("    int columnSums[{}][4] = {{}};\n", sumColumns());
    if (m_b.shifted())
        out += fmt::format("    int rowSums[{}][4] = {{}};\n", sumRows());
    if (m_tile.warpgroup && m_plan.zeros)
        out += m_plan.zeros->fillOnes(m_tile.stages * m_tile.stageBytes());
    else if (m_a.shifted() || m_b.shifted())
        out += "    const unsigned ones[4] = {0x01010101u, 0x01010101u, 0x01010101u, "
               "0x01010101u};\n";
    out += fetchTile("0", "    ");
    out += fmt::format("#pragma unroll 1\n    for (int next = 0; next < {}; ++next) {{\n"
                       "        if (next < tiles) {{\n{}        }}\n        commitCopies();\n{}    "
                       "}}\n",
                       ahead, moveTile("            "), fetchTile("next + 1", "        "));
    // One barrier a tile: behind it everybody's copies are there, and nobody reads the stage that
    // the next copies go to.
    out += fmt::format(
        "#pragma unroll 1\n    for (int tile = 0; tile < tiles; ++tile) {{\n"
        "        waitCopies<{}>();\n{}        __syncthreads();\n"
        "        if (const int next = tile + {}; next < tiles) {{\n{}        }}\n"
        "        commitCopies();\n{}"
        "        const unsigned char* const stageA = sharedMemory + tile % {} * {};\n"
        "        const unsigned char* const stageB = stageA + {};\n",
        ahead - 1, m_tile.warpgroup ? "        fenceForProducts();\n" : "", ahead,
        moveTile("            "), fetchTile(fmt::format("tile + {}", ahead + 1), "        "),
        m_tile.stages, m_tile.stageBytes(), m_tile.m * m_tile.kBytes);
    return out + products() + "    }\n" + (m_tile.warpgroup ? "    waitProducts<0>();\n" : "") +
           "    waitCopies<0>();\n    __syncthreads();\n" +
           (m_tile.warpgroup ? shiftedGroupRows() : shiftedSums());
}

std::string TensorEmitter::partialStore() const {
    const std::string at =
        fmt::format("partial + (((split * {0}ll + batch) * {1}ll + m) * {2}ll + n)",
                    m_view.batchCount, m_view.mCount, m_view.nCount);
    return m_view.nCount % 4 == 0 ? fmt::format("storeLanes<4, false>({}, x)", at)
                                  : fmt::format("store({}, x[0])", at);
}

/// The block whose part came last adds all parts of the tile, in order of k, and ends the results.
std::string TensorEmitter::partialSums() const {
    const ResultLanes lanes = m_epilogue.lanes();
    const int width = lanes.width, perLine = (lanes.alongM ? m_tile.m : m_tile.n) / width;
    const std::string line = fmt::format("part / {}", perLine);
    const std::string along = fmt::format("part % {} * {}", perLine, width);
    std::string out = fmt::format(
        "    __syncthreads();\n"
        "    if (!lastOfParts(tickets + block % {0}u, {1}u, "
        "reinterpret_cast<unsigned*>(sharedMemory)))\n        return;\n"
        "#pragma unroll 1\n    for (int part = threadIdx.x; part < {2}; part += {3}) {{\n"
        "        const unsigned m = tileM * {4}u + {5}, n = tileN * {6}u + {7};\n"
        "        if (m < {8}u && n < {9}u) {{\n"
        "            const {11}* const parts = partial + ((batch * {8}ll + m) * {9}ll + n);\n"
        "            {11} x[{10}] = {{}};\n"
        "#pragma unroll 8\n            for (int s = 0; s < {1}; ++s)\n",
        m_plan.blocks(), m_plan.splits, m_tile.m * m_tile.n / width, m_tile.threads(), m_tile.m,
        lanes.alongM ? along : line, m_tile.n, lanes.alongM ? line : along, m_view.mCount,
        m_view.nCount, width, sumType());
    const int64_t results = m_view.batchCount * m_view.mCount * m_view.nCount;
    if (lanes.alongM)
        out +=
            fmt::format("#pragma unroll\n                for (int v = 0; v < {}; ++v)\n"
                        "                    addPart<1>(parts + (s * {}ll + v * {}ll), x + v);\n",
                        width, results, m_view.nCount);
    else
        out += fmt::format("                addPart<{}>(parts + s * {}ll, x);\n", width, results);
    return out + fmt::format("            {};\n        }}\n    }}\n",
                             m_epilogue.call("x", "batch", "m", "n"));
}

/// The sums of the i-th 16 rows of the warp to its slab. Its units of 4 floats change places in
/// pairs, by slabTurn(), so that neither these stores nor the wide reads meet in a bank.
std::string TensorEmitter::intoSlab() const {
    const int stride = m_tile.slabStride();
    const std::string loop = fmt::format("        const int turn = slabTurn(lane / 4, 0);\n"
                                         "#pragma unroll\n        for (int j = 0; j < {}; ++j) {{\n"
                                         "            {}* const at = slab + lane / 4 * {} + ",
                                         sumColumns(), sumType(), stride);
    if (!m_tile.matrix)
        return loop + fmt::format("lane % 4 + (j * 4 ^ turn ^ j / 8 % 2 * 4);\n"
                                  "            at[0] = sums[2 * i][j];\n"
                                  "            at[{}] = sums[2 * i + 1][j];\n        }}\n",
                                  8 * stride);
    return loop + fmt::format("j * 8 + (lane % 4 * 2 ^ turn ^ j / 4 % 2 * 4);\n"
                              "            storeShared8(at, sums[i][j][0], sums[i][j][1]);\n"
                              "            storeShared8(at + {}, sums[i][j][2], sums[i][j][3]);\n"
                              "        }}\n",
                              8 * stride);
}

/// `width` sums from `row` and `column` of the slab on, to x.
std::string TensorEmitter::fromSlab(int width, bool alongM) const {
    const int stride = m_tile.slabStride();
    if (alongM)
        return fmt::format("#pragma unroll\n                for (int v = 0; v < {}; ++v)\n"
                           "                    x[v] = slab[(row + v) * {} + "
                           "(column ^ slabTurn(row + v, column))];\n",
                           width, stride);
    const std::string line = fmt::format("row * {} + (column ^ slabTurn(row, column)", stride);
    std::string out;
    if (width < 4)
        for (int v = 0; v < width; ++v)
            out += fmt::format("                x[{}] = slab[{}) + {}];\n", v, line, v);
    for (int v = 0; v + 4 <= width; v += 4)
        out += fmt::format("                loadShared16(slab + {} ^ {}), x + {});\n", line, v, v);
    return out;
}

/// Sums of 16 rows of a warp at a time, through its slab.
std::string TensorEmitter::results() const {
    ResultLanes lanes = m_epilogue.lanes();
    if (m_plan.splits > 1)
        lanes = {m_view.nCount % 4 == 0 ? 4 : 1, false};
    const int columns = m_tile.warpN(), stride = m_tile.slabStride(), width = lanes.width;
    const int perLine = (lanes.alongM ? 16 : columns) / width;
    std::string out =
        fmt::format("    {0}* const slab = reinterpret_cast<{0}*>(sharedMemory) + warp * {1};\n"
                    "#pragma unroll\n    for (int i = 0; i < {2}; ++i) {{\n        "
                    "__syncwarp();\n",
                    sumType(), 16 * stride, m_tile.warpM() / 16) +
        intoSlab() + "        __syncwarp();\n";
    out +=
        fmt::format("#pragma unroll 1\n        for (int part = lane; part < {}; part += 32) {{\n",
                    16 * columns / width);
    const std::string line = fmt::format("part / {}", perLine);
    const std::string along = fmt::format("part % {} * {}", perLine, width);
    out += fmt::format("            const int row = {}, column = {};\n",
                       lanes.alongM ? along : line, lanes.alongM ? line : along);
    out += fmt::format("            const unsigned m = tileM * {}u + warpM * {} + i * 16 + row;\n"
                       "            const unsigned n = tileN * {}u + warpN * {} + column;\n",
                       m_tile.m, m_tile.warpM(), m_tile.n, columns);
    out += fmt::format("            if (m < {}u && n < {}u) {{\n                {} x[{}];\n",
                       m_view.mCount, m_view.nCount, sumType(), width);
    out += fromSlab(width, lanes.alongM) + shiftedGroupColumns(width, lanes.alongM);
    out +=
        fmt::format("                {};\n            }}\n        }}\n    }}\n",
                    m_plan.splits > 1 ? partialStore() : m_epilogue.call("x", "batch", "m", "n"));
    if (m_plan.splits > 1)
        out += partialSums();
    return out;
}

std::string TensorEmitter::comment() const {
    auto how = [](TileLoad load) {
        return load == TileLoad::AlongK      ? "along k"
               : load == TileLoad::AlongRows ? "along its rows"
               : load == TileLoad::Blocked   ? "as it is stored, made elements on the way"
                                             : "element by element";
    };
    return fmt::format(
        "{} x {} x {} products of {} x {}, {} warps, {} stages of {} bytes; A moved {}, B {}{}",
        m_view.batchCount, m_view.mCount, m_view.nCount, m_tile.name, m_plan.kElements(),
        m_tile.warpsM * m_tile.warpsN, m_tile.stages, m_tile.stageBytes(), how(m_a.load()),
        how(m_b.load()),
        m_plan.splits > 1 ? fmt::format("; k in {} parts, added in order by the block that is last",
                                        m_plan.splits)
                          : "");
}

KernelPart TensorEmitter::emit() {
    KernelPart part;
    part.comment = {comment()};
    part.helpers = {"vectors", "async"};
    if (m_view.blocked)
        part.helpers.push_back("nibbles");
    if (m_tile.matrix)
        part.helpers.push_back(m_tile.warpgroup ? "wgmma" : "mma");
    part.ownArch = m_tile.warpgroup;
    if (m_plan.splits > 1)
        part.helpers.push_back("tickets");
    part.functions = m_a.functions() + m_b.functions() +
                     (m_plan.zeros ? m_plan.zeros->function() : "") + m_epilogue.text();
    part.body = place() + m_a.setup() + m_b.setup() + m_a.fragmentSetup() + m_b.fragmentSetup() +
                pipeline() + results();
    part.blocks = m_plan.blocks() * m_plan.splits;
    part.threads = static_cast<uint32_t>(m_tile.threads());
    part.sharedBytes = static_cast<uint32_t>(std::max(
        m_tile.stages * m_tile.stageBytes() + (m_plan.zeros ? m_plan.zeros->onesBytes() : 0),
        m_tile.warpsM * m_tile.warpsN * m_tile.slabBytes()));
    part.residentBlocks = m_tile.residentBlocks;
    const auto stages = static_cast<double>(m_plan.blocks() * m_plan.tilesK());
    part.memory = m_a.memory(stages);
    if (!m_view.packed)
        part.memory += m_b.memory(stages);
    const bool alongM = m_epilogue.lanes().alongM;
    part.memory += m_epilogue.memory(alongM ? 16 : m_tile.warpN(), alongM ? m_tile.warpN() : 16);
    part.extra = packedParameters(m_view);
    if (m_plan.zeros)
        for (ExtraParameter& parameter : m_plan.zeros->parameters())
            part.extra.push_back(std::move(parameter));
    if (m_plan.splits > 1) {
        part.extra.push_back(
            {fmt::format("{}*", sumType()), "partial", {KernelArgument::Kind::Scratch, 0, 0}});
        part.extra.push_back({"unsigned*", "tickets", {KernelArgument::Kind::Tickets, 0, 0}});
    }
    part.numeric = std::max({m_tile.integer ? NumericClass::Exact : NumericClass::Reassociated,
                             m_a.numeric(), m_b.numeric(), m_epilogue.numeric()});
    return part;
}

} // namespace

int TensorPlan::kElements() const {
    return tile.integer ? tile.kBytes
                        : tile.kBytes / static_cast<int>(sizeOf(tensorElement(request, true)));
}

int64_t partialBytes(const TensorPlan& plan) {
    return plan.splits * plan.view.batchCount * plan.view.mCount * plan.view.nCount * 4;
}

KernelPart tensorPart(const TensorPlan& plan, const EpilogueText& epilogue) {
    return TensorEmitter(plan, epilogue).emit();
}

} // namespace fuselage::gpu
