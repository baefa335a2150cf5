// SPDX-License-Identifier: Apache-2.0
// Few rows against a large weight: the weight is streamed once in accesses of 16 bytes while the
// rows come from the caches. Threads share k; their sums meet by shuffles and in shared memory, in
// an order that does not change. Blocks that make their rows themselves go from tile to tile.
#include "core/graph/type.h"
#include "gpu/kernels/contraction.h"
#include "gpu/kernels/contraction_epilogue.h"
#include "gpu/kernels/gemv.h"
#include "gpu/kernels/parts.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu {

namespace {

constexpr int64_t mostRows = 8;
constexpr int warps = 8;

/// How the lanes of a warp lie over the weight: `across` of them side by side along n, each on
/// `columns` neighbours, the others along k, each on `depth` neighbours.
struct GemvShape {
    int across = 1, columns = 1, depth = 1;

    int lanesK() const { return 32 / across; }
    int blockColumns() const { return across * columns; }
    int blockDepth() const { return lanesK() * depth * warps; }
};

class GemvEmitter {
public:
    GemvEmitter(const KernelRequest& request, const ContractionView& view, GemvShape shape,
                const RowsInFront* front)
        : m_view(view), m_shape(shape), m_front(front), m_epilogue(request, view, {}),
          m_batch(axisNest(view, view.batch, 0, {view.a, view.b})),
          m_m(axisNest(view, view.m, view.batch.size(), {view.a, view.b})),
          m_n(axisNest(view, view.n, view.batch.size() + view.m.size(), {view.a, view.b})),
          m_k(axisNest(view, view.k, view.resultDims(), {view.a, view.b})) {}

    KernelPart emit() const;

private:
    int64_t tiles() const {
        return (m_view.nCount + m_shape.blockColumns() - 1) / m_shape.blockColumns();
    }
    /// Of the sums that meet in shared memory.
    int64_t partialBytes() const {
        return int64_t{warps} * m_view.mCount * m_shape.blockColumns() * 4;
    }
    int64_t blocks() const {
        return m_front ? std::min(tiles(), m_front->blocks) : m_view.batchCount * tiles();
    }
    std::string place() const;
    std::string fetchAhead() const;
    std::string loop() const;
    std::string reduction() const;
    std::string shared() const;

    const ContractionView& m_view;
    GemvShape m_shape;
    const RowsInFront* m_front;
    EpilogueText m_epilogue;
    LoopNest m_batch, m_m, m_n, m_k;
};

/// The weight's words of this step, then each row's elements against them.
std::string GemvEmitter::loop() const {
    const int64_t rows = m_view.mCount;
    const int lanes = m_shape.columns * m_shape.depth; // one of them is 1
    // Two blocks of rows in front are all that a multiprocessor has: more must be under way.
    std::string out = fmt::format(
        "#pragma unroll {7}\n    for (unsigned k = kFirst; k < {0}u; k += {1}u) {{\n"
        "        float w[{2}];\n        int aOffset, bOffset;\n        {{\n{3}"
        "            aOffset = {4};\n            bOffset = {5};\n        }}\n"
        "        loadLanes<{2}>({6} + (bStart + bOffset), w);\n",
        m_view.kCount, m_shape.blockDepth(), lanes, m_k.split("k", "k", "            "),
        m_k.offset(0, "k"), m_k.offset(1, "k"), m_view.b.pointer, m_front && rows <= 2 ? 4 : 2);
    out += fmt::format("#pragma unroll\n        for (int m = 0; m < {}; ++m) {{\n", rows);
    if (m_shape.depth > 1)
        out += fmt::format("            float x[{0}];\n"
                           "            {2}<{0}>({1} + (aStart[m] + aOffset), x);\n"
                           "#pragma unroll\n            for (int e = 0; e < {0}; ++e)\n"
                           "                sums[m][0] += x[e] * w[e];\n",
                           m_shape.depth, m_view.a.pointer, m_front ? "loadStaged" : "loadLanes");
    else
        out += fmt::format("            const float x = load({} + (aStart[m] + aOffset));\n"
                           "#pragma unroll\n            for (int v = 0; v < {}; ++v)\n"
                           "                sums[m][v] += x * w[v];\n",
                           m_view.a.pointer, m_shape.columns);
    return out + "        }\n    }\n";
}

/// Lanes of a warp, then warps; thread t of the block ends result t.
std::string GemvEmitter::reduction() const {
    const int64_t rows = m_view.mCount;
    const int columns = m_shape.blockColumns();
    std::string out = fmt::format(
        "#pragma unroll\n    for (int m = 0; m < {0}; ++m)\n"
        "#pragma unroll\n        for (int v = 0; v < {1}; ++v) {{\n"
        "#pragma unroll\n            for (int distance = {2}; distance < 32; distance *= 2)\n"
        "                sums[m][v] += __shfl_xor_sync(0xffffffffu, sums[m][v], distance);\n"
        "            if (lane < {2})\n"
        "                partial[(warp * {0} + m) * {3} + lane * {1} + v] = sums[m][v];\n        "
        "}}\n"
        "    __syncthreads();\n",
        rows, m_shape.columns, m_shape.across, columns);
    return out +
           fmt::format("    for (int result = threadIdx.x; result < {0}; result += {1}) {{\n"
                       "        float x[1] = {{0.0f}};\n"
                       "        for (int w = 0; w < {2}; ++w)\n"
                       "            x[0] += partial[w * {0} + result];\n"
                       "        const unsigned m = result / {3}, n = tileN * {3}u + result % {3};\n"
                       "        if (n < {4}u)\n            {5};\n    }}\n",
                       rows * columns, 32 * warps, warps, columns, m_view.nCount,
                       m_epilogue.call("x", "batch", "m", "n"));
}

/// Where the threads stand in a tile, and sums of nothing.
std::string GemvEmitter::place() const {
    const int64_t rows = m_view.mCount;
    // A column beyond the last one reads the last one again and ends nothing.
    std::string out = fmt::format(
        "    const unsigned column = tileN * {8}u + lane % {9} * {10};\n    int aStart[{7}], "
        "bStart;\n"
        "    {{\n        const unsigned n = column < {0}u ? column : {1}u;\n{2}"
        "{3}        bStart = {4} + {5} + {6};\n#pragma unroll\n"
        "        for (unsigned m = 0; m < {7}u; ++m) {{\n",
        m_view.nCount, m_view.nCount - m_shape.columns, m_batch.split("batch", "batch", "        "),
        m_n.split("n", "n", "        "), m_view.b.access.offset, m_batch.offset(1, "batch"),
        m_n.offset(1, "n"), rows, m_shape.blockColumns(), m_shape.across, m_shape.columns);
    out += fmt::format("{}            aStart[m] = {} + {} + {};\n        }}\n    }}\n",
                       m_m.split("m", "m", "            "), m_view.a.access.offset,
                       m_batch.offset(0, "batch"), m_m.offset(0, "m"));
    return out + fmt::format("    float sums[{0}][{1}];\n#pragma unroll\n"
                             "    for (int m = 0; m < {0}; ++m)\n#pragma unroll\n"
                             "        for (int v = 0; v < {1}; ++v)\n"
                             "            sums[m][v] = 0.0f;\n",
                             rows, m_shape.columns);
}

/// The first weights of the first tile are on their way while the rows are made.
std::string GemvEmitter::fetchAhead() const {
    constexpr int64_t steps = 8;
    return fmt::format("    {{\n        const unsigned tileN = block, batch = 0;\n"
                       "        const unsigned column = tileN * {0}u + lane % {1} * {2};\n"
                       "        const unsigned n = column < {3}u ? column : {4}u;\n{5}{6}"
                       "        const int bStart = {7} + {8} + {9};\n"
                       "        for (unsigned k = kFirst; k < {10}u; k += {11}u) {{\n{12}"
                       "            prefetchLine({13} + (bStart + {14}));\n        }}\n    }}\n",
                       m_shape.blockColumns(), m_shape.across, m_shape.columns, m_view.nCount,
                       m_view.nCount - m_shape.columns, m_batch.split("batch", "batch", "        "),
                       m_n.split("n", "n", "        "), m_view.b.access.offset,
                       m_batch.offset(1, "batch"), m_n.offset(1, "n"),
                       std::min<int64_t>(m_view.kCount, steps * m_shape.blockDepth()),
                       m_shape.blockDepth(), m_k.split("k", "k", "            "), m_view.b.pointer,
                       m_k.offset(1, "k"));
}

/// The rows, where blocks make them, and the sums that meet: those of two tiles in turn, so that
/// one barrier a tile is enough.
std::string GemvEmitter::shared() const {
    std::string out = "    extern __shared__ __align__(16) unsigned char sharedMemory[];\n";
    if (!m_front)
        return out + "    float* const partial = reinterpret_cast<float*>(sharedMemory);\n";
    return out + fmt::format("    {0}* const rows = reinterpret_cast<{0}*>(sharedMemory + {1});\n"
                             "    float* const sumsOfTiles = reinterpret_cast<float*>(sharedMemory "
                             "+ {2});\n",
                             storageType(m_view.a.dtype), m_front->sharedBytes,
                             m_front->sharedBytes + roundUp(m_front->rowBytes, 16));
}

KernelPart GemvEmitter::emit() const {
    const int64_t rows = m_view.mCount;
    KernelPart part;
    part.comment = {
        fmt::format("{} rows of {} x {}: {} columns a block, {} elements of k at a time", rows,
                    m_view.nCount, m_view.kCount, m_shape.blockColumns(), m_shape.blockDepth())};
    part.helpers = {"vectors"};
    part.functions = m_epilogue.text();
    part.numeric = std::max(NumericClass::Reassociated, m_epilogue.numeric());
    part.extra = packedParameters(m_view);
    part.threads = 32 * warps;
    part.blocks = blocks();
    part.sharedBytes = static_cast<uint32_t>(partialBytes());
    part.body = fmt::format("    const int lane = threadIdx.x % 32u, warp = threadIdx.x / 32u;\n"
                            "    const unsigned kFirst = (warp * {} + lane / {}) * {};\n",
                            m_shape.lanesK(), m_shape.across, m_shape.depth);
    part.body += shared();
    const std::string tile = place() + loop() + reduction();
    if (!m_front) {
        part.body += fmt::format(
            "    const unsigned tileN = block % {0}u, batch = block / {0}u;\n{1}", tiles(), tile);
        return part;
    }
    part.comment.push_back("every block makes all rows in shared memory, then takes its tiles");
    part.helpers.emplace_back("reduce");
    part.functions = m_front->functions + part.functions;
    part.numeric = std::max(part.numeric, m_front->numeric);
    part.sharedBytes = static_cast<uint32_t>(m_front->sharedBytes + roundUp(m_front->rowBytes, 16) +
                                             2 * partialBytes());
    part.body += fetchAhead() + m_front->make +
                 fmt::format("    __syncthreads();\n"
                             "    for (unsigned tileN = block, turn = 0; tileN < {0}u; tileN += "
                             "{1}u, turn ^= 1u) {{\n"
                             "    const unsigned batch = 0;\n"
                             "    float* const partial = sumsOfTiles + turn * {2};\n{3}    }}\n",
                             tiles(), part.blocks, partialBytes() / 4, tile);
    return part;
}

bool isSmallFloat(DType type) {
    return type == DType::Float16 || type == DType::BFloat16 || type == DType::Float32;
}

/// Whether `lanes` elements of an operand along the innermost loop of `along` are one access.
bool vectors(const KernelOperand& operand, size_t number, const LoopNest& along,
             const std::vector<const LoopNest*>& nests, int lanes) {
    const auto size = static_cast<int64_t>(sizeOf(operand.dtype));
    const int64_t bytes = std::min<int64_t>(16, lanes * size);
    bool out = along.innerStride(number) == 1 && along.innerExtent() % lanes == 0 &&
               operand.alignment % bytes == 0 && operand.access.offset * size % bytes == 0;
    for (const LoopNest* nest : nests)
        for (const Loop& loop : nest->loops())
            out =
                out && (&loop == &along.loops().back() || loop.strides[number] * size % bytes == 0);
    return out;
}

/// Along k where both operands allow, else along n where the weight does.
std::variant<GemvShape, Reason> shapeFor(const KernelRequest& request,
                                         const ContractionView& view) {
    const std::vector<KernelOperand> operands = {view.a, view.b};
    const LoopNest batch = axisNest(view, view.batch, 0, operands);
    const LoopNest m = axisNest(view, view.m, view.batch.size(), operands);
    const LoopNest n = axisNest(view, view.n, view.batch.size() + view.m.size(), operands);
    const LoopNest k = axisNest(view, view.k, view.resultDims(), operands);
    const std::vector<const LoopNest*> nests = {&batch, &m, &n, &k};
    const int lanes = 16 / static_cast<int>(sizeOf(view.b.dtype));
    const double units = multiprocessorsOf(request);
    GemvShape out;
    if (vectors(view.b, 1, k, nests, lanes) && vectors(view.a, 0, k, nests, lanes)) {
        out.depth = lanes;
        // Wider where columns are plenty, so that fewer lanes have to meet.
        while (out.across < 4 && static_cast<double>(view.nCount) / (2 * out.across) >= 2 * units)
            out.across *= 2;
        return out;
    }
    if (!vectors(view.b, 1, n, nests, lanes))
        return refusal("layout", "the weight cannot be read in accesses of 16 bytes");
    out.columns = lanes;
    out.across = 8;
    while (out.across > 2 && static_cast<double>(view.nCount) / (out.across * out.columns) < units)
        out.across /= 2;
    return out;
}

} // namespace

double multiprocessorsOf(const KernelRequest& request) {
    return request.profile ? request.profile->units : 132;
}

std::optional<Reason> refuseRows(const ContractionView& view) {
    if (view.mCount <= mostRows && view.mCount >= 1 && view.nCount >= 1 && view.batchCount >= 1 &&
        view.kCount >= 1)
        return std::nullopt;
    return refusal("occupancy", fmt::format("{} rows; at most {} come through the caches",
                                            view.mCount, mostRows));
}

PartResult gemvPart(const KernelRequest& request, ContractionView& view, const RowsInFront* front) {
    if (auto reason = refuseTypes(request))
        return *reason;
    const auto& code = std::get<Contraction>(request.program->code);
    if (code.accumulate != DType::Float32 || !isSmallFloat(view.a.dtype) ||
        !isSmallFloat(view.b.dtype))
        return refusal("dtype", "only products of float types that are summed in float32");
    if (code.prologueA || code.prologueB || code.poolWindow || view.transposed ||
        !view.bounds.empty() || request.strict || view.wide)
        return refusal("support", "no prologue, pool, padding, strict mode or 64-bit offset");
    if (auto reason = refuseRows(view))
        return *reason;
    auto shape = shapeFor(request, view);
    if (std::holds_alternative<Reason>(shape) && packB(request, view))
        shape = shapeFor(request, view);
    if (auto* reason = std::get_if<Reason>(&shape))
        return std::move(*reason);
    return GemvEmitter(request, view, std::get<GemvShape>(shape), front).emit();
}

EmitResult emitGemvSplit(const KernelRequest& request) {
    ContractionView view = viewOf(request);
    PartResult part = gemvPart(request, view, nullptr);
    if (std::holds_alternative<Reason>(part))
        return finish("gemv_split", request, std::move(part));
    std::vector<KernelPart> launches = {std::move(std::get<KernelPart>(part))};
    SetNeeds needs;
    if (view.packed)
        needs.packed = {*view.packed};
    return finishInOrder("gemv_split", request, std::move(launches), std::move(needs));
}

} // namespace fuselage::gpu
