// SPDX-License-Identifier: Apache-2.0
// `fuselage reduce` on a real fault: a rewrite rule that is wrong, found by verification.
#include "tests/cli/cli.h"

#include <csignal>
#include <filesystem>

using namespace fuselage::cli_test;

namespace {

namespace fs = std::filesystem;

/// Leaves the normalisation out, which is wrong.
constexpr const char* wrongRule = R"(fuse 1;
rule WrongNorm {
  match { y = Relu(BatchNormalization(x, a, b, c, d)); }
  rewrite { y = Relu(x); }
}
)";

class CliReduce : public Command {
protected:
    void SetUp() override {
        zoo("unet");
        folder.write("wrong.fuse", wrongRule);
    }

    ProcessResult reduce(std::vector<std::string> options, std::vector<std::string> command) const {
        std::vector<std::string> arguments{"reduce", "unet.onnx", "-o", "small.onnx"};
        arguments.insert(arguments.end(), options.begin(), options.end());
        arguments.emplace_back("--");
        arguments.insert(arguments.end(), command.begin(), command.end());
        return run(arguments);
    }

    std::string script(const std::string& text) const {
        folder.write("check", "#!/bin/sh\n" + text);
        fs::permissions(folder.file("check"), fs::perms::owner_all);
        return folder.file("check");
    }
};

bool has(const std::string& text, const std::string& piece) {
    return text.find(piece) != std::string::npos;
}

} // namespace

TEST_F(CliReduce, AWrongRewriteRuleIsReducedToTheTwoNodesThatShowIt) {
    const std::vector<std::string> bench{"bench",      "{}", "--no-measure", "--no-builtin", "-p",
                                         "wrong.fuse", "-q"};
    std::vector<std::string> command = bench;
    command.insert(command.begin(), FUSELAGE_PROGRAM);
    ProcessResult ran = reduce({}, command);
    ASSERT_EQ(ran.exitCode, ExitOk) << ran.output << ran.errors;
    EXPECT_TRUE(has(ran.output, "still exit code 4")) << ran.output;
    EXPECT_TRUE(has(ran.output, "is  2 nodes, ")) << ran.output << ran.errors;
    EXPECT_LT(fs::file_size(folder.file("small.onnx")), 1000U);
    // It shows the fault, and nothing but the fault.
    std::vector<std::string> again = bench;
    again[1] = "small.onnx";
    EXPECT_EQ(run(again).exitCode, ExitVerification);
    EXPECT_EQ(run({"bench", "small.onnx", "--no-measure", "--no-builtin", "-q"}).exitCode, ExitOk);
}

TEST_F(CliReduce, ATextInTheOutputIsPartOfTheFailure) {
    const std::string check = script("\"" FUSELAGE_PROGRAM "\" inspect --graph \"$1\" | grep -q "
                                     "ConvTranspose && echo seen\nexit 0\n");
    ProcessResult ran = reduce({"--exit", "0", "--text", "seen"}, {check});
    ASSERT_EQ(ran.exitCode, ExitOk) << ran.output << ran.errors;
    EXPECT_TRUE(has(ran.output, "is  1 nodes, ")) << ran.output << ran.errors;
    EXPECT_TRUE(has(run({"inspect", "small.onnx", "--graph"}).output, "ConvTranspose"));
}

TEST_F(CliReduce, CtrlCKeepsTheSmallestSoFar) {
    const std::string check = script("echo x >> runs\n"
                                     "[ \"$(wc -l < runs)\" -gt 3 ] && exec sleep 1000\n"
                                     "exit 9\n");
    Process process = start({"reduce", "unet.onnx", "-o", "small.onnx", "--", check});
    ASSERT_TRUE(
        process.waitUntil([](const ProcessResult& soFar) { return has(soFar.errors, "symbols"); }));
    process.signal(SIGINT);
    ProcessResult ran = process.finish();
    EXPECT_EQ(ran.exitCode, ExitInterrupted) << ran.errors;
    EXPECT_TRUE(has(ran.errors, "interrupted; the smallest so far is in small.onnx")) << ran.errors;
    EXPECT_EQ(run({"inspect", "small.onnx"}).exitCode, ExitOk);
}

TEST_F(CliReduce, NoWordOfTheCommandOrTheModelReachesAShell) {
    const std::string name = "a;touch hit;$(touch hit).onnx";
    fs::rename(folder.file("unet.onnx"), folder.file(name));
    ProcessResult ran = run({"reduce", name, "-o", "small.onnx", "--", "false", "$(touch hit)"});
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
    EXPECT_TRUE(has(ran.output, "is  1 nodes, ")) << ran.output;
    EXPECT_FALSE(files().contains("hit"));
}

TEST_F(CliReduce, WhatDoesNotFailIsNotReduced) {
    expectRefused({"reduce", "unet.onnx", "-o", "small.onnx", "--", "true"}, ExitUsage,
                  {"does not fail", "exit code 0", "fix:"});
    expectRefused({"reduce", "unet.onnx", "-o", "small.onnx", "--", "no-such-program"}, ExitUsage,
                  {"`no-such-program`", "cannot be started"});
    expectRefused({"reduce", "unet.onnx", "-o", "small.onnx"}, ExitUsage, {"command"});
}
