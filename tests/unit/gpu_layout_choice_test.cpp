// SPDX-License-Identifier: Apache-2.0
// Layouts of a GPU by the prices of its kernels: no plan is predicted to be slower than by the
// backend's rules or in the model's order, and a price is what the kernels that accept an order
// make of it. Without a device: nothing is run.
#include "app/pipeline/compiled.h"
#include "core/passes/precision.h"
#include "core/plan/order_pricing.h"
#include "tests/support/ruled_layouts.h"
#include "tests/unit/image_graphs.h"
#include "tests/unit/plan_support.h"

#include <algorithm>

using namespace fuselage;
using fuselage::test::ImageGraph;
using fuselage::test::ImageSizes;
using fuselage::test::isLast;
using fuselage::test::lookAtSeeds;
using fuselage::test::preparedGraph;
using fuselage::test::valueNamed;
using testing_support::ChoiceList;
using testing_support::Choices;
using testing_support::RuledLayouts;
using testing_support::secondsBy;

namespace {

/// A device, and its planner.
struct Target {
    explicit Target(const std::string& name)
        : profile(*deviceProfile(name)), backend(makePlanningBackend(BackendKind::Cuda, profile)) {}

    DeviceProfile profile;
    std::unique_ptr<Backend> backend;

    const OrderPricing& pricing() const { return *orderPricingOf(backend.get()); }
};

PlanOptions optionsFor(const Target& target, const Backend& backend) {
    PlanOptions options;
    options.profile = &target.profile;
    options.backend = &backend;
    options.recompute = true;
    options.groupSmall = true;
    return options;
}

/// Stops the work when all nodes are lowered.
struct StopsLate : Progress {
    void report(std::string_view stage, size_t done, size_t total) override {
        if (stage == "lower" && done + 1 == total)
            cancel();
    }
};

std::shared_ptr<const Plan> planned(const Graph& graph, const Target& target,
                                    const Backend& backend) {
    Progress progress;
    auto plan = makePlan(std::make_shared<const Graph>(graph.clone()), optionsFor(target, backend),
                         progress);
    EXPECT_TRUE(plan) << (plan ? "" : plan.error().text());
    return plan ? *plan : std::make_shared<const Plan>();
}

Graph narrowed(Graph graph) {
    EXPECT_TRUE(setPrecision(graph, Precision::Fp16));
    return graph;
}

const ImageSizes gpuSizes{16, {3, 5, 8, 64}, {14, 28, 49}};

struct SeenThree {
    bool changed = false, fasterThanRules = false, byRules = false;
    std::string wrong;
};

SeenThree seenThree(const ChoiceList& list, const Target& target, bool narrow) {
    SeenThree out;
    Choices choices(list);
    Graph graph = ImageGraph(choices, gpuSizes).make();
    if (narrow)
        graph = narrowed(std::move(graph));
    const RuledLayouts votes(*target.backend, true), none(*target.backend, false);
    const auto searched = planned(graph, target, *target.backend);
    const double is = searched->totalPredicted().seconds;
    const double voted = secondsBy(*planned(graph, target, votes), target.profile, *target.backend);
    const double ofModel =
        secondsBy(*planned(graph, target, none), target.profile, *target.backend);
    constexpr double rounding = 1 + 2e-9;
    if (is > rounding * voted)
        out.wrong = fmt::format("{:.4g} us, by rules {:.4g}", is * 1e6, voted * 1e6);
    if (is > rounding * ofModel)
        out.wrong = fmt::format("{:.4g} us, as in the model {:.4g}", is * 1e6, ofModel * 1e6);
    if (std::abs(is - secondsBy(*searched, target.profile, *target.backend)) > 1e-9 * is)
        out.wrong = "a plan has another price than it was chosen for";
    out.changed = is < ofModel / rounding;
    out.fasterThanRules = is < 0.98 * voted;
    for (const LayoutRecord& record : searched->layouts) {
        if (record.rejected != "by search")
            continue;
        out.byRules = true;
        if (std::abs(record.seconds - is) > 1e-9 * is || record.secondsRejected <= is)
            out.wrong = "a record has other prices than the plans it compares";
        if (searched->layouts.size() != 1)
            out.wrong = "a record of a search whose plan was not taken";
    }
    return out;
}

/// Gives for how many models something else than the search was taken.
size_t expectNeverSlower(const char* device, bool narrow) {
    const Target target(device);
    size_t changed = 0, faster = 0, byRules = 0;
    lookAtSeeds(
        80, [](Choices& choices) { return ImageGraph(choices, gpuSizes).make(); },
        [&](const ChoiceList& list) { return seenThree(list, target, narrow); },
        [&](const SeenThree& seen) {
            changed += seen.changed ? 1 : 0;
            faster += seen.fasterThanRules ? 1 : 0;
            byRules += seen.byRules ? 1 : 0;
        });
    EXPECT_GT(changed, 15U) << "the generator does not reach what it is for";
    EXPECT_GT(faster, 5U) << "rules are as good everywhere";
    return byRules;
}

/// Of the one step of a graph, with its first operand and its result in these orders.
double lossOf(const Target& target, const Graph& graph, bool readLast, bool writtenLast) {
    const auto plan = planned(graph, target, *target.backend);
    EXPECT_EQ(plan->steps.size(), 1U);
    const Step& step = plan->steps[0];
    const Extents read = readLast ? channelsLast(step.program.inputs[0].extents)
                                  : rowMajorStrides(step.program.inputs[0].extents);
    const Extents written = writtenLast ? channelsLast(step.program.outputs[0].extents)
                                        : rowMajorStrides(step.program.outputs[0].extents);
    LaidProgram laid{&step.program, {{&read}, {&written}}, {}, step.allowed, false, false};
    for (uint32_t input : step.inputs)
        laid.constants.push_back(plan->values[input].constant);
    laid.order.inputs.resize(step.inputs.size(), nullptr);
    return target.pricing().orderLoss(
        laid, predictTime(step.program, predictTraffic(step.program, target.profile, {}),
                          target.profile));
}

} // namespace

TEST(GpuLayouts, AreNeverSlowerThanRulesOrTheModelsOrderInHalf) {
    EXPECT_GT(expectNeverSlower("h200", true), 0U) << "no record of a beaten search is looked at";
}

TEST(GpuLayouts, NorInFloatOnASmallerDevice) {
    (void)expectNeverSlower("l4", false);
}

TEST(GpuLayouts, ASearchThatIsCancelledGivesNoPlan) {
    const Target target("h200");
    PlanOptions options = optionsFor(target, *target.backend);
    options.recompute = options.groupSmall = false; // phases between that look for themselves
    StopsLate progress;
    const auto plan = makePlan(std::make_shared<const Graph>(preparedGraph(
                                   "(float[4,64,14,14] x, float[64,64,3,3] w) => "
                                   "(float[4,64,12,12] y) { a = Conv(x, w)  y = Relu(a) }")),
                               options, progress);
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().code, "cancelled");
}

TEST(GpuLayouts, AnElementwiseStepPaysForTwoOrdersAndForNoneThatItsOperandsShare) {
    const Target target("h200");
    const Graph half = preparedGraph("(float16[32,64,56,56] x) => (float16[32,64,56,56] y) "
                                     "{ y = Sigmoid(x) }");
    EXPECT_DOUBLE_EQ(lossOf(target, half, false, false), 1);
    EXPECT_DOUBLE_EQ(lossOf(target, half, true, true), 1);
    // What is read across comes out of the first cache; what is written across goes past it.
    EXPECT_GT(lossOf(target, half, true, false), 1.5);
    EXPECT_GT(lossOf(target, half, false, true), 1.01);
}

TEST(GpuLayouts, AConvolutionIsCheapestWhereItsTensorCoresReadChannelsSideBySide) {
    const Target target("h200");
    const Graph graph = preparedGraph("(float16[32,64,56,56] x, float16[64,64,1,1] w) => "
                                      "(float16[32,64,56,56] y) { y = Conv(x, w) }");
    EXPECT_DOUBLE_EQ(lossOf(target, graph, true, true), 1);
    EXPECT_GT(lossOf(target, graph, false, true), 1.03);
    EXPECT_GE(lossOf(target, graph, true, false), 1);
}

TEST(GpuLayouts, AValueBetweenConvolutionsHasChannelsInnermostAndThePlanSaysWhatElseItWouldCost) {
    const Target target("h200");
    const Graph graph = narrowed(preparedGraph(
        "(float[32,64,56,56] x, float[64,64,3,3] w) => (float[32,64,56,56] y) "
        "{ a = Conv<pads=[1,1,1,1]>(x, w)  b = Sigmoid(a)  c = Conv<pads=[1,1,1,1]>(b, w)  "
        "y = Relu(c) }"));
    const auto plan = planned(graph, target, *target.backend);
    EXPECT_TRUE(isLast(valueNamed(*plan, "b")));
    const auto said =
        std::find_if(plan->layouts.begin(), plan->layouts.end(), [](const LayoutRecord& record) {
            return std::find(record.values.begin(), record.values.end(), "b") !=
                   record.values.end();
        });
    ASSERT_NE(said, plan->layouts.end());
    EXPECT_EQ(said->order, "channels innermost");
    EXPECT_LT(said->seconds, said->secondsRejected);
}
