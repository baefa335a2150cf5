// SPDX-License-Identifier: Apache-2.0
// Contractions as cuBLASLt calls, proven by running the description as the library documents it:
// column-major matrices with leading dimensions. No library is needed.
#include "gpu/libs/cublaslt_call.h"
#include "gpu_libs_support.h"

using namespace fuselage;
using namespace fuselage::testing_gpu;

namespace {

std::vector<double> packedValues(const PackedConstant& recipe,
                                 const std::vector<TensorPtr>& constants) {
    auto bytes = pack(recipe, constants);
    EXPECT_TRUE(bytes);
    Tensor tensor(recipe.dtype, {recipe.elements()});
    std::copy(bytes->begin(), bytes->end(), tensor.bytes());
    std::vector<double> out;
    for (int64_t i = 0; i < tensor.elementCount(); ++i)
        out.push_back(tensor.at(i));
    return out;
}

/// Runs the call on the memory, element by element.
void runLt(const LtCall& call, GraphMemory& memory) {
    std::vector<std::vector<double>> packed;
    for (const PackedConstant& recipe : call.packed)
        packed.push_back(packedValues(recipe, memory.constants));
    auto at = [&](const TensorMemory& where, int64_t offset) -> double& {
        auto& space = where.kind == TensorMemory::Kind::Input    ? memory.inputs
                      : where.kind == TensorMemory::Kind::Output ? memory.outputs
                                                                 : packed;
        return space.at(where.index).at(static_cast<size_t>(where.offset + offset));
    };
    auto element = [&](const LtMatrix& m, int64_t batch, int64_t row, int64_t col) -> double& {
        EXPECT_LT(row, m.rows);
        EXPECT_LT(col, m.cols);
        EXPECT_GE(m.leading, m.rows);
        return at(m.memory, batch * m.batchStride + row + col * m.leading);
    };
    const int64_t inner = call.transposeA ? call.a.rows : call.a.cols;
    for (int64_t batch = 0; batch < call.batch; ++batch)
        for (int64_t col = 0; col < call.d.cols; ++col)
            for (int64_t row = 0; row < call.d.rows; ++row) {
                double sum = 0;
                for (int64_t k = 0; k < inner; ++k)
                    sum += (call.transposeA ? element(call.a, batch, k, row)
                                            : element(call.a, batch, row, k)) *
                           (call.transposeB ? element(call.b, batch, col, k)
                                            : element(call.b, batch, k, col));
                sum *= call.alpha;
                if (call.c)
                    sum += element(*call.c, batch, row, col);
                if (call.bias)
                    sum += at(*call.bias, batch * call.biasBatchStride + row);
                if (call.activation == LtActivation::Relu)
                    sum = std::max(sum, 0.0);
                if (call.activation == LtActivation::GeluTanh)
                    sum = 0.5 * sum *
                          (1 + std::tanh(0.7978845608028654 * (sum + 0.044715 * sum * sum * sum)));
                element(call.d, batch, row, col) = sum;
            }
}

LtCall expectCall(const LibraryCase& of, double tolerance = 1e-5) {
    auto described = describeLt(of.request);
    if (auto* reason = std::get_if<Reason>(&described)) {
        ADD_FAILURE() << reason->text() << "\n" << text(of.program);
        return {};
    }
    const LtCall call = std::get<LtCall>(described);
    SCOPED_TRACE(text(of.program) + text(call));
    const std::vector<ReferenceValue> inputs = inputsFor(of.body);
    GraphMemory memory = memoryOf(of, inputs);
    runLt(call, memory);
    expectEvaluated(of, inputs, memory, tolerance);
    return call;
}

Reason refused(const std::string& body, const std::map<std::string, Tensor>& constants = {}) {
    auto described = describeLt(LibraryCase(body, constants).request);
    auto* reason = std::get_if<Reason>(&described);
    EXPECT_NE(reason, nullptr);
    return reason ? *reason : Reason{};
}

std::map<std::string, Tensor> weights() {
    return {{"w", weightsOf({8, 6})}, {"b", weightsOf({6}, DType::Float32, 3)}};
}

const char* linear = "(float[2,4,8] x, float[8,6] w, float[6] b) => (float[2,4,6] y) "
                     "{ t = MatMul(x, w) u = Add(t, b) ";

} // namespace

TEST(CublasLt, LinearLayerIsTransposedAndItsBiasGoesAlongRows) {
    const LtCall call = expectCall(LibraryCase(std::string(linear) + "y = Relu(u) }", weights()));
    EXPECT_EQ(text(call), "float 6x8:6 = relu(8x6:8^T * 8x8:8 + bias)");
    EXPECT_EQ(call.packed.at(1).values.size(), 6U);
}

TEST(CublasLt, ResidualIsAddedByBeta) {
    const LtCall call = expectCall(
        LibraryCase("(float[4,8] x, float[8,6] w, float[6] b, float[4,6] r) => (float[4,6] y) "
                    "{ t = MatMul(x, w) u = Add(t, b) v = Add(u, r) y = Relu(v) }",
                    weights()));
    EXPECT_TRUE(call.c);
    EXPECT_EQ(call.activation, LtActivation::Relu);
}

TEST(CublasLt, OperandsInAnyOrderOfTheirDimensions) {
    for (const char* body :
         {"(float[4,8] a, float[8,6] b) => (float[4,6] y) { y = MatMul(a, b) }",
          "(float[8,4] a, float[8,6] b) => (float[4,6] y) { y = Gemm<transA=1>(a, b) }",
          "(float[4,8] a, float[6,8] b) => (float[4,6] y) { y = Gemm<transB=1>(a, b) }",
          "(float[8,4] a, float[6,8] b) => (float[4,6] y) "
          "{ y = Gemm<transA=1,transB=1,alpha=0.25>(a, b) }",
          "(float[3,4,8] a, float[3,8,6] b) => (float[3,4,6] y) { y = MatMul(a, b) }",
          "(float[3,1,8] a, float[3,8,6] b) => (float[3,1,6] y) { y = MatMul(a, b) }",
          "(float[4,8] a, float[8,1] b) => (float[4,1] y) { y = MatMul(a, b) }",
          "(float[8] a, float[8,6] b) => (float[6] y) { y = MatMul(a, b) }"}) {
        SCOPED_TRACE(body);
        expectCall(LibraryCase(body));
    }
}

TEST(CublasLt, HeadsSplitInTheWritesAreABatchWithABiasOfItsOwn) {
    const LtCall call = expectCall(
        LibraryCase("(float[1,4,8] x, float[8,6] w, float[6] b) => (float[1,3,4,2] y) "
                    "{ t = MatMul(x, w) u = Add(t, b) s = Constant<value_ints=[1,4,3,2]>() "
                    "r = Reshape(u, s) y = Transpose<perm=[0,2,1,3]>(r) }",
                    weights()));
    EXPECT_EQ(call.batch, 3);
    EXPECT_EQ(call.biasBatchStride, 2);
}

TEST(CublasLt, GeluIsTheTanhFormAndSaysSo) {
    EXPECT_EQ(refused(std::string(linear) + "y = Gelu(u) }", weights()).code, "numeric");
    LibraryCase made(std::string(linear) + "y = Gelu(u) }", weights());
    made.request.allowed = NumericClass::Approximate;
    EXPECT_EQ(expectCall(made, 1e-3).numeric, NumericClass::Approximate);
    const LtCall exact = expectCall(
        LibraryCase(std::string(linear) + "y = Gelu<approximate=\"tanh\">(u) }", weights()));
    EXPECT_EQ(exact.numeric, NumericClass::Reassociated);
}

TEST(CublasLt, RefusalsNameTheirCause) {
    EXPECT_EQ(refused(std::string(linear) + "y = Sigmoid(u) }", weights()).code, "epilogue");
    EXPECT_EQ(refused("(float[4,8] x, float[8,6] w, float[4,6] r) => (float[4,6] y) "
                      "{ t = MatMul(x, w) u = Relu(t) y = Add(u, r) }")
                  .code,
              "epilogue");
    EXPECT_EQ(refused("(float[1,4,5,5] x, float[6,4,3,3] w) => (float[1,6,3,3] y) "
                      "{ y = Conv(x, w) }",
                      {{"w", weightsOf({6, 4, 3, 3})}})
                  .code,
              "kind");
    EXPECT_EQ(refused("(float[2,3,4,8] a, float[3,8,6] b) => (float[2,3,4,6] y) "
                      "{ t = Transpose<perm=[0,1,2,3]>(a) y = MatMul(t, b) }")
                  .code,
              "layout");
}
