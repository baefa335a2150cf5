// SPDX-License-Identifier: Apache-2.0
// Reductions, normalisations and pooling: values and symbolic shapes.
#include "ops_support.h"

#include <cmath>

namespace fuselage::testing_ops {

using Ints = std::vector<int64_t>;
using Doubles = std::vector<double>;

TEST(Reduce, TakesAxesAsAttributeOrInput) {
    ReferenceValue x = floats({2, 2}, {1, 2, 3, 5});
    EXPECT_EQ(run(Op::ReduceMean, {x}, {{"axes", Ints{1}}}).floats, (Doubles{1.5, 4}));
    EXPECT_EQ(run(Op::ReduceMean, {x, ReferenceValue::ofInts({-1})}).floats, (Doubles{1.5, 4}));
}

TEST(Reduce, WithoutAxesReducesAll) {
    ReferenceValue out = run(Op::ReduceSum, {floats({2, 2}, {1, 2, 3, 5})});
    EXPECT_EQ(out.extents, (Extents{1, 1}));
    EXPECT_EQ(out.floats[0], 11);
}

TEST(Reduce, WithoutAxesMayReduceNothingAndStillTakesItsNorm) {
    const ReferenceValue x = floats({2}, {-3, 2}), none = ReferenceValue::ofInts({});
    const auto kept = [&](Op op) {
        return run(op, {x, none}, {{"noop_with_empty_axes", int64_t(1)}}).floats;
    };
    EXPECT_EQ(kept(Op::ReduceSum), (Doubles{-3, 2}));
    EXPECT_EQ(kept(Op::ReduceL1), (Doubles{3, 2}));
    EXPECT_EQ(kept(Op::ReduceL2), (Doubles{3, 2}));
    EXPECT_EQ(kept(Op::ReduceSumSquare), (Doubles{9, 4}));
}

TEST(Reduce, ExtremesOfNoIntegersAreTheLimitsOfTheirType) {
    const auto extreme = [](Op op, DType type) {
        const ReferenceValue x = ReferenceValue::tensor(type, {2, 0});
        return run(op, {x}, {{"axes", Ints{1}}}).ints;
    };
    EXPECT_EQ(extreme(Op::ReduceMin, DType::UInt8), (Ints{255, 255}));
    EXPECT_EQ(extreme(Op::ReduceMax, DType::UInt8), (Ints{0, 0}));
    EXPECT_EQ(extreme(Op::ReduceMax, DType::Int8), (Ints{-128, -128}));
    EXPECT_EQ(extreme(Op::ReduceMin, DType::Int64), (Ints{INT64_MAX, INT64_MAX}));
    EXPECT_EQ(extreme(Op::ReduceMax, DType::Int64), (Ints{INT64_MIN, INT64_MIN}));
    EXPECT_EQ(extreme(Op::ReduceMin, DType::UInt64), (Ints{-1, -1})); // all bits
    EXPECT_EQ(extreme(Op::ReduceMin, DType::Bool), (Ints{1, 1}));
}

TEST(Reduce, LogSumExpDoesNotOverflow) {
    EXPECT_NEAR(run(Op::ReduceLogSumExp, {floats({2}, {1000, 1000})}).floats[0],
                1000 + std::log(2.0), 1e-12);
}

TEST(Reduce, InferKeepsSymbolsAndProductsOfShapes) {
    auto inferred = inferOp(Op::ReduceMean, {tensorType(DType::Float32, {symbol("N"), 3, 4})},
                            {{"axes", Ints{-1}}, {"keepdims", int64_t(0)}});
    EXPECT_EQ(inferred.results[0].text(), "float[N,3]");
    auto product = inferOp(Op::ReduceProd, {tensorType(DType::Int64, {2})},
                           {{"keepdims", int64_t(0)}}, {{0, {symbol("N"), 3}}});
    EXPECT_EQ(text(product.resultContents.at(0)), "[3*N]");
}

TEST(ArgMax, SelectsTheLastOfEqualsWhenAsked) {
    ReferenceValue x = floats({1, 3}, {2, 2, 1});
    EXPECT_EQ(run(Op::ArgMax, {x}, {{"axis", int64_t(1)}}).ints[0], 0);
    EXPECT_EQ(
        run(Op::ArgMax, {x}, {{"axis", int64_t(1)}, {"select_last_index", int64_t(1)}}).ints[0], 1);
}

TEST(CumSum, CountsBackwardsWithoutTheElement) {
    ReferenceValue axis = ints(DType::Int64, {}, {0});
    EXPECT_EQ(run(Op::CumSum, {floats({3}, {1, 2, 3}), axis},
                  {{"exclusive", int64_t(1)}, {"reverse", int64_t(1)}})
                  .floats,
              (Doubles{5, 3, 0}));
}

TEST(Softmax, WorksAlongAnInnerAxis) {
    ReferenceValue out = run(Op::Softmax, {floats({2, 2}, {0, 1, 0, 1})}, {{"axis", int64_t(0)}});
    EXPECT_EQ(out.floats, (Doubles{0.5, 0.5, 0.5, 0.5}));
}

TEST(BatchNormalization, TrainingUsesTheBatchAndReturnsRunningStatistics) {
    std::vector<ReferenceValue> out =
        runAll(Op::BatchNormalization,
               {floats({2, 1}, {1, 3}), floats({1}, {1}), floats({1}, {0}), floats({1}, {10}),
                floats({1}, {10})},
               {{"training_mode", int64_t(1)}, {"momentum", 0.5}, {"epsilon", 0.0}}, 3);
    EXPECT_EQ(out[0].floats, (Doubles{-1, 1}));
    EXPECT_EQ(out[1].floats[0], 6);
    EXPECT_EQ(out[2].floats[0], 5.5);
}

TEST(LayerNormalization, ReturnsMeanAndInverseDeviation) {
    std::vector<ReferenceValue> out = runAll(
        Op::LayerNormalization, {floats({1, 2}, {1, 3}), floats({2}, {2, 2}), floats({2}, {1, 1})},
        {{"epsilon", 0.0}}, 3);
    EXPECT_EQ(out[0].floats, (Doubles{-1, 3}));
    EXPECT_EQ(out[1].extents, (Extents{1, 1}));
    EXPECT_EQ(out[1].floats[0], 2);
    EXPECT_EQ(out[2].floats[0], 1);
}

TEST(SkipLayerNormalization, ReturnsTheSumAsFourthOutput) {
    std::vector<ReferenceValue> out =
        runAll(Op::SkipLayerNormalization,
               {floats({1, 1, 2}, {1, 2}), floats({1, 1, 2}, {0, 1}), floats({2}, {1, 1})},
               {{"epsilon", 0.0}}, 4);
    EXPECT_EQ(out[0].floats, (Doubles{-1, 1}));
    EXPECT_EQ(out[3].floats, (Doubles{1, 3}));
}

TEST(GroupNormalization, TakesParametersPerGroupOrPerChannel) {
    ReferenceValue x = floats({1, 2, 2}, {1, 3, 1, 3});
    Doubles expected{-2, 2, -2, 2};
    std::vector<Attribute> one{{"num_groups", int64_t(1)}, {"epsilon", 0.0}};
    EXPECT_EQ(run(Op::GroupNormalization, {x, floats({1}, {2}), floats({1}, {0})}, one).floats,
              expected);
    EXPECT_EQ(
        run(Op::GroupNormalization, {x, floats({2}, {2, 2}), floats({2}, {0, 0})}, one).floats,
        expected);
}

TEST(AveragePool, CountsPaddingOnlyWhenAsked) {
    ReferenceValue x = floats({1, 1, 2}, {4, 8});
    std::vector<Attribute> attributes{{"kernel_shape", Ints{2}}, {"pads", Ints{1, 0}}};
    EXPECT_EQ(run(Op::AveragePool, {x}, attributes).floats, (Doubles{4, 6}));
    attributes.push_back({"count_include_pad", int64_t(1)});
    EXPECT_EQ(run(Op::AveragePool, {x}, attributes).floats, (Doubles{2, 6}));
}

TEST(MaxPool, ReturnsIndicesOfTheWholeTensor) {
    auto out =
        runAll(Op::MaxPool, {floats({1, 2, 2}, {1, 2, 4, 3})}, {{"kernel_shape", Ints{2}}}, 2);
    EXPECT_EQ(out[0].floats, (Doubles{2, 4}));
    EXPECT_EQ(out[1].ints, (Ints{1, 2}));
}

TEST(MaxPool, OfBytesStaysInBytes) {
    auto out =
        run(Op::MaxPool, {ints(DType::UInt8, {1, 1, 2}, {1, 200})}, {{"kernel_shape", Ints{2}}});
    EXPECT_EQ(out.dtype, DType::UInt8);
    EXPECT_EQ(out.ints[0], 200);
}

} // namespace fuselage::testing_ops
