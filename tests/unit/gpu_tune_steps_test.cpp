// SPDX-License-Identifier: Apache-2.0
// From tactics to choices: the cache decides, unknown keys are measured once or refused, and equal
// caches give equal plans. All figures are synthetic.
#include "tests/support/temporary_folder.h"
#include "tests/unit/gpu_tune_support.h"

#include <algorithm>
#include <random>

using namespace fuselage;
using namespace fuselage::testing_tune;

namespace {

struct Bench {
    SyntheticTable table = {{"cublaslt 128", {20, {}, {}, {}}},
                            {"cudnn 1", {20.2, {}, {}, {}}},
                            {"row_warp", {30, {}, {}, {}}}};
    std::multiset<std::string> built;
    TimingCache cache;
    TuneContext context;
    Progress progress;

    TuneTask task(const std::string& name, const std::string& key) {
        TuneTask out;
        out.step = name;
        out.key = syntheticKey(key);
        out.predicted = {1e-5, 0, 0, 1e-6, 9e-6, 1e-6, 1e-6, 0, "dram"};
        for (const auto& [tactic, what] : table)
            out.tactics.candidates.push_back(std::make_unique<FakeTactic>(tactic, what, &built));
        return out;
    }

    std::vector<TuneTask> tasks(const std::vector<std::string>& keys) {
        std::vector<TuneTask> out;
        for (const std::string& key : keys)
            out.push_back(task("step of " + key, key));
        return out;
    }

    Result<std::vector<TunedStep>> tune(std::vector<TuneTask> work) {
        context.threads = 1;
        return tuneSteps(std::move(work), context, cache, progress);
    }

    /// With a device; fails the test when that fails.
    std::vector<TunedStep> measure(std::vector<TuneTask> work) {
        FakeDevice device(table);
        context.device = &device;
        auto out = tune(std::move(work));
        context.device = nullptr;
        EXPECT_TRUE(out) << (out ? "" : out.error().text());
        opened = device.opened;
        return out ? std::move(*out) : std::vector<TunedStep>{};
    }

    size_t opened = 0;
};

bool mentions(const std::vector<Reason>& reasons, const std::string& code,
              const std::string& piece) {
    return std::any_of(reasons.begin(), reasons.end(), [&](const Reason& reason) {
        return reason.code == code && reason.message.find(piece) != std::string::npos;
    });
}

} // namespace

TEST(TuneSteps, EqualKeysAreMeasuredOnce) {
    Bench bench;
    auto steps = bench.measure(bench.tasks({"a", "b", "a", "a"}));
    EXPECT_EQ(bench.opened, 2U);
    EXPECT_EQ(bench.built.count("row_warp"), 2U) << "only where it was measured";
    EXPECT_EQ(bench.built.count("cublaslt 128"), 4U);
    ASSERT_EQ(steps.size(), 4U);
    for (const TunedStep& step : steps)
        EXPECT_EQ(step.tactic->name(), "cublaslt 128") << "a tie goes to the smaller name";
}

TEST(TuneSteps, AKnownKeyIsNotMeasuredAgain) {
    Bench bench;
    const std::string first = describe(bench.measure(bench.tasks({"a", "b"})));
    const std::string text = bench.cache.text();
    auto again = bench.measure(bench.tasks({"a", "b"}));
    EXPECT_EQ(bench.opened, 0U);
    EXPECT_EQ(describe(again), first);
    EXPECT_EQ(again[0].basis, ChoiceBasis::Cached);
    EXPECT_EQ(bench.cache.text(), text);
}

TEST(TuneSteps, ANewTacticMakesAKeyUnknown) {
    Bench bench;
    bench.measure(bench.tasks({"a"}));
    bench.table["own gemm"] = {10, {}, {}, {}};
    EXPECT_EQ(bench.measure(bench.tasks({"a"}))[0].tactic->name(), "own gemm");
    EXPECT_EQ(bench.opened, 1U);
}

TEST(TuneSteps, ShuffledCandidatesAndStepsGiveTheSameChoices) {
    Bench bench;
    std::vector<std::string> keys{"a", "b", "c", "d", "e"};
    bench.measure(bench.tasks(keys));
    bench.context.options.frozen = true;
    std::set<std::string> descriptions;
    std::mt19937 random(7);
    for (int round = 0; round < 10; ++round) {
        std::shuffle(keys.begin(), keys.end(), random);
        std::vector<TuneTask> tasks = bench.tasks(keys);
        for (TuneTask& task : tasks)
            std::shuffle(task.tactics.candidates.begin(), task.tactics.candidates.end(), random);
        auto steps = bench.tune(std::move(tasks));
        ASSERT_TRUE(steps);
        std::sort(steps->begin(), steps->end(),
                  [](const TunedStep& a, const TunedStep& b) { return a.step < b.step; });
        descriptions.insert(describe(*steps));
    }
    EXPECT_EQ(descriptions.size(), 1U);
}

TEST(TuneSteps, TheOrderOfMeasuringDoesNotReachTheCache) {
    std::set<std::string> texts;
    for (const std::vector<std::string>& keys :
         {std::vector<std::string>{"a", "b", "c"}, {"c", "a", "b"}, {"b", "c", "b", "a"}}) {
        Bench bench;
        bench.measure(bench.tasks(keys));
        texts.insert(bench.cache.text());
    }
    EXPECT_EQ(texts.size(), 1U);
}

TEST(TuneSteps, FrozenRefusesAnUnknownKeyByStepAndKey) {
    Bench bench;
    bench.measure(bench.tasks({"a"}));
    bench.context.options.frozen = true;
    auto out = bench.tune(bench.tasks({"a", "b", "c"}));
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().code, "tune.frozen");
    EXPECT_EQ(out.error().where, "step of b");
    EXPECT_NE(out.error().message.find(syntheticKey("b").text()), std::string::npos);
    EXPECT_NE(out.error().message.find("1 other key"), std::string::npos);
}

TEST(TuneSteps, FrozenMeasuresNothingEvenWhenATacticIsNew) {
    Bench bench;
    bench.measure(bench.tasks({"a"}));
    bench.table["own gemm"] = {1, {}, {}, {}};
    bench.context.options.frozen = true;
    EXPECT_EQ(bench.measure(bench.tasks({"a"}))[0].tactic->name(), "cublaslt 128");
    EXPECT_EQ(bench.opened, 0U);
}

TEST(TuneSteps, WithoutWorkspaceTheDroppedTacticsAreNamed) {
    Bench bench;
    bench.table["cublaslt 128"].facts.workspaceBytes = 1 << 20;
    bench.context.options.workspaceLimit = 0;
    auto steps = bench.measure(bench.tasks({"a"}));
    ASSERT_EQ(steps.size(), 1U);
    EXPECT_EQ(steps[0].tactic->name(), "cudnn 1");
    EXPECT_TRUE(mentions(steps[0].reasons, "workspace",
                         "cublaslt 128: needs 1048576 bytes of workspace, the limit is 0"));
}

TEST(TuneSteps, ATacticThatDoesNotBuildIsRecordedAndTheNextIsTaken) {
    Bench bench;
    bench.table["cublaslt 128"].buildFails = "nvrtc.compile";
    auto steps = bench.measure(bench.tasks({"a"}));
    EXPECT_EQ(steps[0].tactic->name(), "cudnn 1");
    EXPECT_TRUE(mentions(steps[0].reasons, "nvrtc.compile", "cublaslt 128"));
    EXPECT_EQ(bench.cache.find(syntheticKey("a"))->front().refused, "nvrtc.compile");
}

TEST(TuneSteps, ARecordedTacticThatIsLostIsAStepDown) {
    Bench bench;
    bench.measure(bench.tasks({"a"}));
    bench.table.erase("cublaslt 128");
    auto steps = bench.tune(bench.tasks({"a"}));
    ASSERT_TRUE(steps);
    EXPECT_EQ(steps->at(0).tactic->name(), "cudnn 1");
    EXPECT_TRUE(mentions(steps->at(0).reasons, "not-offered", "cublaslt 128"));
    bench.context.options.fallback = false;
    auto refused = bench.tune(bench.tasks({"a"}));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, "tune.fallback");
    EXPECT_EQ(refused.error().where, "step of a");
}

TEST(TuneSteps, NoFallbackRefusesALastResort) {
    Bench bench;
    bench.table = {{"host", {900, {}, {}, {}}}};
    bench.table["host"].facts.fallback = true;
    EXPECT_EQ(bench.measure(bench.tasks({"a"}))[0].tactic->name(), "host");
    bench.context.options.fallback = false;
    auto refused = bench.tune(bench.tasks({"a"}));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, "tune.fallback");
}

TEST(TuneSteps, MemoryThatIsInUseTodayIsNotKept) {
    Bench bench;
    bench.table["cublaslt 128"].measureFails = "device.memory";
    auto steps = bench.measure(bench.tasks({"a"}));
    EXPECT_EQ(steps[0].tactic->name(), "cudnn 1");
    EXPECT_TRUE(mentions(steps[0].reasons, "device.memory", "cublaslt 128"));
    EXPECT_EQ(bench.cache.find(syntheticKey("a"))->size(), 2U);
}

TEST(TuneSteps, WhatTheDriverRefusesIsKeptSoThatAWarmStartMeasuresNothing) {
    Bench bench;
    bench.table["cublaslt 128"].measureFails = "device.call";
    bench.table["row_warp"].checkFails = "device.pack";
    bench.measure(bench.tasks({"a"}));
    auto steps = bench.measure(bench.tasks({"a"}));
    EXPECT_EQ(bench.opened, 0U);
    EXPECT_EQ(steps[0].tactic->name(), "cudnn 1");
    EXPECT_TRUE(mentions(steps[0].reasons, "device.call", "cublaslt 128"));
    EXPECT_TRUE(mentions(steps[0].reasons, "device.pack", "row_warp"));
}

TEST(TuneSteps, WhatIsLeftOutIsNotBuiltAndAMeasurementOfItNotTaken) {
    Bench bench;
    bench.measure(bench.tasks({"a"}));
    bench.built.clear();
    bench.context.options.without = {"cublas*"};
    bench.context.options.fallback = false;
    auto steps = bench.measure(bench.tasks({"a"}));
    EXPECT_EQ(steps[0].tactic->name(), "cudnn 1");
    EXPECT_EQ(bench.opened, 0U);
    EXPECT_EQ(bench.built.count("cublaslt 128"), 0U);
    EXPECT_TRUE(mentions(steps[0].reasons, "left-out", "cublaslt 128: left out by --without cub"));
}

TEST(TuneSteps, AVariantThatTookTheDeviceInTwoStepsIsNotTriedInOthers) {
    for (const char* code : {"device.lost", "device.hung", "device.crashed"}) {
        Bench bench;
        bench.table["row_warp"].generated = true;
        CandidateRecord bad = measured("row_warp 2", 0);
        bad.rounds = 0;
        bad.refused = code;
        bench.cache.add(syntheticKey("a"), {bad});
        bench.measure(bench.tasks({"c"}));
        EXPECT_EQ(bench.built.count("row_warp"), 1U) << "after one step";
        bad.name = "row_warp";
        TacticKey other = syntheticKey("b");
        other.software = "emitter of another version";
        bench.cache.add(other, {bad});
        bench.measure(bench.tasks({"d"}));
        EXPECT_EQ(bench.built.count("row_warp"), 2U) << "another version";
        bench.cache.add(syntheticKey("b"), {bad});
        auto steps = bench.measure(bench.tasks({"e"}));
        const bool killed = code == std::string("device.crashed"); // by anything
        EXPECT_EQ(bench.built.count("row_warp"), killed ? 3U : 2U) << code;
        EXPECT_EQ(mentions(steps[0].reasons, "variant-lost", "row_warp"), !killed);
        bench.table["row_warp"].generated = false; // a library has many kernels of one name
        bench.measure(bench.tasks({"f"}));
        EXPECT_EQ(bench.built.count("row_warp"), killed ? 4U : 3U);
    }
}

TEST(TuneSteps, WhatWasMeasuredBeforeAnEndIsInTheCacheAndToldOf) {
    Bench bench;
    size_t told = 0;
    bench.context.learned = [&] {
        EXPECT_EQ(bench.cache.entries().size(), ++told);
        if (told == 2)
            bench.progress.cancel();
    };
    FakeDevice device(bench.table);
    bench.context.device = &device;
    auto out = bench.tune(bench.tasks({"a", "b", "c"}));
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().code, "cancelled");
    EXPECT_EQ(told, 2U);
    EXPECT_TRUE(bench.cache.find(syntheticKey("b")));
    EXPECT_FALSE(bench.cache.find(syntheticKey("c")));
}

TEST(TuneSteps, AStepThatNothingComputesSaysWhy) {
    Bench bench;
    for (auto& [name, what] : bench.table)
        what.facts.numeric = NumericClass::Approximate;
    FakeDevice device(bench.table);
    bench.context.device = &device;
    auto out = bench.tune(bench.tasks({"a"}));
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().code, "tune.none");
    EXPECT_NE(out.error().message.find("allowed is reassociated"), std::string::npos);
}

TEST(TuneSteps, WithoutADeviceTheChoiceIsPredictedAndNotKept) {
    Bench bench;
    bench.table["host"] = {};
    auto steps = bench.tune(bench.tasks({"a"}));
    ASSERT_TRUE(steps);
    EXPECT_EQ(steps->at(0).basis, ChoiceBasis::Predicted);
    EXPECT_NE(describe(*steps).find(" us predicted\n"), std::string::npos);
    EXPECT_TRUE(bench.cache.entries().empty());
    EXPECT_EQ(bench.built.count("host"), 0U);
}

TEST(TuneSteps, AKeyWithoutMemoryToMeasureInCostsItsMeasurementOnly) {
    Bench bench;
    FakeDevice device(bench.table);
    device.cannotOpen = "b";
    bench.context.device = &device;
    auto out = bench.tune(bench.tasks({"a", "b", "c"}));
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ(out->at(0).basis, ChoiceBasis::Measured);
    EXPECT_EQ(out->at(1).basis, ChoiceBasis::Predicted);
    EXPECT_EQ(out->at(2).basis, ChoiceBasis::Measured);
    EXPECT_TRUE(mentions(out->at(1).reasons, "device.memory", "not measured: "));
    EXPECT_FALSE(bench.cache.find(syntheticKey("b"))) << "tried again another day";
}

TEST(TuneSteps, ALostDeviceStartsTheProgramAgainUnlessItWasCancelledMeanwhile) {
    for (const bool cancelled : {false, true}) {
        Bench bench;
        bench.table["row_warp"].checkFails = "device.hung";
        if (cancelled)
            bench.table["row_warp"].duringCheck = [&] { bench.progress.cancel(); };
        FakeDevice device(bench.table);
        bench.context.device = &device;
        size_t told = 0;
        bench.context.deviceGone = [&](const Error&) { ++told; };
        auto out = bench.tune(bench.tasks({"a"}));
        ASSERT_FALSE(out);
        EXPECT_EQ(out.error().code, "device.hung");
        EXPECT_EQ(told, cancelled ? 0U : 1U);
        ASSERT_TRUE(bench.cache.find(syntheticKey("a"))) << "what hung is known in any case";
    }
}

TEST(TuneSteps, APredictionPrefersWhatRanOnThisDevice) {
    Bench bench;
    auto none = bench.tune(bench.tasks({"a"}));
    ASSERT_TRUE(none);
    const std::string preferred = none->at(0).tactic->name();
    const std::string other = preferred == "row_warp" ? "cudnn 1" : "row_warp";
    bench.cache.add(syntheticKey("b"), {measured(other, 10)});
    auto some = bench.tune(bench.tasks({"a"}));
    ASSERT_TRUE(some);
    EXPECT_EQ(some->at(0).tactic->name(), other);
    CandidateRecord host = measured("host", 10);
    host.fallback = true;
    bench.cache = {};
    bench.cache.add(syntheticKey("b"), {host});
    bench.table["host"] = {};
    auto last = bench.tune(bench.tasks({"a"}));
    ASSERT_TRUE(last);
    EXPECT_EQ(last->at(0).tactic->name(), preferred) << "a last resort runs anywhere";
}

TEST(TuneSteps, CancellingIsAnError) {
    Bench bench;
    bench.progress.cancel();
    FakeDevice device(bench.table);
    bench.context.device = &device;
    auto out = bench.tune(bench.tasks({"a"}));
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().code, "cancelled");
    EXPECT_TRUE(bench.cache.entries().empty());
}

TEST(TacticEfficiency, TheLongestPrefixCounts) {
    EXPECT_EQ(tacticEfficiency("row_warp").prefix, "row_warp");
    EXPECT_EQ(tacticEfficiency("cublaslt 128x64 k2").prefix, "cublaslt");
    EXPECT_EQ(tacticEfficiency("unheard of").prefix, "");
    for (const TacticEfficiency& row : tacticEfficiencies())
        EXPECT_TRUE(row.source.starts_with("not measured")) << row.prefix;
}

TEST(TacticEfficiency, SharesDivideTheTermsOfTheEstimate) {
    TimeEstimate estimate;
    estimate.launch = 1e-6;
    estimate.dram = 8e-6;
    TacticEfficiency half{"x", 0.5, 1, 1, "not measured"};
    EXPECT_NEAR(predictSeconds(estimate, half, 2, 6), 18e-6, 1e-12);
    estimate.matrix = 16e-6;
    EXPECT_NEAR(predictSeconds(estimate, half, 1, 1), 33e-6, 1e-12);
}

TEST(TacticEfficiency, WrongTablesNameTheRow) {
    const std::string row = "[[tactic]]\nprefix = \"\"\nmemory = 0.5\nissue = 0.5\nmatrix = 0.5\n";
    for (const auto& [text, piece] : std::vector<std::pair<std::string, std::string>>{
             {"[[tactic", "line 1"},
             {"", "no row"},
             {row, "`source`"},
             {row + "source = \"s\"\n" + row + "source = \"s\"\n", "twice"},
             {"[[tactic]]\nprefix = \"p\"\nmemory = 2\n", "`memory`"}}) {
        auto parsed = parseTacticEfficiencies(text, "t.toml");
        ASSERT_FALSE(parsed) << text;
        EXPECT_NE(parsed.error().text().find(piece), std::string::npos) << parsed.error().text();
    }
}

namespace {

/// Six candidates a step and their judge.
struct CrowdedBench : Bench {
    CrowdedBench() {
        table.clear();
        for (const char* name : {"cublaslt 1", "cudnn 1", "tensor_64x64", "tensor_128x64",
                                 "tma_128x128", "wgmma_128x64"}) {
            table[name] = {20, {}, {}, {}};
            table[name].generated = name[0] == 't' || name[0] == 'w';
        }
        SyntheticTactic& judge = table["contract_plain"];
        judge.microseconds = 900;
        judge.facts.plain = judge.generated = true;
    }
};

const CandidateRecord* recordIn(const TimingCache& cache, const std::string& key,
                                const std::string& name) {
    const TimingEntry* entry = cache.find(syntheticKey(key));
    for (const CandidateRecord& record : *entry)
        if (record.name == name)
            return &record;
    return nullptr;
}

} // namespace

// 21 candidates of three keys.
TEST(FirstResult, WaitsForAFewCandidatesAndTheirJudges) {
    CrowdedBench bench;
    std::atomic<size_t> built = 0;
    bench.context.built = &built;
    bench.context.options.firstCandidates = 8;
    auto steps = bench.measure(bench.tasks({"a", "b", "c", "a"}));
    ASSERT_EQ(steps.size(), 4U);
    // The second step of "a" builds what the first one measured.
    EXPECT_EQ(built, 9U);
    EXPECT_EQ(bench.built.count("contract_plain"), 3U);
    for (const TunedStep& step : steps) {
        EXPECT_NE(step.tactic->name(), "contract_plain");
        EXPECT_NE(step.basis, ChoiceBasis::Predicted);
        EXPECT_TRUE(mentions(step.reasons, "put-off", "first result"));
    }
    EXPECT_TRUE(isPutOff(*recordIn(bench.cache, "c", "tensor_64x64")));
    // What was put off makes a warm start neither build nor measure.
    built = 0;
    bench.measure(bench.tasks({"a", "b", "c"}));
    EXPECT_EQ(bench.opened, 0U);
    EXPECT_EQ(built, 3U);
}

TEST(FirstResult, WhatWasPutOffIsMeasuredWithTune) {
    CrowdedBench bench;
    bench.context.options.firstCandidates = 4;
    bench.measure(bench.tasks({"a", "b"}));
    bench.table["wgmma_128x64"].microseconds = 5;
    bench.context.options.tune = true;
    auto steps = bench.measure(bench.tasks({"a", "b"}));
    EXPECT_EQ(bench.opened, 2U);
    EXPECT_EQ(steps[0].tactic->name(), "wgmma_128x64");
    EXPECT_GT(recordIn(bench.cache, "a", "tensor_64x64")->rounds, 0U);
    bench.measure(bench.tasks({"a", "b"}));
    EXPECT_EQ(bench.opened, 0U);
}

TEST(FirstResult, AWrongFirstChoiceIsReplacedByTheNext) {
    CrowdedBench bench;
    for (const char* name : {"cublaslt 1", "cudnn 1", "tma_128x128"})
        bench.table[name].result = 7;
    bench.context.options.firstCandidates = 2;
    auto steps = bench.measure(bench.tasks({"a"}));
    ASSERT_EQ(steps.size(), 1U);
    const std::string chosen = steps[0].tactic->name();
    EXPECT_NE(chosen, "contract_plain");
    EXPECT_EQ(bench.table[chosen].result, 0) << chosen;
    EXPECT_EQ(steps[0].basis, ChoiceBasis::Measured);
}

TEST(FirstResult, IsPredictedWhereItIsLate) {
    CrowdedBench bench;
    bench.context.options.firstSeconds = 1e-9;
    auto steps = bench.measure(bench.tasks({"a", "b", "a"}));
    EXPECT_EQ(bench.opened, 0U);
    ASSERT_EQ(steps.size(), 3U);
    for (const TunedStep& step : steps)
        EXPECT_EQ(step.basis, ChoiceBasis::Predicted);
    EXPECT_TRUE(mentions(steps[0].reasons, "put-off", "first result"));
    EXPECT_EQ(bench.cache.find(syntheticKey("a")), nullptr) << "predictions are not kept";
}

TEST(FirstResult, AnyOtherRecordReplacesOneThatWasPutOff) {
    CandidateRecord refused;
    refused.name = "cudnn 1";
    refused.refused = "workspace";
    refused.why = "zzz";
    for (const CandidateRecord& other : {refused, measured("cudnn 1", 20)})
        for (bool first : {false, true}) {
            TimingCache cache;
            const CandidateRecord off = putOffRecord("cudnn 1");
            cache.add(syntheticKey("a"), {first ? off : other});
            cache.add(syntheticKey("a"), {first ? other : off});
            EXPECT_FALSE(isPutOff(cache.find(syntheticKey("a"))->at(0)));
        }
}
