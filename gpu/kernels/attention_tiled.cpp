// SPDX-License-Identifier: Apache-2.0
// Tiles of queries, keys and values in shared memory as float. Warps own rows for the softmax; for
// the two products a thread owns some rows and every 16th column.
#include "gpu/kernels/attention.h"

#include <fmt/format.h>

namespace fuselage::gpu {

namespace {

constexpr int64_t threads = 128, columnThreads = 16, rowThreads = threads / columnThreads;
constexpr int64_t sharedLimit = 48 << 10;

struct AttentionTile {
    int64_t queries = 32, keys = 32;
};

int64_t odd(int64_t x) {
    return x | 1; // rows of an odd number of words spread over the banks
}

int64_t sharedFloats(const Attention& code, const AttentionTile& tile) {
    return (tile.queries + tile.keys) * odd(code.d) + tile.keys * odd(code.e) +
           tile.queries * (odd(tile.keys) + 3);
}

class TiledEmitter {
public:
    TiledEmitter(const AttentionSpec& spec, const AttentionTile& tile)
        : m_spec(spec), m_code(*spec.code), m_tile(tile), m_rows(tile.queries / rowThreads),
          m_keysEach(tile.keys / columnThreads),
          m_valuesEach((spec.code->e + columnThreads - 1) / columnThreads) {}

    KernelPart emit() const;

private:
    std::string stage(const KernelOperand& operand, const char* to, int64_t rows, int64_t columns,
                      const std::string& first, int64_t limit) const;
    std::string scores() const;
    std::string softmax() const;
    std::string sums() const;
    std::string results() const;

    const AttentionSpec& m_spec;
    const Attention& m_code;
    AttentionTile m_tile;
    int64_t m_rows, m_keysEach, m_valuesEach; ///< of a thread
};

/// Rows [first, first + rows) into `to`; beyond `limit` zeros. Neighbouring threads read along the
/// smaller stride.
std::string TiledEmitter::stage(const KernelOperand& operand, const char* to, int64_t rows,
                                int64_t columns, const std::string& first, int64_t limit) const {
    const int64_t rowStride = m_spec.rowStride(operand), step = m_spec.columnStride(operand);
    const bool alongRow = step <= rowStride || rowStride == 0;
    return fmt::format("    {0}for (unsigned i = threadIdx.x; i < {1}u; i += {2}u) {{\n"
                       "    {0}    const int r = static_cast<int>(i {3} {4}u), "
                       "c = static_cast<int>(i {5} {4}u);\n"
                       "    {0}    {6}[r * {7} + c] = {8} + r < {9} ?\n"
                       "    {0}        load({10} + ({8} + r) * {11} + c * {12}) : 0.0f;\n"
                       "    {0}}}\n",
                       first == "query" ? "" : "    ", rows * columns, threads,
                       alongRow ? "/" : "%", alongRow ? columns : rows, alongRow ? "%" : "/", to,
                       odd(columns), first, limit, m_spec.base(operand), rowStride, step);
}

/// A thread computes the scores of its rows and columns.
std::string TiledEmitter::scores() const {
    std::string out = fmt::format(
        "        float part[{0}][{1}];\n#pragma unroll\n        for (int i = 0; i < {0}; ++i)\n"
        "#pragma unroll\n            for (int j = 0; j < {1}; ++j)\n"
        "                part[i][j] = 0.0f;\n#pragma unroll 4\n"
        "        for (int d = 0; d < {2}; ++d)\n"
        "#pragma unroll\n            for (int i = 0; i < {0}; ++i)\n"
        "#pragma unroll\n                for (int j = 0; j < {1}; ++j)\n"
        "                    part[i][j] += queries[(firstRow + i) * {3} + d] *\n"
        "                                  keys[(firstColumn + j * 16) * {3} + d];\n",
        m_rows, m_keysEach, m_code.d, odd(m_code.d));
    out += fmt::format("#pragma unroll\n        for (int i = 0; i < {}; ++i)\n"
                       "#pragma unroll\n            for (int j = 0; j < {}; ++j) {{\n"
                       "                const int l = query + firstRow + i, "
                       "s = key + firstColumn + j * 16;\n"
                       "                float score = part[i][j];\n"
                       "                if (l < {} && s < {}) {{\n",
                       m_rows, m_keysEach, m_code.l, m_code.s);
    out += m_spec.stepScore("l", "s", "                    ");
    return out + fmt::format("                }} else {{\n                    score = {};\n"
                             "                }}\n                weights[(firstRow + i) * {} + "
                             "firstColumn + j * 16] = score;\n            }}\n",
                             lowestScore(DType::Float32), odd(m_tile.keys));
}

/// A warp owns every fourth row: new maximum, weights, what older sums are multiplied with. A row
/// whose keys are all dropped keeps a sum of zero, so that its result is NaN as a softmax's is.
std::string TiledEmitter::softmax() const {
    const std::string lowest = lowestScore(DType::Float32);
    return fmt::format(
        "        for (int r = warp; r < {0}; r += {1}) {{\n"
        "            float* const row = weights + r * {2};\n"
        "            float top = {3};\n"
        "            for (int c = laneOfWarp; c < {4}; c += 32)\n"
        "                top = maximum(top, row[c]);\n"
        "            top = maximum(reduceWarp<Largest>(top), tops[r]);\n"
        "            float total = 0.0f;\n"
        "            for (int c = laneOfWarp; c < {4}; c += 32) {{\n"
        "                const float weight = key + c >= {6} || top == {3} ? 0.0f : {5};\n"
        "                row[c] = weight;\n                total += weight;\n            }}\n"
        "            total = reduceWarp<Sum>(total);\n"
        "            __syncwarp();\n" // every lane has read tops[r]
        "            if (laneOfWarp == 0) {{\n"
        "                const float shrink = tops[r] == top ? 1.0f : {7};\n"
        "                shrinks[r] = shrink;\n"
        "                totals[r] = totals[r] * shrink + total;\n"
        "                tops[r] = top;\n            }}\n            __syncwarp();\n        }}\n",
        m_tile.queries, threads / 32, odd(m_tile.keys), lowest, m_tile.keys,
        m_spec.exponential("row[c] - top"), m_code.s, m_spec.exponential("tops[r] - top"));
}

std::string TiledEmitter::sums() const {
    return fmt::format(
        "#pragma unroll\n        for (int i = 0; i < {0}; ++i) {{\n"
        "            const float shrink = shrinks[firstRow + i];\n"
        "#pragma unroll\n            for (int j = 0; j < {1}; ++j)\n"
        "                sum[i][j] *= shrink;\n        }}\n"
        "#pragma unroll 4\n        for (int c = 0; c < {2}; ++c)\n"
        "#pragma unroll\n            for (int j = 0; j < {1}; ++j) {{\n"
        "                const int e = firstColumn + j * 16;\n"
        "                const float value = {3}values[c * {4} + e]{5};\n"
        "#pragma unroll\n                for (int i = 0; i < {0}; ++i)\n"
        "                    sum[i][j] += weights[(firstRow + i) * {6} + c] * value;\n"
        "            }}\n",
        m_rows, m_valuesEach, m_tile.keys,
        m_code.e % columnThreads == 0 ? "" : fmt::format("e < {} ? ", m_code.e), odd(m_code.e),
        m_code.e % columnThreads == 0 ? "" : " : 0.0f", odd(m_tile.keys));
}

std::string TiledEmitter::results() const {
    return fmt::format("#pragma unroll\n    for (int i = 0; i < {0}; ++i)\n"
                       "#pragma unroll\n        for (int j = 0; j < {1}; ++j) {{\n"
                       "            const int l = query + firstRow + i, e = firstColumn + j * 16;\n"
                       "            if (l < {2} && e < {3})\n"
                       "                store({4} + l * {5} + e * {6}, {7});\n"
                       "        }}\n",
                       m_rows, m_valuesEach, m_code.l, m_code.e, m_spec.base(m_spec.output),
                       m_spec.rowStride(m_spec.output), m_spec.columnStride(m_spec.output),
                       m_spec.ended("sum[i][j] / totals[firstRow + i]", "totals[firstRow + i]"));
}

KernelPart TiledEmitter::emit() const {
    const int64_t tiles = (m_code.l + m_tile.queries - 1) / m_tile.queries;
    KernelPart part;
    part.threads = threads;
    part.blocks = tiles * m_spec.batches;
    part.helpers = {"reduce"};
    part.sharedBytes = static_cast<uint32_t>(sharedFloats(m_code, m_tile) * 4);
    part.numeric = m_spec.narrow ? NumericClass::Wider : NumericClass::Exact;
    part.comment = {fmt::format("attention of {} queries to {} keys, {} batches; {} queries a "
                                "block, {} keys at a time with a running maximum and sum",
                                m_code.l, m_code.s, m_spec.batches, m_tile.queries, m_tile.keys)};
    part.body = fmt::format(
        "    extern __shared__ __align__(16) unsigned char sharedMemory[];\n"
        "    float* const queries = reinterpret_cast<float*>(sharedMemory);\n"
        "    float* const keys = queries + {};\n    float* const values = keys + {};\n"
        "    float* const weights = values + {};\n    float* const tops = weights + {};\n"
        "    float* const totals = tops + {};\n    float* const shrinks = totals + {};\n",
        m_tile.queries * odd(m_code.d), m_tile.keys * odd(m_code.d), m_tile.keys * odd(m_code.e),
        m_tile.queries * odd(m_tile.keys), m_tile.queries, m_tile.queries);
    part.body += fmt::format("    const int query = static_cast<int>(block % {}u) * {};\n"
                             "    const int warp = static_cast<int>(threadIdx.x / 32u);\n"
                             "    const int laneOfWarp = static_cast<int>(threadIdx.x % 32u);\n"
                             "    const int firstRow = static_cast<int>(threadIdx.x / {}u) * {};\n"
                             "    const int firstColumn = static_cast<int>(threadIdx.x % {}u);\n",
                             tiles, m_tile.queries, columnThreads, m_rows, columnThreads);
    part.body += m_spec.splitBatch(fmt::format("block / {}u", tiles));
    part.body += stage(m_spec.q, "queries", m_tile.queries, m_code.d, "query", m_code.l);
    part.body += fmt::format(
        "    if (threadIdx.x < {0}u) {{\n{4}        tops[threadIdx.x] = {1};\n"
        "        totals[threadIdx.x] = {5};\n    }}\n"
        "    float sum[{2}][{3}];\n#pragma unroll\n    for (int i = 0; i < {2}; ++i)\n"
        "#pragma unroll\n        for (int j = 0; j < {3}; ++j)\n            sum[i][j] = 0.0f;\n",
        m_tile.queries, m_spec.firstTop(), m_rows, m_valuesEach,
        m_spec.declareSink("(query + static_cast<int>(threadIdx.x))", "        "),
        m_spec.firstTotal());
    part.functions = m_spec.functions();
    part.body += fmt::format("    for (int key = 0; key < {}; key += {}) {{\n"
                             "        __syncthreads();\n",
                             m_code.s, m_tile.keys);
    part.body += stage(m_spec.k, "keys", m_tile.keys, m_code.d, "key", m_code.s);
    part.body += stage(m_spec.v, "values", m_tile.keys, m_code.e, "key", m_code.s);
    part.body += "        __syncthreads();\n" + scores() + "        __syncthreads();\n" +
                 softmax() + "        __syncthreads();\n" + sums() + "    }\n" + results();
    return part;
}

} // namespace

EmitResult emitAttentionTiled(const KernelRequest& request) {
    const char* name = "attention_tiled";
    auto made = attentionSpec(request);
    if (auto* reason = std::get_if<Reason>(&made))
        return finish(name, request, PartResult(*reason));
    const AttentionSpec& spec = std::get<AttentionSpec>(made);
    for (const KernelOperand* operand : {&spec.q, &spec.k, &spec.v, &spec.output})
        if (operand->dtype == DType::Float64)
            return finish(name, request,
                          PartResult(refusal("dtype", "tiles are float, operands double")));
    if (spec.code->s == 0 || spec.code->e > 256)
        return finish(name, request,
                      PartResult(refusal("support", "no keys, or more than 256 values a key")));
    for (const AttentionTile& tile :
         {AttentionTile{32, 32}, AttentionTile{32, 16}, AttentionTile{16, 16}})
        if (sharedFloats(*spec.code, tile) * 4 <= sharedLimit)
            return finish(name, request, PartResult(TiledEmitter(spec, tile).emit()));
    return finish(name, request,
                  PartResult(refusal("smem", fmt::format("tiles of {} elements a query do not fit",
                                                         spec.code->d))));
}

} // namespace fuselage::gpu
