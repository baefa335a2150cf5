// SPDX-License-Identifier: Apache-2.0
// Attention, rotary embeddings, Einsum and Dropout.
#include "ops_support.h"

#include <cmath>

namespace fuselage::testing_ops {

using Doubles = std::vector<double>;

std::vector<double> ramp(size_t count) {
    std::vector<double> out(count);
    for (size_t i = 0; i < count; ++i)
        out[i] = static_cast<double>(i) / static_cast<double>(count);
    return out;
}

TEST(Einsum, MultipliesMatricesAndTakesDiagonals) {
    ReferenceValue a = floats({2, 3}, {1, 2, 3, 4, 5, 6}), b = floats({3, 2}, {1, 0, 0, 1, 1, 1});
    EXPECT_EQ(run(Op::Einsum, {a, b}, {{"equation", std::string("ij, jk -> ik")}}).floats,
              run(Op::MatMul, {a, b}).floats);
    EXPECT_EQ(run(Op::Einsum, {floats({2, 2}, {1, 2, 3, 4})}, {{"equation", std::string("ii->i")}})
                  .floats,
              (Doubles{1, 4}));
}

TEST(Einsum, EllipsisBroadcastsAndTheOutputMayBeImplied) {
    ReferenceValue out = run(Op::Einsum, {floats({2, 1, 2}, {1, 2, 3, 4}), floats({2, 1}, {10, 1})},
                             {{"equation", std::string("...ij,...jk")}});
    EXPECT_EQ(out.extents, (Extents{2, 1, 1}));
    EXPECT_EQ(out.floats, (Doubles{12, 34}));
}

TEST(Einsum, InferKeepsSymbols) {
    auto inferred = inferOp(Op::Einsum,
                            {tensorType(DType::Float32, {symbol("B"), 4, 8}),
                             tensorType(DType::Float32, {symbol("B"), 6, 8})},
                            {{"equation", std::string("bid,bjd->bij")}});
    EXPECT_EQ(inferred.results[0].text(), "float[B,4,6]");
}

// One head: attention is MatMul, scale, Softmax, MatMul.
TEST(Attention, EqualsItsParts) {
    ReferenceValue q = floats({1, 1, 2, 4}, ramp(8)), k = floats({1, 1, 3, 4}, ramp(12)),
                   v = floats({1, 1, 3, 2}, ramp(6));
    ReferenceValue kt = run(Op::Einsum, {k}, {{"equation", std::string("bhjd->bhdj")}});
    ReferenceValue scores = run(Op::MatMul, {q, kt});
    for (double& score : scores.floats)
        score /= 2;
    ReferenceValue expected = run(Op::MatMul, {run(Op::Softmax, {scores}), v});
    ReferenceValue y = run(Op::Attention, {q, k, v});
    ASSERT_EQ(y.extents, expected.extents);
    for (size_t i = 0; i < y.floats.size(); ++i)
        EXPECT_NEAR(y.floats[i], expected.floats[i], 1e-14);
}

TEST(Attention, CausalFirstQuerySeesOnlyTheFirstKey) {
    ReferenceValue q = floats({1, 1, 2, 1}, {1, 1}), v = floats({1, 1, 2, 1}, {5, 7});
    ReferenceValue y = run(Op::Attention, {q, q, v}, {{"is_causal", int64_t(1)}});
    EXPECT_EQ(y.floats[0], 5);
    EXPECT_DOUBLE_EQ(y.floats[1], 6);
}

TEST(Attention, ShowsScoresInTheOrderInWhichTheyAreMade) {
    const ReferenceValue q = floats({1, 1, 1, 1}, {2}), k = floats({1, 1, 2, 1}, {1, 3}),
                         mask = floats({1, 2}, {0.25, -0.5});
    const auto scores = [&](int64_t mode) {
        return runAll(Op::Attention, {q, k, k, mask},
                      {{"qk_matmul_output_mode", mode}, {"softcap", 4.0}, {"scale", 1.0}}, 4)[3]
            .floats;
    };
    const double capped[] = {4 * std::tanh(0.5), 4 * std::tanh(1.5)};
    EXPECT_EQ(scores(0), (Doubles{2, 6}));
    EXPECT_EQ(scores(1), (Doubles{capped[0], capped[1]}));
    EXPECT_EQ(scores(2), (Doubles{capped[0] + 0.25, capped[1] - 0.5}));
}

TEST(Attention, InferSplitsHeads) {
    Type x = tensorType(DType::Float32, {symbol("B"), symbol("L"), 64});
    auto inferred = inferOp(Op::Attention, {x, x, x},
                            {{"q_num_heads", int64_t(4)}, {"kv_num_heads", int64_t(4)}}, {}, 2);
    EXPECT_EQ(inferred.results[0].text(), "float[B,L,64]");
    EXPECT_EQ(inferred.results[1].text(), "float[B,4,L,16]");
}

TEST(MultiHeadAttention, AddsItsBiasAndDropsPaddedKeys) {
    ReferenceValue x = floats({1, 2, 1}, {1, 2}), bias = floats({3}, {0, 0, 10});
    ReferenceValue lengths = ints(DType::Int32, {1}, {1});
    ReferenceValue y =
        run(Op::MultiHeadAttention, {x, x, x, bias, lengths}, {{"num_heads", int64_t(1)}});
    EXPECT_EQ(y.floats, (Doubles{11, 11}));
}

TEST(RotaryEmbedding, RotatesPairsByTheirPosition) {
    const double angle = 0.5;
    ReferenceValue x = floats({1, 1, 1, 2}, {1, 0});
    ReferenceValue y = run(Op::RotaryEmbedding,
                           {x, floats({1, 1}, {std::cos(angle)}), floats({1, 1}, {std::sin(angle)}),
                            ints(DType::Int64, {1, 1}, {0})});
    EXPECT_EQ(y.floats, (Doubles{std::cos(angle), std::sin(angle)}));
}

TEST(Dropout, IsTheIdentityOutsideTraining) {
    auto out = runAll(Op::Dropout, {floats({2}, {1, 2})}, {}, 2);
    EXPECT_EQ(out[0].floats, (Doubles{1, 2}));
    EXPECT_EQ(out[1].ints, (std::vector<int64_t>{1, 1}));
}

} // namespace fuselage::testing_ops
