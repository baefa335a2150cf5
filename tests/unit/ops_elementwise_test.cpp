// SPDX-License-Identifier: Apache-2.0
// Operators with a tape: values, types, broadcasting, symbolic shapes and contents.
#include "ops_support.h"

#include <cmath>

namespace fuselage::testing_ops {

TEST(Elementwise, EveryRowWithATapeHasTheTraitAndNoOtherRowHas) {
    for (const OpRow& row : allRows())
        EXPECT_EQ(row.tape != nullptr, (row.traits & Elementwise) != 0) << row.name;
}

TEST(Elementwise, AddBroadcasts) {
    ReferenceValue out = run(Op::Add, {floats({2, 1}, {1, 2}), floats({3}, {10, 20, 30})});
    EXPECT_EQ(out.extents, (Extents{2, 3}));
    EXPECT_EQ(out.floats, (std::vector<double>{11, 21, 31, 12, 22, 32}));
}

TEST(Elementwise, IntegersWrapToTheirType) {
    ReferenceValue out = run(Op::Mul, {ints(DType::Int8, {1}, {100}), ints(DType::Int8, {1}, {2})});
    EXPECT_EQ(out.ints[0], -56);
}

TEST(Elementwise, IntegerDivisionTruncatesAndModFollowsTheDivisor) {
    auto a = ints(DType::Int32, {1}, {-7}), b = ints(DType::Int32, {1}, {2});
    EXPECT_EQ(run(Op::Div, {a, b}).ints[0], -3);
    EXPECT_EQ(run(Op::Mod, {a, b}).ints[0], 1);
    EXPECT_EQ(run(Op::Mod, {a, b}, {{"fmod", int64_t(1)}}).ints[0], -1);
}

TEST(Elementwise, RoundGoesHalfToEven) {
    EXPECT_EQ(run(Op::Round, {floats({3}, {0.5, 1.5, -2.5})}).floats,
              (std::vector<double>{0, 2, -2}));
}

TEST(Elementwise, PowOfMixedTypesHasTheTypeOfTheBase) {
    ReferenceValue out = run(Op::Pow, {ints(DType::Int64, {1}, {3}), floats({1}, {2.5})});
    EXPECT_EQ(out.dtype, DType::Int64);
    EXPECT_EQ(out.ints[0], 15);
}

TEST(Elementwise, ClipWithoutMinTakesMaxFromTheNode) {
    Node node = makeNode(Op::Clip, 3, {});
    node.inputs[1] = ValueId();
    ReferenceValue x = floats({3}, {-5, 0, 5}), top = floats({}, {1});
    std::vector<const ReferenceValue*> inputs{&x, nullptr, &top};
    Context context;
    auto out = evaluateNode(node, inputs, context);
    ASSERT_TRUE(out);
    EXPECT_EQ((*out)[0].floats, (std::vector<double>{-5, 0, 1}));
}

TEST(Elementwise, CastToHalfRounds) {
    ReferenceValue out = run(Op::Cast, {floats({1}, {0.1})}, {{"to", onnxNumber(DType::Float16)}});
    EXPECT_EQ(out.dtype, DType::Float16);
    EXPECT_EQ(out.floats[0], static_cast<double>(halfToFloat(floatToHalf(0.1F))));
}

TEST(Elementwise, CastTruncatesAndStringsPrint) {
    EXPECT_EQ(run(Op::Cast, {floats({2}, {-1.9, 1.9})}, {{"to", onnxNumber(DType::Int32)}}).ints,
              (std::vector<int64_t>{-1, 1}));
    EXPECT_EQ(run(Op::Cast, {floats({1}, {0.25})}, {{"to", onnxNumber(DType::String)}}).strings[0],
              "0.25");
}

TEST(Elementwise, SoftplusDoesNotOverflow) {
    EXPECT_DOUBLE_EQ(run(Op::Softplus, {floats({1}, {1000})}).floats[0], 1000);
}

TEST(Elementwise, GeluFormsDiffer) {
    auto x = floats({1}, {1.5});
    double exact = 0.5 * 1.5 * (1 + std::erf(1.5 / std::sqrt(2.0)));
    EXPECT_NEAR(run(Op::Gelu, {x}).floats[0], exact, 1e-15);
    EXPECT_NE(run(Op::Gelu, {x}, {{"approximate", std::string("tanh")}}).floats[0], exact);
}

TEST(Elementwise, InferBroadcastsSymbols) {
    auto inferred = inferOp(Op::Add, {tensorType(DType::Float32, {symbol("N"), 3, 1}),
                                      tensorType(DType::Float32, {1, 5})});
    EXPECT_EQ(inferred.results[0].text(), "float[N,3,5]");
}

TEST(Elementwise, InferRefusesShapesThatDoNotBroadcast) {
    auto inferred =
        inferOp(Op::Add, {tensorType(DType::Float32, {2}), tensorType(DType::Float32, {3})});
    ASSERT_EQ(inferred.problems.size(), 1U);
    EXPECT_EQ(inferred.problems[0], "Add: input 1 of shape [3] does not broadcast with [2]");
}

TEST(Elementwise, InferRefusesMixedTypes) {
    auto inferred =
        inferOp(Op::Add, {tensorType(DType::Float32, {2}), tensorType(DType::Int64, {2})});
    ASSERT_EQ(inferred.problems.size(), 1U);
    EXPECT_EQ(inferred.problems[0], "Add does not take `float`, `int64`");
}

TEST(Elementwise, ContentsOfShapeArithmeticStaySymbolic) {
    Type vector = tensorType(DType::Int64, {2});
    auto inferred = inferOp(Op::Mul, {vector, tensorType(DType::Int64, {})}, {},
                            {{0, {symbol("N"), 4}}, {1, {3}}});
    EXPECT_EQ(text(inferred.resultContents.at(0)), "[3*N,12]");
}

TEST(Elementwise, ComparedContentsDecideOnlyWhatIsCertain) {
    Type vector = tensorType(DType::Int64, {3});
    auto inferred = inferOp(Op::Equal, {vector, vector}, {},
                            {{0, {symbol("N"), symbol("N"), 4}}, {1, {-1, 4, 4}}});
    EXPECT_EQ(text(inferred.resultContents.at(0)), "[0,?,1]");
}

} // namespace fuselage::testing_ops
