// SPDX-License-Identifier: Apache-2.0
// A plan against a recorded timing cache: the choices that a GPU would lead to, without one. The
// recorded figures are synthetic (data/synthetic.timing_cache says so in every key); with
// FUSELAGE_BLESS=1 in the environment the file is written again.
#include "core/cost/tactic_efficiency.h"
#include "core/plan/make_plan.h"
#include "core/support/file.h"
#include "gpu/backend/plan_steps.h"
#include "gpu/kernels/variant_table.h"
#include "tests/unit/gpu_tune_support.h"
#include "tests/unit/kernel_support.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

using namespace fuselage;
using namespace fuselage::testing_tune;

namespace {

const std::string recorded = FUSELAGE_TEST_DATA "/synthetic.timing_cache";

/// Two equal layers of a small network, and what comes behind them.
const std::string network =
    "(float[64,128] x, float[128,128] v, float[128] c, float[128,128] w, float[128] b) => "
    "(float[128,64] y) { t = MatMul(x, v) u = Add(t, c) r = Relu(u) m = MatMul(r, w) "
    "a = Add(m, b) q = Relu(a) s = Softmax(q) y = Transpose<perm = [1, 0]>(s) }";

struct Planned {
    std::shared_ptr<const Plan> plan;
    std::vector<TuneTask> tasks;
    SyntheticTable table;
};

KernelRequest requestOf(const Plan& plan, const Step& step, const DeviceProfile& profile) {
    KernelRequest out;
    auto layout = [&](uint32_t number) {
        const PlanValue& value = plan.values[number];
        return OperandLayout{value.dtype, value.extents, value.strides, 16};
    };
    out.program = &step.program;
    out.profile = &profile;
    for (uint32_t input : step.inputs)
        out.inputs.push_back(layout(input));
    for (uint32_t output : step.outputs)
        out.outputs.push_back(layout(output));
    return out;
}

/// Plausible figures from a name alone; a tie between `cublaslt` and the plain kernel's neighbours.
double syntheticMicroseconds(const std::string& name) {
    if (name.starts_with("cublaslt"))
        return name.ends_with("k2") ? 3.9 : 4.1;
    if (name.starts_with("contraction"))
        return 21.5;
    return name.ends_with("_plain") ? 6.25 : 2.125;
}

Planned planned() {
    static const DeviceProfile profile = *deviceProfile("h200");
    Planned out;
    auto request = testing_kernel::bodyFrom(network);
    PlanOptions options;
    options.profile = &profile;
    options.stridedViews = false;
    Progress progress;
    auto plan = makePlan(request.body, options, progress);
    EXPECT_TRUE(plan) << (plan ? "" : plan.error().text());
    if (!plan)
        return out;
    out.plan = *plan;
    const TuneEnvironment environment{
        "synthetic H200", 132, "synthetic", {{"cublaslt", "synthetic"}}, "synthetic"};
    for (const Step& step : out.plan->steps) {
        const KernelRequest asked = requestOf(*out.plan, step, profile);
        std::vector<std::string> names;
        for (const KernelSet& kernels : emitAll(asked).accepted)
            names.push_back(kernels.variant);
        if (std::holds_alternative<Contraction>(step.program.code))
            names.insert(names.end(), {"cublaslt 128x64", "cublaslt 64x64 k2"});
        TuneTask task;
        task.step = step.name;
        task.key = tacticKey(asked, environment);
        task.predicted = step.predicted;
        for (const std::string& name : names) {
            out.table[name].microseconds = syntheticMicroseconds(name);
            out.table[name].facts.deterministic = !name.ends_with("k2");
            out.table[name].facts.plain = name.ends_with("_plain");
            out.table[name].generated = !name.starts_with("cublaslt");
            task.tactics.candidates.push_back(
                std::make_unique<FakeTactic>(name, out.table[name], nullptr));
        }
        out.tasks.push_back(std::move(task));
    }
    return out;
}

Result<std::vector<TunedStep>> frozen(const TimingCache& cache) {
    TimingCache copy = cache;
    TuneContext context;
    context.options.frozen = true;
    context.threads = 1;
    Progress progress;
    return tuneSteps(planned().tasks, context, copy, progress);
}

/// What a run on the synthetic device leaves.
std::string measuredText() {
    Planned work = planned();
    FakeDevice device(work.table);
    TimingCache cache;
    TuneContext context;
    context.device = &device;
    context.threads = 1;
    Progress progress;
    auto tuned = tuneSteps(std::move(work.tasks), context, cache, progress);
    EXPECT_TRUE(tuned) << (tuned ? "" : tuned.error().text());
    return cache.text();
}

LoadedCache load() {
    if (std::getenv("FUSELAGE_BLESS")) {
        EXPECT_TRUE(writeFile(measuredText(), recorded));
    }
    auto loaded = loadTimingCache(recorded);
    EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().text());
    return loaded ? std::move(*loaded) : LoadedCache{};
}

} // namespace

TEST(RecordedPlan, TheChoicesAreThoseOfTheRecord) {
    const LoadedCache loaded = load();
    EXPECT_TRUE(loaded.problems.empty());
    auto steps = frozen(loaded.cache);
    ASSERT_TRUE(steps) << steps.error().text()
                       << "\nwhen programs or layouts changed on purpose: FUSELAGE_BLESS=1 "
                          "unit_gpu_recorded, and look at the difference";
    ASSERT_EQ(steps->size(), 8U);
    std::vector<std::string> tactics;
    for (const TunedStep& step : *steps)
        tactics.push_back(step.tactic->name());
    EXPECT_EQ(tactics[0], "cublaslt 128x64") << "a tie with a tactic that is not deterministic";
    EXPECT_EQ(tactics[0], tactics[3]);
    EXPECT_EQ(tactics[1], "pointwise_vector");
    EXPECT_TRUE(tactics[6].starts_with("row_")) << tactics[6];
    EXPECT_EQ(tactics[7], "copy_transpose");
}

TEST(RecordedPlan, EqualLayersShareAKey) {
    const Planned work = planned();
    ASSERT_EQ(work.tasks.size(), 8U);
    EXPECT_EQ(work.tasks[0].key, work.tasks[3].key);
    EXPECT_EQ(work.tasks[1].key, work.tasks[4].key);
    EXPECT_EQ(load().cache.entries().size(), 5U);
}

TEST(RecordedPlan, TheDescriptionHasTheSameBytesEveryTime) {
    const LoadedCache loaded = load();
    auto first = frozen(loaded.cache), second = frozen(loaded.cache);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(describe(*first), describe(*second));
    auto again = parseTimingCache(loaded.cache.text(), "again");
    ASSERT_TRUE(again);
    auto third = frozen(again->cache);
    ASSERT_TRUE(third);
    EXPECT_EQ(describe(*first), describe(*third));
}

TEST(RecordedPlan, WithoutARecordEachStepIsNamed) {
    auto steps = frozen({});
    ASSERT_FALSE(steps);
    EXPECT_EQ(steps.error().code, "tune.frozen");
    EXPECT_NE(steps.error().message.find("synthetic H200"), std::string::npos);
    EXPECT_NE(steps.error().message.find("nor 4 other keys"), std::string::npos);
}

TEST(RecordedPlan, PredictionsPreferWhatIsMeantForTheShape) {
    Planned work = planned();
    TimingCache none;
    TuneContext context;
    context.threads = 1;
    Progress progress;
    auto steps = tuneSteps(std::move(work.tasks), context, none, progress);
    ASSERT_TRUE(steps);
    EXPECT_TRUE(steps->at(0).tactic->name().starts_with("cublaslt"));
    EXPECT_EQ(steps->at(1).tactic->name(), "pointwise_vector");
    EXPECT_EQ(steps->at(7).tactic->name(), "copy_transpose");
}

TEST(TacticEfficiency, EveryVariantHasARowAndPlainOnesComeLast) {
    for (const gpu::VariantRow& variant : gpu::kernelVariants())
        EXPECT_NE(tacticEfficiency(variant.name).prefix, "") << variant.name;
    EXPECT_LT(tacticEfficiency("contract_plain").matrix, tacticEfficiency("float_64x64").matrix);
    EXPECT_LT(tacticEfficiency("float_64x64").matrix, tacticEfficiency("tensor_64x64").matrix);
    EXPECT_LT(tacticEfficiency("tensor_64x64").matrix, tacticEfficiency("cudnn").matrix);
}

// Partial sums are written to memory and read again, by the same launch or by the next.
TEST(HiddenWork, PartialSumsArePassedOnAndOtherScratchMemoryIsNot) {
    gpu::TacticFacts facts;
    facts.workspaceBytes = 8192;
    EXPECT_FALSE(gpu::hiddenWorkOf(facts).values) << "a library's own workspace";
    EXPECT_EQ(gpu::hiddenWorkOf(facts).passedBytes, 0);
    facts.passedBytes = 4096;
    EXPECT_EQ(gpu::hiddenWorkOf(facts).launches, 1U);
    EXPECT_EQ(gpu::hiddenWorkOf(facts).passedBytes, 4096);
    EXPECT_EQ(gpu::hiddenWorkOf(facts).values, 1U);
    EXPECT_EQ(gpu::hiddenWorkOf(facts).scratchBytes, 8192);
    facts.launches = 2;
    EXPECT_EQ(gpu::hiddenWorkOf(facts).launches, 2U);
    EXPECT_EQ(gpu::hiddenWorkOf(facts).passedBytes, 4096);
}
