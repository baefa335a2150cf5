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

/// Of [batch, k, n] over k; unsigned bytes beyond 127 are no negative ones.
TEST(PackedConstant, sumsBytesAlongDimsThatTheOrderLeavesOut) {
    for (const DType type : {DType::Int8, DType::UInt8}) {
        auto source = std::make_shared<Tensor>(type, Extents{2, 3, 2});
        for (int64_t i = 0; i < 12; ++i)
            source->set(i, static_cast<double>(type == DType::Int8 ? i * 20 - 110 : i * 20 + 30));
        const PackedConstant recipe = recipeOf({0, {0, 2}, {2, 2}}, type, source->extents());
        EXPECT_EQ(recipe.dtype, DType::Int32);
        std::vector<double> wanted;
        for (int64_t batch = 0; batch < 2; ++batch)
            for (int64_t n = 0; n < 2; ++n)
                wanted.push_back(source->at(batch * 6 + n) + source->at(batch * 6 + 2 + n) +
                                 source->at(batch * 6 + 4 + n));
        EXPECT_EQ(packedValues(recipe, {source}), wanted);
    }
}

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

/// What a residual block writes, with its channels innermost.
LibraryCase convolution(const std::string& attributes, bool channelsLast = true) {
    return LibraryCase(
        "(float[2,8,3,5] x, float[6,8,1,1] w, float[6] b, float[2,6,3,5] r) => (float[2,6,3,5] y) "
        "{ c = Conv" +
            attributes + "(x, w, b) u = Add(c, r) y = Relu(u) }",
        {{"w", weightsOf({6, 8, 1, 1})}, {"b", weightsOf({6}, DType::Float32, 3)}}, channelsLast);
}

TEST(CublasLt, AConvolutionOfSinglePositionsIsOneProductOfAllOfThem) {
    const LtCall call = expectCall(convolution(""));
    EXPECT_EQ(text(call), "float 6x30:6 = relu(8x6:8^T * 8x30:8 + 6x30:6 + bias)");
    const LtCall folded = expectCall(LibraryCase(
        "(float[2,8,3,5] x, float[6,8,1,1] w, float[6] s, float[6] b, float[6] m, float[6] v) "
        "=> (float[2,6,3,5] y) { c = Conv(x, w) n = BatchNormalization(c, s, b, m, v) "
        "y = Relu(n) }",
        {{"w", weightsOf({6, 8, 1, 1})},
         {"s", weightsOf({6}, DType::Float32, 2)},
         {"b", weightsOf({6}, DType::Float32, 3)},
         {"m", weightsOf({6}, DType::Float32, 4)},
         {"v", Tensor::ofFloats({6}, {1, 2, 3, 4, 5, 6})}},
        true));
    EXPECT_EQ(folded.batch, 1);
    EXPECT_FALSE(folded.packed.at(0).factors.empty());
    const LtCall signal = expectCall(
        LibraryCase("(float[3,8,7] x, float[6,8,1] w) => (float[3,6,7] y) { y = Conv(x, w) }",
                    {{"w", weightsOf({6, 8, 1})}}, true));
    EXPECT_EQ(signal.d.cols, 21);
}

TEST(CublasLt, OtherConvolutionsAreNoProducts) {
    const auto codeOf = [](const LibraryCase& of) {
        auto described = describeLt(of.request);
        auto* reason = std::get_if<Reason>(&described);
        return reason ? reason->code : "none";
    };
    EXPECT_EQ(codeOf(convolution("", false)), "layout") << "channels are not innermost";
    const std::string rest = "(x, w) }";
    EXPECT_EQ(codeOf(LibraryCase("(float[2,8,3,5] x, float[6,8,1,1] w) => (float[2,6,2,3] y) "
                                 "{ y = Conv<strides=[2,2]>" +
                                     rest,
                                 {{"w", weightsOf({6, 8, 1, 1})}}, true)),
              "kind");
    EXPECT_EQ(codeOf(LibraryCase("(float[2,8,3,5] x, float[6,4,1,1] w) => (float[2,6,3,5] y) "
                                 "{ y = Conv<group=2>" +
                                     rest,
                                 {{"w", weightsOf({6, 4, 1, 1})}}, true)),
              "kind");
    EXPECT_EQ(codeOf(LibraryCase("(float[2,8,3,5] x, float[6,8,1,1] w) => (float[2,6,5,7] y) "
                                 "{ y = Conv<pads=[1,1,1,1]>" +
                                     rest,
                                 {{"w", weightsOf({6, 8, 1, 1})}}, true)),
              "kind");
}

TEST(CublasLt, BytesAreMultipliedWhereTheirSumsAreTheResult) {
    std::map<std::string, Tensor> bytes = {{"w", Tensor(DType::Int8, {8, 6})}};
    for (int64_t i = 0; i < 48; ++i)
        bytes.at("w").setInt(i, i * 37 % 255 - 127);
    LibraryCase exact("(int8[4,8] x, int8[8,6] w) => (int32[4,6] y) { y = MatMulInteger(x, w) }",
                      bytes);
    exact.request.strict = true;
    exact.request.allowed = NumericClass::Exact;
    const LtCall call = expectCall(exact, 0);
    EXPECT_TRUE(call.integers);
    EXPECT_EQ(call.numeric, NumericClass::Exact);
    EXPECT_EQ(text(call), "int32 6x4:6 = 8x6:8^T * 8x4:8");
    EXPECT_EQ(
        refused("(uint8[4,8] x, int8[8,6] w) => (int32[4,6] y) { y = MatMulInteger(x, w) }", bytes)
            .code,
        "dtype");
    EXPECT_EQ(refused("(int8[4,8] x, int8[8,6] w) => (float[4,6] y) <float s = {0.5}> "
                      "{ m = MatMulInteger(x, w) f = Cast<to=1>(m) y = Mul(f, s) }",
                      bytes)
                  .code,
              "epilogue");
    EXPECT_EQ(refused("(int8[8,4] x, int8[8,6] w) => (int32[4,6] y) "
                      "{ t = Transpose<perm=[1,0]>(x) y = MatMulInteger(t, w) }",
                      bytes)
                  .code,
              "layout");
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
