// SPDX-License-Identifier: Apache-2.0
// fuselage cache, and the options that name a timing cache. The figures in these caches are
// synthetic.
#include "tests/cli/cli.h"

#include <csignal>
#include <random>
#include <unistd.h>

using namespace fuselage::cli_test;

namespace {

const std::string header = "{\"format\":\"fuselage timing cache\",\"version\":1}\n";

/// One key with one measured tactic.
std::string key(const std::string& step, const std::string& tactic, const std::string& us,
                const std::string& emitter = "old") {
    return R"({"step":")" + step + R"(","device":"synthetic","software":"emitter )" + emitter +
           R"(","key":"0123456789abcdef","candidates":[{"name":")" + tactic + R"(","us":)" + us +
           R"(,"rounds":5}]})" + "\n";
}

bool has(const ProcessResult& ran, const std::string& piece) {
    return ran.output.find(piece) != std::string::npos;
}

class CliCache : public Command {};

} // namespace

TEST_F(CliCache, ShowPrintsTheChoiceAndNamesBrokenLines) {
    folder.write("a", header + key("Row x", "row_warp", "12.5") + "broken\n");
    ProcessResult ran = run({"cache", "show", "a"});
    EXPECT_EQ(ran.exitCode, ExitOk);
    EXPECT_TRUE(has(ran, "1 keys")) << ran.output;
    EXPECT_TRUE(has(ran, "row_warp")) << ran.output;
    EXPECT_TRUE(has(ran, "12.500 us")) << ran.output;
    EXPECT_NE(ran.errors.find("a:3: column 1"), std::string::npos) << ran.errors;
    EXPECT_TRUE(has(run({"cache", "show", "--all", "a"}), "5 rounds"));
}

TEST_F(CliCache, MergedCachesHoldBothAndDiffFindsWhatAPlanWouldNotice) {
    folder.write("a", header + key("Row x", "row_warp", "12.5") + key("Row y", "row_warp", "1"));
    folder.write("b", header + key("Row x", "row_block", "11") + key("Row y", "row_warp", "1.1"));
    EXPECT_EQ(run({"cache", "merge", "a", "b", "-o", "c"}).exitCode, ExitOk);
    ProcessResult ran = run({"cache", "diff", "a", "c"});
    EXPECT_EQ(ran.exitCode, ExitGate);
    EXPECT_TRUE(has(ran, "choice: Row x")) << ran.output;
    EXPECT_TRUE(has(ran, "- row_warp 12.500 us\n  + row_block 11.000 us")) << ran.output;
    EXPECT_FALSE(has(ran, "Row y [")) << "a tie is no difference\n" << ran.output;
    EXPECT_EQ(run({"cache", "diff", "c", "c"}).exitCode, ExitOk);
}

TEST_F(CliCache, PruneDropsWhatThisProgramDoesNotAskFor) {
    folder.write("a", header + key("Row x", "row_warp", "12.5"));
    EXPECT_TRUE(has(run({"cache", "prune", "a", "--any-emitter"}), "0 keys removed, 1 kept"));
    EXPECT_TRUE(has(run({"cache", "prune", "a", "--any-emitter", "--device", "H200"}),
                    "1 keys removed, 0 kept"));
    folder.write("a", header + key("Row x", "row_warp", "12.5"));
    EXPECT_TRUE(has(run({"cache", "prune", "a"}), "1 keys removed, 0 kept"));
}

TEST_F(CliCache, KilledAtAnyMomentOrWrittenByTwoItStaysWholeAndLosesNothing) {
    constexpr int keys = 400;
    auto part = [&](const std::string& name) {
        std::string text = header;
        for (int i = 0; i < keys; ++i)
            text += key("Row " + name + std::to_string(i), "row_warp", std::to_string(i + 1));
        folder.write(name, text);
    };
    for (const char* name : {"a", "b", "c"})
        part(name);
    ASSERT_EQ(run({"cache", "merge", "a", "-o", "all"}).exitCode, ExitOk);
    const std::string before = readAll(folder.file("all"));
    std::mt19937_64 random(11);
    for (int i = 0; i < 50; ++i) {
        Process one = start({"cache", "merge", "all", "b", "-o", "all"});
        Process two = start({"cache", "merge", "all", "c", "-o", "all"});
        // A moment, not a condition: any one will do.
        ::usleep(static_cast<useconds_t>(random() % 40'000));
        one.signal(SIGKILL);
        one.finish();
        EXPECT_EQ(two.finish().exitCode, ExitOk);
        ProcessResult shown = run({"cache", "show", "all"});
        EXPECT_EQ(shown.exitCode, ExitOk);
        EXPECT_EQ(shown.errors, "") << "no line is broken";
    }
    // Two at once, and nobody is killed: the union.
    folder.write("all", before);
    Process one = start({"cache", "merge", "all", "b", "-o", "all"});
    Process two = start({"cache", "merge", "all", "c", "-o", "all"});
    EXPECT_EQ(one.finish().exitCode, ExitOk);
    EXPECT_EQ(two.finish().exitCode, ExitOk);
    EXPECT_TRUE(has(run({"cache", "show", "all"}), std::to_string(3 * keys) + " keys"));
}

TEST_F(CliCache, WrongFilesAreRefused) {
    folder.write("model.onnx", "no cache");
    expectRefused({"cache", "show", "none"}, ExitInput, {"none", "no such file"});
    expectRefused({"cache", "show", "model.onnx"}, ExitInput, {"model.onnx", "cache.format"});
    expectRefused({"cache", "diff", "model.onnx"}, ExitUsage, {"files"});
    expectRefused({"cache"}, ExitUsage, {"subcommand"});
    EXPECT_EQ(run({"cache", "prune", "model.onnx"}).exitCode, ExitInput);
}

TEST_F(CliCache, OptionsOfTacticsAreForTheCudaBackend) {
    expectRefused({"bench", "m.onnx", "--backend", "cpu", "--frozen"}, ExitUsage,
                  {"`--frozen`", "cpu", "--backend cuda"});
    expectRefused({"run", "m.onnx", "--backend", "reference", "--workspace", "64MiB"}, ExitUsage,
                  {"`--workspace`", "reference"});
    expectRefused({"bench", "m.onnx", "--workspace", "much"}, ExitUsage, {"--workspace"});
    expectRefused({"bench", "m.onnx", "--workspace", "-1"}, ExitUsage, {"--workspace"});
}
