// SPDX-License-Identifier: Apache-2.0
// Matrix products, batched and strided.
#include "core/cpu/onednn_engine_internal.h"
#include "core/kernel/matmul_shape.h"

namespace fuselage::cpu {

namespace {

using namespace onednn;
using dnnl::memory;

class MatMulEngine final : public EngineBase {
public:
    MatMulEngine(const MatMulShape& shape, const OperandLayout& b, DType result, bool packedWeights,
                 const MatchedEpilogue& epilogue, Pages& pages)
        : m_shape(shape), m_type(b.dtype), m_resultType(result) {
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
        bind(dnnl::matmul(pd), source, pd.src_desc(), pd.dst_desc(), pd.scratchpad_desc(),
             std::move(postOps));
        bindBias(used.shift, shape.n, pd.bias_desc());
        if (packedWeights)
            pack(b, used.scale, pd.weights_desc(), pages);
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
        EngineBase::run(moved, scratch);
    }

private:
    memory::desc operand(size_t which, int64_t rows, int64_t rowStride, int64_t cols,
                         int64_t colStride) const {
        Extents dims, strides;
        for (const Loop& loop : m_shape.batch) {
            bool moves = loop.strides[which] != 0;
            dims.push_back(moves ? loop.extent : 1);
            strides.push_back(loop.strides[which]);
        }
        dims.insert(dims.end(), {rows, cols});
        strides.insert(strides.end(), {rowStride, colStride});
        return describe(dims, strides, which == 2 ? m_resultType : m_type);
    }

    void pack(const OperandLayout& b, const std::vector<double>& scale, const memory::desc& packed,
              Pages& pages) {
        auto k = static_cast<size_t>(m_shape.k), n = static_cast<size_t>(m_shape.n);
        std::vector<float> values(k * n);
        const std::vector<float> from = numbersOf(*b.constant);
        for (size_t i = 0; i < k; ++i)
            for (size_t j = 0; j < n; ++j) {
                auto at = m_shape.bOffset + static_cast<int64_t>(i) * m_shape.bK +
                          static_cast<int64_t>(j) * m_shape.bN;
                double factor = scale.empty() ? 1 : scale[scale.size() == 1 ? 0 : j];
                values[i * n + j] = static_cast<float>(from[static_cast<size_t>(at)] * factor);
            }
        Extents dims(m_shape.batch.size(), 1);
        dims.insert(dims.end(), {m_shape.k, m_shape.n});
        bindWeights(std::move(values), describe(dims, rowMajorStrides(dims), DType::Float32),
                    packed, pages);
    }

    MatMulShape m_shape;
    DType m_type, m_resultType;
};

bool isMatrix(int64_t rowStride, int64_t rows, int64_t colStride, int64_t cols) {
    return rowStride == 1 || colStride == 1 || rows == 1 || cols == 1;
}

} // namespace

EngineResult makeMatMulEngine(const Contraction& program, const OperandLayout& a,
                              const OperandLayout& b, const EngineTarget& c,
                              const MatchedEpilogue& epilogue, Pages& pages) {
    size_t dims = program.space.size() + program.k.size();
    auto found =
        matMulShape(program, stridedFor(program.a, a, dims), stridedFor(program.b, b, dims), c.at);
    if (auto* reason = std::get_if<Reason>(&found))
        return std::move(*reason);
    const auto& shape = std::get<MatMulShape>(found);
    if (!isMatrix(shape.aM, shape.m, shape.aK, shape.k) ||
        !isMatrix(shape.bK, shape.k, shape.bN, shape.n) || (shape.cN != 1 && shape.n != 1))
        return Reason{"layout", "a matrix is not contiguous along rows or columns", {}, {}};
    if (shape.batch.size() > 10)
        return Reason{"layout", "more batch dimensions than oneDNN takes", {}, {}};
    bool sharedB = true;
    for (const Loop& loop : shape.batch)
        sharedB = sharedB && loop.strides[1] == 0;
    try {
        return std::make_unique<MatMulEngine>(shape, b, c.dtype, b.constant && sharedB, epilogue,
                                              pages);
    } catch (const dnnl::error& error) {
        return Reason{"support", std::string("oneDNN matmul: ") + error.what(), {}, {}};
    }
}

} // namespace fuselage::cpu
