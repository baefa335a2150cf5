// SPDX-License-Identifier: Apache-2.0
// Few queries to many keys, as a decoder asks its cache: a block takes one query and a part of the
// keys, teams of lanes take one key each and keep a running maximum, a sum and their share of the
// result. What the blocks of a query found meets in memory, in the order of the keys, in the block
// that is last.
#include "core/graph/type.h"
#include "gpu/kernels/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace fuselage::gpu {

namespace {

constexpr int64_t threads = 128, mostQueries = 8, together = 4, fewestKeys = 64, mostParts = 64;

/// How a query's work is divided.
struct SplitShape {
    int64_t elements = 8; ///< of a lane: 16 bytes
    int64_t lanes = 1;    ///< of a team
    int64_t parts = 1;    ///< of the keys, a block each
    int64_t keysEach = 1; ///< of a part

    int64_t teams() const { return threads / lanes; }
};

class SplitEmitter {
public:
    SplitEmitter(const AttentionSpec& spec, const SplitShape& shape)
        : m_spec(spec), m_code(*spec.code), m_shape(shape) {}

    KernelPart emit() const;
    SetNeeds needs() const;

private:
    int64_t rows() const { return m_spec.batches * m_code.l; }

    std::string place() const;
    std::string walk() const;
    std::string meet() const;
    std::string ended(const std::string& count, const std::string& top, const std::string& total,
                      const std::string& element) const;
    std::string meetBlocks() const;

    const AttentionSpec& m_spec;
    const Attention& m_code;
    SplitShape m_shape;
};

std::string SplitEmitter::place() const {
    return fmt::format("    extern __shared__ __align__(16) unsigned char sharedMemory[];\n"
                       "    float* const tops = reinterpret_cast<float*>(sharedMemory);\n"
                       "    float *const totals = tops + {0}, *const found = totals + {0};\n"
                       "    const unsigned row = block / {1}u, part = block % {1}u;\n"
                       "    const int l = static_cast<int>(row % {2}u);\n"
                       "    const int team = static_cast<int>(threadIdx.x / {3}u);\n"
                       "    const int element = static_cast<int>(threadIdx.x % {3}u) * {4};\n",
                       m_shape.teams(), m_shape.parts, m_code.l, m_shape.lanes, m_shape.elements) +
           m_spec.splitBatch(fmt::format("(row / {}u)", m_code.l)) +
           fmt::format("    const int first = static_cast<int>(part) * {0};\n"
                       "    const int end = first + {0} < {1} ? first + {0} : {1};\n"
                       "    float query[{2}];\n    loadLanes<{2}>({3} + (l * {4} + element), "
                       "query);\n",
                       m_shape.keysEach, m_code.s, m_shape.elements, m_spec.base(m_spec.q),
                       m_spec.rowStride(m_spec.q));
}

/// Some keys of each team at a time, whose loads are under way together.
std::string SplitEmitter::walk() const {
    const std::string lowest = lowestScore(DType::Float32);
    const std::string holds = "part == 0u && team == 0"; // the sink counts once
    std::string out =
        m_spec.declareSink("l", "    ") +
        fmt::format("    float top = {}, total = {}, sum[{}] = {{}};\n", m_spec.firstTop(holds),
                    m_spec.firstTotal(holds), m_shape.elements);
    out += fmt::format(
        "#pragma unroll 1\n"
        "    for (int from = first; from < end; from += {2}) {{\n"
        "        float keys[{3}][{1}], values[{3}][{1}], scores[{3}];\n#pragma unroll\n"
        "        for (int u = 0; u < {3}; ++u) {{\n" // beyond the last key: that one again
        "            const int s = from + u * {4} + team < end ? from + u * {4} + team : end - 1;\n"
        "            loadLanes<{1}>({5} + (s * {6} + element), keys[u]);\n"
        "            loadLanes<{1}>({7} + (s * {8} + element), values[u]);\n        }}\n"
        "        float high = top;\n#pragma unroll\n"
        "        for (int u = 0; u < {3}; ++u) {{\n"
        "            const int s = from + u * {4} + team;\n            float score = 0.0f;\n"
        "#pragma unroll\n            for (int e = 0; e < {1}; ++e)\n"
        "                score += query[e] * keys[u][e];\n"
        "            score = reduceWarp<Sum, {9}>(score);\n"
        "            if (s < end) {{\n",
        lowest, m_shape.elements, m_shape.teams() * together, together, m_shape.teams(),
        m_spec.base(m_spec.k), m_spec.rowStride(m_spec.k), m_spec.base(m_spec.v),
        m_spec.rowStride(m_spec.v), m_shape.lanes);
    out += m_spec.stepScore("l", "s", "                ");
    return out + fmt::format(
                     "            }} else {{\n                score = {0};\n            }}\n"
                     "            scores[u] = score;\n            high = maximum(high, score);\n"
                     "        }}\n        const float shrink = top == high ? 1.0f : {1};\n"
                     "        top = high;\n        total *= shrink;\n#pragma unroll\n"
                     "        for (int e = 0; e < {2}; ++e)\n            sum[e] *= shrink;\n"
                     "#pragma unroll\n        for (int u = 0; u < {3}; ++u) {{\n"
                     "            const bool counts = from + u * {4} + team < end && top != {0};\n"
                     "            const float weight = counts ? {5} : 0.0f;\n"
                     "            total += weight;\n#pragma unroll\n"
                     "            for (int e = 0; e < {2}; ++e)\n"
                     "                sum[e] += counts ? weight * values[u][e] : 0.0f;\n"
                     "        }}\n    }}\n",
                     lowest, m_spec.exponential("top - high"), m_shape.elements, together,
                     m_shape.teams(), m_spec.exponential("scores[u] - top"));
}

/// Statements that bring `count` maxima, sums and elements together: high, whole and x.
std::string SplitEmitter::ended(const std::string& count, const std::string& top,
                                const std::string& total, const std::string& element) const {
    return fmt::format("        float high = {0}, whole = 0.0f, x = 0.0f;\n"
                       "        for (int i = 0; i < {1}; ++i)\n"
                       "            high = maximum(high, {2});\n"
                       "        for (int i = 0; i < {1}; ++i) {{\n"
                       "            const float own = {2};\n"
                       "            const float shrink = own == high ? 1.0f : {3};\n"
                       "            whole += {4} * shrink;\n            x += {5} * shrink;\n"
                       "        }}\n",
                       lowestScore(DType::Float32), count, top, m_spec.exponential("own - high"),
                       total, element);
}

/// The teams of the block.
std::string SplitEmitter::meet() const {
    std::string out = fmt::format(
        "    if (element == 0) {{\n        tops[team] = top;\n        totals[team] = total;\n"
        "    }}\n#pragma unroll\n    for (int e = 0; e < {0}; ++e)\n"
        "        found[team * {1} + element + e] = sum[e];\n    __syncthreads();\n"
        "    for (int e = threadIdx.x; e < {1}; e += {2}) {{\n",
        m_shape.elements, m_code.e, threads);
    out += ended(std::to_string(m_shape.teams()), "tops[i]", "totals[i]",
                 fmt::format("found[i * {} + e]", m_code.e));
    const std::string result =
        fmt::format("{} + (l * {} + e * {})", m_spec.base(m_spec.output),
                    m_spec.rowStride(m_spec.output), m_spec.columnStride(m_spec.output));
    if (m_shape.parts == 1)
        return out + fmt::format("        store({}, {});\n    }}\n", result,
                                 m_spec.ended("x / whole", "whole"));
    out += fmt::format("        float* const own = partial + block * {0}ll;\n"
                       "        own[e] = x;\n        if (e == 0) {{\n            own[{1}] = high;\n"
                       "            own[{2}] = whole;\n        }}\n    }}\n",
                       m_code.e + 2, m_code.e, m_code.e + 1);
    return out + meetBlocks() +
           fmt::format("        store({}, {});\n    }}\n", result,
                       m_spec.ended("x / whole", "whole"));
}

std::string SplitEmitter::meetBlocks() const {
    const auto part = [&](const std::string& at) {
        return fmt::format("@part(parts + (i * {} + {}))", m_code.e + 2, at);
    };
    return fmt::format("    __syncthreads();\n"
                       "    if (!lastOfParts(tickets + row, {0}u, "
                       "reinterpret_cast<unsigned*>(sharedMemory)))\n        return;\n"
                       "    const float* const parts = partial + row * {1}ll;\n"
                       "    for (int e = threadIdx.x; e < {2}; e += {3}) {{\n",
                       m_shape.parts, m_shape.parts * (m_code.e + 2), m_code.e, threads) +
           ended(std::to_string(m_shape.parts), part(std::to_string(m_code.e)),
                 part(std::to_string(m_code.e + 1)), part("e"));
}

KernelPart SplitEmitter::emit() const {
    KernelPart part;
    part.helpers = {"vectors", "reduce", "tickets"};
    part.threads = threads;
    part.blocks = rows() * m_shape.parts;
    part.sharedBytes = static_cast<uint32_t>(m_shape.teams() * (m_code.e + 2) * 4);
    part.numeric = NumericClass::Reassociated;
    part.comment = {fmt::format("attention of {} queries to {} keys, {} batches: keys in {} parts "
                                "of {}, {} lanes a key, added in order by the block that is last",
                                m_code.l, m_code.s, m_spec.batches, m_shape.parts, m_shape.keysEach,
                                m_shape.lanes)};
    part.functions = m_spec.functions();
    if (m_shape.parts > 1) {
        part.functions +=
            "/// What another block wrote.\n"
            "__device__ __forceinline__ float @part(const float* from) {\n"
            "    float out = 0.0f;\n    addPart<1>(from, &out);\n    return out;\n}\n\n";
        part.extra = {{"float*", "partial", {KernelArgument::Kind::Scratch, 0, 0}},
                      {"unsigned*", "tickets", {KernelArgument::Kind::Tickets, 0, 0}}};
    }
    part.body = place() + walk() + meet();
    return part;
}

SetNeeds SplitEmitter::needs() const {
    SetNeeds out;
    if (m_shape.parts > 1) {
        out.scratchBytes = rows() * m_shape.parts * (m_code.e + 2) * 4;
        out.tickets = rows();
    }
    return out;
}

/// Every row of an operand is read in accesses of 16 bytes.
bool inWholeAccesses(const AttentionSpec& spec, const KernelOperand& operand) {
    const auto size = static_cast<int64_t>(sizeOf(operand.dtype));
    bool out = spec.columnStride(operand) == 1 && operand.alignment % 16 == 0 &&
               operand.access.offset * size % 16 == 0;
    for (size_t d = 0; d + 1 < operand.access.strides.size(); ++d)
        out = out && operand.access.strides[d] * size % 16 == 0;
    return out;
}

std::variant<SplitShape, Reason> shapeFor(const AttentionSpec& spec) {
    const Attention& code = *spec.code;
    const DType type = spec.k.dtype;
    if (type == DType::Float64 || spec.q.dtype != type || spec.v.dtype != type ||
        spec.output.dtype == DType::Float64)
        return refusal("dtype", "operands of one type, float32 or shorter");
    if (code.l > mostQueries || code.s < fewestKeys)
        return refusal("occupancy",
                       fmt::format("{} queries to {} keys: tiles share the keys", code.l, code.s));
    SplitShape out;
    out.elements = static_cast<int64_t>(16 / sizeOf(type));
    out.lanes = code.d / out.elements;
    if (code.e != code.d || code.d % out.elements != 0 || out.lanes < 1 || out.lanes > 32 ||
        !std::has_single_bit(static_cast<uint64_t>(out.lanes)))
        return refusal("support",
                       fmt::format("keys of {} and values of {} elements", code.d, code.e));
    for (const KernelOperand* operand : {&spec.q, &spec.k, &spec.v})
        if (!inWholeAccesses(spec, *operand))
            return refusal("layout", "rows that are no accesses of 16 bytes");
    const DeviceProfile* profile = spec.request->profile;
    const double units = profile ? profile->units : 132;
    const auto wanted =
        static_cast<int64_t>(4 * units / static_cast<double>(spec.batches * code.l));
    out.parts = std::clamp<int64_t>(wanted, 1, std::min(mostParts, code.s / fewestKeys));
    out.keysEach = (code.s + out.parts - 1) / out.parts;
    out.parts = (code.s + out.keysEach - 1) / out.keysEach;
    return out;
}

} // namespace

EmitResult emitAttentionSplit(const KernelRequest& request) {
    const char* name = "attention_split";
    auto made = attentionSpec(request);
    if (auto* reason = std::get_if<Reason>(&made))
        return finish(name, request, PartResult(*reason));
    const AttentionSpec& spec = std::get<AttentionSpec>(made);
    auto shape = shapeFor(spec);
    if (auto* reason = std::get_if<Reason>(&shape))
        return finish(name, request, PartResult(*reason));
    const SplitEmitter emitter(spec, std::get<SplitShape>(shape));
    return finishInOrder(name, request, {emitter.emit()}, emitter.needs());
}

} // namespace fuselage::gpu
