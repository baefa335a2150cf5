// SPDX-License-Identifier: Apache-2.0
// Two layers by products of sm_90's warpgroups: one owns 64 rows, in registers as fragments. 64
// hidden columns are one product each 16 terms, ended and packed as rows of the second product;
// both weights lie as they are read along their columns, in rows of 128 bytes (the matrix
// descriptor of rows along k). While one warpgroup ends hidden columns the others multiply; three
// of them share a block where the registers of a multiprocessor suffice, else two.
#include "gpu/kernels/chain_rows.h"
#include "gpu/kernels/parts.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu {

namespace {

constexpr int64_t columns = 64, rowBytes = 128, mostStages = 4;
/// Registers of a thread for rows and sums of three warpgroups, of fewer ChainRows::mostHeld.
constexpr int64_t mostHeldOfThree = 76;

class WgmmaEmitter {
public:
    explicit WgmmaEmitter(const ChainSpec& spec);

    std::optional<Reason> refused() const;
    KernelPart emit() const;

private:
    int64_t firstBytes() const { return m_spec.terms() * rowBytes; }
    int64_t panels() const { return divideUp(m_spec.results(), columns); }
    std::string functions() const;
    std::string fetch(const std::string& slice, const std::string& stage) const;
    std::string products() const;

    const ChainSpec& m_spec;
    ChainRows m_rows;
    ChainRing m_ring;
};

ChainRows rowsFor(const ChainSpec& spec) {
    for (const int64_t groups : {3, 2}) {
        const ChainRows out(spec, 1, 4 * groups);
        if (out.held() <= (groups == 3 ? mostHeldOfThree : ChainRows::mostHeld) &&
            !out.fewerTilesThanUnits())
            return out;
    }
    return ChainRows(spec, 1, 4);
}

WgmmaEmitter::WgmmaEmitter(const ChainSpec& spec) : m_spec(spec), m_rows(rowsFor(spec)) {
    m_ring.columns = columns;
    m_ring.bytes = firstBytes() + panels() * columns * rowBytes;
    m_ring.stages =
        spec.hidden() % columns == 0 ? m_rows.stagesOf(columns, m_ring.bytes, mostStages) : 0;
    m_ring.forGroups = true;
    m_ring.alignment = 1024;
}

std::optional<Reason> WgmmaEmitter::refused() const {
    if (m_spec.hidden() % columns != 0)
        return refusal("layout", "hidden columns are no multiple of 64");
    const auto& chain = std::get<Chain>(m_spec.request().program->code);
    if (rowsOf(chain) != nullptr && m_rows.held() + m_spec.terms() / 4 > ChainRows::mostHeld)
        return refusal("support", "a row on its way leaves no registers for products");
    return m_rows.refused(m_ring);
}

/// Up to 64 columns of some rows to rows of 128 bytes, whose 16-byte units lie as products want
/// them. A thread has one unit of rows that are a multiple of 8 apart, so that only literals tell
/// its copies apart.
std::string WgmmaEmitter::functions() const {
    return fmt::format(
        "template <int rows, int units, int stride>\n"
        "__device__ __forceinline__ void @panel(unsigned char* to, const {0}* from) {{\n"
        "    constexpr int step = {1};\n"
        "    const int row = static_cast<int>(threadIdx.x) / 8;\n"
        "    const int unit = static_cast<int>(threadIdx.x) % 8;\n"
        "    unsigned char* const at = to + tileByte<8>(row, unit);\n"
        "    const {0}* const first = from + row * stride + unit * 8;\n"
        "#pragma unroll\n    for (int i = 0; i < rows; i += step)\n"
        "        if ((units == 8 || unit < units) && (rows % step == 0 || row + i < rows))\n"
        "            copyAsync16(at + i * {2}, first + i * stride, true);\n}}\n\n",
        storageType(m_spec.element()), m_rows.warps() * 32 / 8, rowBytes);
}

std::string WgmmaEmitter::fetch(const std::string& slice, const std::string& stage) const {
    std::string out =
        fmt::format("        @panel<{}, 8, {}>(weights + {} * {}, packed0 + {} * {});\n",
                    m_spec.terms(), m_spec.hidden(), stage, m_ring.bytes, slice, columns);
    for (int64_t first = 0; first < m_spec.results(); first += columns)
        out += fmt::format("        @panel<{0}, {1}, {2}>(weights + {3} * {4} + {5}, packed1 + {6} "
                           "* {7} + {8});\n",
                           columns, std::min(columns, m_spec.results() - first) / 8,
                           m_spec.results(), stage, m_ring.bytes, firstBytes() + first * rowBytes,
                           slice, columns * m_spec.results(), first);
    return out;
}

std::string WgmmaEmitter::products() const {
    const char* type = storageType(m_spec.element());
    std::string out = fmt::format(
        "            float part[8][4];\n"
        "            const unsigned long long rows1 = rowsOf128Bytes(stage);\n"
        "            const unsigned long long rows2 = rowsOf128Bytes(stage + {0});\n"
        "            openProducts();\n"
        "            multiplyWeighted<64, 0, {2}, false>(part, a[0][0], rows1);\n#pragma unroll\n"
        "            for (int k = 1; k < {1}; ++k)\n"
        "                multiplyWeighted<64, 0, {2}>(part, a[0][k], rows1 + k * 128);\n"
        "            commitProducts();\n            waitProducts<0>();\n"
        "            unsigned hidden[4][4];\n#pragma unroll\n"
        "            for (int k = 0; k < 4; ++k) {{\n#pragma unroll\n"
        "                for (int j = 2 * k; j < 2 * k + 2; ++j)\n#pragma unroll\n"
        "                    for (int c = 0; c < 4; ++c)\n"
        "                        part[j][c] = {3};\n"
        "                packWeights(hidden[k], part[2 * k], part[2 * k + 1], type);\n"
        "            }}\n            openProducts();\n#pragma unroll\n"
        "            for (int k = 0; k < 4; ++k) {{\n",
        firstBytes(), m_spec.terms() / 16, type,
        m_spec.activate("&part[j][c]", m_spec.hiddenRow("first + g + c / 2 * 8"),
                        fmt::format("s * {}u + j * 8u + 2u * t + c % 2", columns)));
    for (int64_t first = 0; first < m_spec.results(); first += columns)
        out += fmt::format(
            "                multiplyWeighted<{}, {}, {}>(sum[0], hidden[k], rows2 + {} + k * "
            "128);\n",
            std::min(columns, m_spec.results() - first), first / 8, type, first * rowBytes / 16);
    return out + "            }\n            commitProducts();\n            waitProducts<0>();\n";
}

KernelPart WgmmaEmitter::emit() const {
    ChainRing ring = m_ring;
    ring.fetch = [this](const std::string& slice, const std::string& stage) {
        return fetch(slice, stage);
    };
    ring.slice = products();
    KernelPart part = m_rows.part(ring);
    part.functions += functions();
    part.helpers.emplace_back("wgmma");
    part.ownArch = true;
    return part;
}

} // namespace

EmitResult emitChainWgmma(const KernelRequest& request) {
    const char* name = "chain_wgmma";
    if (request.capability != 90)
        return finish(name, request,
                      PartResult(refusal("support", "products of warpgroups are those of sm_90")));
    auto made = ChainSpec::make(request, FirstWeight::ByTerms);
    if (auto* reason = std::get_if<Reason>(&made))
        return finish(name, request, PartResult(*reason));
    const ChainSpec& spec = *std::get<0>(made);
    if (auto reason = refuseChain(spec))
        return finish(name, request, PartResult(*reason));
    const WgmmaEmitter emitter(spec);
    if (auto reason = emitter.refused())
        return finish(name, request, PartResult(*reason));
    return finishInOrder(name, request, {emitter.emit()}, spec.needs());
}

} // namespace fuselage::gpu
