// SPDX-License-Identifier: Apache-2.0
// Mistakes of each kind in a kernel's text are found, by the words that they should be found with.
#include "tests/shim/kernel_run.h"
#include "tests/shim/mutants.h"
#include "tests/shim/suite.h"

#include <gtest/gtest.h>

namespace {

using namespace fuselage;
using namespace fuselage::gpu_suite;

class Mutants : public testing::TestWithParam<Mutant> {};

TEST_P(Mutants, areFound) {
    const Mutant& mutant = GetParam();
    const Prepared prepared = preparedNamed(mutant.source);
    ASSERT_TRUE(prepared.program);
    const gpu::KernelSet wrong = mutated(prepared.request, mutant);
    ASSERT_EQ(wrong.kernels.size(), 1U) << "its place is not in the text";
    const std::vector<ReferenceValue> inputs = inputsFor(*prepared.program);
    const std::string failures =
        failuresOf(prepared.request, wrong, inputs, wantedFor(*prepared.program, inputs));
    EXPECT_NE(failures.find(mutant.found), std::string::npos)
        << "found instead: " << failures.substr(0, 600);
}

INSTANTIATE_TEST_SUITE_P(Blocked, Mutants, testing::ValuesIn(blockedMutants()),
                         [](const auto& info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(Chain, Mutants, testing::ValuesIn(chainMutants()),
                         [](const auto& info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(Halo, Mutants, testing::ValuesIn(haloMutants()),
                         [](const auto& info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(Integer, Mutants, testing::ValuesIn(integerMutants()),
                         [](const auto& info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(Landed, Mutants, testing::ValuesIn(landedMutants()),
                         [](const auto& info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(Pair, Mutants, testing::ValuesIn(pairMutants()),
                         [](const auto& info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(Pixels, Mutants, testing::ValuesIn(pixelMutants()),
                         [](const auto& info) { return std::string(info.param.name); });

} // namespace
