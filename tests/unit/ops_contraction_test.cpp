// SPDX-License-Identifier: Apache-2.0
// Matrix products and convolutions: values, windows, symbolic shapes.
#include "core/ops/window.h"
#include "ops_support.h"

namespace fuselage::testing_ops {

using Ints = std::vector<int64_t>;

std::vector<double> counting(size_t count) {
    std::vector<double> out(count);
    for (size_t i = 0; i < count; ++i)
        out[i] = static_cast<double>(i);
    return out;
}

TEST(MatMul, BroadcastsBatches) {
    ReferenceValue out =
        run(Op::MatMul, {floats({2, 1, 2}, {1, 2, 3, 4}), floats({2, 1}, {10, 1})});
    EXPECT_EQ(out.extents, (Extents{2, 1, 1}));
    EXPECT_EQ(out.floats, (std::vector<double>{12, 34}));
}

TEST(MatMul, VectorsLoseTheirDimension) {
    EXPECT_EQ(run(Op::MatMul, {floats({2}, {1, 2}), floats({2}, {3, 4})}).extents, Extents{});
}

TEST(MatMul, InferNamesBothSidesOfAMismatch) {
    auto inferred = inferOp(Op::MatMul, {tensorType(DType::Float32, {symbol("N"), 4}),
                                         tensorType(DType::Float32, {3, 5})});
    ASSERT_EQ(inferred.problems.size(), 1U);
    EXPECT_EQ(inferred.problems[0], "MatMul: A has 4 columns, B has 3 rows");
}

TEST(MatMul, InferKeepsSymbols) {
    auto inferred = inferOp(Op::MatMul, {tensorType(DType::Float32, {symbol("N"), symbol("L"), 4}),
                                         tensorType(DType::Float32, {4, 5})});
    EXPECT_EQ(inferred.results[0].text(), "float[N,L,5]");
}

TEST(Gemm, ScalesTransposesAndAddsABroadcastC) {
    ReferenceValue out = run(
        Op::Gemm, {floats({2, 1}, {1, 2}), floats({3, 2}, {1, 0, 0, 1, 1, 1}), floats({1}, {4})},
        {{"transA", int64_t(1)}, {"transB", int64_t(1)}, {"alpha", 2.0}, {"beta", 0.5}});
    EXPECT_EQ(out.extents, (Extents{1, 3}));
    EXPECT_EQ(out.floats, (std::vector<double>{4, 6, 8}));
}

TEST(Conv, AddsBiasAndPads) {
    ReferenceValue out = run(Op::Conv,
                             {floats({1, 1, 2, 2}, {1, 2, 3, 4}),
                              floats({1, 1, 2, 2}, {1, 1, 1, 1}), floats({1}, {100})},
                             {{"pads", Ints{1, 1, 0, 0}}});
    EXPECT_EQ(out.floats, (std::vector<double>{101, 103, 104, 110}));
}

TEST(Conv, GroupsSeeTheirOwnChannels) {
    ReferenceValue out =
        run(Op::Conv, {floats({1, 2, 2}, {1, 2, 3, 4}), floats({2, 1, 1}, {10, 100})},
            {{"group", int64_t(2)}});
    EXPECT_EQ(out.floats, (std::vector<double>{10, 20, 300, 400}));
}

TEST(Conv, InferComputesStridedSymbolicExtents) {
    auto inferred = inferOp(Op::Conv,
                            {tensorType(DType::Float32, {symbol("N"), 3, symbol("H"), 224}),
                             tensorType(DType::Float32, {64, 3, 7, 7})},
                            {{"strides", Ints{2, 2}}, {"pads", Ints{3, 3, 3, 3}}});
    EXPECT_EQ(inferred.results[0].text(), "float[N,64,floor((H-1)/2)+1,112]");
}

TEST(Conv, InferRefusesWrongChannels) {
    auto inferred = inferOp(Op::Conv, {tensorType(DType::Float32, {1, 4, 8, 8}),
                                       tensorType(DType::Float32, {2, 3, 3, 3})});
    ASSERT_EQ(inferred.problems.size(), 1U);
    EXPECT_EQ(inferred.problems[0], "Conv: X has 4 channels, W has 3 times 1 groups");
}

TEST(Conv, InferRefusesGroupsThatDoNotDivideTheChannels) {
    for (Op op : {Op::Conv, Op::ConvTranspose})
        for (int64_t groups : {int64_t(0), int64_t(-1), int64_t(4), INT64_MIN, INT64_MAX}) {
            auto inferred = inferOp(op,
                                    {tensorType(DType::Float32, {1, 6, 8, 8}),
                                     tensorType(DType::Float32, {6, 3, 3, 3})},
                                    {{"group", groups}});
            EXPECT_FALSE(inferred.problems.empty()) << groups;
        }
    auto fewer = inferOp(
        Op::Conv,
        {tensorType(DType::Float32, {1, 6, 8, 8}), tensorType(DType::Float32, {3, 1, 3, 3})},
        {{"group", int64_t(6)}});
    ASSERT_FALSE(fewer.problems.empty());
    EXPECT_EQ(fewer.problems[0], "Conv: the 3 channels of Y do not make 6 groups");
}

TEST(Conv, RefusesAWindowLargerThanItsInput) {
    Node node = makeNode(Op::Conv, 2, {});
    ReferenceValue x = floats({1, 1, 2}, {1, 2}), w = floats({1, 1, 3}, {1, 1, 1});
    std::vector<const ReferenceValue*> inputs{&x, &w};
    Context context;
    auto out = evaluateNode(node, inputs, context);
    ASSERT_FALSE(out);
    EXPECT_NE(out.error().text().find("a window of [3] does not fit into [2]"), std::string::npos)
        << out.error().text();
}

// The transposed convolution is the adjoint: <conv(x), y> equals <x, convTranspose(y)>.
TEST(ConvTranspose, IsTheAdjointOfConv) {
    std::vector<Attribute> attributes{{"strides", Ints{2, 1}}, {"pads", Ints{1, 0, 1, 1}}};
    ReferenceValue x = floats({1, 2, 5, 4}, counting(40)), w = floats({3, 2, 3, 2}, counting(36));
    ReferenceValue forward = run(Op::Conv, {x, w}, attributes);
    ReferenceValue y = floats(forward.extents, counting(forward.floats.size()));
    ReferenceValue back = run(Op::ConvTranspose, {y, w}, attributes);
    ASSERT_EQ(back.extents, x.extents);
    double left = 0, right = 0;
    for (size_t i = 0; i < y.floats.size(); ++i)
        left += forward.floats[i] * y.floats[i];
    for (size_t i = 0; i < x.floats.size(); ++i)
        right += back.floats[i] * x.floats[i];
    EXPECT_DOUBLE_EQ(left, right);
}

TEST(DeformConv, WithoutOffsetsIsConv) {
    ReferenceValue x = floats({1, 2, 4, 4}, counting(32)), w = floats({3, 2, 3, 3}, counting(54));
    ReferenceValue offset = floats({1, 18, 2, 2}, std::vector<double>(72, 0));
    EXPECT_EQ(run(Op::DeformConv, {x, w, offset}).floats, run(Op::Conv, {x, w}).floats);
}

TEST(Contraction, RefusesStringsWithoutACrash) {
    ReferenceValue words = ReferenceValue::tensor(DType::String, {1, 1, 1, 1});
    for (Op op : opsWithTrait(ContractionOp | WindowOp | Normalization | Reduction)) {
        if (!rowOf(op).reference)
            continue;
        Node node = makeNode(op, 8, {{"kernel_shape", Ints{1, 1}}, {"num_heads", int64_t(1)}}, 1);
        std::vector<const ReferenceValue*> inputs(8, &words);
        Context context;
        EXPECT_FALSE(evaluateNode(node, inputs, context)) << nameOf(op);
    }
}

TEST(Window, CeilModeDropsAWindowThatStartsInThePadding) {
    Node node = makeNode(Op::MaxPool, 1, {{"strides", Ints{2}}, {"ceil_mode", int64_t(1)}});
    auto geometry = windowGeometry(node, {3}, {1});
    ASSERT_TRUE(geometry);
    EXPECT_EQ(geometry->output, Extents{2});
}

TEST(MatMulInteger, SubtractsZeroPointsPerColumn) {
    ReferenceValue out =
        run(Op::MatMulInteger,
            {ints(DType::UInt8, {1, 2}, {3, 5}), ints(DType::Int8, {2, 2}, {1, 2, 3, 4}),
             ints(DType::UInt8, {}, {1}), ints(DType::Int8, {2}, {1, 2})});
    EXPECT_EQ(out.dtype, DType::Int32);
    EXPECT_EQ(out.ints, (Ints{8, 8}));
}

} // namespace fuselage::testing_ops
