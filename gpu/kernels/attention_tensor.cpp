// SPDX-License-Identifier: Apache-2.0
// Attention on tensor cores: a warp owns 16 queries, whose scores and sums stay in its registers;
// keys and values pass through shared memory. Scores become 16-bit weights for the second product.
#include "gpu/kernels/attention_rows.h"
#include "gpu/kernels/parts.h"

#include <fmt/format.h>

namespace fuselage::gpu {

namespace {

constexpr int64_t warps = 4, threads = warps * 32;
constexpr int64_t sharedLimit = 48 << 10;

class TensorEmitter {
public:
    explicit TensorEmitter(const AttentionSpec& spec)
        : m_spec(spec), m_code(*spec.code), m_rows(spec, warps), m_d(roundUp(m_code.d, 16)),
          m_e(roundUp(m_code.e, 16)), m_keys(m_d + m_e <= 128 ? 64 : 32),
          m_type(storageType(spec.q.dtype)) {}

    int64_t sharedBytes() const {
        return 2 * (m_rows.queries() * (m_d + 8) + m_keys * (m_d + 8) + m_keys * (m_e + 8));
    }

    KernelPart emit() const;

private:
    std::string stage(const KernelOperand& operand, const char* to, int64_t rows, int64_t columns,
                      const std::string& first, int64_t limit, const std::string& indent) const;
    std::string place() const;
    std::string scores() const;
    std::string sums() const;

    const AttentionSpec& m_spec;
    const Attention& m_code;
    AttentionRows m_rows;
    int64_t m_d, m_e; ///< padded
    int64_t m_keys;   ///< at a time
    const char* m_type;
};

/// Rows [first, first + rows) into `to`, zero beyond `limit` and beyond the columns.
std::string TensorEmitter::stage(const KernelOperand& operand, const char* to, int64_t rows,
                                 int64_t columns, const std::string& first, int64_t limit,
                                 const std::string& indent) const {
    const int64_t padded = roundUp(columns, 16), pitch = padded + 8;
    const int64_t rowStride = m_spec.rowStride(operand), step = m_spec.columnStride(operand);
    if (m_rows.wide(operand, columns)) {
        const std::string beyond = columns == padded ? "" : fmt::format(" && c < {}", columns);
        return fmt::format("{0}for (int i = static_cast<int>(threadIdx.x); i < {1}; i += {2}) {{\n"
                           "{0}    const int r = i / {3}, c = i % {3} * 8;\n"
                           "{0}    unsigned words[4] = {{}};\n{0}    if ({4} + r < {5}{6})\n"
                           "{0}        loadWords<16>({7} + ({4} + r) * {8} + c, words);\n"
                           "{0}    storeShared16({9} + r * {10} + c, words);\n{0}}}\n",
                           indent, rows * padded / 8, threads, padded / 8, first, limit, beyond,
                           m_spec.base(operand), rowStride, to, pitch);
    }
    const bool alongRow = step <= rowStride || rowStride == 0;
    return fmt::format("{0}for (int i = static_cast<int>(threadIdx.x); i < {1}; i += {2}) {{\n"
                       "{0}    const int r = i {3} {4}, c = i {5} {4};\n"
                       "{0}    {6}[r * {7} + c].bits = {8} + r < {9} && c < {10} ?\n"
                       "{0}        ({11} + ({8} + r) * {12} + c * {13})->bits : "
                       "static_cast<unsigned short>(0);\n{0}}}\n",
                       indent, rows * padded, threads, alongRow ? "/" : "%",
                       alongRow ? padded : rows, alongRow ? "%" : "/", to, pitch, first, limit,
                       columns, m_spec.base(operand), rowStride, step);
}

std::string TensorEmitter::place() const {
    std::string out =
        fmt::format("    extern __shared__ __align__(16) unsigned char sharedMemory[];\n"
                    "    {0}* const queries = reinterpret_cast<{0}*>(sharedMemory);\n"
                    "    {0}* const keys = queries + {1};\n    {0}* const values = keys + {2};\n",
                    m_type, m_rows.queries() * (m_d + 8), m_keys * (m_d + 8));
    out += m_rows.place() +
           stage(m_spec.q, "queries", m_rows.queries(), m_code.d, "query", m_code.l, "    ");
    // Matrices of a fragment of A: rows 0-7 and 8-15, then the same with the upper half of K.
    out +=
        fmt::format("    __syncthreads();\n    unsigned q[{0}][4];\n#pragma unroll\n"
                    "    for (int k = 0; k < {0}; ++k)\n"
                    "        loadFragments(q[k], queries + (warp * 16 + own % 16) * {1} + k * 16 "
                    "+ own / 16 * 8);\n",
                    m_d / 16, m_d + 8);
    return out + m_rows.begin();
}

std::string TensorEmitter::scores() const {
    std::string out = fmt::format(
        "        float part[{0}][4];\n#pragma unroll\n        for (int j = 0; j < {0}; j += 2) {{\n"
        "#pragma unroll\n            for (int k = 0; k < 4; ++k)\n"
        "                part[j][k] = part[j + 1][k] = 0.0f;\n"
        "#pragma unroll\n            for (int k = 0; k < {1}; ++k) {{\n"
        "                unsigned b[4];\n"
        "                loadFragments(b, keys + (j * 8 + own % 8 + own / 16 * 8) * {2} + k * 16 + "
        "own / 8 % 2 * 8);\n"
        "                multiply(part[j], q[k], b[0], b[1], static_cast<const {3}*>(0));\n"
        "                multiply(part[j + 1], q[k], b[2], b[3], static_cast<const {3}*>(0));\n"
        "            }}\n        }}\n",
        m_keys / 8, m_d / 16, m_d + 8, m_type);
    return out + m_rows.steps(m_keys, m_code.s % m_keys == 0 ? m_keys : 0);
}

/// The weights of two groups of 8 keys are a fragment of A as they lie in the lanes.
std::string TensorEmitter::sums() const {
    return fmt::format(
        "#pragma unroll\n        for (int k = 0; k < {0}; ++k) {{\n"
        "            const {1}* const type = static_cast<const {1}*>(0);\n"
        "            unsigned a[4];\n"
        "            packWeights(a, part[2 * k], part[2 * k + 1], type);\n"
        "#pragma unroll\n            for (int j = 0; j < {2}; j += 2) {{\n"
        "                unsigned b[4];\n"
        "                loadFragmentsTransposed(b, values + (k * 16 + own % 16) * {3} + j * 8 + "
        "own / 16 * 8);\n"
        "                multiply(sum[j], a, b[0], b[1], type);\n"
        "                multiply(sum[j + 1], a, b[2], b[3], type);\n            }}\n        }}\n",
        m_keys / 16, m_type, m_e / 8, m_e + 8);
}

KernelPart TensorEmitter::emit() const {
    KernelPart part = m_rows.part();
    part.sharedBytes = static_cast<uint32_t>(sharedBytes());
    part.residentBlocks = 2;
    part.comment = {
        fmt::format("attention of {} queries to {} keys, {} batches, on tensor cores: 16 "
                    "queries a warp, {} keys at a time; weights are rounded to {}",
                    m_code.l, m_code.s, m_spec.batches, m_keys, nameOf(m_spec.q.dtype))};
    part.body =
        place() + fmt::format("#pragma unroll 1\n    for (int key = 0; key < {}; key += {}) "
                              "{{\n        __syncthreads();\n",
                              m_code.s, m_keys);
    part.body += stage(m_spec.k, "keys", m_keys, m_code.d, "key", m_code.s, "        ");
    part.body += stage(m_spec.v, "values", m_keys, m_code.e, "key", m_code.s, "        ");
    part.body += "        __syncthreads();\n" + scores() + m_rows.weights(m_keys, true) + sums() +
                 "    }\n" + m_rows.results();
    return part;
}

std::optional<Reason> refuseTensor(const AttentionSpec& spec) {
    if (auto reason = refuseRows(spec))
        return reason;
    const uint32_t needed = spec.q.dtype == DType::BFloat16 ? 80 : 75;
    if (spec.request->capability != 0 && spec.request->capability < needed)
        return refusal("support", fmt::format("needs sm_{}", needed));
    return std::nullopt;
}

} // namespace

EmitResult emitAttentionTensor(const KernelRequest& request) {
    const char* name = "attention_tensor";
    auto made = attentionSpec(request);
    if (auto* reason = std::get_if<Reason>(&made))
        return finish(name, request, PartResult(*reason));
    const AttentionSpec& spec = std::get<AttentionSpec>(made);
    if (auto reason = refuseTensor(spec))
        return finish(name, request, PartResult(*reason));
    const TensorEmitter emitter(spec);
    if (emitter.sharedBytes() > sharedLimit)
        return finish(name, request,
                      PartResult(refusal("smem", fmt::format("{} bytes of queries, keys and values",
                                                             emitter.sharedBytes()))));
    return finish(name, request, PartResult(emitter.emit()));
}

} // namespace fuselage::gpu
