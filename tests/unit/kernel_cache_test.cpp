// SPDX-License-Identifier: Apache-2.0
// What counts as the same body: names do not, everything that lowering can see does.
#include "core/kernel/lower_cache.h"
#include "tests/unit/kernel_support.h"

using namespace fuselage;
using namespace fuselage::testing_kernel;

namespace {

constexpr auto anyClass = NumericClass::Reassociated;

/// Whether the second body is taken for the first one; its program must be its own either way.
bool sameBody(const LowerRequest& first, const LowerRequest& second) {
    LowerCache cache;
    cache.lowerWithin(first, anyClass);
    LowerResult cached = cache.lowerWithin(second, anyClass);
    LowerResult fresh = lowerWithin(second, anyClass);
    EXPECT_EQ(cached.index(), fresh.index());
    if (std::holds_alternative<KernelProgram>(cached)) {
        EXPECT_EQ(text(std::get<KernelProgram>(cached)), text(std::get<KernelProgram>(fresh)));
        EXPECT_EQ(std::get<KernelProgram>(cached).body, second.body);
    }
    return cache.hits() == 1;
}

LowerRequest scaledBy(const Tensor& scale) {
    return bodyFrom("(float[2,70] x, float[70] s) => (float[2,70] y) { y = Mul(x, s) }",
                    {{"s", scale}});
}

Tensor vectorOf(float first, float others) {
    std::vector<float> values(70, others);
    values[0] = first;
    return Tensor::ofFloats({70}, values);
}

} // namespace

TEST(LowerCache, NamesDoNotCount) {
    EXPECT_TRUE(sameBody(
        bodyFrom("(float[2,3] x) => (float[2,3] y) { t = Relu(x) y = Sqrt(t) }"),
        bodyFrom("(float[2,3] image) => (float[2,3] out) { a = Relu(image) out = Sqrt(a) }")));
}

TEST(LowerCache, OperatorsShapesAndAttributesCount) {
    LowerRequest first = bodyFrom("(float[2,3] x) => (float[2,3] y) { y = Softmax<axis = 1>(x) }");
    EXPECT_FALSE(
        sameBody(first, bodyFrom("(float[2,3] x) => (float[2,3] y) { y = Softmax<axis = 0>(x) }")));
    EXPECT_FALSE(
        sameBody(first, bodyFrom("(float[3,2] x) => (float[3,2] y) { y = Softmax<axis = 1>(x) }")));
    EXPECT_FALSE(sameBody(
        first, bodyFrom("(float[2,3] x) => (float[2,3] y) { y = LogSoftmax<axis = 1>(x) }")));
}

TEST(LowerCache, WiringCounts) {
    EXPECT_FALSE(sameBody(bodyFrom("(float[2] a, float[2] b) => (float[2] y) { y = Sub(a, b) }"),
                          bodyFrom("(float[2] a, float[2] b) => (float[2] y) { y = Sub(b, a) }")));
}

TEST(LowerCache, OneElementCountsByItsValue) {
    auto body = [](float number) {
        return bodyFrom("(float[2] x, float[1] s) => (float[2] y) { y = Mul(x, s) }",
                        {{"s", Tensor::ofFloats({1}, {number})}});
    };
    EXPECT_TRUE(sameBody(body(2), body(2)));
    EXPECT_FALSE(sameBody(body(2), body(3)));
}

TEST(LowerCache, WeightsCountOnlyByWhetherTheyAreUniform) {
    EXPECT_TRUE(sameBody(scaledBy(vectorOf(1, 2)), scaledBy(vectorOf(3, 4))));
    EXPECT_TRUE(sameBody(scaledBy(vectorOf(2, 2)), scaledBy(vectorOf(2, 2))));
    EXPECT_FALSE(sameBody(scaledBy(vectorOf(2, 2)), scaledBy(vectorOf(3, 3))));
    EXPECT_FALSE(sameBody(scaledBy(vectorOf(1, 2)), scaledBy(vectorOf(2, 2))));
    EXPECT_TRUE(sameBody(scaledBy(vectorOf(0, -0.0F)), scaledBy(vectorOf(0, -0.0F))));
    EXPECT_FALSE(sameBody(scaledBy(vectorOf(1, 0)), scaledBy(vectorOf(0, -0.0F))));
}

TEST(LowerCache, ConstantOperandsAreNotVaryingOnes) {
    EXPECT_FALSE(
        sameBody(scaledBy(vectorOf(1, 2)),
                 bodyFrom("(float[2,70] x, float[70] s) => (float[2,70] y) { y = Mul(x, s) }")));
}

TEST(LowerCache, TheAllowedClassCounts) {
    LowerRequest request = bodyFrom("(float[2] x) => (float[2] y) { y = Exp(x) }");
    LowerCache cache;
    cache.lowerWithin(request, NumericClass::Exact);
    cache.lowerWithin(request, NumericClass::Reassociated);
    EXPECT_EQ(cache.hits(), 0U);
}

TEST(LowerCache, BodiesThatNobodyElseHasAreShared) {
    LowerRequest first = bodyFrom("(float[2,3] x) => (float[2,3] y) { y = Relu(x) }");
    LowerRequest alike = bodyFrom("(float[2,3] image) => (float[2,3] out) { out = Relu(image) }");
    LowerRequest other = bodyFrom("(float[2,3] x) => (float[2,3] y) { y = Exp(x) }");
    LowerRequest worse = alike;
    const auto own = alike.body;
    LowerCache cache;
    const auto bodyMade = [&](LowerRequest& request, NumericClass allowed) {
        LowerResult result = cache.lowerShared(request, allowed);
        const auto* program = std::get_if<KernelProgram>(&result);
        EXPECT_TRUE(program);
        EXPECT_TRUE(program && program->body == request.body);
        LowerResult fresh = lowerWithin(request, allowed);
        EXPECT_TRUE(program && text(*program) == text(std::get<KernelProgram>(fresh)));
        return request.body;
    };
    const auto known = bodyMade(first, anyClass);
    EXPECT_EQ(bodyMade(alike, anyClass), known);
    EXPECT_NE(own, known);
    EXPECT_NE(bodyMade(other, anyClass), known);
    EXPECT_NE(bodyMade(worse, NumericClass::Exact), known);
    EXPECT_EQ(cache.hits(), 1U);
}

TEST(LowerCache, RefusalsNameTheirOwnNodes) {
    auto body = [](const std::string& name) {
        return bodyFrom("(float[3,3] x) => (float[3,3] y) { " + name +
                        " = MatMul(x, x) y = Softmax(" + name + ") }");
    };
    LowerCache cache;
    cache.lowerWithin(body("a"), anyClass);
    LowerResult cached = cache.lowerWithin(body("b"), anyClass);
    LowerResult fresh = lowerWithin(body("b"), anyClass);
    ASSERT_TRUE(std::holds_alternative<Reason>(fresh));
    ASSERT_TRUE(std::holds_alternative<Reason>(cached));
    EXPECT_EQ(std::get<Reason>(cached).text(), std::get<Reason>(fresh).text());
}
