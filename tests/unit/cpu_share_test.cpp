// SPDX-License-Identifier: Apache-2.0
// Steps that run on one thread while the machine is busy: when that is decided, and that a second
// kernel is used only where it gives the same bytes.
#include "core/cpu/lone_steps.h"
#include "core/cpu/share_decision.h"
#include "core/plan/plan.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace fuselage;
using namespace fuselage::cpu;

namespace {

constexpr double quick = 1e-3, late = 4e-3, alone = 2e-3;
constexpr int trial = 4; ///< runs alone, once near the beginning

/// Runs that each take what `seconds` says for the way they go; how many went alone.
template <typename Seconds> int runs(ShareDecision& decision, int count, const Seconds& seconds) {
    int out = 0;
    for (int i = 0; i < count; ++i) {
        out += decision.alone();
        decision.ran(seconds(decision.alone()));
    }
    return out;
}

/// Adds a number to one float, and notes how often.
class AddKernel final : public Kernel {
public:
    AddKernel(float number, std::string name) : m_number(number) { tactic = std::move(name); }

    void run(const Operands& operands, RunContext& context) override {
        ++count;
        threads = context.threads.count();
        float value;
        std::memcpy(&value, operands.inputs[0], sizeof value);
        value += m_number;
        std::memcpy(operands.outputs[0], &value, sizeof value);
    }

    int count = 0, threads = 0;

private:
    float m_number;
};

struct OneStep {
    Plan plan;
    Threads threads{2};
    AddKernel shared{1, "add"};
    AddKernel* second = nullptr;
    LoneSteps lone;
    float in = 3, out = 0;

    explicit OneStep(float number, const std::string& tactic = "add", bool inPlace = false) {
        plan.values.resize(2);
        for (PlanValue& value : plan.values) {
            value.dtype = DType::Float32;
            value.extents = value.strides = {1};
        }
        Step step;
        step.inputs = {0};
        step.outputs = {1};
        step.inPlace = inPlace;
        plan.steps.push_back(std::move(step));
        lone.offer(0, plan, 4, [=, this](Threads& one) -> KernelResult {
            EXPECT_EQ(one.count(), 1);
            auto kernel = std::make_unique<AddKernel>(number, tactic);
            second = kernel.get();
            return std::unique_ptr<Kernel>(std::move(kernel));
        });
    }

    bool run() {
        RunContext context{threads, nullptr, false, {}};
        return lone.run(
            0, shared,
            {{reinterpret_cast<const std::byte*>(&in)}, {reinterpret_cast<std::byte*>(&out)}},
            context);
    }
};

} // namespace

TEST(ShareDecision, StaysSharedWhileRunsTakeTheSame) {
    ShareDecision decision;
    EXPECT_EQ(runs(decision, 1000, [](bool) { return quick; }), trial);
}

TEST(ShareDecision, GoesAloneBesideAProcessThatIsBusyFromTheFirstRunOn) {
    ShareDecision decision;
    EXPECT_GT(runs(decision, 1000, [](bool isAlone) { return isAlone ? alone : late; }), 900);
}

TEST(ShareDecision, OneLateRunInManyChangesNothing) {
    ShareDecision decision;
    int run = 0;
    EXPECT_EQ(runs(decision, 1000, [&](bool) { return ++run % 5 == 0 ? late : quick; }), trial);
}

TEST(ShareDecision, GoesAloneWhileThreadsMeetLateAndBackAfterwards) {
    ShareDecision decision;
    runs(decision, 50, [](bool) { return quick; });
    const auto busy = [](bool isAlone) { return isAlone ? alone : late; };
    EXPECT_GT(runs(decision, 2000, busy), 1800);
    const auto idle = [](bool isAlone) { return isAlone ? alone : quick; };
    runs(decision, 5000, idle); // it looks again now and then
    EXPECT_EQ(runs(decision, 1000, idle), 0);
}

TEST(ShareDecision, StaysSharedWhereBeingAloneIsNoHelp) {
    ShareDecision decision;
    runs(decision, 50, [](bool) { return quick; });
    EXPECT_LT(runs(decision, 2000, [](bool isAlone) { return isAlone ? 2 * late : late; }), 60);
}

TEST(LoneSteps, ASecondKernelIsUsedOnceItGaveTheSameBytes) {
    OneStep step(1);
    ASSERT_TRUE(step.lone.has(0));
    EXPECT_FALSE(step.run()); // both ran
    EXPECT_EQ(step.out, 4);
    ASSERT_TRUE(step.second);
    EXPECT_EQ(step.shared.count, 1);
    EXPECT_EQ(step.second->count, 1);
    EXPECT_TRUE(step.run());
    EXPECT_EQ(step.shared.count, 1);
    EXPECT_EQ(step.second->count, 2);
    EXPECT_EQ(step.second->threads, 1);
}

TEST(LoneSteps, OtherBytesOrAnotherWayAreRefused) {
    for (OneStep* step : {new OneStep(2), new OneStep(1, "add in another order")}) {
        const std::unique_ptr<OneStep> owner(step);
        EXPECT_FALSE(step->run());
        EXPECT_EQ(step->out, 4);
        EXPECT_TRUE(step->run());
        EXPECT_EQ(step->out, 4);
        EXPECT_EQ(step->shared.count, 2);
    }
}

TEST(LoneSteps, ZerosProveNothing) {
    OneStep step(1);
    step.in = -1;
    EXPECT_FALSE(step.run());
    EXPECT_FALSE(step.run());
    step.in = 3;
    EXPECT_FALSE(step.run()); // proved by this one
    EXPECT_TRUE(step.run());
    EXPECT_EQ(step.shared.count, 3);
    OneStep always(1);
    always.in = -1;
    int open = 0;
    for (int i = 0; i < 20; ++i)
        open += always.run() ? 0 : 1;
    EXPECT_EQ(open, 4); // then it is given up
    EXPECT_EQ(always.shared.count, 20);
}

TEST(LoneSteps, StepsThatOverwriteTheirInputAreNotTried) {
    EXPECT_FALSE(OneStep(1, "add", true).lone.has(0));
}
