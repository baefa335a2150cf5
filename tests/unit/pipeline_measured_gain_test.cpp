// SPDX-License-Identifier: Apache-2.0
// Gains that are measured: what is asked, what is kept, what a file that is not ours does.
#include "app/pipeline/fuse.h"
#include "app/pipeline/measured_gain.h"
#include "core/graph/subgraph.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "core/support/file.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace fuselage;
using testing_support::TemporaryFolder;

namespace {

Graph smallNetwork() {
    auto graph = model_io::loadText("g (float[64,256] x, float[256] b) => (float[64,256] y) {"
                                    " a = Add(x, b) c = Relu(a) y = Mul(c, c) }");
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().text());
    return std::move(*graph);
}

Result<Rewritten> fusedBy(const std::string& file) {
    app::FuseOptions options;
    options.decide = Decide::Measure;
    options.measuring = {BackendKind::Cpu, 1, file};
    auto library = app::loadRuleLibrary({});
    EXPECT_TRUE(library);
    Progress progress;
    return app::fuseGraph(smallNetwork(), *library, options, progress);
}

app::GainSides sidesOf(const char* before, const char* after) {
    auto one = model_io::loadText(before), other = model_io::loadText(after);
    EXPECT_TRUE(one && other);
    return {std::make_shared<const Graph>(std::move(*one)),
            std::make_shared<const Graph>(std::move(*other))};
}

app::GainSides aClearLoss() {
    return sidesOf("g (float[64,64] x) => (float[64,64] y) { y = Relu(x) }",
                   "g (float[64,64] x) => (float[64,64] y) { a = MatMul(x, x)"
                   " b = MatMul(a, a) c = MatMul(b, b) y = Softmax(c) }");
}

/// Lines of the file that are verdicts on matches.
size_t verdictsIn(const std::string& file) {
    const auto text = readFile(file);
    size_t out = 0;
    for (size_t at = 0; text && (at = text->find("apart=", at)) != std::string::npos; ++at)
        ++out;
    return out;
}

} // namespace

TEST(MeasuredGain, MoreWorkIsALossThatIsMeasuredOnce) {
    const TemporaryFolder folder;
    const std::string file = folder.file("gains.txt");
    const auto profile = deviceProfile("cpu");
    ASSERT_TRUE(profile);
    Progress progress;
    auto measurer = app::gainMeasurer({BackendKind::Cpu, 1, file}, {}, *profile, progress);
    ASSERT_TRUE(measurer) << measurer.error().text();
    const app::GainSides sides = aClearLoss();
    const auto gain = (*measurer)("a match", sides);
    ASSERT_TRUE(gain);
    EXPECT_LT(gain->seconds, 0);
    EXPECT_GE(gain->error, 0);
    // Another process, which could not run these: the file says it, to the last digit kept.
    auto later = app::gainMeasurer({BackendKind::Cpu, 1, file}, {}, *profile, progress);
    ASSERT_TRUE(later);
    const auto again = (*later)("a match", {});
    ASSERT_TRUE(again);
    EXPECT_NEAR(again->seconds, gain->seconds, 2e-9);
    const auto text = readFile(file);
    ASSERT_TRUE(text);
    EXPECT_NE(text->find("apart="), std::string::npos) << *text;
}

TEST(MeasuredGain, FusingAsksTheDeviceAndKeepsTheVerdict) {
    const TemporaryFolder folder;
    const std::string file = folder.file("gains.txt");
    auto fused = fusedBy(file);
    ASSERT_TRUE(fused) << fused.error().text();
    EXPECT_EQ(fused->graph.nodeCount(), fusedBy(file)->graph.nodeCount());
}

TEST(MeasuredGain, AnEmptyFileIsAsGoodAsNone) {
    const TemporaryFolder folder;
    folder.write("gains.txt", "");
    EXPECT_TRUE(fusedBy(folder.file("gains.txt")));
    EXPECT_FALSE(fusedBy(folder.path()));
}

TEST(MeasuredGain, AFileOfAnotherKindIsRefusedByItsName) {
    const TemporaryFolder folder;
    const std::string file = folder.file("notes.txt");
    folder.write("notes.txt", "dear diary\n");
    auto fused = fusedBy(file);
    ASSERT_FALSE(fused);
    EXPECT_EQ(fused.error().code, "cache.format");
    EXPECT_NE(fused.error().text().find("notes.txt"), std::string::npos);
}

/// What is measured of float32 says nothing of a strict plan or of one that rounds to TF32.
TEST(MeasuredGain, EachPrecisionHasVerdictsOfItsOwn) {
    const TemporaryFolder folder;
    const std::string file = folder.file("gains.txt");
    const auto profile = deviceProfile("cpu");
    ASSERT_TRUE(profile);
    Progress progress;
    const app::GainSides sides = aClearLoss();
    size_t verdicts = 0;
    for (const app::MatchPlanning& planning :
         {app::MatchPlanning{}, app::MatchPlanning{Precision::Fp32, true},
          app::MatchPlanning{Precision::Tf32, false}, app::MatchPlanning{}}) {
        auto measurer =
            app::gainMeasurer({BackendKind::Cpu, 1, file}, planning, *profile, progress);
        ASSERT_TRUE(measurer) << measurer.error().text();
        ASSERT_TRUE((*measurer)("a match", sides));
        verdicts = std::max(verdicts, verdictsIn(file));
    }
    EXPECT_EQ(verdicts, 3U);
}

/// Orders of memory are chosen by the profile's prices, and kernels by what the rule allows.
TEST(MeasuredGain, EachProfileAndEachClassHaveVerdictsOfTheirOwn) {
    const TemporaryFolder folder;
    const std::string file = folder.file("gains.txt");
    auto profile = deviceProfile("cpu");
    ASSERT_TRUE(profile);
    app::GainSides sides = aClearLoss();
    Graph after = sides.after->clone();
    const std::vector<NodeId> nodes = topologicalOrder(after);
    Provenance provenance;
    provenance.rule = "Lost";
    replaceByFused(after, nodes, cutOut(after, nodes, after.outputs()), "Lost", provenance);
    sides.after = std::make_shared<const Graph>(std::move(after));
    Progress progress;
    auto measure = [&](NumericClass allowed) {
        app::MatchPlanning planning;
        planning.allowed = {{"Lost", allowed}, {"Another", NumericClass::Exact}};
        auto measurer =
            app::gainMeasurer({BackendKind::Cpu, 1, file}, planning, *profile, progress);
        ASSERT_TRUE(measurer) << measurer.error().text();
        EXPECT_TRUE((*measurer)("a match", sides));
    };
    measure(NumericClass::Reassociated);
    const size_t one = verdictsIn(file);
    measure(NumericClass::Approximate);
    EXPECT_EQ(verdictsIn(file), one + 1);
    profile->dramBandwidth *= 2;
    measure(NumericClass::Approximate);
    EXPECT_EQ(verdictsIn(file), one + 2);
}

TEST(MeasuredGain, ADeviceThatIsNotHereIsDecidedForByCostOnly) {
    app::FuseOptions options;
    options.decide = Decide::Measure;
    options.measuring = {BackendKind::Cpu, 1, {}};
    auto library = app::loadRuleLibrary({});
    ASSERT_TRUE(library);
    Progress progress;
    for (const std::string device : {"h200", "t4"}) {
        options.profile = device;
        auto fused = app::fuseGraph(smallNetwork(), *library, options, progress);
        ASSERT_FALSE(fused) << device;
        EXPECT_EQ(fused.error().code, "usage.decide");
        EXPECT_NE(fused.error().text().find(device), std::string::npos) << fused.error().text();
    }
    options.decide = Decide::Cost;
    EXPECT_TRUE(app::fuseGraph(smallNetwork(), *library, options, progress));
}

TEST(MeasuredGain, TimesMatchesOnTheThreadsOfTheRun) {
    CompileOptions run;
    run.backend = BackendKind::Cpu;
    run.threads = 3;
    const app::FuseOptions options = app::timedAs({}, run);
    EXPECT_EQ(options.measuring.threads, 3);
    EXPECT_EQ(options.measuring.backend, BackendKind::Cpu);
    // The file tells by the machine's line on how many it was.
    const TemporaryFolder folder;
    const std::string file = folder.file("gains.txt");
    const auto profile = deviceProfile("cpu");
    Progress progress;
    for (int threads : {1, 2}) {
        auto measurer =
            app::gainMeasurer({BackendKind::Cpu, threads, file}, {}, *profile, progress);
        ASSERT_TRUE(measurer);
        ASSERT_TRUE((*measurer)("a match", aClearLoss()));
    }
    const auto text = readFile(file);
    ASSERT_TRUE(text);
    EXPECT_NE(text->find("1 thread"), std::string::npos) << *text;
    EXPECT_NE(text->find("2 threads"), std::string::npos) << *text;
}

/// Cancels as soon as anything is reported: while the first form is planned.
class CancelledAtOnce : public Progress {
public:
    void report(std::string_view, size_t, size_t) override { cancel(); }
};

TEST(MeasuredGain, IsCancelledWithinAMatch) {
    const TemporaryFolder folder;
    const std::string file = folder.file("gains.txt");
    const auto profile = deviceProfile("cpu");
    ASSERT_TRUE(profile);
    CancelledAtOnce progress;
    auto measurer = app::gainMeasurer({BackendKind::Cpu, 1, file}, {}, *profile, progress);
    ASSERT_TRUE(measurer);
    EXPECT_FALSE((*measurer)("a match", aClearLoss()));
    EXPECT_TRUE(progress.cancelled());
    EXPECT_EQ(verdictsIn(file), 0U);
    auto library = app::loadRuleLibrary({});
    app::FuseOptions options;
    options.decide = Decide::Measure;
    options.measuring = {BackendKind::Cpu, 1, {}};
    auto fused = app::fuseGraph(smallNetwork(), *library, options, progress);
    ASSERT_FALSE(fused);
    EXPECT_EQ(fused.error().code, "cancelled");
}

/// What constants alone decide is computed while preparing: a fused node that takes it in computes
/// it in every run.
TEST(Gain, NothingIsEarnedByWorkThatNoRunDoes) {
    auto graph = model_io::loadText(
        "g (float[256,256] x, float[256,256] w, int8[256,256] q) => (float[256,256] v)"
        " <float s = {0.01}> {"
        " f = DequantizeLinear(q, s) a = Tanh(f) b = Exp(a) c = Erf(b) y = Add(x, c)"
        " d = MatMul(y, w) e = MatMul(d, w) g = MatMul(e, w) h = MatMul(g, w) v = MatMul(h, w) }");
    ASSERT_TRUE(graph) << graph.error().text();
    ASSERT_TRUE(bindInput(*graph, "q", Tensor(DType::Int8, {256, 256})));
    app::FuseOptions options;
    options.decide = Decide::Cost;
    auto library = app::loadRuleLibrary({});
    ASSERT_TRUE(library);
    Progress progress;
    auto fused = app::fuseGraph(std::move(*graph), *library, options, progress);
    ASSERT_TRUE(fused) << fused.error().text();
    for (const TraceEvent& event : fused->trace.events)
        EXPECT_TRUE(event.kind != TraceEvent::Kind::Fused ||
                    std::find(event.nodes.begin(), event.nodes.end(), "Tanh") == event.nodes.end())
            << event.rule;
}
