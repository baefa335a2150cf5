// SPDX-License-Identifier: Apache-2.0
// Models with bodies of If on the command line: what is counted, what nodes in them are called, and
// what `run --verify` says of those that it did not see.
#include "tests/cli/cli.h"

#include <sstream>

using namespace fuselage::cli_test;

namespace {

class CliBodies : public Command {
protected:
    /// A flag chooses between three nodes and one.
    void writeFlagged() const {
        writeText("g (bool c, float[N,4] x) => (float[N,4] y) <float[4] k = {1, 2, 3, 4}> {"
                  " y = If (c) <then_branch = t () => (float[N,4] r) { a = Add(x, k) b = Neg(a)"
                  " r = Exp(b) }, else_branch = e () => (float[N,4] s) { s = Abs(x) }> }");
    }

    /// The name that a node got, as inspect teaches it.
    std::string taughtPath() const {
        const std::string output = outputOf({"inspect", "m.onnx"});
        const std::string before = "explain --node ";
        const size_t from = output.find(before);
        EXPECT_NE(from, std::string::npos) << output;
        const size_t begin = from + before.size();
        return from == std::string::npos ? ""
                                         : output.substr(begin, output.find('`', begin) - begin);
    }
};

} // namespace

TEST_F(CliBodies, InspectCountsThemAndSaysTheirPaths) {
    writeFlagged();
    const std::string output = outputOf({"inspect", "m.onnx"});
    expectHas(output, "nodes 5 in the file, 5 after folding constants and shape arithmetic, 4 of "
                      "them in bodies");
    expectHas(output, "then_branch/");
    for (const char* op : {"If ", "Add", "Neg", "Exp", "Abs"})
        expectHas(output, op);
    writeText("g (float[4] x) => (float[4] y) { y = Neg(x) }");
    const std::string plain = outputOf({"inspect", "m.onnx"});
    EXPECT_EQ(plain.find("bodies"), std::string::npos) << plain;
}

TEST_F(CliBodies, ANodeInOneIsCalledByThePathThatIsTaught) {
    writeFlagged();
    const std::string path = taughtPath();
    ASSERT_NE(path.find("_branch/"), std::string::npos) << path;
    EXPECT_EQ(run({"explain", "m.onnx", "--node", path, "-q"}).exitCode, ExitOk);
    const std::string bare = path.substr(path.rfind('/') + 1);
    const auto refused = run({"explain", "m.onnx", "--node", bare, "-q"});
    EXPECT_NE(refused.exitCode, ExitOk);
    expectHas(refused.errors, "has its path in front: `" + path + "`");
    const auto precise = run({"fuse", "m.onnx", "--precision-of", bare + "=fp16", "-q"});
    EXPECT_NE(precise.exitCode, ExitOk);
    expectHas(precise.errors, "bodies of If, Loop and Scan only, which stay in float32");
    const auto nowhere = run({"fuse", "m.onnx", "--precision-of", "nobody=fp16", "-q"});
    expectHas(nowhere.errors, "names no node that computes with float32");
    expectHas(outputOf({"inspect", "m.onnx", "--precision", "fp16"}),
              "bodies of control flow stay in float32, here 4 nodes");
}

TEST_F(CliBodies, VerifyTakesBothBranchesAndAnotherSize) {
    writeFlagged();
    const std::string output = outputOf({"run", "m.onnx", "--fuse", "--verify", "-q"});
    expectHas(output, ", with N=2: ");
    expectHas(output, ", with c = ");
    EXPECT_EQ(output.find("did not run"), std::string::npos) << output;
    expectHas(outputOf({"bench", "m.onnx", "--no-measure", "-q"}), ", with c = ");
}

TEST_F(CliBodies, VerifySaysWhatNoInputLedTo) {
    writeText(
        "g (float[4096] x) => (float[4096] y) <float k = {1000000}> { s = ReduceSum<keepdims = "
        "0>(x) c = Greater(s, k) y = If (c) <then_branch = t () => (float[4096] r) { r = Neg(x) "
        "}, else_branch = e () => (float[4096] q) { q = Abs(x) }> }");
    for (const char* command : {"run", "bench"}) {
        std::vector<std::string> arguments{command, "m.onnx", "-q"};
        if (std::string(command) == "run")
            arguments.insert(arguments.end(), {"--fuse", "--verify"});
        else
            arguments.emplace_back("--no-measure");
        const std::string output = outputOf(arguments);
        expectHas(output, "1 of 2 bodies of If, Loop and Scan did not run in this check");
        expectHas(output, "/then_branch/");
    }
}

TEST_F(CliBodies, AnEmptyOutputIsSaidInOneLine) {
    writeText("g (float[8] x) => (int64[1,K] y) <float k = {1000000}> { c = Greater(x, k) y = "
              "NonZero(c) }");
    const std::string output = outputOf({"run", "m.onnx", "--fuse", "--verify", "-q"});
    expectHas(output, "verify y: fused, against unfused: empty in this run: nothing to compare\n");
    EXPECT_EQ(output.find("max abs"), std::string::npos) << output;
}

TEST_F(CliBodies, ANumberForAnInputChoosesTheBranch) {
    using Words = std::vector<std::string>;
    writeText("g (float[4] x, int64 rate) => (float[M] y) <int64 k = {16000}, int64[1] far = {9}> {"
              " c = Equal(rate, k) y = If (c) <then_branch = t () => (float[4] r) { r = Neg(x) }, "
              "else_branch = e () => (float[1] q) { q = Gather(x, far) }> }");
    for (const Words& command :
         {Words{"run", "m.onnx", "-q"}, Words{"bench", "m.onnx", "--no-measure", "-q"}}) {
        const auto generated = run(command);
        EXPECT_EQ(generated.exitCode, ExitInput) << command[0];
        expectHas(generated.errors, "what the node reads follows from the elements of `rate`: say "
                                    "what the model expects with --set rate=NUMBER");
        Words set = command;
        set.insert(set.end(), {"--set", "rate=16000"});
        expectHas(outputOf(set), "y");
        set.back() = "pace=16000";
        expectHas(run(set).errors, "the model has no input `pace`");
    }
    expectHas(run({"run", "m.onnx", "--set", "rate"}).errors, "is not NAME=NUMBER");
}

TEST_F(CliBodies, AMatchInABodyIsListedOnceWithItsOwnFigures) {
    writeFlagged();
    outputOf({"bench", "m.onnx", "--dim", "N=2", "--no-measure", "--no-verify", "--report",
              "m.matches.csv"});
    std::istringstream rows(readAll(folder.file("m.matches.csv")));
    std::vector<std::string> lines;
    for (std::string line; std::getline(rows, line);)
        lines.push_back(line);
    ASSERT_EQ(lines.size(), 2U) << rows.str();
    EXPECT_NE(lines[1].find(",3,1,"), std::string::npos) << "launches: " << lines[1];
}

/// A step of 0 in the file: other inputs change nothing.
TEST_F(CliBodies, WhatConstantsDecideIsNotBlamedOnInputs) {
    writeText(
        "g (float[4] x) => (float[L] y) <int64[1] b = {0}, int64[1] e = {4}, int64[1] s = {0}> "
        "{ a = Constant<value_ints = [0]>() y = Slice(x, b, e, a, s) }");
    expectRefused({"run", "m.onnx", "-q"}, ExitInput,
                  {"a step is 0", "no input can mend it, since constants of the model decide"});
}
