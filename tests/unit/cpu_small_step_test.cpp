// SPDX-License-Identifier: Apache-2.0
// Steps that are too small for several threads, and machines that are busy with other things.
#include "app/pipeline/busy.h"
#include "app/pipeline/compiled.h"
#include "core/onnx/model_file.h"
#include "tests/support/process.h"

#include <gtest/gtest.h>

#include <chrono>

using namespace fuselage;

namespace {

/// Tactics of a product of n by n matrices and an activation that is not part of it.
std::vector<std::string> tactics(int64_t n, int threads) {
    const std::string type = "float[" + std::to_string(n) + "," + std::to_string(n) + "]";
    auto graph = model_io::loadText("g (" + type + " x, " + type + " w) => (" + type +
                                    " y) { t = MatMul(x, w)  s = Softmax(t)  y = Relu(s) }");
    EXPECT_TRUE(graph);
    CompileOptions options;
    options.threads = threads;
    auto compiled = CompiledGraph::compile(std::move(*graph), options);
    EXPECT_TRUE(compiled);
    std::vector<std::string> out;
    for (size_t i = 0; i < compiled->plan().steps.size(); ++i)
        out.push_back(compiled->executable().tactic(i));
    return out;
}

} // namespace

TEST(SmallStep, RunsOnOneThreadAndSaysSo) {
    for (const std::string& tactic : tactics(16, 2))
        EXPECT_NE(tactic.find(", one thread"), std::string::npos) << tactic;
    for (const std::string& tactic : tactics(1024, 2))
        EXPECT_EQ(tactic.find("one thread"), std::string::npos) << tactic;
    for (const std::string& tactic : tactics(16, 1))
        EXPECT_EQ(tactic.find("one thread"), std::string::npos) << tactic;
}

TEST(BusyWatch, CountsWhatOtherProcessesUseAndNotItself) {
    auto busy = testing_support::Process::start({"sh", "-c", "while :; do :; done"});
    ASSERT_TRUE(busy);
    app::BusyWatch watch;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (std::chrono::steady_clock::now() < until) {
    }
    const auto others = watch.othersBusy();
    if (!others)
        GTEST_SKIP() << "this system does not say how busy it is";
    EXPECT_GT(*others, 0.25);
    EXPECT_GE(app::BusyWatch().othersBusy().value_or(0), 1) << "over a moment";
}
