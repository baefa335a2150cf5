// SPDX-License-Identifier: Apache-2.0
// Two layers on tensor cores: 16 hidden columns at a time are multiplied, ended and packed as the
// rows of 16 steps along k of the second product. A warp owns 32 rows, so that a fragment of a
// weight is read for two products, or 16 where rows and sums of 32 do not stay in registers.
#include "gpu/kernels/chain_rows.h"
#include "gpu/kernels/parts.h"

#include <fmt/format.h>

namespace fuselage::gpu {

namespace {

constexpr int64_t mostWarps = 8, fewestWarps = 4, mostStages = 4;

class TensorEmitter {
public:
    explicit TensorEmitter(const ChainSpec& spec);

    std::optional<Reason> refused() const;
    KernelPart emit() const;

private:
    static int64_t pitch(int64_t columns) { return 2 * columns + 16; } ///< bytes; no bank twice
    int64_t sliceBytes(int64_t columns) const {
        return columns * (pitch(m_spec.terms()) + pitch(m_spec.results()));
    }
    std::string functions() const;
    std::string fetch(const std::string& slice, const std::string& stage) const;
    std::string products() const;

    const ChainSpec& m_spec;
    ChainRows m_rows;
    ChainRing m_ring; ///< without stages: not two slices fit
};

/// Large tiles read each fragment of a weight for more rows; few rows want more blocks.
ChainRows rowsFor(const ChainSpec& spec) {
    for (const int64_t pieces : {2, 1}) {
        const ChainRows out(spec, pieces, mostWarps);
        if (out.held() <= ChainRows::mostHeld && !out.fewerTilesThanUnits())
            return out;
    }
    return ChainRows(spec, 1, fewestWarps);
}

TensorEmitter::TensorEmitter(const ChainSpec& spec) : m_spec(spec), m_rows(rowsFor(spec)) {
    for (const int64_t columns : {64, 32, 16}) {
        if (spec.hidden() % columns != 0 || m_ring.stages > 0)
            continue;
        m_ring.columns = columns;
        m_ring.bytes = sliceBytes(columns);
        m_ring.stages = m_rows.stagesOf(columns, m_ring.bytes, mostStages);
    }
}

std::optional<Reason> TensorEmitter::refused() const {
    return m_rows.refused(m_ring);
}

/// Rows of consecutive elements to rows that are `pitch` bytes apart. A thread has the same units
/// of each of its rows, so that only literals tell its copies apart.
std::string TensorEmitter::functions() const {
    return fmt::format(
        "template <int rows, int columns, int pitch>\n"
        "__device__ __forceinline__ void @stage(unsigned char* to, const {0}* from) {{\n"
        "    constexpr int units = columns / 8;\n"
        "    constexpr int lanes = units % 8 == 0 ? 8 : units % 4 == 0 ? 4 : 2;\n"
        "    constexpr int step = {1} / lanes;\n"
        "    const int row = static_cast<int>(threadIdx.x) / lanes;\n"
        "    const int unit = static_cast<int>(threadIdx.x) % lanes;\n"
        "    unsigned char* const at = to + row * pitch + unit * 16;\n"
        "    const {0}* const first = from + row * columns + unit * 8;\n"
        "#pragma unroll\n    for (int i = 0; i < rows; i += step)\n"
        "#pragma unroll\n        for (int u = 0; u < units; u += lanes)\n"
        "            if (rows % step == 0 || row + i < rows)\n"
        "                copyAsync16(at + i * pitch + u * 16, first + i * columns + u * 8, "
        "true);\n}}\n\n",
        storageType(m_spec.element()), m_rows.warps() * 32);
}

std::string TensorEmitter::fetch(const std::string& slice, const std::string& stage) const {
    const int64_t columns = m_ring.columns;
    return fmt::format(
        "        @stage<{0}, {1}, {2}>(weights + {3} * {4}, packed0 + {5} * {6});\n"
        "        @stage<{0}, {7}, {8}>(weights + {3} * {4} + {9}, packed1 + {5} * {10});\n",
        columns, m_spec.terms(), pitch(m_spec.terms()), stage, m_ring.bytes, slice,
        columns * m_spec.terms(), m_spec.results(), pitch(m_spec.results()),
        columns * pitch(m_spec.terms()), columns * m_spec.results());
}

std::string TensorEmitter::products() const {
    const std::string sums = fmt::format(
        "#pragma unroll 1\n            for (int step = 0; step < {0}; step += 16) {{\n"
        "                float part[{1}][2][4];\n#pragma unroll\n"
        "                for (int i = 0; i < {1}; ++i)\n#pragma unroll\n"
        "                    for (int c = 0; c < 4; ++c)\n"
        "                        part[i][0][c] = part[i][1][c] = 0.0f;\n#pragma unroll\n"
        "                for (int k = 0; k < {2}; ++k) {{\n"
        "                    unsigned b[4];\n"
        "                    loadFragments(b, stage + (step + own % 8 + own / 16 * 8) * {3} + k * "
        "32 + own / 8 % 2 * 16);\n#pragma unroll\n"
        "                    for (int i = 0; i < {1}; ++i) {{\n"
        "                        multiply(part[i][0], a[i][k], b[0], b[1], type);\n"
        "                        multiply(part[i][1], a[i][k], b[2], b[3], type);\n"
        "                    }}\n                }}\n",
        m_ring.columns, m_rows.pieces(), m_spec.terms() / 16, pitch(m_spec.terms()));
    const std::string ended = fmt::format(
        "                unsigned hidden[{0}][4];\n#pragma unroll\n"
        "                for (int i = 0; i < {0}; ++i) {{\n#pragma unroll\n"
        "                    for (int j = 0; j < 2; ++j)\n#pragma unroll\n"
        "                        for (int c = 0; c < 4; ++c)\n"
        "                            part[i][j][c] = {1};\n"
        "                    packWeights(hidden[i], part[i][0], part[i][1], type);\n"
        "                }}\n",
        m_rows.pieces(),
        m_spec.activate("&part[i][j][c]", m_spec.hiddenRow("first + i * 16 + g + c / 2 * 8"),
                        fmt::format("s * {}u + step + j * 8u + 2u * t + c % 2", m_ring.columns)));
    return sums + ended +
           fmt::format(
               "#pragma unroll\n                for (int j = 0; j < {0}; j += 2) {{\n"
               "                    unsigned b[4];\n"
               "                    loadFragmentsTransposed(b, stage + {1} + (step + own % 16) * "
               "{2} + j * 16 + own / 16 * 16);\n#pragma unroll\n"
               "                    for (int i = 0; i < {3}; ++i) {{\n"
               "                        multiply(sum[i][j], hidden[i], b[0], b[1], type);\n"
               "                        multiply(sum[i][j + 1], hidden[i], b[2], b[3], type);\n"
               "                    }}\n                }}\n            }}\n",
               m_spec.results() / 8, m_ring.columns * pitch(m_spec.terms()),
               pitch(m_spec.results()), m_rows.pieces());
}

KernelPart TensorEmitter::emit() const {
    ChainRing ring = m_ring;
    ring.fetch = [this](const std::string& slice, const std::string& stage) {
        return fetch(slice, stage);
    };
    ring.slice = products();
    KernelPart part = m_rows.part(ring);
    part.functions += functions();
    return part;
}

} // namespace

EmitResult emitChainTensor(const KernelRequest& request) {
    const char* name = "chain_tensor";
    if (request.capability < 80)
        return finish(name, request,
                      PartResult(refusal("support", "two products in turn need sm_80")));
    auto made = ChainSpec::make(request, FirstWeight::ByColumns);
    if (auto* reason = std::get_if<Reason>(&made))
        return finish(name, request, PartResult(*reason));
    const ChainSpec& spec = *std::get<0>(made);
    if (auto reason = refuseChain(spec))
        return finish(name, request, PartResult(*reason));
    const TensorEmitter emitter(spec);
    if (auto reason = emitter.refused())
        return finish(name, request, PartResult(*reason));
    return finishInOrder(name, request, {emitter.emit()}, spec.needs());
}

} // namespace fuselage::gpu
