// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/attention_rows.h"

#include "gpu/kernels/parts.h"

#include <fmt/format.h>

namespace fuselage::gpu {

int64_t AttentionRows::tiles() const {
    return divideUp(m_code.l, m_queries);
}

bool AttentionRows::wide(const KernelOperand& operand, int64_t columns) const {
    bool out = m_spec.columnStride(operand) == 1 && columns % 8 == 0 &&
               operand.alignment % 16 == 0 && operand.access.offset % 8 == 0;
    for (size_t d = 0; d <= m_spec.batchDims; ++d)
        out = out && operand.access.strides[d] % 8 == 0;
    return out;
}

std::string AttentionRows::place() const {
    return fmt::format(
               "    const int query = static_cast<int>(block % {0}u) * {1};\n" // lanes go one way:
               "    const int warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x / 32u), "
               "0);\n"
               "    const int own = static_cast<int>(threadIdx.x % 32u), g = own / 4, t = own % "
               "4;\n",
               tiles(), m_queries) +
           m_spec.splitBatch(fmt::format("block / {}u", tiles()));
}

std::string AttentionRows::begin() const {
    return fmt::format("    float sum[{0}][4], top[2], total[2];\n#pragma unroll\n"
                       "    for (int j = 0; j < {0}; ++j)\n#pragma unroll\n"
                       "        for (int k = 0; k < 4; ++k)\n            sum[j][k] = 0.0f;\n"
                       "#pragma unroll\n    for (int h = 0; h < 2; ++h) {{\n{3}"
                       "        top[h] = {1};\n        total[h] = {2};\n    }}\n",
                       roundUp(m_code.e, 16) / 8, m_spec.firstTop(), m_spec.firstTotal("t == 0"),
                       m_spec.declareSink("(query + warp * 16 + g + h * 8)", "        "));
}

/// A row beyond the last query reads what the last one does.
std::string AttentionRows::steps(int64_t keys, int64_t inside) const {
    if (m_spec.scalesOnly() && inside >= keys)
        return {};
    std::string row = "query + warp * 16 + g + k / 2 * 8";
    if (m_spec.readsMasks() && m_code.l % m_queries != 0)
        row = fmt::format("minimum({}, {})", row, m_code.l - 1);
    std::string out = fmt::format("#pragma unroll\n        for (int j = 0; j < {}; ++j)\n"
                                  "#pragma unroll\n            for (int k = 0; k < 4; ++k) {{\n"
                                  "                const int l = {};\n"
                                  "                const int s = key + j * 8 + 2 * t + k % 2;\n"
                                  "                float score = part[j][k];\n",
                                  keys / 8, row);
    const std::string stepped =
        m_spec.scalesOnly() ? "" : m_spec.stepScore("l", "s", "                    ");
    if (inside >= keys)
        out += stepped;
    else
        out += fmt::format("                if ({}s < {}) {{\n{}                }} else {{\n"
                           "                    score = {};\n                }}\n",
                           inside < 8 ? "" : fmt::format("j < {} || ", inside / 8), m_code.s,
                           stepped, lowestScore(DType::Float32));
    return out + "                part[j][k] = score;\n            }\n";
}

/// Where all keys of a query are dropped so far the weights are zero, so that the result is NaN as
/// a softmax's is.
std::string AttentionRows::weights(int64_t keys, bool sums) const {
    const std::string shrunk =
        fmt::format("#pragma unroll\n            for (int j = 0; j < {}; ++j) {{\n"
                    "                sum[j][2 * h] *= shrink;\n"
                    "                sum[j][2 * h + 1] *= shrink;\n            }}\n",
                    roundUp(m_code.e, 16) / 8);
    const double scale = m_spec.scalesOnly() ? m_code.scale : 1;
    return fmt::format(
        "#pragma unroll\n        for (int h = 0; h < 2; ++h) {{\n"
        "            float best = top[h];\n#pragma unroll\n"
        "            for (int j = 0; j < {0}; ++j)\n"
        "                best = maximum(best, maximum(part[j][2 * h], part[j][2 * h + 1]));\n"
        "            best = maximum(best, shuffled(best, 1));\n"
        "            best = maximum(best, shuffled(best, 2));\n"
        "            const float shrink = top[h] == best ? 1.0f : {2};\n"
        "            const float from = best == {1} ? 0.0f : best;\n            top[h] = best;\n"
        "            float added = 0.0f;\n#pragma unroll\n"
        "            for (int j = 0; j < {0}; ++j)\n#pragma unroll\n"
        "                for (int k = 2 * h; k < 2 * h + 2; ++k) {{\n"
        "                    part[j][k] = {3};\n"
        "                    added += part[j][k];\n                }}\n"
        "            total[h] = total[h] * shrink + added;\n{4}        }}\n",
        keys / 8, lowestScore(DType::Float32), m_spec.exponential("top[h] - best", scale),
        m_spec.exponential("part[j][k] - from", scale), sums ? shrunk : "");
}

/// Four groups of 8 results at a time change lanes, so that a lane stores 8 that lie side by side.
std::string AttentionRows::wideResults() const {
    return fmt::format(
        "#pragma unroll\n        for (int j = 0; j < {0}; j += 4) {{\n"
        "            unsigned words[4];\n#pragma unroll\n"
        "            for (int i = 0; i < 4; ++i)\n"
        "                words[i] = packPair({5}, {6},\n"
        "                                    static_cast<const {1}*>(0));\n"
        "            exchangeQuad(words);\n            if (l < {2})\n"
        "                storeWords<16, false>({3} + l * {4} + (j + t) * 8, words);\n"
        "        }}\n",
        m_code.e / 8, storageType(m_spec.output.dtype), m_code.l, m_spec.base(m_spec.output),
        m_spec.rowStride(m_spec.output), m_spec.ended("sum[j + i][2 * h] * scale", "total[h]"),
        m_spec.ended("sum[j + i][2 * h + 1] * scale", "total[h]"));
}

std::string AttentionRows::results() const {
    const bool together =
        sizeOf(m_spec.output.dtype) == 2 && m_code.e % 32 == 0 && wide(m_spec.output, m_code.e);
    std::string out = fmt::format("#pragma unroll\n    for (int h = 0; h < 2; ++h) {{\n"
                                  "        total[h] += shuffled(total[h], 1);\n"
                                  "        total[h] += shuffled(total[h], 2);\n"
                                  "        const float scale = 1.0f / total[h];\n"
                                  "        const int l = query + warp * 16 + g + h * 8;\n");
    if (together)
        return out + wideResults() + "    }\n";
    return out + fmt::format("#pragma unroll\n        for (int j = 0; j < {0}; ++j)\n"
                             "#pragma unroll\n            for (int k = 0; k < 2; ++k) {{\n"
                             "                const int e = j * 8 + 2 * t + k;\n"
                             "                if (l < {1} && e < {2})\n"
                             "                    store({3} + l * {4} + e * {5}, "
                             "{6});\n            }}\n    }}\n",
                             roundUp(m_code.e, 16) / 8, m_code.l, m_code.e,
                             m_spec.base(m_spec.output), m_spec.rowStride(m_spec.output),
                             m_spec.columnStride(m_spec.output),
                             m_spec.ended("sum[j][2 * h + k] * scale", "total[h]"));
}

KernelPart AttentionRows::part() const {
    KernelPart out;
    out.threads = static_cast<uint32_t>(m_queries / queriesOfWarp * 32);
    out.blocks = m_spec.batches * tiles();
    out.helpers = {"vectors", "reduce", "async", "mma"};
    out.functions = m_spec.functions();
    out.numeric = NumericClass::Reassociated;
    return out;
}

std::optional<Reason> refuseRows(const AttentionSpec& spec) {
    const DType type = spec.q.dtype;
    if ((type != DType::Float16 && type != DType::BFloat16) || spec.k.dtype != type ||
        spec.v.dtype != type || spec.output.dtype == DType::Float64)
        return refusal("dtype", "queries, keys and values are not all float16 or all bfloat16");
    if (spec.request->strict)
        return refusal("numeric-class", "a strict plan keeps the order of sums");
    if (spec.code->s == 0 || spec.code->d > widestHead || spec.code->e > widestHead)
        return refusal("support", fmt::format("no keys, or more than {} elements", widestHead));
    return std::nullopt;
}

} // namespace fuselage::gpu
