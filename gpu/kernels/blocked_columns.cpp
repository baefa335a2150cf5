// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/blocked_columns.h"

#include "core/graph/type.h"
#include "gpu/emit/emit_tape.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace fuselage::gpu {

namespace {

/// Whole zero points and float16 weights: arithmetic on pairs gives the same as on floats, since
/// differences are exact and a product is rounded once.
bool inHalves(const BlockedStorage& storage, DType element) {
    return element == DType::Float16 && storage.scaleType == DType::Float16 &&
           (storage.zeros.empty() || !isFloat(storage.zeroType));
}

/// As an integer, or as a float where it may be none or `asFloat` wants it.
std::string zeroPoint(const BlockedStorage& storage, bool asFloat, const std::string& zero,
                      const std::string& k) {
    const BlockedWeights& geometry = storage.geometry;
    if (storage.zeros.empty())
        return std::to_string(geometry.middle()) + (asFloat ? ".0f" : "u");
    if (isFloat(storage.zeroType))
        return fmt::format("static_cast<float>(load(&{}))", zero);
    const std::string stored =
        geometry.bits == 8
            ? fmt::format("static_cast<unsigned>({})", zero)
            : fmt::format("(static_cast<unsigned>({}) >> ({} / {}u % 2u * 4u) & 15u)", zero, k,
                          geometry.block);
    return asFloat ? fmt::format("static_cast<float>({})", stored) : stored;
}

} // namespace

std::string blockedElements(const BlockedStorage& storage, DType element, const std::string& words,
                            const std::string& scale, const std::string& zero,
                            const std::string& k) {
    const bool nibbles = storage.geometry.bits == 4;
    const std::string indent = "                ";
    if (inHalves(storage, element))
        return fmt::format("{0}unsigned to[4];\n{0}{1}({2}, {3}.bits * 0x00010001u, {4}({5}), "
                           "to);\n",
                           indent, nibbles ? "nibblesToHalves" : "bytesToHalves", words, scale,
                           nibbles ? "nibbleZeros" : "byteZeros",
                           zeroPoint(storage, false, zero, k));
    return fmt::format("{0}unsigned to[4];\n{0}float x[8];\n{0}{1}({2}, x);\n"
                       "#pragma unroll\n{0}for (int e = 0; e < 8; ++e)\n"
                       "{0}    x[e] = (x[e] - {3}) * static_cast<float>(load(&{4}));\n"
                       "{0}packLanes<8>(x, to, static_cast<const {5}*>(nullptr));\n",
                       indent, nibbles ? "nibblesToFloat" : "bytesToFloat", words,
                       zeroPoint(storage, true, zero, k), scale, storageType(element));
}

std::string scaleIndex(const BlockedStorage& storage) {
    return fmt::format("n * {}u + k / {}u", storage.geometry.blocks, storage.geometry.block);
}

std::string zeroIndex(const BlockedStorage& storage) {
    if (isFloat(storage.zeroType))
        return scaleIndex(storage);
    return fmt::format("n * {}u + k / {}u", storage.geometry.zeroBytes,
                       storage.geometry.block * (8 / storage.geometry.bits));
}

BlockedColumns::BlockedColumns(const BlockedStorage& storage, const TensorTile& tile,
                               std::string pointer, DType element)
    : m_storage(storage), m_geometry(storage.geometry), m_tile(tile), m_pointer(std::move(pointer)),
      m_element(element) {}

/// A power of two, as all sizes here are: at most 16 bytes as they are stored, and one block.
int BlockedColumns::run() const {
    const int ofThread = m_tile.n * chunks() / m_tile.threads();
    return static_cast<int>(
        std::min<int64_t>({ofThread, chunks(), m_geometry.block / 8, 16 / m_geometry.bits}));
}

std::string BlockedColumns::firstOfRun() const {
    return fmt::format("kTile * {}u + bRun * {}u", m_tile.kBytes / 2, run() * 8);
}

std::string BlockedColumns::setup() const {
    std::string out =
        fmt::format("    const int bRun = threadIdx.x % {0}u, bRow = threadIdx.x / {0}u;\n"
                    "    unsigned bWords[{1}][{2}];\n    {3} bScale[{1}];\n",
                    lanes(), passes(), runBytes() / 4, storageType(m_storage.scaleType));
    if (!m_storage.zeros.empty())
        out += fmt::format("    {} bZero[{}];\n", storageType(m_storage.zeroType), passes());
    return out;
}

std::string BlockedColumns::fetch() const {
    std::string inside;
    if (m_geometry.n % m_tile.n != 0)
        inside = fmt::format("n < {}u", m_geometry.n);
    if (m_geometry.k % (m_tile.kBytes / 2) != 0)
        inside += fmt::format("{}k < {}u", inside.empty() ? "" : " && ", m_geometry.k);
    std::string out = fmt::format("    {{\n        const unsigned k = {};\n"
                                  "#pragma unroll\n        for (int i = 0; i < {}; ++i) {{\n"
                                  "            const unsigned n = tileN * {}u + bRow + i * {}u;\n",
                                  firstOfRun(), passes(), m_tile.n, step());
    if (!inside.empty()) {
        out += fmt::format("#pragma unroll\n            for (int w = 0; w < {}; ++w)\n"
                           "                bWords[i][w] = 0;\n            bScale[i] = {{}};\n",
                           runBytes() / 4);
        if (!m_storage.zeros.empty())
            out += "            bZero[i] = {};\n";
        out += fmt::format("            if (!({}))\n                continue;\n", inside);
    }
    out +=
        fmt::format("            fetchWords<{}>({} + (n * {}u + {}), bWords[i]);\n"
                    "            bScale[i] = {}[{}];\n",
                    runBytes(), m_pointer, m_geometry.blocks * m_geometry.blobBytes,
                    m_geometry.bits == 4 ? "k / 2u" : "k", m_storage.scales, scaleIndex(m_storage));
    if (!m_storage.zeros.empty())
        out +=
            fmt::format("            bZero[i] = {}[{}];\n", m_storage.zeros, zeroIndex(m_storage));
    return out + "        }\n    }\n";
}

std::string BlockedColumns::expand() const {
    return fmt::format("    {{\n        const unsigned k = {};\n        (void)k;\n"
                       "#pragma unroll\n        for (int i = 0; i < {}; ++i) {{\n"
                       "#pragma unroll\n            for (int c = 0; c < {}; ++c) {{\n",
                       firstOfRun(), passes(), run()) +
           blockedElements(m_storage, m_element,
                           m_geometry.bits == 4 ? "bWords[i][c]" : "bWords[i] + c * 2", "bScale[i]",
                           "bZero[i]", "k") +
           fmt::format("                storeShared16(stage + tileByte<{}>(bRow + i * {}, "
                       "bRun * {} + c), to);\n            }}\n        }}\n    }}\n",
                       chunks(), step(), run());
}

} // namespace fuselage::gpu
