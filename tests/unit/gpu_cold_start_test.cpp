// SPDX-License-Identifier: Apache-2.0
// How much a first result of a network waits for, counted on its plan for an H200 with a device
// made of a table: candidates that are compiled before it, and that a warm start compiles. And what
// is predicted of products whose blocks share operands.
#include "app/pipeline/analysis.h"
#include "app/pipeline/compiled.h"
#include "app/pipeline/rules.h"
#include "app/zoo/zoo.h"
#include "core/passes/passes.h"
#include "gpu/backend/busy_share.h"
#include "gpu/backend/plan_steps.h"
#include "gpu/kernels/variant_table.h"
#include "tests/unit/gpu_tune_support.h"

using namespace fuselage;
using namespace fuselage::testing_tune;

namespace {

std::shared_ptr<const Plan> planOf(const std::string& model, const DeviceProfile& profile,
                                   int64_t batch = 1) {
    const app::RuleLibrary rules = std::move(*app::requireRuleLibrary({}));
    const auto backend = makePlanningBackend(BackendKind::Cuda, profile);
    Progress progress;
    app::LoadedModel loaded;
    loaded.graph = std::move(*zoo::build(model));
    EXPECT_TRUE(prepareGraph(loaded.graph, progress));
    app::AnalysisOptions options;
    options.profile = profile;
    options.backend = backend.get();
    options.fuse.device = profile;
    options.fuse.precision = Precision::Fp16;
    options.fuse.dims = {{"N", batch}};
    auto analysis = app::analyse(loaded, rules, options, progress);
    EXPECT_TRUE(analysis) << analysis.error().text();
    return analysis->after.plan;
}

/// A kernel that the emitters made, without a compiler.
class EmittedTactic final : public Tactic {
public:
    EmittedTactic(KernelSet set, bool plain) : m_set(std::move(set)), m_plain(plain) {}

    std::string name() const override { return m_set.variant; }

    Result<void> build(Progress&) override { return {}; }

    TacticFacts facts() const override {
        TacticFacts out;
        out.numeric = m_set.numeric;
        out.plain = m_plain;
        return out;
    }

    Result<void> load(Device&) override { return {}; }

    Result<void> enqueue(Stream&, const LaunchArguments&) override { return {}; }

    const KernelSet* kernels() const override { return &m_set; }

private:
    KernelSet m_set;
    bool m_plain;
};

/// With a few algorithms of libraries beside our kernels for each product.
std::vector<TuneTask> tasksOf(const Plan& plan, const DeviceProfile& profile,
                              SyntheticTable& table) {
    const RequestTarget target{profile, profile.arch, int64_t{256} << 20};
    TuneEnvironment environment;
    environment.device = profile.title;
    std::vector<TuneTask> out;
    for (const Step& step : plan.steps) {
        const KernelRequest request = requestOf(plan, step, target);
        TuneTask& task = out.emplace_back();
        task.step = step.name;
        task.key = tacticKey(request, environment, step.inPlace);
        task.allowed = request.allowed;
        task.predicted = step.predicted;
        for (KernelSet& set : emitAll(request).accepted) {
            bool plain = false;
            for (const VariantRow& row : kernelVariants())
                plain = plain || (row.plain && row.name == set.variant);
            table[set.variant] = {plain ? 500.0 : 10.0, {}, {}, {}};
            auto tactic = std::make_unique<EmittedTactic>(std::move(set), plain);
            const double busy = busyShare(request, *tactic);
            EXPECT_GT(busy, 0) << tactic->name();
            EXPECT_LE(busy, 1) << tactic->name();
            task.seconds[tactic->name()] = predictedRun(request, task.predicted, *tactic);
            task.tactics.candidates.push_back(std::move(tactic));
        }
        if (std::holds_alternative<Contraction>(step.program.code))
            for (const char* name : {"cudnn e1", "cudnn e2", "cudnn e3", "cublaslt a1"}) {
                table[name] = {10, {}, {}, {}};
                task.tactics.candidates.push_back(
                    std::make_unique<FakeTactic>(name, table[name], nullptr));
            }
    }
    return out;
}

TEST(ColdStart, TheFirstResultOfResnet50WaitsForAtMost60Candidates) {
    const DeviceProfile profile = *deviceProfile("h200");
    const auto plan = planOf("resnet50", profile);
    SyntheticTable table;
    std::vector<TuneTask> tasks = tasksOf(*plan, profile, table);
    std::set<TacticKey> keys;
    size_t offered = 0;
    for (const TuneTask& task : tasks)
        if (keys.insert(task.key).second)
            offered += task.tactics.candidates.size();
    EXPECT_GT(offered, 200U);
    std::atomic<size_t> built = 0;
    TuneContext context;
    context.threads = 1;
    context.built = &built;
    FakeDevice device(table);
    context.device = &device;
    TimingCache cache;
    Progress progress;
    const size_t steps = tasks.size();
    auto tuned = tuneSteps(std::move(tasks), context, cache, progress);
    ASSERT_TRUE(tuned) << tuned.error().text();
    const size_t opened = device.opened;
    EXPECT_GE(opened, keys.size());
    // Layers of equal shape take the machine code that the first one made.
    EXPECT_LE(built - (steps - keys.size()), 60U);
    for (const TunedStep& step : *tuned)
        EXPECT_NE(step.basis, ChoiceBasis::Predicted) << step.step;

    built = 0;
    auto warm = tuneSteps(tasksOf(*plan, profile, table), context, cache, progress);
    ASSERT_TRUE(warm);
    EXPECT_EQ(built, steps);
    EXPECT_EQ(device.opened, opened) << "a warm start measures nothing";
}

/// Seconds of a step's fastest product fed by TMA: of blocks alone, and of pairs; 0: there is none.
std::pair<double, double> predictedProducts(const KernelRequest& request,
                                            const TimeEstimate& program) {
    std::pair<double, double> out;
    for (KernelSet& set : emitAll(request).accepted) {
        if (!set.variant.starts_with("tma_"))
            continue;
        double& best = set.variant.ends_with("_pair") ? out.second : out.first;
        const EmittedTactic tactic(std::move(set), false);
        const double seconds = predictedRun(request, program, tactic);
        best = best == 0 ? seconds : std::min(best, seconds);
    }
    return out;
}

TEST(Pairs, arePredictedToBeFasterWhereBlocksShareHalfOfAnOperand) {
    const DeviceProfile profile = *deviceProfile("h200");
    const RequestTarget target{profile, profile.arch, 0};
    for (const char* model : {"vit_b_16", "bert_base", "resnet50"}) {
        SCOPED_TRACE(model);
        const auto plan = planOf(model, profile, 32);
        double alone = 0, both = 0;
        for (const Step& step : plan->steps) {
            const KernelRequest request = requestOf(*plan, step, target);
            if (!std::holds_alternative<Contraction>(step.program.code))
                continue;
            const auto [single, pair] = predictedProducts(request, step.predicted);
            alone += single;
            both += pair > 0 ? std::min(single, pair) : single;
        }
        RecordProperty(std::string(model) + "_alone_us", std::to_string(alone * 1e6));
        RecordProperty(std::string(model) + "_pairs_us", std::to_string(both * 1e6));
        EXPECT_LT(both, alone * 0.95);
    }
}

/// Of our kernels for a step: what the fastest by im2col mode is predicted to take, and the fastest
/// of the others; 0: there is none.
std::pair<double, double> predictedByPixels(const KernelRequest& request,
                                            const TimeEstimate& program) {
    std::pair<double, double> out;
    for (KernelSet& set : emitAll(request).accepted) {
        double& best = set.variant.starts_with("tma_im2col_") ? out.first : out.second;
        const double seconds = predictedRun(request, program, EmittedTactic(std::move(set), false));
        best = best == 0 ? seconds : std::min(best, seconds);
    }
    return out;
}

/// 3x3 and 1x1 in steps of two; those of 3x3 in steps of one are conv_halo's, and a candidate less
/// than half again as long. Only of 128 channels, where conv_halo's tile of 128 results would spill
/// registers, it is the first there too. Of one picture nobody offers it.
TEST(Im2colMode, isPredictedToBeTheFastestOfOursForStridedConvolutions) {
    const DeviceProfile profile = *deviceProfile("h200");
    const RequestTarget target{profile, profile.arch, int64_t{256} << 20};
    for (const int64_t batch : {1, 32}) {
        SCOPED_TRACE(batch);
        const auto plan = planOf("resnet50", profile, batch);
        size_t strided = 0, plain = 0;
        for (const Step& step : plan->steps) {
            const auto* code = std::get_if<Contraction>(&step.program.code);
            if (code == nullptr || code->kind != Contraction::Kind::Conv)
                continue;
            const auto [pixels, others] =
                predictedByPixels(requestOf(*plan, step, target), step.predicted);
            if (batch == 1) {
                EXPECT_EQ(pixels, 0) << step.name;
            } else if (code->window.strides[0] == 2 && code->window.kernel[0] < 7) {
                ++strided;
                EXPECT_GT(pixels, 0) << step.name;
                EXPECT_LE(pixels, others * 1.0001) << step.name;
            } else if (code->window.kernel[0] == 3) {
                ++plain;
                const Extents& results = step.program.outputs[0].extents;
                if (results[1] == 128)
                    EXPECT_LT(pixels, others) << step.name;
                else
                    EXPECT_GT(pixels, others) << step.name;
                EXPECT_LT(pixels, others * 1.5) << step.name;
            } else {
                EXPECT_EQ(pixels, 0) << step.name;
            }
        }
        EXPECT_EQ(strided, batch == 1 ? 0U : 6U);
        EXPECT_EQ(plain, batch == 1 ? 0U : 13U);
    }
}

} // namespace
