// SPDX-License-Identifier: Apache-2.0
// Matrix products, batched and strided.
#include "core/cpu/onednn_engine_internal.h"
#include "core/kernel/matmul_shape.h"

#include <algorithm>

namespace fuselage::cpu {

namespace {

using namespace onednn;
using dnnl::memory;

/// Where a batch of small matrices is multiplied one matrix after the other, as oneDNN does when
/// they lie in no order that its own loops know. Measured with 12 matrices of 7 to 512 rows and
/// columns and 16 to 128 terms: half the time up to 33 rows, 0.8 at 197, nothing beyond 256.
bool isFasterPacked(const MatMulShape& shape, bool packedWeights) {
    constexpr int64_t mostResults = int64_t(1) << 16, fewestUses = 3;
    return !shape.batch.empty() && shape.m <= mostResults && shape.n <= mostResults &&
           shape.m * shape.n <= mostResults &&
           shape.m * shape.n >= fewestUses * (shape.m + (packedWeights ? 0 : shape.n));
}

class MatMulEngine final : public EngineBase {
public:
    MatMulEngine(const MatMulShape& shape, std::vector<Loop> repeats, const OperandLayout& b,
                 DType result, bool packedWeights, const MatchedEpilogue& epilogue, Pages& pages)
        : m_shape(shape), m_repeats(std::move(repeats)), m_type(b.dtype), m_resultType(result) {
        bool fold = (packedWeights && canScale(b)) || epilogue.scale.empty();
        MatchedEpilogue used = fold ? epilogue : withoutScale(epilogue);
        memory::desc source = operand(0, shape.m, shape.aM, shape.k, shape.aK);
        memory::desc weights = operand(1, shape.k, shape.bK, shape.n, shape.bN);
        memory::desc destination = operand(2, shape.m, shape.cM, shape.n, shape.cN);
        size_t dims = shape.batch.size() + 2;
        Extents channelDims(dims, 1);
        channelDims.back() = shape.n;
        PostOps postOps = makePostOps(used, channelDims);
        memory::desc bias = describe(channelDims, rowMajorStrides(channelDims), DType::Float32);
        memory::desc anyWeights = describeAny(weights.dims(), m_type);
        dnnl::matmul::desc desc =
            used.shift.empty()
                ? dnnl::matmul::desc(source, packedWeights ? anyWeights : weights, destination)
                : dnnl::matmul::desc(source, packedWeights ? anyWeights : weights, bias,
                                     destination);
        dnnl::matmul::primitive_desc pd(desc, postOps.attributes, engine());
        implementation = pd.impl_info_str();
        slow = implementation.find("ref") != std::string::npos;
        wantsPacked =
            paceOf(implementation) == Pace::Products && isFasterPacked(shape, packedWeights);
        bind(dnnl::matmul(pd), source, pd.src_desc(), pd.dst_desc(), pd.scratchpad_desc(),
             std::move(postOps));
        bindBias(used.shift, shape.n, pd.bias_desc());
        if (packedWeights)
            pack(b, used.scale, weights, pd.weights_desc(), pages);
        else
            bindVaryingWeights(weights, pd.weights_desc());
    }

    void run(const Arguments& arguments, std::byte* scratch) override {
        Arguments moved = arguments;
        const auto bytes = static_cast<int64_t>(sizeOf(m_type));
        moved.a += m_shape.aOffset * bytes;
        if (moved.b)
            moved.b += m_shape.bOffset * bytes;
        moved.c += m_shape.cOffset * static_cast<int64_t>(sizeOf(m_resultType));
        runAlong(0, moved, scratch);
    }

private:
    /// The same product for every place along the loops of m_repeats from `loop` on.
    void runAlong(size_t loop, Arguments arguments, std::byte* scratch) {
        if (loop == m_repeats.size())
            return EngineBase::run(arguments, scratch);
        const int64_t step =
            m_repeats[loop].strides[2] * static_cast<int64_t>(sizeOf(m_resultType));
        for (int64_t i = 0; i < m_repeats[loop].extent; ++i, arguments.c += step)
            runAlong(loop + 1, arguments, scratch);
    }

    memory::desc operand(size_t which, int64_t rows, int64_t rowStride, int64_t cols,
                         int64_t colStride) const {
        Extents dims, strides;
        for (const Loop& loop : m_shape.batch) {
            bool moves = loop.strides[which] != 0;
            dims.push_back(moves ? loop.extent : 1);
            strides.push_back(loop.strides[which]);
        }
        // A dim of one element may have any stride: this one makes the matrix dense, or transposed.
        if (rows == 1)
            rowStride = colStride == 1 ? cols : 1;
        else if (cols == 1)
            colStride = rowStride == 1 ? rows : 1;
        dims.insert(dims.end(), {rows, cols});
        strides.insert(strides.end(), {rowStride, colStride});
        return describe(dims, strides, which == 2 ? m_resultType : m_type);
    }

    /// As they lie, or times the epilogue's scale.
    void pack(const OperandLayout& b, const std::vector<double>& scale, const memory::desc& plain,
              const memory::desc& packed, Pages& pages) {
        const std::byte* from =
            b.constant->bytes() + m_shape.bOffset * static_cast<int64_t>(sizeOf(m_type));
        if (scale.empty())
            return bindWeights(from, plain, packed, pages);
        const auto* values = reinterpret_cast<const float*>(from);
        std::vector<float> scaled(static_cast<size_t>(m_shape.k * m_shape.n));
        for (int64_t i = 0; i < m_shape.k; ++i)
            for (int64_t j = 0; j < m_shape.n; ++j)
                scaled[static_cast<size_t>(i * m_shape.n + j)] =
                    static_cast<float>(values[i * m_shape.bK + j * m_shape.bN] *
                                       scale[scale.size() == 1 ? 0 : static_cast<size_t>(j)]);
        const Extents dims = plain.dims();
        bindWeights(scaled.data(), describe(dims, rowMajorStrides(dims), DType::Float32), packed,
                    pages);
    }

    MatMulShape m_shape;
    std::vector<Loop> m_repeats; ///< batch loops that only the result moves along
    DType m_type, m_resultType;
};

/// Takes the batch loops that neither operand moves along out of the shape: oneDNN has none such.
std::vector<Loop> takeRepeats(MatMulShape& shape) {
    std::vector<Loop> out;
    std::erase_if(shape.batch, [&](const Loop& loop) {
        const bool repeats = loop.strides[0] == 0 && loop.strides[1] == 0 && loop.extent > 1;
        if (repeats)
            out.push_back(loop);
        return repeats;
    });
    return out;
}

/// oneDNN 2.6 knows matrices whose rows lie apart, as heads of a layer's columns do, by the order
/// of four dimensions.
void addBatchOfOne(MatMulShape& shape) {
    if (shape.batch.size() == 1 && shape.batch[0].strides[0] != 0 && shape.batch[0].strides[1] != 0)
        shape.batch.insert(shape.batch.begin(), Loop{1, {0, 0, 0}});
}

bool isEmpty(const MatchedEpilogue& epilogue) {
    return epilogue.scale.empty() && epilogue.shift.empty() && epilogue.postOps.empty();
}

bool isPerChannel(const std::vector<double>& values) {
    return values.size() > 1;
}

/// Something that the epilogue takes once a channel: along the columns of the product.
bool hasChannels(const MatchedEpilogue& epilogue) {
    return isPerChannel(epilogue.scale) || isPerChannel(epilogue.shift) ||
           std::any_of(epilogue.postOps.begin(), epilogue.postOps.end(), [](const PostOp& op) {
               return op.kind == PostOp::Kind::MultiplyChannel ||
                      op.kind == PostOp::Kind::AddChannel;
           });
}

/// Whether each dim steps over all of the dims inside of it. oneDNN finds the channel of an operand
/// of a post-op from the address of the result, which needs that (2.6 reads beside it otherwise).
bool isNested(const MatMulShape& shape) {
    int64_t inside = shape.n == 1 ? 1 : shape.n * shape.cN;
    auto steps = [&](int64_t extent, int64_t stride) {
        const bool over = extent == 1 || stride >= inside;
        inside = extent == 1 ? inside : extent * stride;
        return over;
    };
    bool nested = steps(shape.m, shape.cM);
    for (size_t i = shape.batch.size(); i-- > 0;)
        nested = nested && steps(shape.batch[i].extent, shape.batch[i].strides[2]);
    return nested;
}

/// Whether the primitive takes a scale or shift of one value a channel as an operand of a post-op.
bool needsOperands(const MatchedEpilogue& epilogue, bool scaleFolds) {
    MatchedEpilogue rest = epilogue;
    rest.shift.clear();
    if (scaleFolds)
        rest.scale.clear();
    return hasChannels(rest) || !rest.scale.empty();
}

/// Whether a batch has one row of results each, not side by side: oneDNN 2.6 adds a bias and
/// multiplies by a scale there as if they were.
bool hasRowsApart(const MatMulShape& shape) {
    int64_t beside = shape.n;
    bool apart = false;
    for (size_t i = shape.batch.size(); shape.m == 1 && i-- > 0;) {
        const Loop& loop = shape.batch[i];
        apart = apart || (loop.extent > 1 && loop.strides[2] != beside);
        beside *= loop.extent;
    }
    return apart;
}

bool isMatrix(int64_t rowStride, int64_t rows, int64_t colStride, int64_t cols) {
    return rowStride == 1 || colStride == 1 || rows == 1 || cols == 1;
}

EngineResult engineFor(MatMulShape shape, const OperandLayout& b, DType result,
                       const MatchedEpilogue& epilogue, Pages& pages) {
    const std::vector<Loop> repeats = takeRepeats(shape);
    if (!repeats.empty() && !isEmpty(epilogue))
        return Reason{"layout", "the same product in several places, with an epilogue", {}, {}};
    if (!isMatrix(shape.aM, shape.m, shape.aK, shape.k) ||
        !isMatrix(shape.bK, shape.k, shape.bN, shape.n) || (shape.cN != 1 && shape.n != 1))
        return Reason{"layout", "a matrix is not contiguous along rows or columns", {}, {}};
    if (shape.batch.size() > 10)
        return Reason{"layout", "more batch dimensions than oneDNN takes", {}, {}};
    bool sharedB = true;
    for (const Loop& loop : shape.batch)
        sharedB = sharedB && loop.strides[1] == 0;
    const bool packed = b.constant && sharedB;
    addBatchOfOne(shape);
    if (hasRowsApart(shape) && !(epilogue.scale.empty() && epilogue.shift.empty()))
        return Reason{"layout", "rows of results apart, with a scale or shift", {}, {}};
    if (!shape.wholeRows && hasChannels(epilogue))
        return Reason{"layout", "the channels of the epilogue are not one run of columns", {}, {}};
    if (!isNested(shape) && needsOperands(epilogue, packed && canScale(b)))
        return Reason{"layout", "operands of the epilogue with a transposed result", {}, {}};
    if (auto reason = postOpsReason(epilogue))
        return std::move(*reason);
    try {
        return std::make_unique<MatMulEngine>(shape, repeats, b, result, packed, epilogue, pages);
    } catch (const dnnl::error& error) {
        return Reason{"support", std::string("oneDNN matmul: ") + error.what(), {}, {}};
    }
}

} // namespace

EngineResult makeMatMulEngine(const Contraction& program, const OperandLayout& a,
                              const OperandLayout& b, const EngineTarget& c,
                              const MatchedEpilogue& epilogue, Pages& pages) {
    const size_t dims = program.space.size() + program.k.size();
    const auto engineOf = [&](ProductLoop rows) -> EngineResult {
        auto shape = matMulShape(program, stridedFor(program.a, a, dims),
                                 stridedFor(program.b, b, dims), c.at, rows);
        if (auto* reason = std::get_if<Reason>(&shape))
            return std::move(*reason);
        return engineFor(std::move(std::get<MatMulShape>(shape)), b, c.dtype, epilogue, pages);
    };
    EngineResult longest = engineOf(ProductLoop::Longest);
    return std::holds_alternative<Reason>(longest) ? engineOf(ProductLoop::Innermost)
                                                   : std::move(longest);
}

} // namespace fuselage::cpu
