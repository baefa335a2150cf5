// SPDX-License-Identifier: Apache-2.0
// Attention on tensor cores: a warp owns 16 queries, whose scores and sums stay in its registers;
// keys and values pass through shared memory. Scores become 16-bit weights for the second product.
#include "gpu/kernels/attention.h"
#include "gpu/kernels/parts.h"

#include <fmt/format.h>

namespace fuselage::gpu {

namespace {

constexpr int64_t warps = 4, threads = warps * 32, queriesOfWarp = 16;
constexpr int64_t widest = 128; ///< elements of a query, key or value
constexpr int64_t sharedLimit = 48 << 10;

class TensorEmitter {
public:
    explicit TensorEmitter(const AttentionSpec& spec)
        : m_spec(spec), m_code(*spec.code), m_d(roundUp(m_code.d, 16)), m_e(roundUp(m_code.e, 16)),
          m_keys(m_d + m_e <= 128 ? 64 : 32), m_type(storageType(spec.q.dtype)) {}

    int64_t sharedBytes() const {
        return 2 * (warps * queriesOfWarp * (m_d + 8) + m_keys * (m_d + 8) + m_keys * (m_e + 8));
    }

    KernelPart emit() const;

private:
    bool wide(const KernelOperand& operand, int64_t columns) const;
    std::string stage(const KernelOperand& operand, const char* to, int64_t rows, int64_t columns,
                      const std::string& first, int64_t limit, const std::string& indent) const;
    std::string place() const;
    std::string scores() const;
    std::string softmax() const;
    std::string sums() const;
    std::string wideResults() const;
    std::string results() const;

    const AttentionSpec& m_spec;
    const Attention& m_code;
    int64_t m_d, m_e; ///< padded
    int64_t m_keys;   ///< at a time
    const char* m_type;
};

/// Rows move in accesses of 16 bytes.
bool TensorEmitter::wide(const KernelOperand& operand, int64_t columns) const {
    bool out = m_spec.columnStride(operand) == 1 && columns % 8 == 0 &&
               operand.alignment % 16 == 0 && operand.access.offset % 8 == 0;
    for (size_t d = 0; d <= m_spec.batchDims; ++d)
        out = out && operand.access.strides[d] % 8 == 0;
    return out;
}

/// Rows [first, first + rows) into `to`, zero beyond `limit` and beyond the columns.
std::string TensorEmitter::stage(const KernelOperand& operand, const char* to, int64_t rows,
                                 int64_t columns, const std::string& first, int64_t limit,
                                 const std::string& indent) const {
    const int64_t padded = roundUp(columns, 16), pitch = padded + 8;
    const int64_t rowStride = m_spec.rowStride(operand), step = m_spec.columnStride(operand);
    if (wide(operand, columns)) {
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
    const int64_t tiles = (m_code.l + warps * queriesOfWarp - 1) / (warps * queriesOfWarp);
    std::string out = fmt::format(
        "    extern __shared__ __align__(16) unsigned char sharedMemory[];\n"
        "    {0}* const queries = reinterpret_cast<{0}*>(sharedMemory);\n"
        "    {0}* const keys = queries + {1};\n    {0}* const values = keys + {2};\n"
        "    const int query = static_cast<int>(block % {3}u) * {4};\n"
        "    const int warp = static_cast<int>(threadIdx.x / 32u);\n"
        "    const int own = static_cast<int>(threadIdx.x % 32u), g = own / 4, t = own % 4;\n",
        m_type, warps * queriesOfWarp * (m_d + 8), m_keys * (m_d + 8), tiles,
        warps * queriesOfWarp);
    out += m_spec.splitBatch(fmt::format("block / {}u", tiles));
    out += stage(m_spec.q, "queries", warps * queriesOfWarp, m_code.d, "query", m_code.l, "    ");
    // Matrices of a fragment of A: rows 0-7 and 8-15, then the same with the upper half of K.
    out +=
        fmt::format("    __syncthreads();\n    unsigned q[{0}][4];\n#pragma unroll\n"
                    "    for (int k = 0; k < {0}; ++k)\n"
                    "        loadFragments(q[k], queries + (warp * 16 + own % 16) * {1} + k * 16 "
                    "+ own / 16 * 8);\n",
                    m_d / 16, m_d + 8);
    return out + fmt::format("    float sum[{0}][4], top[2], total[2];\n#pragma unroll\n"
                             "    for (int j = 0; j < {0}; ++j)\n#pragma unroll\n"
                             "        for (int k = 0; k < 4; ++k)\n            sum[j][k] = 0.0f;\n"
                             "#pragma unroll\n    for (int h = 0; h < 2; ++h) {{\n{3}"
                             "        top[h] = {1};\n        total[h] = {2};\n    }}\n",
                             m_e / 8, m_spec.firstTop(), m_spec.firstTotal("t == 0"),
                             m_spec.declareSink("(query + warp * 16 + g + h * 8)", "        "));
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
    const bool rowsEnd = m_spec.readsMasks() && m_code.l % (warps * queriesOfWarp) != 0;
    const bool keysEnd = m_code.s % m_keys != 0;
    out += fmt::format("#pragma unroll\n        for (int j = 0; j < {}; ++j)\n"
                       "#pragma unroll\n            for (int k = 0; k < 4; ++k) {{\n"
                       "                const int l = query + warp * 16 + g + k / 2 * 8;\n"
                       "                const int s = key + j * 8 + 2 * t + k % 2;\n"
                       "                float score = part[j][k];\n",
                       m_keys / 8);
    std::string inside = rowsEnd ? fmt::format("l < {}", m_code.l) : "";
    if (keysEnd)
        inside += fmt::format("{}s < {}", inside.empty() ? "" : " && ", m_code.s);
    const std::string masked = m_spec.stepScore("l", "s", "                    ");
    if (inside.empty())
        out += masked;
    else
        out += fmt::format("                if ({}) {{\n{}                }} else {{\n"
                           "                    score = {};\n                }}\n",
                           inside, masked, lowestScore(DType::Float32));
    return out + "                part[j][k] = score;\n            }\n";
}

/// A query's scores lie in the four lanes of its group. Where all of its keys are dropped so far
/// the weights are zero, so that the result is NaN as a softmax's is.
std::string TensorEmitter::softmax() const {
    const std::string lowest = lowestScore(DType::Float32);
    return fmt::format(
        "#pragma unroll\n        for (int h = 0; h < 2; ++h) {{\n"
        "            float best = top[h];\n#pragma unroll\n"
        "            for (int j = 0; j < {0}; ++j)\n"
        "                best = maximum(best, maximum(part[j][2 * h], part[j][2 * h + 1]));\n"
        "            best = maximum(best, shuffled(best, 1));\n"
        "            best = maximum(best, shuffled(best, 2));\n"
        "            const float shrink = top[h] == best ? 1.0f : {2};\n"
        "            const bool none = best == {1};\n            top[h] = best;\n"
        "            float added = 0.0f;\n#pragma unroll\n"
        "            for (int j = 0; j < {0}; ++j)\n#pragma unroll\n"
        "                for (int k = 2 * h; k < 2 * h + 2; ++k) {{\n"
        "                    part[j][k] = none ? 0.0f : {3};\n"
        "                    added += part[j][k];\n                }}\n"
        "            total[h] = total[h] * shrink + added;\n#pragma unroll\n"
        "            for (int j = 0; j < {4}; ++j) {{\n"
        "                sum[j][2 * h] *= shrink;\n                sum[j][2 * h + 1] *= shrink;\n"
        "            }}\n        }}\n",
        m_keys / 8, lowest, m_spec.exponential("top[h] - best"),
        m_spec.exponential("part[j][k] - best"), m_e / 8);
}

/// The weights of two groups of 8 keys are a fragment of A as they lie in the lanes.
std::string TensorEmitter::sums() const {
    return fmt::format(
        "#pragma unroll\n        for (int k = 0; k < {0}; ++k) {{\n"
        "            const {1}* const type = static_cast<const {1}*>(0);\n"
        "            const unsigned a[4] = {{packPair(part[2 * k][0], part[2 * k][1], type),\n"
        "                                   packPair(part[2 * k][2], part[2 * k][3], type),\n"
        "                                   packPair(part[2 * k + 1][0], part[2 * k + 1][1], "
        "type),\n"
        "                                   packPair(part[2 * k + 1][2], part[2 * k + 1][3], "
        "type)}};\n"
        "#pragma unroll\n            for (int j = 0; j < {2}; j += 2) {{\n"
        "                unsigned b[4];\n"
        "                loadFragmentsTransposed(b, values + (k * 16 + own % 16) * {3} + j * 8 + "
        "own / 16 * 8);\n"
        "                multiply(sum[j], a, b[0], b[1], type);\n"
        "                multiply(sum[j + 1], a, b[2], b[3], type);\n            }}\n        }}\n",
        m_keys / 16, m_type, m_e / 8, m_e + 8);
}

/// Four groups of 8 results at a time change lanes, so that a lane stores 8 that lie side by side.
std::string TensorEmitter::wideResults() const {
    return fmt::format(
        "#pragma unroll\n        for (int j = 0; j < {0}; j += 4) {{\n"
        "            unsigned words[4];\n#pragma unroll\n"
        "            for (int i = 0; i < 4; ++i)\n"
        "                words[i] = packPair({5}, {6},\n"
        "                                    static_cast<const {1}*>(0));\n"
        "            exchangeQuad(words);\n            if (l < {2})\n"
        "                storeWords<16, false>({3} + l * {4} + (j + t) * 8, words);\n"
        "        }}\n",
        m_e / 8, storageType(m_spec.output.dtype), m_code.l, m_spec.base(m_spec.output),
        m_spec.rowStride(m_spec.output), m_spec.ended("sum[j + i][2 * h] * scale", "total[h]"),
        m_spec.ended("sum[j + i][2 * h + 1] * scale", "total[h]"));
}

std::string TensorEmitter::results() const {
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
                             m_e / 8, m_code.l, m_code.e, m_spec.base(m_spec.output),
                             m_spec.rowStride(m_spec.output), m_spec.columnStride(m_spec.output),
                             m_spec.ended("sum[j][2 * h + k] * scale", "total[h]"));
}

KernelPart TensorEmitter::emit() const {
    KernelPart part;
    part.threads = threads;
    part.blocks =
        m_spec.batches * ((m_code.l + warps * queriesOfWarp - 1) / (warps * queriesOfWarp));
    part.helpers = {"vectors", "reduce", "async", "mma"};
    part.sharedBytes = static_cast<uint32_t>(sharedBytes());
    part.residentBlocks = 2;
    part.functions = m_spec.functions();
    part.numeric = NumericClass::Reassociated;
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
    part.body +=
        "        __syncthreads();\n" + scores() + softmax() + sums() + "    }\n" + results();
    return part;
}

std::optional<Reason> refuseTensor(const AttentionSpec& spec) {
    const KernelRequest& request = *spec.request;
    const DType type = spec.q.dtype;
    if ((type != DType::Float16 && type != DType::BFloat16) || spec.k.dtype != type ||
        spec.v.dtype != type || spec.output.dtype == DType::Float64)
        return refusal("dtype", "queries, keys and values are not all float16 or all bfloat16");
    const uint32_t needed = type == DType::BFloat16 ? 80 : 75;
    if (request.capability != 0 && request.capability < needed)
        return refusal("support", fmt::format("needs sm_{}", needed));
    if (request.strict)
        return refusal("numeric-class", "a strict plan keeps the order of sums");
    if (spec.code->s == 0 || spec.code->d > widest || spec.code->e > widest)
        return refusal("support", fmt::format("no keys, or more than {} elements", widest));
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
