// SPDX-License-Identifier: Apache-2.0
#include "core/ops/matmul.h"

#include "core/ops/contraction_infer.h"
#include "core/ops/dense_product.h"
#include "core/ops/fused_activation.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuselage {

namespace {

using Outputs = Result<std::vector<ReferenceValue>>;

/// How a stack of matrices meets another one.
struct Stack {
    Extents batch; ///< of the result
    Extents aBatch, bBatch;
    int64_t m = 0, n = 0, k = 0;
    Extents result;
};

std::optional<Stack> stackOf(Extents a, Extents b) {
    if (a.empty() || b.empty())
        return std::nullopt;
    const bool row = a.size() == 1, column = b.size() == 1;
    if (row)
        a.insert(a.begin(), 1);
    if (column)
        b.push_back(1);
    Stack out;
    out.m = a[a.size() - 2];
    out.k = a.back();
    out.n = b.back();
    if (b[b.size() - 2] != out.k)
        return std::nullopt;
    out.aBatch.assign(a.begin(), a.end() - 2);
    out.bBatch.assign(b.begin(), b.end() - 2);
    auto batch = broadcastExtents(out.aBatch, out.bBatch);
    if (!batch)
        return std::nullopt;
    out.batch = out.result = std::move(*batch);
    if (!row)
        out.result.push_back(out.m);
    if (!column)
        out.result.push_back(out.n);
    return out;
}

/// One matrix on the right for the whole stack: its rows are those of one tall matrix.
void mergeRows(Stack& stack) {
    if (elementCount(stack.bBatch) != 1)
        return;
    stack.m *= countOf(stack.batch, 0, stack.batch.size());
    stack.batch = stack.aBatch = stack.bBatch = {};
}

// Rows of one product that a thread takes at a time.
constexpr int64_t rowBlock = 256;

template <typename T>
void multiplyStack(Stack stack, const std::vector<T>& a, const std::vector<T>& b, std::vector<T>& c,
                   ThreadPool& threads) {
    mergeRows(stack);
    Extents aOffsets, bOffsets;
    for (StridedWalk walk(stack.batch, {broadcastStrides(stack.aBatch, stack.batch),
                                        broadcastStrides(stack.bBatch, stack.batch)});
         walk.valid(); walk.next()) {
        aOffsets.push_back(walk.offset(0) * stack.m * stack.k);
        bOffsets.push_back(walk.offset(1) * stack.k * stack.n);
    }
    const int64_t rowBlocks = (stack.m + rowBlock - 1) / rowBlock;
    const auto tall = static_cast<int64_t>(aOffsets.size()) * rowBlocks;
    // Few rows are shared out by columns instead.
    const int64_t columnBlocks = tall >= threads.threads() ? 1 : threads.threads();
    const int64_t width = (stack.n + columnBlocks - 1) / columnBlocks;
    threads.forRange(static_cast<size_t>(tall * columnBlocks), 1, [&](size_t begin, size_t end) {
        for (auto item = static_cast<int64_t>(begin); item < static_cast<int64_t>(end); ++item) {
            const int64_t column = item % columnBlocks * width;
            const int64_t row = item / columnBlocks % rowBlocks * rowBlock;
            const auto batch = static_cast<size_t>(item / columnBlocks / rowBlocks);
            const int64_t rows = std::min(rowBlock, stack.m - row);
            const int64_t columns = std::min(width, stack.n - column);
            if (columns <= 0)
                continue;
            T* out = c.data() + (static_cast<int64_t>(batch) * stack.m + row) * stack.n + column;
            multiply(Rows2d<const T>{a.data() + aOffsets[batch] + row * stack.k, stack.k},
                     Rows2d<const T>{b.data() + bOffsets[batch] + column, stack.n},
                     Rows2d<T>{out, stack.n}, rows, columns, stack.k);
        }
    });
}

void wrapAll(ReferenceValue& value) {
    for (int64_t& element : value.ints)
        element = wrapTo(value.dtype, element);
}

Outputs runMatMul(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    if (inputs[0]->dtype != inputs[1]->dtype)
        return badInput(node, fmt::format("A is {}, B is {}", nameOf(inputs[0]->dtype),
                                          nameOf(inputs[1]->dtype)));
    auto out = matrixProduct(node, *inputs[0], *inputs[1], inputs[0]->dtype, context.threads());
    if (out)
        wrapAll(*out);
    return single(std::move(out));
}

/// The last two dimensions swapped; FusedMatMul also moves the batch.
ReferenceValue swapped(const ReferenceValue& x, bool matrix, bool batch) {
    if (x.extents.size() < 2 || (!matrix && !batch))
        return x;
    std::vector<size_t> order(x.extents.size());
    for (size_t i = 0; i < order.size(); ++i)
        order[i] = i;
    // transBatch: [m, batch..., k] is read as [batch..., m, k].
    if (batch && order.size() > 2)
        std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
    if (matrix)
        std::swap(order[order.size() - 1], order[order.size() - 2]);
    Extents extents, strides, from = rowMajorStrides(x.extents);
    for (size_t axis : order) {
        extents.push_back(x.extents[axis]);
        strides.push_back(from[axis]);
    }
    ReferenceValue out = ReferenceValue::tensor(x.dtype, extents);
    onElements(x, out, [&](const auto& source, auto& target) {
        for (StridedWalk walk(extents, {strides}); walk.valid(); walk.next())
            target[static_cast<size_t>(walk.position())] =
                source[static_cast<size_t>(walk.offset(0))];
    });
    return out;
}

Outputs runFusedMatMul(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    auto flag = [&](const char* name) { return node.attributes.integer(name) != 0; };
    ReferenceValue a = swapped(*inputs[0], flag("transA"), flag("transBatchA"));
    ReferenceValue b = swapped(*inputs[1], flag("transB"), flag("transBatchB"));
    if (!isFloat(a.dtype) || a.dtype != b.dtype)
        return badInput(node, "A and B must be of one float type");
    auto out = matrixProduct(node, a, b, a.dtype, context.threads());
    if (!out)
        return failure(out.error());
    for (double& element : out->floats)
        element *= node.attributes.number("alpha", 1.0);
    return single(std::move(out));
}

template <typename T>
void addScaled(std::vector<T>& out, const Extents& extents, const ReferenceValue& c,
               const std::vector<T>& values, T alpha, T beta) {
    for (StridedWalk walk(extents, {broadcastStrides(c.extents, extents)}); walk.valid();
         walk.next()) {
        auto i = static_cast<size_t>(walk.position());
        out[i] = alpha * out[i] + beta * values[static_cast<size_t>(walk.offset(0))];
    }
}

Result<ReferenceValue> gemm(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    ReferenceValue a = swapped(*inputs[0], node.attributes.integer("transA") != 0, false);
    ReferenceValue b = swapped(*inputs[1], node.attributes.integer("transB") != 0, false);
    if (a.extents.size() != 2 || b.extents.size() != 2 || a.dtype != b.dtype)
        return badInput(node, "A and B must be matrices of one type");
    auto out = matrixProduct(node, a, b, a.dtype, context.threads());
    if (!out)
        return out;
    const double alpha = node.attributes.number("alpha", 1.0);
    const double beta = node.attributes.number("beta", 1.0);
    const ReferenceValue* c = inputAt(inputs, 2);
    ReferenceValue zero = ReferenceValue::tensor(a.dtype, {});
    c = c ? c : &zero;
    auto joined = broadcastExtents(c->extents, out->extents);
    if (c->dtype != a.dtype || !joined || *joined != out->extents)
        return badInput(node, fmt::format("C of shape {} does not broadcast to {}",
                                          text(c->extents), text(out->extents)));
    if (isFloat(a.dtype))
        addScaled(out->floats, out->extents, *c, c->floats, alpha, beta);
    else
        addScaled(out->ints, out->extents, *c, c->ints, static_cast<int64_t>(alpha),
                  static_cast<int64_t>(beta));
    wrapAll(*out);
    return out;
}

Outputs runGemm(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    return single(gemm(node, inputs, context));
}

Outputs runFusedGemm(const Node& node, ReferenceInputs inputs, ReferenceContext& context) {
    auto out = gemm(node, inputs, context);
    if (!out)
        return failure(out.error());
    return single(withActivation(node, std::move(*out), context));
}

double determinant(std::vector<double> m, size_t n) {
    double product = 1;
    for (size_t column = 0; column < n; ++column) {
        size_t pivot = column;
        for (size_t row = column + 1; row < n; ++row)
            if (std::fabs(m[row * n + column]) > std::fabs(m[pivot * n + column]))
                pivot = row;
        if (m[pivot * n + column] == 0)
            return 0;
        if (pivot != column) {
            product = -product;
            for (size_t j = 0; j < n; ++j)
                std::swap(m[pivot * n + j], m[column * n + j]);
        }
        product *= m[column * n + column];
        for (size_t row = column + 1; row < n; ++row) {
            double factor = m[row * n + column] / m[column * n + column];
            for (size_t j = column; j < n; ++j)
                m[row * n + j] -= factor * m[column * n + j];
        }
    }
    return product;
}

Outputs runDet(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const Extents& from = inputs[0]->extents;
    if (from.size() < 2 || from.back() != from[from.size() - 2] || !isFloat(inputs[0]->dtype))
        return badInput(node, "X must be square matrices, is " + text(from));
    auto out = allocateResult(node, inputs[0]->dtype, Extents(from.begin(), from.end() - 2));
    if (!out)
        return failure(out.error());
    auto size = static_cast<size_t>(from.back());
    for (size_t i = 0; i < out->floats.size(); ++i) {
        auto first = inputs[0]->floats.begin() + static_cast<std::ptrdiff_t>(i * size * size);
        out->floats[i] =
            determinant({first, first + static_cast<std::ptrdiff_t>(size * size)}, size);
    }
    return single(std::move(out));
}

} // namespace

Result<ReferenceValue> matrixProduct(const Node& node, const ReferenceValue& a,
                                     const ReferenceValue& b, DType dtype, ThreadPool& threads) {
    auto stack = stackOf(a.extents, b.extents);
    if (!stack || isFloat(a.dtype) != isFloat(b.dtype) || a.dtype == DType::String)
        return badInput(
            node, fmt::format("{} cannot be multiplied by {}", text(a.extents), text(b.extents)));
    auto out = allocateResult(node, dtype, stack->result);
    if (!out)
        return out;
    if (isFloat(a.dtype))
        multiplyStack(*stack, a.floats, b.floats, out->floats, threads);
    else
        multiplyStack(*stack, a.ints, b.ints, out->ints, threads);
    return out;
}

std::span<const OpRow> matmulRows() {
    static const OpRow rows[] = {
        {.op = Op::MatMul,
         .name = "MatMul",
         .minInputs = 2,
         .maxInputs = 2,
         .traits = ContractionOp,
         .inputs = "A B",
         .infer = inferMatMul,
         .reference = onTensors<runMatMul>},
        {.op = Op::Gemm,
         .name = "Gemm",
         .minInputs = 2,
         .maxInputs = 3,
         .traits = ContractionOp,
         .inputs = "A B C",
         .attributes = "alpha:float=1.0 beta:float=1.0 transA:int=0 transB:int=0",
         .infer = inferGemm,
         .reference = onTensors<runGemm>},
        {.op = Op::Det,
         .name = "Det",
         .since = 11,
         .inputs = "X",
         .infer = inferDet,
         .reference = onTensors<runDet>},
        {.op = Op::FusedMatMul,
         .name = "FusedMatMul",
         .domain = "com.microsoft",
         .minInputs = 2,
         .maxInputs = 2,
         .traits = ContractionOp,
         .inputs = "A B",
         .attributes = "alpha:float=1.0 transA:int=0 transB:int=0 transBatchA:int=0 "
                       "transBatchB:int=0",
         .infer = inferFusedMatMul,
         .reference = onTensors<runFusedMatMul>},
        {.op = Op::FusedGemm,
         .name = "FusedGemm",
         .domain = "com.microsoft",
         .minInputs = 2,
         .maxInputs = 3,
         .traits = ContractionOp,
         .inputs = "A B C",
         .attributes = "alpha:float=1.0 beta:float=1.0 transA:int=0 transB:int=0 "
                       "activation:string activation_alpha:float activation_beta:float "
                       "activation_gamma:float",
         .infer = inferGemm,
         .reference = onTensors<runFusedGemm>},
    };
    return rows;
}

} // namespace fuselage
