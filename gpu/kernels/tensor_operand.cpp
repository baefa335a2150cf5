// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/tensor_operand.h"

#include "core/kernel/product_element.h"
#include "gpu/kernels/zero_shift.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu {

namespace {

std::vector<KernelOperand> operandsOf(const ContractionView& view, bool isA, bool integer) {
    std::vector<KernelOperand> out = {isA ? view.a : view.b};
    if (integer)
        return out;
    const auto& reads = isA ? view.readsA : view.readsB;
    out.insert(out.end(), reads.begin(), reads.end());
    return out;
}

/// One loop a dim, none merged or dropped, so that bounds find their dim by number.
LoopNest wholeNest(const Extents& axis, size_t first, const std::vector<KernelOperand>& operands) {
    std::vector<Loop> loops;
    for (size_t d = 0; d < axis.size(); ++d) {
        loops.push_back({axis[d], {}});
        for (const KernelOperand& operand : operands)
            loops.back().strides.push_back(operand.access.strides[first + d]);
    }
    return {std::move(loops), false};
}

LoopNest nestOf(const ContractionView& view, const Extents& axis, size_t first,
                const std::vector<KernelOperand>& operands, bool whole) {
    return whole ? wholeNest(axis, first, operands) : axisNest(view, axis, first, operands);
}

} // namespace

DType tensorElement(const KernelRequest& request, bool isA) {
    const KernelProgram& program = *request.program;
    return productElement(std::get<Contraction>(program.code), program.inputs, isA);
}

DType storedElement(const KernelRequest& request, bool isA) {
    const auto& code = std::get<Contraction>(request.program->code);
    return request.program->inputs[isA ? code.a.operand : code.b.operand].dtype;
}

TensorOperand::TensorOperand(const KernelRequest& request, const ContractionView& view,
                             const TensorTile& tile, bool isA)
    : m_request(request), m_view(view), m_tile(tile), m_isA(isA),
      m_operands(operandsOf(view, isA, tile.integer)),
      m_bounds(isA ? view.bounds : std::vector<TapBound>()),
      m_batch(axisNest(view, view.batch, 0, m_operands)),
      m_rows(nestOf(view, rowAxis(), rowFirst(), m_operands, !m_bounds.empty())),
      m_k(nestOf(view, view.k, view.resultDims(), m_operands, !m_bounds.empty())),
      m_element(tile.integer ? storedElement(request, isA) : tensorElement(request, isA)) {
    const auto& code = std::get<Contraction>(request.program->code);
    const auto& prologue = isA ? code.prologueA : code.prologueB;
    if (tile.integer)
        m_zero = zeroPointOf(prologue);
    else if (prologue)
        m_prologue = printTape(isA ? "@prologueA" : "@prologueB", prologue->tape,
                               {request.strict, false, {}, {}});
    if (!isA && view.blocked)
        m_blocked.emplace(*view.blocked, tile, view.b.pointer, m_element);
    chooseLoad();
}

/// Every chunk along the innermost loop of `along` is 16 aligned bytes within it.
bool TensorOperand::chunksAligned(const LoopNest& along) const {
    const KernelOperand& operand = m_operands[0];
    const auto size = static_cast<int64_t>(sizeOf(operand.dtype));
    const int64_t bytes = std::min<int64_t>(16, lanes() * size);
    if (along.innerStride(0) != 1 || along.innerExtent() % lanes() != 0 ||
        operand.alignment % bytes != 0 || operand.access.offset * size % bytes != 0)
        return false;
    for (const LoopNest* nest : {&m_batch, &m_rows, &m_k})
        for (const Loop& loop : nest->loops())
            if (&loop != &along.loops().back() && loop.strides[0] * size % bytes != 0)
                return false;
    return true;
}

void TensorOperand::chooseLoad() {
    m_load = m_blocked ? TileLoad::Blocked : TileLoad::Staged;
    if (m_blocked)
        return;
    if (!m_prologue.name.empty())
        return;
    if (chunksAligned(m_k))
        m_load = TileLoad::AlongK;
    else if (m_bounds.empty() && m_tile.matrix && !m_tile.warpgroup && size() == 2 &&
             chunksAligned(m_rows) && tileRows() * m_tile.kBytes / 16 >= m_tile.threads())
        m_load = TileLoad::AlongRows;
}

int TensorOperand::passes() const {
    return tileRows() * m_tile.kBytes / 16 / m_tile.threads();
}

/// The thread's rows: elements from the operand's start, whether there is such a row, and for each
/// bound the index of tap 0 (far outside for rows that are not there).
std::string TensorOperand::rowStarts() const {
    const int count = m_load == TileLoad::AlongRows ? 1 : passes();
    const bool whole = rowCount() % tileRows() == 0;
    std::string out, offsets, each;
    for (size_t k = 0; k < m_operands.size(); ++k) {
        out += fmt::format("    int {}{}[{}];\n", v("Start"), k, count);
        offsets += fmt::format("        {}{}[i] = {} + {} + {};\n", v("Start"), k,
                               m_operands[k].access.offset, m_batch.offset(k, "batch"),
                               m_rows.offset(k, "r"));
    }
    if (!whole && m_bounds.empty()) {
        out += fmt::format("    bool {}[{}];\n", v("Inside"), count);
        each += fmt::format("        {}[i] = r < {}u;\n", v("Inside"), rowCount());
    }
    for (size_t b = 0; b < m_bounds.size(); ++b) {
        const TapBound& bound = m_bounds[b];
        out += fmt::format("    int {}{}[{}];\n", v("Tap"), b, count);
        const std::string tap =
            fmt::format("static_cast<int>(r{}) * {} - {}", bound.mDim, bound.stride, bound.pad);
        each +=
            fmt::format("        {}{}[i] = {};\n", v("Tap"), b,
                        whole ? tap : fmt::format("r < {}u ? {} : -(1 << 29)", rowCount(), tap));
    }
    const std::string row =
        m_load == TileLoad::AlongRows
            ? fmt::format("{} * {}u", v("Chunk"), lanes())
            : fmt::format("{} + i * {}u", v("Row"), m_tile.threads() / chunks());
    out += fmt::format("#pragma unroll\n    for (int i = 0; i < {}; ++i) {{\n"
                       "        const unsigned r = {} * {}u + {};\n",
                       count, m_isA ? "tileM" : "tileN", tileRows(), row);
    return out + m_batch.split("batch", "batch", "        ") + m_rows.split("r", "r", "        ") +
           offsets + each + "    }\n";
}

std::string TensorOperand::setup() const {
    if (m_blocked)
        return m_blocked->setup();
    return (shifted() ? zeroText(m_view, *m_zero, m_isA, "    ") : "") +
           fmt::format("    const int {0} = threadIdx.x % {2}u, {1} = threadIdx.x / {2}u;\n",
                       v("Chunk"), v("Row"), chunks()) +
           rowStarts();
}

/// The condition that the element at this pass and k exists; `k` names the linear index.
std::string TensorOperand::insideTaps(const std::string& pass, const std::string& k) const {
    std::string out;
    auto also = [&](const std::string& condition) {
        out += (out.empty() ? "" : " && ") + condition;
    };
    if (rowCount() % tileRows() != 0 && m_bounds.empty())
        also(fmt::format("{}[{}]", v("Inside"), pass));
    if (m_view.kCount % kElements() != 0)
        also(fmt::format("{} < {}u", k, m_view.kCount));
    for (size_t b = 0; b < m_bounds.size(); ++b)
        also(fmt::format("static_cast<unsigned>({}{}[{}] + static_cast<int>(k{}) * {}) < {}u",
                         v("Tap"), b, pass, m_bounds[b].kDim, m_bounds[b].dilation,
                         m_bounds[b].extent));
    return out.empty() ? "true" : out;
}

std::string TensorOperand::moveAlongK() const {
    std::string out = "    {\n";
    const size_t last = m_k.loops().size() - 1;
    if (m_k.innerExtent() % kElements() == 0 && last > 0) { // the whole tile lies in one tap
        out += fmt::format("        const unsigned tap = kTile * {}u;\n", kElements()) +
               m_k.split("tap", "tap", "        ");
        for (size_t d = 0; d <= last; ++d)
            out += fmt::format("        const unsigned k{0} = tap{0}{1};\n", d,
                               d == last ? fmt::format(" + {} * {}u", v("Chunk"), lanes()) : "");
    } else {
        out += fmt::format("        const unsigned k = kTile * {}u + {} * {}u;\n", kElements(),
                           v("Chunk"), lanes()) +
               m_k.split("k", "k", "        ");
    }
    out += fmt::format("        const int offset = {};\n", m_k.offset(0, "k"));
    const std::string inside = insideTaps("i", "k");
    if (m_isA && shifted() && inside != "true") // what is not there stands for zero
        return out +
               fmt::format("#pragma unroll\n        for (int i = 0; i < {0}; ++i) {{\n"
                           "            unsigned char* const at = stage + tileByte<{1}>({2} "
                           "+ i * {3}, {4});\n"
                           "            if ({7})\n"
                           "                copyAsync16(at, {5} + ({6}0[i] + offset), true);\n"
                           "            else\n"
                           "                fillShared16(at, {8});\n        }}\n    }}\n",
                           passes(), chunks(), v("Row"), m_tile.threads() / chunks(), v("Chunk"),
                           m_operands[0].pointer, v("Start"), inside, v("Zero"));
    out += fmt::format("#pragma unroll\n        for (int i = 0; i < {0}; ++i)\n"
                       "            copyAsync16(stage + tileByte<{1}>({2} + i * {3}, {4}),\n"
                       "                        {5} + ({6}0[i] + offset), {7});\n    }}\n",
                       passes(), chunks(), v("Row"), m_tile.threads() / chunks(), v("Chunk"),
                       m_operands[0].pointer, v("Start"), inside);
    return out;
}

std::string TensorOperand::moveAlongRows() const {
    const int step = m_tile.threads() / chunks();
    return fmt::format("#pragma unroll\n    for (int i = 0; i < {}; ++i) {{\n"
                       "        const unsigned k = kTile * {}u + {} + i * {}u;\n",
                       kElements() / step, kElements(), v("Row"), step) +
           m_k.split("k", "k", "        ") +
           fmt::format("        copyAsync16(stage + tileByte<{0}>({1} + i * {2}, {3}),\n"
                       "                    {4} + ({5}0[0] + {6}), {7});\n    }}\n",
                       chunks(), v("Row"), step, v("Chunk"), m_operands[0].pointer, v("Start"),
                       m_k.offset(0, "k"), insideTaps("0", "k"));
}

/// Statements that fill x[] of pass i, zero where nothing is.
std::string TensorOperand::stagedElements() const {
    const bool vector = chunksAligned(m_k) && m_bounds.empty();
    const std::string indent = "            ";
    std::string out;
    if (vector) // one load, whose elements exist or miss together
        out += fmt::format("        const unsigned first = kTile * {}u + {} * {}u;\n", kElements(),
                           v("Chunk"), lanes()) +
               fmt::format("        {} raw[{}] = {{}};\n        {{\n",
                           registerType(m_operands[0].dtype), lanes()) +
               m_k.split("first", "k", indent) +
               fmt::format("{}if ({})\n{}    loadLanes<{}>({} + ({}0[i] + {}), raw);\n        }}\n",
                           indent, insideTaps("i", "first"), indent, lanes(), m_operands[0].pointer,
                           v("Start"), m_k.offset(0, "k"));
    out += fmt::format("#pragma unroll\n        for (int e = 0; e < {}; ++e) {{\n", lanes());
    out += fmt::format("{}const unsigned k = kTile * {}u + {} * {}u + e;\n", indent, kElements(),
                       v("Chunk"), lanes());
    out += m_k.split("k", "k", indent);
    out += fmt::format("{}x[e] = {};\n{}if ({}) {{\n", indent, m_isA && shifted() ? v("Zero") : "0",
                       indent, insideTaps("i", "k"));
    std::vector<std::string> inputs;
    for (size_t k = 0; k < m_operands.size(); ++k)
        inputs.push_back(fmt::format("load({} + ({}{}[i] + {}))", m_operands[k].pointer, v("Start"),
                                     k, m_k.offset(k, "k")));
    if (vector)
        inputs[0] = "raw[e]";
    out += m_prologue.name.empty()
               ? fmt::format("{}    x[e] = {};\n", indent, inputs[0])
               : fmt::format("{}    {};\n", indent, m_prologue.call(inputs, {"x[e]"}));
    return out + indent + "}\n        }\n";
}

std::string TensorOperand::moveStaged() const {
    return fmt::format("#pragma unroll\n    for (int i = 0; i < {}; ++i) {{\n"
                       "        {} x[{}];\n",
                       passes(), registerType(m_element), lanes()) +
           stagedElements() +
           fmt::format("        unsigned words[4];\n"
                       "        packLanes<{0}>(x, words, static_cast<const {1}*>(nullptr));\n"
                       "        storeShared16(stage + tileByte<{2}>({3} + i * {4}, {5}), words);\n"
                       "    }}\n",
                       lanes(), storageType(m_element), chunks(), v("Row"),
                       m_tile.threads() / chunks(), v("Chunk"));
}

std::string TensorOperand::fetch() const {
    return m_blocked ? m_blocked->fetch() : std::string();
}

std::string TensorOperand::move() const {
    switch (m_load) {
    case TileLoad::Blocked:
        return m_blocked->expand();
    case TileLoad::AlongK:
        return moveAlongK();
    case TileLoad::AlongRows:
        return moveAlongRows();
    default:
        return moveStaged();
    }
}

std::string TensorOperand::fragmentSetup() const {
    if (m_tile.warpgroup) // it reads the stages itself
        return {};
    if (!m_tile.matrix && !m_isA) // the lane's first row
        return fmt::format("    const int bFirst = warpN * {} + lane % 4;\n", warpRows());
    if (!m_tile.matrix) // and what the chunks of all its rows are swizzled with
        return fmt::format("    const int aFirst = warpM * {} + lane / 4;\n"
                           "    const int aSwizzle = swizzleOf<{}>(aFirst);\n",
                           warpRows(), chunks());
    const bool along = m_load == TileLoad::AlongRows;
    const int steps = m_tile.kBytes / 32, pairs = warpRows() / 16;
    const std::string first = fmt::format("{} * {}", m_isA ? "warpM" : "warpN", warpRows());
    // Row and chunk that the lane gives to ldmatrix; for B two columns of 8 are read at once.
    std::string row, chunk;
    if (along) {
        row = m_isA ? "lane % 8 + lane / 16 * 8" : "lane % 16";
        chunk = fmt::format("({}) / 8 + {} + i * 2", first, m_isA ? "lane / 8 % 2" : "lane / 16");
    } else {
        row = first + (m_isA ? " + lane % 16" : " + lane % 8 + lane / 16 * 8");
        chunk = m_isA ? "i * 2 + lane / 16" : "i * 2 + lane / 8 % 2";
    }
    return fmt::format("    int {}[{}];\n#pragma unroll\n    for (int i = 0; i < {}; ++i)\n"
                       "        {}[i] = tileByte<{}>({}, {});\n",
                       v("At"), along ? pairs : steps, along ? pairs : steps, v("At"), chunks(),
                       row, chunk);
}

std::string TensorOperand::fragments() const {
    if (!m_tile.matrix && !m_isA) // one row at a time
        return fmt::format("            loadShared16(stageB + ((bFirst + j * 4) * {0} + (step ^ "
                           "swizzleOf<{0}>(bFirst + j * 4))) * 16, b);\n",
                           chunks());
    if (!m_tile.matrix)
        return fmt::format("#pragma unroll\n        for (int i = 0; i < {0}; ++i)\n"
                           "            loadShared16(stageA + ((aFirst + i * 8) * {1} + (step ^ "
                           "aSwizzle)) * 16, a[i]);\n",
                           warpRows() / 8, chunks());
    const bool along = m_load == TileLoad::AlongRows;
    const int block = 16 * chunks() * 16; // bytes of 16 rows of the tile
    const std::string at = along ? fmt::format("{}[i] + step * {}", v("At"), block)
                                 : fmt::format("{}[step] + i * {}", v("At"), block);
    const char* load = along ? "loadFragmentsTransposed" : "loadFragments";
    const int pairs = warpRows() / 16;
    std::string out =
        fmt::format("#pragma unroll\n        for (int i = 0; i < {}; ++i) {{\n", pairs);
    if (m_isA)
        return out + fmt::format("            {}(a[i], stageA + ({}));\n        }}\n", load, at);
    // Transposed matrices come as (k, n), (k + 8, n), the others as (n, k), (n, k + 8): either way
    // words 0 and 1 are the two halves of k of one column of 8.
    return out + fmt::format("            unsigned f[4];\n            {}(f, stageB + ({}));\n"
                             "            b[2 * i][0] = f[0];\n            b[2 * i][1] = f[1];\n"
                             "            b[2 * i + 1][0] = f[2];\n"
                             "            b[2 * i + 1][1] = f[3];\n        }}\n",
                             load, at);
}

} // namespace fuselage::gpu
