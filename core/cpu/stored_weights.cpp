// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/stored_weights.h"

#include "core/cpu/nibble_product.h"
#include "core/kernel/matmul_shape.h"
#include "core/ops/tensor_index.h"

namespace fuselage::cpu {

namespace {

constexpr int64_t middleCode = 8;

class StoredWeightsEngine final : public ContractionEngine {
public:
    StoredWeightsEngine(const MatMulShape& shape, const NibbleSource& source,
                        const MatchedEpilogue& epilogue, const PrepareContext& context)
        : m_shape(shape), m_threads(context.threads),
          m_product(context.table, source, context.threads.pages()) {
        scratchBytes = m_product.scratchBytes(shape.m);
        implementation = std::string("weights of 4 bits ") + context.table.name;
        if (epilogue.shift.empty())
            return;
        m_bias.assign(static_cast<size_t>(m_product.paddedColumns()), 0);
        for (size_t n = 0; n < static_cast<size_t>(shape.n); ++n)
            m_bias[n] = static_cast<float>(epilogue.shift[epilogue.shift.size() == 1 ? 0 : n]);
    }

    void run(const Arguments& arguments, std::byte* scratch) override {
        constexpr auto bytes = static_cast<int64_t>(sizeof(float));
        const NibbleProduct::Call call{m_shape.m,
                                       arguments.a + m_shape.aOffset * bytes,
                                       DType::Float32,
                                       static_cast<size_t>(m_shape.aM * bytes),
                                       arguments.c + m_shape.cOffset * bytes,
                                       DType::Float32,
                                       static_cast<size_t>(m_shape.cM * bytes),
                                       m_bias.empty() ? nullptr : m_bias.data()};
        m_product.run(call, scratch, m_threads);
    }

    bool isShareable() const override { return false; }

    void runShared(const std::byte*, std::byte*, std::byte*) const override {}

private:
    MatMulShape m_shape;
    Threads& m_threads;
    NibbleProduct m_product;
    std::vector<float> m_bias;
};

/// Whether the columns of B lie along the axis of the scales, each from its beginning to its end.
bool runsAlong(const StoredWeights& weights, const MatMulShape& shape) {
    const Extents& extents = weights.codes->extents();
    int64_t inner = 1;
    for (size_t d = weights.axis + 1; d < extents.size(); ++d)
        inner *= extents[d];
    if (shape.k > 1 && shape.bK != inner)
        return false;
    if (shape.k != extents[weights.axis])
        return false;
    for (int64_t n = 0; n < shape.n; ++n)
        if (weights.alongAxis(shape.bOffset + n * shape.bN) != 0)
            return false;
    return true;
}

/// Whether each column of B has one scale.
bool isPerColumn(const StoredWeights& weights, const MatMulShape& shape) {
    for (int64_t n = 0; n < shape.n; ++n) {
        const int64_t first = shape.bOffset + n * shape.bN;
        if (weights.scaleAt(first) != weights.scaleAt(first + (shape.k - 1) * shape.bK))
            return false;
    }
    return true;
}

bool hasShifts(const StoredWeights& weights) {
    const int64_t unshifted = weights.codes->dtype() == DType::UInt4 ? middleCode : 0;
    for (int64_t i = 0; weights.zero && i < weights.zero->elementCount(); ++i)
        if (weights.zero->intAt(i) != unshifted)
            return true;
    return !weights.zero && unshifted != 0;
}

NibbleSource storedSource(const StoredWeights& weights, const MatMulShape& shape) {
    NibbleSource out;
    out.k = shape.k;
    out.n = shape.n;
    out.block = weights.block > 0 ? weights.block : blockOfOneScale;
    out.shifted = hasShifts(weights);
    const bool isUnsigned = weights.codes->dtype() == DType::UInt4;
    const auto place = [shape](int64_t n, int64_t k) {
        return shape.bOffset + n * shape.bN + k * shape.bK;
    };
    out.codes = [=, &weights](int64_t n, int64_t word) {
        constexpr int64_t perWord = 8;
        uint32_t bits = 0;
        for (int64_t i = 0; i < perWord && word * perWord + i < shape.k; ++i) {
            const int64_t stored = weights.codes->intAt(place(n, word * perWord + i));
            bits |= static_cast<uint32_t>(stored + (isUnsigned ? 0 : middleCode)) << (4 * i);
        }
        return bits;
    };
    const int64_t block = out.block;
    const auto scaleOf = [=, &weights](int64_t n, int64_t at) {
        return weights.scaleAt(place(n, at * block));
    };
    out.scale = [=, &weights](int64_t n, int64_t at) {
        return static_cast<float>(weights.scale->at(scaleOf(n, at)));
    };
    out.shift = [=, &weights](int64_t n, int64_t at) {
        const int64_t i = scaleOf(n, at);
        const int64_t origin = weights.zero ? weights.zero->intAt(i) : 0;
        return static_cast<float>(static_cast<double>((isUnsigned ? middleCode : 0) - origin) *
                                  weights.scale->at(i));
    };
    return out;
}

} // namespace

std::optional<StoredWeights> StoredWeights::of(const Node& node,
                                               const std::vector<TensorPtr>& constants) {
    if (node.op != Op::DequantizeLinear || constants.size() < 2 || !constants[0] || !constants[1])
        return std::nullopt;
    StoredWeights out;
    out.codes = constants[0];
    out.scale = constants[1];
    out.zero = constants.size() > 2 ? constants[2] : nullptr;
    const DType type = out.codes->dtype();
    const auto axis = normalizedAxis(node.attributes.integer("axis", 1), out.codes->rank());
    out.block = node.attributes.integer("block_size");
    const bool isOne = out.block == 0 && out.scale->elementCount() == 1;
    if ((type != DType::Int4 && type != DType::UInt4) || out.scale->dtype() != DType::Float32 ||
        out.codes->elementCount() == 0 || out.block % 8 != 0 || (!axis && !isOne) ||
        (out.zero &&
         (out.zero->dtype() != type || out.zero->elementCount() != out.scale->elementCount())))
        return std::nullopt;
    const Extents& extents = out.codes->extents();
    out.axis = axis.value_or(0);
    if (isOne)
        return out;
    out.m_extent = extents[out.axis];
    for (size_t d = out.axis + 1; d < extents.size(); ++d)
        out.m_inner *= extents[d];
    Extents wanted = {out.m_extent};
    if (out.block > 0) {
        out.m_blocks = (out.m_extent + out.block - 1) / out.block;
        wanted = extents;
        wanted[out.axis] = out.m_blocks;
    }
    return out.scale->extents() == wanted ? std::optional(out) : std::nullopt;
}

int64_t StoredWeights::alongAxis(int64_t element) const {
    return element / m_inner % m_extent;
}

int64_t StoredWeights::bytes() const {
    const size_t shifts = zero ? zero->byteCount() : 0;
    return static_cast<int64_t>((codes->byteCount() + shifts + 1) / 2 + scale->byteCount());
}

int64_t StoredWeights::scaleAt(int64_t element) const {
    if (block == 0)
        return scale->elementCount() == 1 ? 0 : alongAxis(element);
    const int64_t outer = element / m_inner / m_extent;
    return (outer * m_blocks + alongAxis(element) / block) * m_inner + element % m_inner;
}

EngineResult makeStoredWeightsEngine(const Contraction& program, const OperandLayout& a,
                                     const OperandLayout& b, const EngineTarget& c,
                                     const MatchedEpilogue& epilogue, const StoredWeights& weights,
                                     const PrepareContext& context) {
    if (program.kind != Contraction::Kind::MatMul ||
        elementCount(b.extents) != weights.codes->elementCount())
        return Reason{"layout", "weights of 4 bits are multiplied as they lie in the file", {}, {}};
    const size_t dims = program.space.size() + program.k.size();
    auto found =
        matMulShape(program, stridedFor(program.a, a, dims), stridedFor(program.b, b, dims), c.at);
    if (auto* reason = std::get_if<Reason>(&found))
        return std::move(*reason);
    const auto& shape = std::get<MatMulShape>(found);
    if (!shape.batch.empty() || !shape.wholeRows || c.dtype != DType::Float32 ||
        a.dtype != DType::Float32 || (shape.k > 1 && shape.aK != 1) ||
        (shape.n > 1 && shape.cN != 1))
        return Reason{"layout", "weights of 4 bits want whole rows of A and of the result", {}, {}};
    if (!epilogue.scale.empty() || !epilogue.postOps.empty())
        return Reason{"cpu-epilogue", "behind weights of 4 bits it is a pass of its own", {}, {}};
    if (weights.block > 0 ? !runsAlong(weights, shape) : !isPerColumn(weights, shape))
        return Reason{"layout", "blocks of scales do not run along what is summed", {}, {}};
    return std::make_unique<StoredWeightsEngine>(shape, storedSource(weights, shape), epilogue,
                                                 context);
}

} // namespace fuselage::cpu
