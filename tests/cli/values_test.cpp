// SPDX-License-Identifier: Apache-2.0
// `run --value`: what is inside of a model, unfused and fused.
#include "core/onnx/model_file.h"
#include "tests/cli/cli.h"

#include <algorithm>

using namespace fuselage::cli_test;

namespace {

class CliValues : public Command {
protected:
    /// Two rows of a network: the first ends where the second begins.
    void writeRows() const {
        writeText("g (float[N,4] x) => (float[N,4] y) <float[4] k = {1, 2, 3, 4}> {"
                  " a = Add(x, k) b = Relu(a) m = Softmax(b) c = Neg(m) y = Exp(c) }");
    }
};

} // namespace

TEST_F(CliValues, WhatAValueHoldsIsPrintedAndSaved) {
    writeRows();
    const std::string output =
        outputOf({"run", "m.onnx", "-q", "--dim", "N=3", "--value", "m", "-o", "out"});
    expectHas(output, "y: float[3,4]\n");
    expectHas(output, "m: float[3,4]  ");
    expectHas(output, ", mean 0.25, "); // rows of a Softmax add up to one
    std::string name;
    auto kept = fuselage::model_io::loadTensor(folder.file("out/output_1.pb"), &name);
    ASSERT_TRUE(kept) << kept.error().text();
    EXPECT_EQ(name, "m");
    EXPECT_EQ(kept->extents(), (fuselage::Extents{3, 4}));
}

TEST_F(CliValues, AStarIsEveryValueOnceInTheOrderOfTheModel) {
    writeRows();
    const std::string output = outputOf({"run", "m.onnx", "-q", "--value", "*", "--value", "b"});
    size_t at = 0;
    for (const char* line : {"y: ", "\na: ", "\nb: ", "\nm: ", "\nc: "}) {
        const size_t found = output.find(line);
        ASSERT_NE(found, std::string::npos) << line << output;
        EXPECT_GE(found, at) << output;
        at = found;
    }
    EXPECT_EQ(std::count(output.begin(), output.end(), '\n'), 5) << output;
}

TEST_F(CliValues, VerifyComparesTheOnesThatBothFormsHave) {
    zoo("gpt2_block");
    const std::string output =
        outputOf({"run", "gpt2_block.onnx", "-q", "--fuse", "--verify", "--value", "*"});
    expectHas(output, "verify ");
    expectHas(output, " outputs, worst "); // many, all right
    EXPECT_EQ(output.find("FAILED"), std::string::npos) << output;
}

TEST_F(CliValues, VerifyComparesValuesThatAreStoredInSixteenBits) {
    writeRows();
    for (const char* precision : {"fp16", "bf16"}) {
        const std::vector<std::string> asked{"run",         "m.onnx",  "-q",       "--dim",   "N=3",
                                             "--precision", precision, "--verify", "--value", "*"};
        const std::string output = outputOf(asked);
        expectHas(output, precision == std::string("fp16") ? "m: float16" : "m: bfloat16");
        expectHas(output, "verify 5 outputs, worst ");
        EXPECT_EQ(output.find("FAILED"), std::string::npos) << output;
    }
}

TEST_F(CliValues, WhatIsNotThereIsRefusedWithTheNearest) {
    writeRows();
    expectRefused({"run", "m.onnx", "-q", "--value", "mm", "-o", "out"}, ExitInput,
                  {"no value and no node `mm`", "[run.value]"});
    expectRefused({"run", "m.onnx", "-q", "--fuse", "--decide", "rules", "--value", "c"}, ExitInput,
                  {"`c` is computed inside of the fused node `", "keeps it to itself"});
    expectRefused({"run", "m.onnx", "-q", "--value", "x"}, ExitInput,
                  {"`x` is given to the graph, not computed"});
}

TEST_F(CliValues, BranchesGiveWhatTheyComputedWhereTheyRan) {
    writeText(
        "g (bool c, float[4] x) => (float[4] y) { y = If (c) <then_branch = t () => (float[4] "
        "r) { a = Neg(x) r = Exp(a) }, else_branch = e () => (float[4] s) { b = Abs(x) "
        "s = Exp(b) }> }");
    const std::string chosen =
        outputOf({"run", "m.onnx", "-q", "--set", "c=1", "--verify", "--value", "*"});
    expectHas(chosen, "a: float[4]  ");
    expectHas(chosen, "b: float[0]  empty, as where it is in a branch of If that does not run\n");
    EXPECT_EQ(chosen.find("FAILED"), std::string::npos) << chosen;
    const std::string other = outputOf({"run", "m.onnx", "-q", "--set", "c=0", "--value", "b"});
    expectHas(other, "b: float[4]  ");
    expectRefused({"run", "m.onnx", "-q", "--fuse", "--decide", "rules", "--value", "a"}, ExitInput,
                  {"`a` is computed inside of the fused node `", "/then_branch/"});
}

TEST_F(CliValues, LoopsAndScansStackWhatEachIterationComputed) {
    writeText("g (int64 n, bool k, float[2] x) => (float[2] y) { y = Loop (n, k, x) <body = b "
              "(int64 i, bool go, float[2] h) => (bool on, float[2] next) { on = Identity(go) "
              "d = Cast<to = 1>(i) next = Add(h, d) }> }");
    const std::string plain =
        outputOf({"run", "m.onnx", "-q", "--set", "n=3", "--set", "k=1", "--set", "x=0", "--verify",
                  "--value", "d", "--value", "next"});
    expectHas(plain, "d: float[3]  0 .. 2, mean 1, ");
    expectHas(plain, "next: float[3,2]  0 .. 3, ");
    EXPECT_EQ(plain.find("FAILED"), std::string::npos) << plain;
    const std::string fused =
        outputOf({"run", "m.onnx", "-q", "--set", "n=3", "--set", "k=1", "--set", "x=0", "--fuse",
                  "--verify", "--value", "Loop*next"});
    expectHas(fused, "next: float[3,2]  0 .. 3, ");
    EXPECT_EQ(fused.find("FAILED"), std::string::npos) << fused;
    writeText("g (float[2] h0, float[5,2] xs) => (float[2] hN, float[2,5] ys) { hN, ys = "
              "Scan <num_scan_inputs = 1, scan_output_axes = [1], body = b (float[2] h, float[2] "
              "x) => (float[2] h2, float[2] o) { e = Add(h, x) h2 = Tanh(e) o = Neg(h2) }>(h0, "
              "xs) }");
    const std::string output = outputOf({"run", "m.onnx", "-q", "--verify", "--value", "e"});
    expectHas(output, "e: float[5,2]  ");
    EXPECT_EQ(output.find("FAILED"), std::string::npos) << output;
}

TEST_F(CliValues, WhatEachIterationMayMakeAnotherwiseIsSaid) {
    writeText("g (int64 n, bool k, float[M] x) => (float[L] y) { y = Loop (n, k, x) <body = b "
              "(int64 i, bool go, float[P] h) => (bool on, float[Q] next) { odd = Cast<to = 9>(i) "
              "on = Identity(go) two = If (odd) <then_branch = t () => (float[R] r) { inner = "
              "Neg(h) r = Exp(inner) }, else_branch = e () => (float[S] s) { s = Abs(h) }> "
              "next = Concat<axis = 0>(two, h) }> }");
    expectRefused({"run", "m.onnx", "-q", "--value", "next"}, ExitInput,
                  {"`next` is computed in each iteration of `", "another shape in each"});
    expectRefused({"run", "m.onnx", "-q", "--value", "inner"}, ExitInput,
                  {"bodies inside of a Loop or Scan are not entered"});
    const std::string all =
        outputOf({"run", "m.onnx", "-q", "--set", "n=2", "--set", "k=1", "--value", "*"});
    expectHas(all, "odd: bool[2]  ");
    EXPECT_EQ(all.find("next: "), std::string::npos) << all;
}
