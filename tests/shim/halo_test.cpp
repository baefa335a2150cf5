// SPDX-License-Identifier: Apache-2.0
// The convolution that stages its picture once: that mistakes of each kind in its text are found,
// and what its tiles move and multiply on an H200, counted.
#include "gpu/kernels/conv_halo.h"
#include "tests/shim/halo_mutants.h"
#include "tests/shim/kernel_run.h"
#include "tests/shim/suite.h"

#include <fmt/format.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

namespace {

using namespace fuselage;
using namespace fuselage::gpu_suite;

Prepared caseOf(const std::string& name) {
    for (const Case& source : cases())
        if (source.name == name)
            return prepare(source);
    return {};
}

/// What a run of the set finds, all failures together.
std::string failuresOf(const Prepared& prepared, const gpu::KernelSet& set) {
    Random random;
    std::vector<ReferenceValue> inputs;
    for (const OperandType& input : prepared.program->inputs)
        inputs.push_back(dataFor(input, false, random));
    const std::vector<ReferenceValue> wanted = wantedFor(*prepared.program, inputs);
    testing::TestPartResultArray results;
    {
        const testing::ScopedFakeTestPartResultReporter all(
            testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
        runSet(prepared.request, set, inputs, wanted);
    }
    std::string out;
    for (int i = 0; i < results.size(); ++i)
        out += std::string(results.GetTestPartResult(i).message()) + "\n";
    return out;
}

TEST(Halo, mistakesInItsTextAreFound) {
    for (const HaloMutant& mutant : haloMutants()) {
        SCOPED_TRACE(mutant.name);
        const Prepared prepared = caseOf(mutant.source);
        ASSERT_TRUE(prepared.program);
        const gpu::KernelSet wrong = mutated(haloSetOf(prepared.request), mutant);
        ASSERT_EQ(wrong.kernels.size(), 1U) << "its place is not in the text";
        const std::string failures = failuresOf(prepared, wrong);
        EXPECT_NE(failures.find(mutant.found), std::string::npos)
            << "found instead: " << failures.substr(0, 600);
    }
}

/// With wgmma_* a tile of results fetches its picture nine times, and the weights: 116 to 173 MB of
/// these sizes.
TEST(Halo, fetchesThePictureOfResnetLittleMoreThanOnceOnAnH200) {
    auto profile = deviceProfile("h200");
    ASSERT_TRUE(profile);
    const struct {
        int64_t channels, width;
        double most, clocks; ///< bytes; of a multiprocessor
    } sizes[] = {
        {64, 56, 40e6, 22e3}, {128, 28, 50e6, 20e3}, {256, 14, 60e6, 23e3}, {512, 7, 90e6, 33e3}};
    Case source;
    source.constants = "in1";
    source.capability = 90;
    source.placements = {{"in0", {{0, 2, 3, 1}}}, {"out0", {{0, 2, 3, 1}}}};
    for (const auto& [channels, width, most, clocks] : sizes) {
        SCOPED_TRACE(channels);
        source.bodies = {fmt::format("(float16[32,{0},{1},{1}] x, float16[{0},{0},3,3] w) => "
                                     "(float16[32,{0},{1},{1}] y) "
                                     "{{ y = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(x, w) }}",
                                     channels, width)};
        Prepared prepared = prepare(source);
        ASSERT_TRUE(prepared.program);
        prepared.request.profile = &*profile;
        auto spec = gpu::convSpec(prepared.request);
        ASSERT_TRUE(std::holds_alternative<gpu::ConvSpec>(spec));
        auto made = gpu::haloShape(std::get<gpu::ConvSpec>(spec));
        ASSERT_TRUE(std::holds_alternative<gpu::HaloShape>(made));
        const auto& shape = std::get<gpu::HaloShape>(made);
        EXPECT_LT(shape.copiedBytes(), most);
        EXPECT_LT(gpu::haloClocks(shape, 132), clocks);
        EXPECT_LE(shape.residents * shape.sharedBytes(), 227 << 10);
    }
}

} // namespace
