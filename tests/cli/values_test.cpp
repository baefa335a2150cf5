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
    writeText(
        "g (bool c, float[4] x) => (float[4] y) { y = If (c) <then_branch = t () => (float[4] "
        "r) { a = Neg(x) r = Exp(a) }, else_branch = e () => (float[4] s) { s = Abs(x) }> }");
    expectRefused({"run", "m.onnx", "-q", "--value", "a"}, ExitInput,
                  {"`a` is computed in the body `", "bodies of If, Loop and Scan are not entered"});
}
