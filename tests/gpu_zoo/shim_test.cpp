// SPDX-License-Identifier: Apache-2.0
// Every form of program that the zoo's plans have, shrunk, its kernels run as host code against the
// evaluator of the program. Races in shared memory fail, as do accesses outside of the operands.
#include "tests/gpu_zoo/shim_cases.h"
#include "tests/shim/kernel_run.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <set>

namespace {

using namespace fuselage;

const gpu_zoo::ShimCases& all() {
    static const gpu_zoo::ShimCases instance = gpu_zoo::shimCases();
    return instance;
}

std::vector<ReferenceValue> inputsOf(const gpu_zoo::ShimCase& one, gpu_suite::Random& random) {
    const gpu::KernelRequest& request = one.made.request;
    std::vector<ReferenceValue> out;
    for (size_t i = 0; i < one.made.program->inputs.size(); ++i)
        out.push_back(i < request.constants.size() && request.constants[i]
                          ? ReferenceValue::from(*request.constants[i])
                          : gpu_suite::dataFor(one.made.program->inputs[i], false, random));
    return out;
}

TEST(ZooPrograms, runAsHostCodeAndAgreeWithTheEvaluator) {
    gpu_suite::Random random;
    for (const gpu_zoo::ShimCase& one : all().cases) {
        SCOPED_TRACE(one.name);
        const std::vector<ReferenceValue> inputs = inputsOf(one, random);
        const std::vector<ReferenceValue> wanted = gpu_suite::wantedFor(*one.made.program, inputs);
        ASSERT_EQ(wanted.size(), one.made.program->outputs.size());
        for (const gpu::KernelSet& set : one.sets)
            gpu_suite::runSet(one.made.request, set, inputs, wanted);
    }
    RecordProperty("forms", static_cast<int>(all().forms));
    EXPECT_GT(all().cases.size(), 200U);
}

/// What no small size has is printed with its reason: results that take the evaluator seconds, and
/// library operators, which have no small form. tests/shim has cases of its own for both.
TEST(ZooPrograms, areAllShrunkButLargeTilesAndLibraryOperators) {
    using Why = gpu_zoo::LeftVariant::Why;
    const std::set<std::string> tiles = {"float_64x64", "float_64x64_split", "float_128x128"};
    const std::set<std::string> library = {"cumulative", "gather",    "gemv_nibbles",
                                           "recurrence", "recurrent", "resize_table",
                                           "scatter",    "topk"};
    for (const gpu_zoo::LeftVariant& left : all().left) {
        std::printf("not shrunk: %s, %s: %s\n", left.program.c_str(), left.variant.c_str(),
                    left.text.c_str());
        EXPECT_TRUE((left.why == Why::Work && tiles.contains(left.variant)) ||
                    (left.why == Why::NoSmallForm && library.contains(left.variant)))
            << left.program << ": " << left.variant << ", " << left.text;
    }
    EXPECT_LT(all().left.size(), 20U);
}

TEST(Shrink, keepsWhetherAnExtentIsOddOrAMultipleOfAVector) {
    EXPECT_EQ(gpu_zoo::shrunkExtent(197, 13), 13);
    EXPECT_EQ(gpu_zoo::shrunkExtent(197, 24), 23);
    EXPECT_EQ(gpu_zoo::shrunkExtent(768, 33), 32);
    EXPECT_EQ(gpu_zoo::shrunkExtent(768, 48), 48);
    EXPECT_EQ(gpu_zoo::shrunkExtent(28, 13), 12);
    EXPECT_EQ(gpu_zoo::shrunkExtent(3, 13), 3);
}

} // namespace
