// SPDX-License-Identifier: Apache-2.0
// Layouts by price: never predicted slower than the model's own order, than channels innermost
// wherever they may be or than votes, equal to trying every combination, and without another
// result. Views at outputs are written by what makes their operand.
#include "app/pipeline/inputs.h"
#include "core/plan/channels_last.h"
#include "core/plan/choose_layouts_internal.h"
#include "tests/support/choices.h"
#include "tests/unit/image_graphs.h"
#include "tests/unit/passes_support.h"
#include "tests/unit/plan_support.h"

#include <algorithm>
#include <cmath>

using namespace fuselage;
using fuselage::test::ImageGraph;
using fuselage::test::isLast;
using fuselage::test::isNear;
using fuselage::test::lookAtSeeds;
using fuselage::test::outputsOfPlan;
using fuselage::test::planFor;
using fuselage::test::preparedGraph;
using fuselage::test::valueNamed;
using planner::OrderLabels;
using testing_support::ChoiceList;
using testing_support::Choices;

namespace {

/// The cpu backend with layouts by votes, as devices without prices have them.
class Voting final : public Backend {
public:
    explicit Voting(bool products = false) : m_products(products) {}

    std::string name() const override { return m_cpu->name(); }

    std::string description() const override { return m_cpu->description(); }

    std::optional<Reason> supports(const KernelProgram& program) const override {
        return m_cpu->supports(program);
    }

    bool followsOrder(const KernelProgram& program) const override {
        return m_cpu->followsOrder(program);
    }

    void chooseLayouts(Plan& plan) const override {
        chooseChannelsLast(
            plan, {[this](const KernelProgram& program) { return m_cpu->followsOrder(program); },
                   m_products});
        plan.pricedLayouts = true; // to be compared with those
    }

    Result<std::unique_ptr<Executable>> prepare(std::shared_ptr<const Plan> plan,
                                                Progress& progress) override {
        return m_cpu->prepare(std::move(plan), progress);
    }

private:
    std::unique_ptr<Backend> m_cpu = makeCpuBackend({1});
    bool m_products; ///< LayoutChoice::products
};

std::shared_ptr<const Plan> pricedPlan(const Graph& graph, const Backend& backend) {
    PlanOptions options;
    options.backend = &backend;
    options.recompute = true;
    return planFor(graph, "cpu_avx512", options);
}

/// A plan before its layouts, with their prices.
struct Before {
    explicit Before(const Graph& from) : profile(*deviceProfile("cpu_avx512")) {
        options.profile = &profile;
        options.backend = cpu.get();
        graph = std::make_shared<const Graph>(from.clone());
        Progress progress;
        LowerCache cache;
        nodes = *planner::lowerNodes(graph, options, cache, plan.splits, progress);
        plan.graph = graph;
        planner::makeValuesAndSteps(plan, nodes);
        items.emplace(plan, nodes, options, cache);
    }

    double chosen() { return planner::cheapestOrders(*items, plan.values.size(), {}).seconds; }

    double with(const OrderLabels& labels) {
        return planner::cheapestOrders(*items, plan.values.size(), {}, &labels).seconds;
    }

    double all(uint8_t label) {
        OrderLabels labels(plan.values.size(), 0);
        for (uint32_t i = 0; i < labels.size(); ++i)
            labels[i] = items->ordersOf(i).size() > label ? label : 0;
        return with(labels);
    }

    std::vector<uint32_t> open() const {
        std::vector<uint32_t> out;
        for (uint32_t i = 0; i < plan.values.size(); ++i)
            if (items->isFree(i) && items->ordersOf(i).size() > 1)
                out.push_back(i);
        return out;
    }

    DeviceProfile profile;
    std::unique_ptr<Backend> cpu = makeCpuBackend({1});
    planner::PlanRound options;
    std::shared_ptr<const Graph> graph;
    std::vector<planner::PlannedNode> nodes;
    Plan plan;
    std::optional<planner::LayoutItems> items;
};

/// Seconds of the best of all combinations; none where there are too many to try.
std::optional<double> bestOfAll(Before& before) {
    constexpr size_t most = 2048;
    const std::vector<uint32_t> open = before.open();
    size_t combinations = 1;
    for (uint32_t value : open)
        combinations = std::min(combinations * before.items->ordersOf(value).size(), most + 1);
    if (combinations > most)
        return std::nullopt;
    double best = std::numeric_limits<double>::infinity();
    OrderLabels labels(before.plan.values.size(), 0);
    for (size_t i = 0; i < combinations; ++i) {
        size_t left = i;
        for (uint32_t value : open) {
            const size_t orders = before.items->ordersOf(value).size();
            labels[value] = static_cast<uint8_t>(left % orders);
            left /= orders;
        }
        best = std::min(best, before.with(labels));
    }
    return best;
}

Graph imageGraphFrom(const ChoiceList& list) {
    Choices choices(list);
    return ImageGraph(choices).make();
}

struct SeenLayouts {
    bool changed = false, tried = false;
    std::string wrong;
};

SeenLayouts seenLayouts(const ChoiceList& list) {
    SeenLayouts out;
    const Graph graph = imageGraphFrom(list);
    Before before(graph);
    constexpr double rounding = 1 + 1e-9;
    const double chosen = before.chosen();
    if (chosen > rounding * std::min(before.all(0), before.all(1)))
        out.wrong = "slower than one order for all";
    if (const auto best = bestOfAll(before)) {
        out.tried = true;
        if (chosen > rounding * *best)
            out.wrong = "slower than the best of all orders";
    }
    auto cpu = makeCpuBackend({1});
    Voting voting;
    const auto plan = pricedPlan(graph, *cpu), votes = pricedPlan(graph, voting);
    // A group is left in the model's order for a gain of less than 2 %.
    if (plan->totalPredicted().seconds > 1.02 * votes->totalPredicted().seconds)
        out.wrong = "predicted to be slower than votes";
    for (const PlanValue& value : plan->values)
        out.changed = out.changed ||
                      (value.residence == Residence::Arena &&
                       !sameOrder(value.extents, value.strides, rowMajorStrides(value.extents)));
    auto inputs = app::generateInputs(graph, 3);
    if (!inputs)
        return {false, false, inputs.error().text()};
    auto reference = makeReferenceBackend(1);
    const auto got = outputsOfPlan(plan, *cpu, *inputs);
    const auto wanted = outputsOfPlan(plan, *reference, *inputs);
    if (got.size() != wanted.size())
        out.wrong = "no outputs";
    for (size_t i = 0; i < got.size() && i < wanted.size(); ++i)
        if (!isNear(got[i], wanted[i], 1e-4, 1e-3))
            out.wrong = "another output " + std::to_string(i);
    return out;
}

} // namespace

TEST(LayoutChoice, IsTheBestOfAllOrdersAndGivesTheReferencesResults) {
    size_t changed = 0, tried = 0;
    lookAtSeeds(
        150, [](Choices& choices) { return ImageGraph(choices).make(); }, seenLayouts,
        [&](const SeenLayouts& seen) {
            changed += seen.changed ? 1 : 0;
            tried += seen.tried ? 1 : 0;
        });
    EXPECT_GT(changed, 40U) << "the generator does not reach what it is for";
    EXPECT_GT(tried, 100U);
}

TEST(LayoutChoice, ConvolutionsPassChannelsOnSideBySide) {
    auto cpu = makeCpuBackend({1});
    const auto plan = pricedPlan(
        preparedGraph("(float[1,64,28,28] x, float[64,64,1,1] w) => (float[1,64,28,28] y) "
                      "{ a = Conv(x, w)  b = Sigmoid(a)  c = Conv(b, w)  y = Relu(c) }"),
        *cpu);
    EXPECT_TRUE(isLast(valueNamed(*plan, "b")));
    ASSERT_FALSE(plan->layouts.empty());
    EXPECT_EQ(plan->layouts[0].order, "channels innermost");
    EXPECT_EQ(plan->layouts[0].rejected, "as in the model");
    EXPECT_LT(plan->layouts[0].seconds, plan->layouts[0].secondsRejected);
}

TEST(LayoutChoice, RowsAlongTheLastDimensionKeepTheModelsOrder) {
    auto cpu = makeCpuBackend({1});
    const auto plan =
        pricedPlan(preparedGraph("(float[1,64,28,28] x, float[28,28] w) => (float[1,64,28,28] y) "
                                 "{ a = Sigmoid(x)  b = MatMul(a, w)  y = Softmax<axis=-1>(b) }"),
                   *cpu);
    EXPECT_FALSE(isLast(valueNamed(*plan, "a")));
    EXPECT_FALSE(isLast(valueNamed(*plan, "b")));
}

TEST(LayoutChoice, ATransposeAtAnOutputIsWrittenByTheProduct) {
    auto cpu = makeCpuBackend({1});
    const auto plan =
        pricedPlan(preparedGraph("(float[1,14,14,32] x, float[32,48] w) => (float[1,48,14,14] y) "
                                 "{ a = MatMul(x, w)  y = Transpose<perm=[0,3,1,2]>(a) }"),
                   *cpu);
    EXPECT_EQ(plan->steps.size(), 1U);
    EXPECT_EQ(valueNamed(*plan, "a").residence, Residence::Alias);
}

TEST(LayoutChoice, ViewsInARowAtAnOutputAreWrittenByTheConvolution) {
    auto cpu = makeCpuBackend({1});
    const auto plan = pricedPlan(
        preparedGraph("(float[1,16,14,14] x, float[32,16,1,1] w) => (float[1,196,32] y) "
                      "<int64[3] s = {1, 32, 196}> "
                      "{ a = Conv(x, w)  r = Reshape(a, s)  y = Transpose<perm=[0,2,1]>(r) }"),
        *cpu);
    EXPECT_EQ(plan->steps.size(), 1U);
    EXPECT_TRUE(isLast(valueNamed(*plan, "a")));
}

TEST(LayoutChoice, AnOutputThatIsPartOfWhatWasMadeIsCopied) {
    auto cpu = makeCpuBackend({1});
    const auto plan =
        pricedPlan(preparedGraph("(float[1,16,14,14] x) => (float[1,8,14,14] y) "
                                 "<int64[1] s = {0}, int64[1] e = {8}, int64[1] a = {1}> "
                                 "{ m = Sigmoid(x)  y = Slice(m, s, e, a) }"),
                   *cpu);
    EXPECT_EQ(plan->steps.size(), 2U);
}

TEST(LayoutChoice, ATransposeIsCopiedWhereItsReaderTakesLongerWithout) {
    auto cpu = makeCpuBackend({1});
    const auto stepsOf = [&](const std::string& text) {
        return pricedPlan(preparedGraph(text), *cpu)->steps.size();
    };
    const std::string given =
        "(float[1,96,56,56] x, float[96] s, float[96] b) => (float[1,56,56,96] y) "
        "{ t = Transpose<perm = [0, 2, 3, 1]>(x) ";
    EXPECT_EQ(stepsOf(given + "y = LayerNormalization<axis = -1>(t, s, b) }"), 2U);
    EXPECT_EQ(stepsOf(given + "y = Add(t, s) }"), 1U);
}

// A layer of batch-first data whose exporter puts the batch behind the rows for attention.
TEST(LayoutChoice, RowsLieAsTheProductBehindATransposeReadsThem) {
    const auto stridesOf = [](const std::string& more, const std::string& result) {
        const Graph graph = preparedGraph(
            "(float[4,9,32] x, float[32] s, float[32] b) => (float[9,4,48] y" + result +
            ") <float[32,48] w = {" +
            [] {
                std::string values;
                for (int i = 0; i < 32 * 48; ++i)
                    values += (i > 0 ? ", " : "") + std::to_string(i % 7 - 3);
                return values;
            }() +
            "}> { n = LayerNormalization<axis = -1>(x, s, b) t = Transpose<perm = [1, 0, 2]>(n) "
            "y = MatMul(t, w) " +
            more + "}");
        Voting backend(true);
        const auto plan = pricedPlan(graph, backend);
        const auto inputs = *app::generateInputs(graph, 1);
        const auto cpu = makeCpuBackend({1});
        const auto outputs = outputsOfPlan(plan, backend, inputs);
        const auto expected = outputsOfPlan(pricedPlan(graph, *cpu), *cpu, inputs);
        EXPECT_TRUE(isNear(outputs[0], expected[0], 1e-5, 1e-3));
        for (const PlanValue& value : plan->values)
            if (value.name == "n")
                return value.strides;
        return Extents{};
    };
    EXPECT_EQ(stridesOf("", ""), (Extents{32, 4 * 32, 1}));
    EXPECT_EQ(stridesOf("z = Softmax<axis = 1>(n) ", ", float[4,9,32] z"), (Extents{9 * 32, 32, 1}))
        << "another reader wants it as it is";
}
