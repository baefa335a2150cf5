// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/chain_rows.h"

#include "gpu/kernels/parts.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu {

namespace {

constexpr double assumedMultiprocessors = 132;

double unitsOf(const ChainSpec& spec) {
    const DeviceProfile* profile = spec.request().profile;
    return profile ? profile->units : assumedMultiprocessors;
}

} // namespace

int64_t ChainRows::tiles() const {
    return divideUp(m_spec.rows(), tileRows());
}

int64_t ChainRows::rowBytes() const {
    return roundUp(tileRows() * pitch(), 1024);
}

bool ChainRows::fewerTilesThanUnits() const {
    return static_cast<double>(tiles()) < unitsOf(m_spec);
}

int64_t ChainRows::stagesOf(int64_t columns, int64_t bytes, int64_t most) const {
    const int64_t all = m_spec.hidden() / columns;
    const int64_t fit = std::max<int64_t>(0, sharedOf(m_spec.request()) - rowBytes()) / bytes;
    return fit >= all ? all : fit >= 2 ? std::min(fit, most) : 0;
}

std::optional<Reason> ChainRows::refused(const ChainRing& ring) const {
    if (held() > mostHeld)
        return refusal("support", fmt::format("rows of {} terms and {} results do not stay in "
                                              "registers",
                                              m_spec.terms(), m_spec.results()));
    if (ring.stages == 0)
        return refusal("smem", "rows and two slices of the weights do not fit in shared memory");
    return std::nullopt;
}

std::string ChainRows::functions() const {
    return fmt::format(
        "/// The rows of a warp from `first` on, zeros behind the last one.\n"
        "__device__ __forceinline__ void @rows(unsigned char* to, unsigned first, int own, {0}) "
        "{{\n"
        "#pragma unroll 2\n    for (int i = own; i < {1}; i += 32) {{\n"
        "        const unsigned row = static_cast<unsigned>(i) / {2}u, unit = "
        "static_cast<unsigned>(i) % {2}u;\n"
        "        const unsigned m = first + row;\n{3}"
        "        copyAsync16(to + row * {4}u + unit * 16u, {5} + unit * 8u, m < {6}u);\n"
        "    }}\n}}\n\n",
        parameterList(m_spec.request(), {}, true), warpRows() * m_spec.terms() / 8,
        m_spec.terms() / 8, m_spec.splitRow("m", "        "), pitch(), m_spec.rowAddress(),
        m_spec.rows());
}

/// The first copies, and what a thread is.
std::string ChainRows::begin(const ChainRing& ring) const {
    const bool stays = ring.stages * ring.columns == m_spec.hidden();
    std::string out = fmt::format(
        "    extern __shared__ __align__({3}) unsigned char sharedMemory[];\n"
        "    const {0}* const type = static_cast<const {0}*>(0);\n" // lanes go one way:
        "    const int warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x / 32u), 0);\n"
        "    const int own = static_cast<int>(threadIdx.x % 32u), g = own / 4, t = own % 4;\n"
        "    unsigned char* const rows = sharedMemory + warp * {1};\n"
        "    unsigned char* const weights = sharedMemory + {2};\n",
        storageType(m_spec.element()), warpRows() * pitch(), rowBytes(), ring.alignment);
    out += fmt::format("    @rows(rows, block * {}u + warp * {}u, own, {});\n", tileRows(),
                       warpRows(), parameterList(m_spec.request(), {}, false));
    out += fmt::format("#pragma unroll 1\n    for (int s = 0; s < {}; ++s) {{\n{}"
                       "        commitCopies();\n    }}\n",
                       stays ? ring.stages : ring.stages - 1, ring.fetch("s", "s"));
    // The rows came with the first slice.
    return out +
           (stays ? fmt::format("    waitCopies<{}>();\n", ring.stages - 1)
                  : fmt::format("    waitCopies<{}>();\n    __syncthreads();\n", ring.stages - 2));
}

std::string ChainRows::fragments() const {
    return fmt::format(
        "        unsigned a[{0}][{1}][4];\n#pragma unroll\n"
        "        for (int i = 0; i < {0}; ++i)\n#pragma unroll\n"
        "            for (int k = 0; k < {1}; ++k)\n"
        "                loadFragments(a[i][k], rows + (i * 16 + own % 16) * {2} + k * 32 + "
        "own / 16 * 16);\n",
        m_pieces, m_spec.terms() / 16, pitch());
}

std::string ChainRows::openSums() const {
    return fmt::format(
        "        float sum[{0}][{1}][4];\n#pragma unroll\n"
        "        for (int i = 0; i < {0}; ++i)\n#pragma unroll\n"
        "            for (int j = 0; j < {1}; ++j)\n"
        "                sum[i][j][0] = sum[i][j][1] = sum[i][j][2] = sum[i][j][3] = 0.0f;\n",
        m_pieces, m_spec.results() / 8);
}

/// Waits for slice `s` of those that stay, each a group of copies; `behind` them are as many more.
std::string ChainRows::arrival(const ChainRing& ring, int64_t behind) const {
    std::string out = "__device__ __forceinline__ void @arrived(int s) {\n";
    for (int64_t s = 0; s < ring.stages; ++s)
        out += fmt::format("    {}waitCopies<{}>();\n",
                           ring.stages == 1       ? std::string()
                           : s + 1 == ring.stages ? "else\n        "
                           : s == 0               ? "if (s == 0)\n        "
                                                  : fmt::format("else if (s == {})\n        ", s),
                           ring.stages - 1 - s + behind);
    return out + "}\n\n";
}

/// All slices for the rows of a tile. Where slices stay, the next tile's rows take the place of
/// those that are in registers now.
std::string ChainRows::tile(const ChainRing& ring, int64_t blocks) const {
    const int64_t slices = m_spec.hidden() / ring.columns, ahead = ring.stages - 1;
    const bool stays = ring.stages == slices;
    std::string out = stays ? "        if (tile != block)\n            waitCopies<0>();\n"
                              "        __syncwarp();\n"
                            : "";
    out += fragments();
    if (stays && blocks < tiles())
        out += fmt::format("        __syncwarp();\n        if (tile + {0}u < {1}u)\n"
                           "            @rows(rows, first + {2}u, own, {3});\n"
                           "        commitCopies();\n",
                           blocks, tiles(), blocks * tileRows(),
                           parameterList(m_spec.request(), {}, false));
    out += m_spec.makeRows(m_pieces) + openSums();
    out += fmt::format("#pragma unroll 1\n        for (int s = 0; s < {}; ++s) {{\n", slices);
    const char* const fence = ring.forGroups ? "            fenceForProducts();\n" : "";
    if (stays)
        out += fmt::format("            if (tile == block) {{\n            @arrived(s);\n"
                           "{}            __syncthreads();\n            }}\n",
                           fence);
    else
        out += fmt::format("            waitCopies<{0}>();\n{1}            __syncthreads();\n"
                           "            if (s + {2} < {3}) {{\n{4}            }}\n"
                           "            commitCopies();\n",
                           ring.stages - 2, fence, ahead, slices,
                           ring.fetch(fmt::format("(s + {})", ahead),
                                      fmt::format("((s + {}) % {})", ahead, ring.stages)));
    return out +
           fmt::format("            const unsigned char* const stage = weights + {} * {};\n",
                       stays ? "s" : fmt::format("(s % {})", ring.stages), ring.bytes) +
           ring.slice + "        }\n";
}

/// Results that lie side by side in memory come into one lane, four groups of 8 at a time.
std::string ChainRows::results() const {
    const int64_t groups = m_spec.results() / 8;
    std::string out =
        fmt::format("#pragma unroll\n        for (int i = 0; i < {}; ++i)\n"
                    "#pragma unroll\n            for (int h = 0; h < 2; ++h) {{\n"
                    "                const unsigned m = first + i * 16 + g + h * 8;\n",
                    m_pieces);
    const std::string inside =
        m_spec.rows() % tileRows() == 0
            ? std::string()
            : fmt::format("if (m < {}u)\n                        ", m_spec.rows());
    if (m_spec.endsByEights())
        return out + fmt::format(
                         "#pragma unroll\n                for (int j = 0; j < {}; j += 4) {{\n"
                         "                    unsigned low[4], high[4];\n"
                         "                    float x[8];\n#pragma unroll\n"
                         "                    for (int q = 0; q < 4; ++q) {{\n"
                         "                        low[q] = bitsOf(sum[i][j + q][2 * h]);\n"
                         "                        high[q] = bitsOf(sum[i][j + q][2 * h + 1]);\n"
                         "                    }}\n"
                         "                    exchangeQuad(low);\n"
                         "                    exchangeQuad(high);\n#pragma unroll\n"
                         "                    for (int q = 0; q < 4; ++q) {{\n"
                         "                        x[2 * q] = floatOf(low[q]);\n"
                         "                        x[2 * q + 1] = floatOf(high[q]);\n"
                         "                    }}\n                    {}{};\n"
                         "                }}\n            }}\n",
                         groups, inside, m_spec.end("x", "m", "static_cast<unsigned>(j + t) * 8u"));
    return out + fmt::format("#pragma unroll\n                for (int j = 0; j < {}; ++j)\n"
                             "#pragma unroll\n                    for (int v = 0; v < 2; v += {}) "
                             "{{\n                    {}{};\n"
                             "                }}\n            }}\n",
                             groups, m_spec.endWidth(), inside,
                             m_spec.end("&sum[i][j][2 * h + v]", "m", "j * 8u + 2u * t + v"));
}

KernelPart ChainRows::part(const ChainRing& ring) const {
    KernelPart out = m_spec.part();
    const int64_t slices = m_spec.hidden() / ring.columns;
    const auto units = std::max<int64_t>(1, static_cast<int64_t>(unitsOf(m_spec)));
    out.threads = static_cast<uint32_t>(m_warps * 32);
    out.residentBlocks = 1;
    out.sharedBytes = static_cast<uint32_t>(rowBytes() + ring.stages * ring.bytes);
    out.blocks = ring.stages == slices ? std::min(tiles(), units) : tiles();
    out.comment = {fmt::format(
        "{} rows of {} terms, {} hidden columns, {} results: {} rows a warp, {} hidden columns a "
        "slice, {} of {} slices in shared memory; hidden elements are rounded to {}",
        m_spec.rows(), m_spec.terms(), m_spec.hidden(), m_spec.results(), warpRows(), ring.columns,
        ring.stages, slices, nameOf(m_spec.element()))};
    out.functions += functions();
    if (ring.stages == slices)
        out.functions += arrival(ring, out.blocks < tiles() ? 1 : 0);
    out.body = begin(ring) +
               fmt::format("#pragma unroll 1\n    for (unsigned tile = block; tile < {}u; tile += "
                           "{}u) {{\n"
                           "        const unsigned first = tile * {}u + warp * {}u;\n",
                           tiles(), out.blocks, tileRows(), warpRows()) +
               tile(ring, out.blocks) + results() + "    }\n";
    return out;
}

std::optional<Reason> refuseChain(const ChainSpec& spec) {
    if (spec.terms() % 16 != 0 || spec.hidden() % 16 != 0 || spec.results() % 16 != 0)
        return refusal("layout", "terms, hidden columns or results are no multiple of 16");
    return std::nullopt;
}

} // namespace fuselage::gpu
