// SPDX-License-Identifier: Apache-2.0
// Small independent steps share a launch on a GPU's profile, and compute what they did apart.
#include "app/pipeline/compiled.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "core/plan/make_plan.h"
#include "tests/unit/compiled_agrees.h"

#include <gtest/gtest.h>

using namespace fuselage;

namespace {

std::shared_ptr<const Plan> groupPlanOf(const std::string& text, bool group,
                                        const std::string& device = "h200") {
    auto graph = model_io::loadText(text);
    EXPECT_TRUE(graph);
    Progress progress;
    EXPECT_TRUE(prepareGraph(*graph, progress));
    auto profile = deviceProfile(device);
    EXPECT_TRUE(profile);
    PlanOptions options;
    options.profile = &*profile;
    options.groupSmall = group;
    auto plan = makePlan(std::make_shared<const Graph>(std::move(*graph)), options, progress);
    EXPECT_TRUE(plan) << (plan ? "" : plan.error().text());
    return plan ? *plan : nullptr;
}

std::vector<size_t> groupSizes(const Plan& plan) {
    std::vector<size_t> out;
    for (const Step& step : plan.steps)
        if (const auto* group = std::get_if<Group>(&step.program.code))
            out.push_back(group->members.size());
    return out;
}

const char* const threeBranches =
    "g (float[4,64] x, float[4,64] y) => (float[4,64] a, float[4,64] b, float[4,1] c) "
    "{ a = Relu(x)  b = Tanh(y)  c = ReduceMean<axes=[1]>(x) }";

TEST(PlanGroup, ThreeIndependentSmallStepsAreOneLaunch) {
    auto plan = groupPlanOf(threeBranches, true);
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->steps.size(), 1U);
    EXPECT_EQ(groupSizes(*plan), std::vector<size_t>{3});
    EXPECT_EQ(plan->steps[0].sources.size(), 3U);
    ASSERT_EQ(plan->groups.size(), 1U);
    EXPECT_TRUE(plan->groups[0].taken);
    EXPECT_EQ(plan->groups[0].reason.code, "cost");
    EXPECT_LT(plan->totalPredicted().seconds,
              groupPlanOf(threeBranches, false)->totalPredicted().seconds);
}

TEST(PlanGroup, IsOffForTheBaselineAndForCpus) {
    EXPECT_EQ(groupPlanOf(threeBranches, false)->steps.size(), 3U);
    EXPECT_EQ(groupPlanOf(threeBranches, true, "cpu")->steps.size(), 3U);
}

TEST(PlanGroup, LargeStepsStayApart) {
    auto plan = groupPlanOf("g (float[4096,4096] x, float[4096,4096] y) => (float[4096,4096] a, "
                            "float[4096,4096] b) { a = Relu(x)  b = Tanh(y) }",
                            true);
    EXPECT_EQ(plan->steps.size(), 2U);
    EXPECT_TRUE(plan->groups.empty());
}

TEST(PlanGroup, StepsOnOnePathStayApart) {
    auto plan = groupPlanOf("g (float[4,64] x) => (float[4,1] a) "
                            "{ r = Relu(x)  s = ReduceMean<axes=[1]>(r)  a = Tanh(s) }",
                            true);
    EXPECT_TRUE(groupSizes(*plan).empty());
}

/// Two branches of two steps: each depth becomes a launch, and the second waits for the first.
const char* const twoDepths =
    "g (float[4,64] x, float[8,32] y) => (float[4,1] a, float[8,1] b) "
    "{ r = Relu(x)  a = ReduceMean<axes=[1]>(r)  t = Tanh(y)  b = ReduceMax<axes=[1]>(t) }";

TEST(PlanGroup, EveryStepReadsWhatAnEarlierOneWrote) {
    auto plan = groupPlanOf(twoDepths, true);
    EXPECT_EQ(groupSizes(*plan), (std::vector<size_t>{2, 2}));
    std::vector<bool> written(plan->values.size(), false);
    for (uint32_t input : plan->inputs)
        written[input] = true;
    for (const Step& step : plan->steps) {
        for (uint32_t input : step.inputs)
            EXPECT_TRUE(written[input] || plan->values[input].constant)
                << plan->values[input].name << " is read too early";
        for (uint32_t output : step.outputs)
            written[output] = true;
    }
}

class PlanGroupRun : public testing::TestWithParam<BackendKind> {};

TEST_P(PlanGroupRun, EveryBackendComputesTheMembers) {
    for (const char* text : {threeBranches, twoDepths})
        expectCompiledAgrees(text, GetParam(), 5,
                             [](const Plan& plan) { EXPECT_FALSE(groupSizes(plan).empty()); });
}

INSTANTIATE_TEST_SUITE_P(Backends, PlanGroupRun,
                         testing::Values(BackendKind::Cpu, BackendKind::Reference),
                         [](const auto& info) { return std::string(nameOf(info.param)); });

} // namespace
