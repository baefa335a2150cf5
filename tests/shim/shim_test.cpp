// SPDX-License-Identifier: Apache-2.0
// Every kernel of the suite, run as host code, against the evaluator of its program; and what GELU
// gives for every 16-bit number.
#include "gpu/kernels/variant_table.h"
#include "tests/shim/kernel_run.h"
#include "tests/shim/suite.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

namespace {

using namespace fuselage;
using namespace fuselage::gpu_suite;

class ShimSuite : public testing::TestWithParam<Case> {};

TEST_P(ShimSuite, everyVariantAgreesWithTheEvaluator) {
    const Prepared prepared = prepare(GetParam());
    ASSERT_TRUE(prepared.program);
    const gpu::Candidates candidates = gpu::emitAll(prepared.request);
    ASSERT_FALSE(candidates.accepted.empty());
    Random random;
    std::vector<ReferenceValue> inputs;
    for (const OperandType& input : prepared.program->inputs) {
        const bool special = GetParam().special && (inputs.empty() || !GetParam().finiteRest);
        inputs.push_back(dataFor(input, special, random));
    }
    const std::vector<ReferenceValue> wanted = wantedFor(*prepared.program, inputs);
    ASSERT_EQ(wanted.size(), prepared.program->outputs.size());
    for (const gpu::KernelSet& set : candidates.accepted)
        runSet(prepared.request, set, inputs, wanted);

    std::istringstream names(GetParam().variants);
    for (std::string name; names >> name;) {
        bool found = false;
        for (const gpu::KernelSet& set : candidates.accepted)
            found = found || set.variant == name;
        EXPECT_TRUE(found) << name << " should accept this case";
    }
    if (testing::Test::HasFailure())
        for (const Reason& reason : candidates.refused)
            std::fprintf(stderr, "refused %s: %s\n", reason.facts.back().value.c_str(),
                         reason.text().c_str());
}

/// Bit patterns as integers in the order of their values.
int32_t ordered(uint16_t bits) {
    return (bits & 0x8000) != 0 ? -(bits & 0x7fff) : bits;
}

/// The GELU case of this type on all 65536 bit patterns, against the exact function.
void checkEveryGelu(DType type) {
    const bool half = type == DType::Float16;
    for (const Case& source : cases()) {
        if (source.name != std::string("pointwise_gelu_every_") + nameOf(type))
            continue;
        const Prepared prepared = prepare(source);
        ReferenceValue input = ReferenceValue::tensor(type, {256, 256});
        for (uint32_t bits = 0; bits < 65536; ++bits)
            input.floats[bits] = half ? halfToFloat(static_cast<uint16_t>(bits))
                                      : bfloat16ToFloat(static_cast<uint16_t>(bits));
        const gpu::Candidates candidates = gpu::emitAll(prepared.request);
        ASSERT_EQ(candidates.accepted.size(), 2U);
        for (const gpu::KernelSet& set : candidates.accepted) {
            EXPECT_EQ(set.numeric, NumericClass::Wider);
            const Arena arena = arenaFor(prepared.request, {input});
            launchAll(set, arena);
            int worst = 0, where = 0;
            for (int bits = 0; bits < 65536; ++bits) {
                const double x = input.floats[static_cast<size_t>(bits)];
                const double exact = 0.5 * x * std::erfc(-x * std::sqrt(0.5));
                const double got = loadFloat(
                    arena.outputs[0].data() + size_t{2} * static_cast<size_t>(bits), type);
                if (std::isnan(exact) || std::isinf(exact)) {
                    EXPECT_TRUE(got == exact || (got != got && exact != exact)) << x;
                    continue;
                }
                if (!half && std::fabs(exact) < 1.2e-38) { // float has no such normal number
                    EXPECT_LE(std::fabs(got), 1.3e-38) << x;
                    continue;
                }
                const auto a = static_cast<float>(exact), b = static_cast<float>(got);
                const int ulps =
                    std::abs(half ? ordered(floatToHalf(a)) - ordered(floatToHalf(b))
                                  : ordered(floatToBfloat16(a)) - ordered(floatToBfloat16(b)));
                if (ulps > worst) {
                    worst = ulps;
                    where = bits;
                }
            }
            EXPECT_LE(worst, 1) << set.variant << " at "
                                << input.floats[static_cast<size_t>(where)];
        }
        return;
    }
    FAIL() << "no such case";
}

TEST(Gelu, isWithinOneUlpForEveryHalf) {
    checkEveryGelu(DType::Float16);
}

TEST(Gelu, isWithinOneUlpForEveryBfloat16) {
    checkEveryGelu(DType::BFloat16);
}

std::vector<Case> runnableCases() {
    std::vector<Case> out = cases();
    std::erase_if(out, [](const Case& source) { return source.compileOnly; });
    return out;
}

INSTANTIATE_TEST_SUITE_P(Cases, ShimSuite, testing::ValuesIn(runnableCases()),
                         [](const auto& info) { return info.param.name; });

} // namespace
