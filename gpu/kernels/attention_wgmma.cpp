// SPDX-License-Identifier: Apache-2.0
// Attention by products of sm_90's warpgroups: one owns 64 queries. Scores are products of rows in
// shared memory; the weights that they become stay in registers, as the rows of the second product
// (attention_rows.h). The warpgroups of a block share tiles of keys and values, of which the next
// one is copied while one is used; the first and the last tile have texts of their own: nothing
// shrinks in the first, and only in the last keys may end. Where all keys are two tiles both are
// fetched at once. Two blocks a multiprocessor are what hides a softmax behind products: so 128
// registers a thread, which decide the size of a tile: sums of wide values take as many as scores
// do, and so does a mask of each score, whose elements the compiler reads first.
#include "gpu/kernels/attention_rows.h"
#include "gpu/kernels/parts.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu {

namespace {

constexpr int64_t queriesOfGroup = 64, rowBytes = 128, rowElements = rowBytes / 2;
constexpr int64_t fewQueries = 16; ///< of four warps of a group one has work

/// 64 queries of one batch need one warpgroup, more are for two that share what they read, unless
/// there are multiprocessors for all of them.
int64_t groupsFor(const AttentionSpec& spec) {
    const DeviceProfile* profile = spec.request->profile;
    const int64_t groups = divideUp(spec.code->l, queriesOfGroup);
    const bool idle =
        profile != nullptr && static_cast<double>(spec.batches * groups) <= profile->units;
    return groups == 1 || idle ? 1 : 2;
}

class WgmmaEmitter {
public:
    explicit WgmmaEmitter(const AttentionSpec& spec)
        : m_spec(spec), m_code(*spec.code), m_groups(groupsFor(spec)),
          m_rows(spec, m_groups * queriesOfGroup / queriesOfWarp), m_d(roundUp(m_code.d, 16)),
          m_e(roundUp(m_code.e, 16)), m_type(storageType(spec.q.dtype)) {
        const bool longTiles = std::max(m_d, m_e) <= rowElements && !spec.readsEachScore();
        const int64_t most = longTiles ? 128 : 64;
        m_tiles = divideUp(m_code.s, most);
        m_lastKeys = roundUp(m_code.s - (m_tiles - 1) * most, 16);
        m_keys = m_tiles == 1 ? m_lastKeys : most;
    }

    std::optional<Reason> refused() const;
    KernelPart emit() const;

private:
    int64_t threads() const { return m_groups * 128; }
    int64_t queryBytes() const { return panels(m_d) * m_rows.queries() * rowBytes; }
    int64_t keyBytes() const { return panels(m_d) * m_keys * rowBytes; }
    int64_t stageBytes() const { return keyBytes() + panels(m_e) * m_keys * rowBytes; }
    int64_t stages() const { return std::min<int64_t>(m_tiles, 2); }
    static int64_t panels(int64_t columns) { return divideUp(columns, rowElements); }

    std::string functions() const;
    std::string copy(const std::string& to, int64_t panelRows, int64_t rows,
                     const KernelOperand& operand, int64_t columns, bool ends,
                     const std::string& first, int64_t end) const;
    std::string fetch(const std::string& key, int64_t rows, bool ends) const;
    std::string begin() const;
    std::string tile(int64_t rows, bool first, bool last, int pending,
                     const std::string& ahead) const;
    std::string scores(int64_t rows) const;
    std::string sums(int64_t rows) const;
    std::string tiles() const;

    const AttentionSpec& m_spec;
    const Attention& m_code;
    int64_t m_groups; ///< of a block
    AttentionRows m_rows;
    int64_t m_d, m_e;                                ///< padded
    int64_t m_tiles = 0, m_keys = 0, m_lastKeys = 0; ///< of keys: tiles, rows of one, of the last
    const char* m_type;
};

std::optional<Reason> WgmmaEmitter::refused() const {
    const struct {
        const KernelOperand& operand;
        int64_t columns;
        const char* name;
    } operands[] = {{m_spec.q, m_code.d, "queries"},
                    {m_spec.k, m_code.d, "keys"},
                    {m_spec.v, m_code.e, "values"}};
    if (m_code.d == 0)
        return refusal("layout", "keys of no elements leave nothing to multiply");
    for (const auto& [operand, columns, name] : operands)
        if (!m_rows.wide(operand, columns))
            return refusal("layout",
                           fmt::format("rows of {} are not made of whole 16 bytes", name));
    if (m_code.l <= fewQueries)
        return refusal("occupancy",
                       fmt::format("{} queries leave most of a warpgroup idle", m_code.l));
    return std::nullopt;
}

/// Rows in panels of 64 columns, whose 16-byte units lie as products want them. A thread has one
/// unit of rows that are a multiple of 8 apart, so that only literals tell its copies apart.
std::string WgmmaEmitter::functions() const {
    return fmt::format(
        "template <int rows, int panelBytes, int columns, int stride, bool ends>\n"
        "__device__ __forceinline__ void @copy(unsigned char* to, const {0}* from, int inside) {{\n"
        "    constexpr int units = (columns + 15) / 16 * 2;\n"
        "    constexpr int lanes = units <= 2 ? 2 : units <= 4 ? 4 : units <= 8 ? 8 : 16;\n"
        "    const int row = static_cast<int>(threadIdx.x) / lanes;\n"
        "    const int unit = static_cast<int>(threadIdx.x) % lanes;\n"
        "    unsigned char* const at = to + unit / 8 * panelBytes + tileByte<8>(row, unit % 8);\n"
        "    const {0}* const first = from + row * stride + unit * 8;\n"
        "#pragma unroll\n    for (int i = 0; i < rows; i += {1} / lanes)\n"
        "        if (unit < units && (rows % ({1} / lanes) == 0 || row + i < rows))\n"
        "            copyAsync16(at + i * {2}, first + i * stride,\n"
        "                        (!ends || row + i < inside) &&\n"
        "                            (columns % 16 == 0 || unit * 8 < columns));\n}}\n\n",
        m_type, threads(), rowBytes);
}

/// `rows` rows from `first` on to `to`, zeros from the row `end` on.
std::string WgmmaEmitter::copy(const std::string& to, int64_t panelRows, int64_t rows,
                               const KernelOperand& operand, int64_t columns, bool ends,
                               const std::string& first, int64_t end) const {
    return fmt::format("    @copy<{}, {}, {}, {}, {}>({}, {} + ({}) * {}, {} - ({}));\n", rows,
                       panelRows * rowBytes, columns, m_spec.rowStride(operand), ends, to,
                       m_spec.base(operand), first, m_spec.rowStride(operand), end, first);
}

/// A group of copies: keys and values of the tile that begins with `key`, in the stage `next`.
std::string WgmmaEmitter::fetch(const std::string& key, int64_t rows, bool ends) const {
    return copy("next", m_keys, rows, m_spec.k, m_code.d, ends, key, m_code.s) +
           copy(fmt::format("next + {}", keyBytes()), m_keys, rows, m_spec.v, m_code.e, ends, key,
                m_code.s) +
           "    commitCopies();\n";
}

std::string WgmmaEmitter::begin() const {
    std::string out =
        fmt::format("    extern __shared__ __align__(1024) unsigned char sharedMemory[];\n{}"
                    "    unsigned char* const stages = sharedMemory + {};\n"
                    "    unsigned char* next = stages;\n",
                    m_rows.place(), queryBytes());
    out += copy("sharedMemory", m_rows.queries(), m_rows.queries(), m_spec.q, m_code.d,
                m_code.l % m_rows.queries() != 0, "query", m_code.l);
    out += fetch("0", m_keys, m_tiles == 1);
    if (m_tiles > 1)
        out += fmt::format("    next = stages + {};\n", stageBytes()) +
               fetch(fmt::format("{}", m_keys), m_tiles == 2 ? m_lastKeys : m_keys, m_tiles == 2);
    out += fmt::format(
        "    const unsigned long long rowsQ = rowsOf128Bytes(sharedMemory) + warp / 4 * {};\n",
        queriesOfGroup * rowBytes / 16);
    return out + m_rows.begin();
}

std::string WgmmaEmitter::scores(int64_t rows) const {
    std::string out =
        fmt::format("        float part[{}][4];\n        openProducts();\n"
                    "        const unsigned long long rowsK = rowsOf128Bytes(stage);\n",
                    rows / 8);
    for (int64_t k = 0; k < m_d; k += 16) {
        const int64_t panel = k / rowElements, unit = k % rowElements / 8;
        out += fmt::format("        multiplyGroup<{}, {}, {}>(part, rowsQ + {}, rowsK + {});\n",
                           rows, m_type, k > 0, panel * m_rows.queries() * rowBytes / 16 + unit,
                           panel * m_keys * rowBytes / 16 + unit);
    }
    return out + "        commitProducts();\n        waitProducts<0>();\n";
}

std::string WgmmaEmitter::sums(int64_t rows) const {
    std::string out = fmt::format(
        "        unsigned weights[{0}][4];\n#pragma unroll\n"
        "        for (int k = 0; k < {0}; ++k)\n"
        "            packWeights(weights[k], part[2 * k], part[2 * k + 1], static_cast<const "
        "{1}*>(0));\n"
        "        openProducts();\n"
        "        const unsigned long long rowsV = rowsOf128Bytes(stage + {2});\n#pragma unroll\n"
        "        for (int k = 0; k < {0}; ++k) {{\n",
        rows / 16, m_type, keyBytes());
    for (int64_t e = 0; e < m_e; e += rowElements)
        out += fmt::format(
            "            multiplyWeighted<{}, {}, {}>(sum, weights[k], rowsV + {} + k * 128);\n",
            std::min(rowElements, m_e - e), e / 8, m_type,
            e / rowElements * m_keys * rowBytes / 16);
    return out + "        }\n        commitProducts();\n        waitProducts<0>();\n";
}

/// One tile of `rows` keys from `key` on, in `stage`; `ahead` copies what comes later, when nobody
/// reads the other stage any more. A warp without queries leaves its scores as they are. That
/// branch is there for all: without one the compiler packs weights while others are computed, which
/// takes 40 registers more.
std::string WgmmaEmitter::tile(int64_t rows, bool first, bool last, int pending,
                               const std::string& ahead) const {
    const int64_t inside = last ? m_code.s - (m_tiles - 1) * m_keys : rows;
    const std::string softmax =
        fmt::format("        if (query + warp * 16 < {}) {{\n{}        }}\n", m_code.l,
                    m_rows.steps(rows, inside) + m_rows.weights(rows, !first));
    return fmt::format("        waitCopies<{}>();\n        fenceForProducts();\n"
                       "        __syncthreads();\n",
                       pending) +
           ahead + scores(rows) + softmax + sums(rows);
}

std::string WgmmaEmitter::tiles() const {
    std::string out = fmt::format("    {{\n        const int key = 0;\n"
                                  "        const unsigned char* const stage = stages;\n{}    }}\n",
                                  tile(m_keys, true, m_tiles == 1, m_tiles > 1 ? 1 : 0, ""));
    if (m_tiles == 1)
        return out;
    const std::string stage =
        fmt::format("        const unsigned char* const stage = stages + key / {} % 2 * {};\n",
                    m_keys, stageBytes());
    const int64_t lastKey = (m_tiles - 1) * m_keys;
    if (m_tiles > 2)
        out += fmt::format("#pragma unroll 1\n    for (int key = {0}; key < {1}; key += {0}) {{\n",
                           m_keys, lastKey) +
               stage +
               tile(m_keys, false, false, 0,
                    fmt::format("        next = stages + (key / {} + 1) % 2 * {};\n", m_keys,
                                stageBytes()) +
                        fetch(fmt::format("key + {}", m_keys), m_keys, m_code.s % m_keys != 0)) +
               "    }\n";
    return out + fmt::format("    {{\n        const int key = {};\n{}{}    }}\n", lastKey, stage,
                             tile(m_lastKeys, false, true, 0, ""));
}

KernelPart WgmmaEmitter::emit() const {
    KernelPart part = m_rows.part();
    part.helpers.emplace_back("wgmma");
    part.ownArch = true;
    part.sharedBytes = static_cast<uint32_t>(queryBytes() + stages() * stageBytes());
    part.residentBlocks = static_cast<uint32_t>(4 / m_groups);
    part.functions += functions();
    part.comment = {fmt::format(
        "attention of {} queries to {} keys, {} batches, by products of warpgroups: {} queries a "
        "block, {} keys at a time; weights are rounded to {}",
        m_code.l, m_code.s, m_spec.batches, m_rows.queries(), m_keys, nameOf(m_spec.q.dtype))};
    part.body = begin() + tiles() + m_rows.results();
    return part;
}

} // namespace

EmitResult emitAttentionWgmma(const KernelRequest& request) {
    const char* name = "attention_wgmma";
    auto made = attentionSpec(request);
    if (auto* reason = std::get_if<Reason>(&made))
        return finish(name, request, PartResult(*reason));
    const AttentionSpec& spec = std::get<AttentionSpec>(made);
    if (request.capability != 90)
        return finish(name, request,
                      PartResult(refusal("support", "products of warpgroups are those of sm_90")));
    if (auto reason = refuseRows(spec))
        return finish(name, request, PartResult(*reason));
    const WgmmaEmitter emitter(spec);
    if (auto reason = emitter.refused())
        return finish(name, request, PartResult(*reason));
    return finish(name, request, PartResult(emitter.emit()));
}

} // namespace fuselage::gpu
