// SPDX-License-Identifier: Apache-2.0
#include "gpu/libs/cublaslt_call.h"

#include "gpu/libs/matrix_product.h"
#include "gpu/libs/point_convolution.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu {

namespace {

Reason noEpilogue(const std::string& what) {
    return {"epilogue",
            "cuBLASLt has no epilogue for " + what,
            "one addend, then ReLU or the tanh form of GELU",
            {}};
}

class LtDescriber {
public:
    LtDescriber(const KernelRequest& request, const MatchedContraction& matched,
                const MatrixProduct& product)
        : m_request(request), m_matched(matched), m_product(product), m_program(*matched.program),
          m_loops(product.loops) {}

    std::variant<LtCall, Reason> run() {
        if (m_loops.batch.size() > 1)
            return Reason{"layout", "more than one batch dimension", {}, {}};
        m_out.batch = m_loops.batch.empty() ? 1 : m_loops.batch[0].extent;
        m_out.tf32 = m_request.tf32 && m_matched.dtype == DType::Float32;
        m_out.integers = m_matched.dtype == DType::Int8;
        if (m_out.integers)
            m_out.numeric = NumericClass::Exact;
        if (!placeResult() || !placeFactors() || !placeScale() || !placePostOps() || !placeBias())
            return std::move(m_reason);
        return std::move(m_out);
    }

private:
    bool fail(Reason reason) {
        m_reason = std::move(reason);
        return false;
    }

    bool failLayout(const char* what) { return fail({"layout", what, {}, {}}); }

    int64_t batchStride(size_t operand) const {
        return m_loops.batch.empty() ? 0 : m_loops.batch[0].strides[operand];
    }

    /// A stored column-major matrix whose columns are contiguous.
    LtMatrix matrix(size_t operand, const Loop& rows, const Loop& cols, DType dtype,
                    const TensorMemory& memory) const {
        LtMatrix out;
        out.dtype = dtype;
        out.rows = rows.extent;
        out.cols = cols.extent;
        out.leading = std::max(cols.strides[operand], rows.extent);
        out.batchStride = batchStride(operand);
        out.memory = memory;
        return out;
    }

    static bool contiguous(const Loop& loop, size_t operand) {
        return loop.extent == 1 || loop.strides[operand] == 1;
    }

    /// Columns may not overlap.
    static bool apart(const Loop& rows, const Loop& cols, size_t operand) {
        return cols.extent == 1 || cols.strides[operand] >= rows.extent;
    }

    TensorMemory inputAt(uint32_t operand, size_t position) const {
        return {TensorMemory::Kind::Input, operand, m_product.offsets[position], 0};
    }

    bool placeResult() {
        const size_t at = MatrixProduct::firstWrite;
        const uint32_t output = m_program.epilogue.writes[0].operand;
        const OperandLayout& layout = m_request.outputs[output];
        if (!contiguous(m_loops.n, at) || !apart(m_loops.n, m_loops.m, at))
            return failLayout("the rows of the result are not contiguous");
        if (!m_out.integers && layout.dtype != m_matched.dtype && layout.dtype != DType::Float32)
            return fail({"dtype", "the result has neither the operands' type nor float", {}, {}});
        m_out.d = matrix(at, m_loops.n, m_loops.m, layout.dtype,
                         {TensorMemory::Kind::Output, output, m_product.offsets[at], 0});
        m_out.d.alignment = alignmentAt(layout, m_product.offsets[at]);
        return true;
    }

    /// A factor with loops `own` (m or n) and k; its memory has one of them contiguous.
    bool placeFactor(size_t operand, const Loop& own, const TensorMemory& memory, bool wantsRows,
                     LtMatrix& out, bool& transpose) {
        const bool ownInner = contiguous(own, operand) && apart(own, m_loops.k, operand);
        const bool kInner = contiguous(m_loops.k, operand) && apart(m_loops.k, own, operand);
        if (!ownInner && !kInner)
            return failLayout("a matrix is contiguous along neither rows nor columns");
        // Stored with k contiguous it is k x own; with own contiguous own x k.
        const Loop& rows = kInner ? m_loops.k : own;
        const Loop& cols = kInner ? own : m_loops.k;
        out = matrix(operand, rows, cols, m_matched.dtype, memory);
        transpose = kInner == wantsRows;
        return true;
    }

    bool placeFactors() {
        TensorMemory b = inputAt(m_program.b.operand, MatrixProduct::b);
        if (m_product.packedB) {
            b = {TensorMemory::Kind::Packed, 0, 0, 0};
            m_out.packed.push_back(*m_product.packedB);
        }
        // op(a) is n x k and is our b; op(b) is k x m and is our a.
        if (!placeFactor(MatrixProduct::b, m_loops.n, b, true, m_out.a, m_out.transposeA) ||
            !placeFactor(MatrixProduct::a, m_loops.m,
                         inputAt(m_program.a.operand, MatrixProduct::a), false, m_out.b,
                         m_out.transposeB))
            return false;
        if (m_out.integers && (!m_out.transposeA || m_out.transposeB))
            return failLayout("bytes are multiplied where the reduced dimension is contiguous");
        if (!m_product.packedB)
            m_out.a.alignment = alignmentAt(m_request.inputs[m_program.b.operand], b.offset);
        m_out.b.alignment =
            alignmentAt(m_request.inputs[m_program.a.operand], m_product.offsets[MatrixProduct::a]);
        return true;
    }

    bool placeScale() {
        const auto& scale = m_matched.epilogue.scale;
        if (scale.empty() || m_product.scaleFolded)
            return true;
        if (scale.size() > 1)
            return fail(noEpilogue("a scale a channel"));
        m_out.alpha = scale[0];
        return true;
    }

    bool placeAddend(const PostOp& op) {
        const size_t at = m_product.firstRead + op.read;
        const uint32_t operand = m_program.epilogue.reads[op.read].operand;
        const OperandLayout& layout = m_request.inputs[operand];
        const bool moves = (m_loops.n.extent == 1 || m_loops.n.strides[at] == 1) &&
                           (m_loops.m.extent == 1 || m_loops.m.strides[at] >= m_loops.n.extent);
        if (m_out.c)
            return fail(noEpilogue("a second addend"));
        if (!moves)
            return failLayout("the rows of the addend are not contiguous");
        if (layout.dtype != m_out.d.dtype)
            return fail({"dtype", "the addend has not the result's type", {}, {}});
        m_out.c = matrix(at, m_loops.n, m_loops.m, layout.dtype, inputAt(operand, at));
        m_out.c->alignment = alignmentAt(layout, m_product.offsets[at]);
        return true;
    }

    bool placeActivation(const MatchedActivation& f) {
        if (f.kind == Activation::Relu && f.alpha == 0) {
            m_out.activation = LtActivation::Relu;
            return true;
        }
        if (f.kind == Activation::GeluErf && m_request.allowed < NumericClass::Approximate)
            return fail({"numeric",
                         "cuBLASLt's GELU is the tanh form, the model's is exact",
                         "allow the class `approximate`",
                         {}});
        if (f.kind != Activation::GeluErf && f.kind != Activation::GeluTanh)
            return fail(noEpilogue("this activation"));
        m_out.activation = LtActivation::GeluTanh;
        if (f.kind == Activation::GeluErf)
            m_out.numeric = NumericClass::Approximate;
        return true;
    }

    bool placePostOps() {
        for (const PostOp& op : m_matched.epilogue.postOps) {
            if (m_out.activation != LtActivation::None)
                return fail(noEpilogue("work after the activation"));
            if (op.kind == PostOp::Kind::Sum) {
                if (!placeAddend(op))
                    return false;
            } else if (op.kind == PostOp::Kind::Activate) {
                if (!placeActivation(op.activation))
                    return false;
            } else {
                return fail(noEpilogue("a vector that is known only when it runs"));
            }
        }
        return true;
    }

    bool placeBias() {
        const auto& shift = m_matched.epilogue.shift;
        if (shift.empty())
            return true;
        if (!contiguous(m_loops.n, MatrixProduct::channel))
            return failLayout("the features of the result are not in order");
        PackedConstant packed;
        packed.dtype = m_out.d.dtype;
        packed.values = shift;
        if (shift.size() == 1)
            packed.values.assign(static_cast<size_t>(m_loops.n.extent), shift[0]);
        else
            m_out.biasBatchStride = batchStride(MatrixProduct::channel);
        m_out.packed.push_back(std::move(packed));
        m_out.bias = TensorMemory{TensorMemory::Kind::Packed,
                                  static_cast<uint32_t>(m_out.packed.size() - 1), 0, 0};
        return true;
    }

    const KernelRequest& m_request;
    const MatchedContraction& m_matched;
    const MatrixProduct& m_product;
    const Contraction& m_program;
    const MatMulLoops& m_loops;
    LtCall m_out;
    Reason m_reason;
};

} // namespace

std::string text(const LtCall& call) {
    auto matrix = [](const LtMatrix& m, bool transpose) {
        return fmt::format("{}x{}:{}{}", m.rows, m.cols, m.leading, transpose ? "^T" : "");
    };
    constexpr const char* activations[] = {"", "relu", "gelu_tanh"};
    std::string sum = matrix(call.a, call.transposeA) + " * " + matrix(call.b, call.transposeB);
    if (call.alpha != 1)
        sum = fmt::format("{:.6g} ", call.alpha) + sum;
    if (call.c)
        sum += " + " + matrix(*call.c, false);
    if (call.bias)
        sum += " + bias";
    const std::string result = matrix(call.d, false);
    if (call.activation != LtActivation::None)
        sum = std::string(activations[static_cast<size_t>(call.activation)]) + "(" + sum + ")";
    return fmt::format("{} {} = {}{}", nameOf(call.d.dtype), result, sum,
                       call.batch > 1 ? fmt::format(" batch {}", call.batch) : "");
}

std::variant<LtCall, Reason> describeLt(const KernelRequest& asked) {
    KernelRequest request = asked;
    const std::optional<KernelProgram> positions = productOfPositions(*asked.program);
    if (positions)
        request.program = &*positions;
    auto found = matchContraction(request, {}, ByteProducts::Sums);
    if (auto* reason = std::get_if<Reason>(&found))
        return std::move(*reason);
    const auto& matched = std::get<MatchedContraction>(found);
    if (matched.program->kind != Contraction::Kind::MatMul)
        return Reason{"kind", "cuBLASLt multiplies matrices only", {}, {}};
    auto product = matrixProduct(request, matched);
    if (auto* reason = std::get_if<Reason>(&product))
        return std::move(*reason);
    return LtDescriber(request, matched, std::get<MatrixProduct>(product)).run();
}

} // namespace fuselage::gpu
