// SPDX-License-Identifier: Apache-2.0
// Kernels that fault, hang or kill the process while they are tried: one command still ends with a
// right result, and says which kernel was left out. With the stand-in driver.
#include "core/onnx/model_file.h"
#include "tests/cli/cli.h"

#include <cstdlib>
#include <filesystem>

using namespace fuselage::cli_test;

namespace {

class CliTrust : public Command {
protected:
    void SetUp() override {
        setenv("FUSELAGE_CUDA_LIBRARIES", FAKECUDA_FOLDER, 1);
        setenv("XDG_CACHE_HOME", folder.file("cache").c_str(), 1);
        auto graph =
            fuselage::model_io::loadText("g (float[32,64] x) => (float[32,64] y) { y = Tanh(x) }");
        ASSERT_TRUE(graph) << graph.error().text();
        std::filesystem::create_directory(folder.file("models"));
        ASSERT_TRUE(fuselage::model_io::save(*graph, folder.file("models/m.onnx")));
    }

    void TearDown() override {
        for (const char* name : {"FUSELAGE_CUDA_LIBRARIES", "XDG_CACHE_HOME", "FAKECUDA_SPOIL"})
            unsetenv(name);
    }

    ProcessResult bench(const char* spoiled) const {
        setenv("FAKECUDA_SPOIL", spoiled, 1);
        return run({"bench", "models/m.onnx", "--backend", "cuda", "--seconds", "0.001", "--report",
                    "r.json", "--report", "-.txt"});
    }

    static size_t count(const std::string& text, const std::string& piece) {
        size_t out = 0;
        for (size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1))
            ++out;
        return out;
    }

    static bool has(const std::string& text, const std::string& piece) {
        return text.find(piece) != std::string::npos;
    }
};

} // namespace

TEST_F(CliTrust, AFaultingKernelIsLeftOutAndTheCommandEndsWithAResult) {
    const ProcessResult ran = bench("pointwise_vector=fault");
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
    EXPECT_TRUE(has(ran.errors, "candidate `pointwise_vector`: cannot finish the work on the "
                                "device: an illegal memory access was encountered"))
        << ran.errors;
    EXPECT_EQ(count(ran.errors, "starting again"), 1U) << ran.errors;
    EXPECT_TRUE(has(ran.errors, "(1 of at most 12 times in a row)")) << ran.errors;
    EXPECT_TRUE(has(ran.output, "device.lost: pointwise_vector: ")) << ran.output;
    EXPECT_TRUE(has(ran.output, "pointwise_plain")) << ran.output;
    EXPECT_TRUE(has(readAll(folder.file("r.json")), "\"code\": \"device.lost\""));
    const ProcessResult next = bench("pointwise_vector=fault");
    EXPECT_EQ(next.exitCode, ExitOk) << next.errors;
    EXPECT_EQ(count(next.errors, "starting again"), 0U) << next.errors;
    EXPECT_TRUE(has(next.output, "device.lost: pointwise_vector: ")) << next.output;
}

TEST_F(CliTrust, WhereEveryKernelFaultsTheHostComputes) {
    const ProcessResult ran = bench("pointwise_=fault");
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
    EXPECT_EQ(count(ran.errors, "starting again"), 2U) << ran.errors;
    EXPECT_TRUE(has(ran.output, "device.lost: pointwise_plain: ")) << ran.output;
}

TEST_F(CliTrust, AKernelThatKillsTheProgramIsLeftOutByTheNextStart) {
    EXPECT_NE(bench("pointwise_vector=crash").exitCode, ExitOk);
    const ProcessResult next = bench("pointwise_vector=crash");
    EXPECT_EQ(next.exitCode, ExitOk) << next.errors;
    EXPECT_TRUE(has(next.output, "device.crashed: pointwise_vector: the program ended while this "
                                 "ran for the first time"))
        << next.output;
    for (const std::string& name : files())
        EXPECT_FALSE(has(name, ".trial.")) << name;
}

TEST_F(CliTrust, AKernelThatNeverEndsIsLeftOutAfterItsDeadline) {
    const ProcessResult ran = bench("pointwise_vector=hang");
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
    EXPECT_TRUE(has(ran.errors, "candidate `pointwise_vector`: a kernel does not end"))
        << ran.errors;
    EXPECT_TRUE(has(ran.output, "device.hung: pointwise_vector: ")) << ran.output;
}

TEST_F(CliTrust, ABadFamilyOfKernelsCostsAFewStartsAndNotTheCommand) {
    // Three products of different sizes; every tile of one kind faults.
    auto graph = fuselage::model_io::loadText(
        "g (float16[64,96] x, float16[96,64] u, float16[64,32] v, float16[32,96] w)"
        " => (float16[64,96] y) { a = MatMul(x, u) b = MatMul(a, v) y = MatMul(b, w) }");
    ASSERT_TRUE(graph && fuselage::model_io::save(*graph, folder.file("three.onnx")));
    setenv("FAKECUDA_SPOIL", "tensor=fault", 1);
    const std::vector<std::string> words = {"run", "three.onnx", "--backend", "cuda"};
    const ProcessResult ran = run(words);
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
    EXPECT_GT(count(ran.errors, "starting again"), 8U) << ran.errors;
    std::vector<std::string> without = words;
    without.insert(without.end(), {"--without", "tensor*,wgmma_*", "--cache", "none"});
    const ProcessResult left = run(without);
    EXPECT_EQ(left.exitCode, ExitOk) << left.errors;
    EXPECT_EQ(count(left.errors, "starting again"), 0U) << left.errors;
}

TEST_F(CliTrust, OnlyStartsInARowWithoutAMeasuredStepAreCounted) {
    auto graph = fuselage::model_io::loadText("g (float[16,64] x) => (float[16,64] y) {"
                                              " a = Softmax<axis=-1>(x) y = Tanh(a) }");
    ASSERT_TRUE(graph && fuselage::model_io::save(*graph, folder.file("two.onnx")));
    setenv("FAKECUDA_SPOIL", "pointwise_vector=fault", 1);
    setenv("FUSELAGE_STARTS_IDLE", "12", 1);
    const ProcessResult idle = run({"run", "models/m.onnx", "--backend", "cuda"});
    const ProcessResult busy = run({"run", "two.onnx", "--backend", "cuda"});
    unsetenv("FUSELAGE_STARTS_IDLE");
    EXPECT_NE(idle.exitCode, ExitOk);
    EXPECT_TRUE(has(idle.errors, "was started again 12 times without a step measured in between"))
        << idle.errors;
    EXPECT_EQ(busy.exitCode, ExitOk) << busy.errors;
    EXPECT_EQ(count(busy.errors, "starting again"), 1U) << busy.errors;
}

TEST_F(CliTrust, ComparingWithTheReferenceMeasuresNoFurtherKernel) {
    auto graph = fuselage::model_io::loadText(
        "g (float[1,4,6,6] x, float[4,4,3,3] w, float[4,4,3,3] v) => (float[1,4,6,6] y) {"
        " a = Conv<pads=[1,1,1,1]>(x, w) b = Relu(a) c = Conv<pads=[1,1,1,1]>(b, v) y = Relu(c) }");
    ASSERT_TRUE(graph && fuselage::model_io::save(*graph, folder.file("convs.onnx")));
    std::vector<std::string> words = {"bench",     "convs.onnx", "--backend",      "cuda",
                                      "--seconds", "0.001",      "--timing-cache", "checked"};
    const ProcessResult checked = run(words);
    words.back() = "unchecked";
    words.push_back("--no-verify");
    const ProcessResult unchecked = run(words);
    EXPECT_EQ(checked.exitCode, ExitOk) << checked.errors;
    EXPECT_EQ(unchecked.exitCode, ExitOk) << unchecked.errors;
    const size_t keys = count(readAll(folder.file("unchecked")), "\n");
    EXPECT_GT(keys, 2U);
    EXPECT_EQ(count(readAll(folder.file("checked")), "\n"), keys);
}

TEST_F(CliTrust, AnUnknownKernelIsNamedWithThoseThatThereAre) {
    const ProcessResult ran =
        run({"run", "models/m.onnx", "--backend", "cuda", "--without", "row_warp,tensr_*"});
    EXPECT_EQ(ran.exitCode, ExitUsage);
    EXPECT_TRUE(has(ran.errors, "no kernel `tensr_*`, one of: pointwise_vector, ")) << ran.errors;
    EXPECT_TRUE(has(ran.errors, "cublaslt, cudnn")) << ran.errors;
}

TEST_F(CliTrust, WhatWasMeasuredBeforeTheProgramIsKilledIsKept) {
    auto graph = fuselage::model_io::loadText("g (float[32,64] x) => (float[32,64] y) {"
                                              " a = Tanh(x) y = Softmax<axis=-1>(a) }");
    ASSERT_TRUE(graph && fuselage::model_io::save(*graph, folder.file("two.onnx")));
    setenv("FAKECUDA_SPOIL", "row_=crash", 1);
    const ProcessResult ran =
        run({"run", "two.onnx", "--backend", "cuda", "--timing-cache", "t.cache"});
    EXPECT_NE(ran.exitCode, ExitOk);
    const std::string kept = readAll(folder.file("t.cache"));
    EXPECT_TRUE(has(kept, "\"name\":\"pointwise_vector\"")) << kept;
    EXPECT_FALSE(has(kept, "row_")) << kept;
}

TEST_F(CliTrust, AModelThatFailsItsCheckNamesTheFirstWrongStepAndLeavesItsRepro) {
    auto graph = fuselage::model_io::loadText(
        "g (float[32,64] x) => (float[32,64] y) { a = Tanh(x) b = Softmax<axis=-1>(a)"
        " c = Tanh(b) y = Softmax<axis=-1>(c) }");
    ASSERT_TRUE(graph && fuselage::model_io::save(*graph, folder.file("four.onnx")));
    const std::vector<std::string> words = {"bench",        "four.onnx",    "--backend", "cuda",
                                            "--no-measure", "--no-builtin", "--report",  "r.json"};
    setenv("FAKECUDA_SPOIL", "row_warp=wrong", 1); // choices are predicted, so nobody checks them
    const ProcessResult ran = run(words);
    EXPECT_NE(ran.exitCode, ExitOk);
    const std::string report = readAll(folder.file("r.json"));
    EXPECT_TRUE(has(report,
                    "the first wrong step is `Softmax` (2 of 4), computed by `row_warp`: 1 of "
                    "2048 elements differ, by "))
        << report << ran.errors;
    const std::string key = "its repro is in ";
    const size_t at = report.find(key);
    ASSERT_NE(at, std::string::npos) << report;
    const std::string repro =
        report.substr(at + key.size(), report.find('"', at) - at - key.size());
    size_t kernels = 0;
    for (const auto& entry : std::filesystem::directory_iterator(repro))
        kernels += entry.path().extension() == ".cu" ? 1 : 0;
    EXPECT_GT(kernels, 0U) << repro;
    // The step alone, on the operands of that run: wrong with the same kernel, right without.
    const std::vector<std::string> alone = {
        "bench", repro + "/step.onnx", "--backend", "cuda", "--no-measure", "--inputs", repro};
    EXPECT_NE(run(alone).exitCode, ExitOk);
    unsetenv("FAKECUDA_SPOIL");
    const ProcessResult healthy = run(alone);
    EXPECT_EQ(healthy.exitCode, ExitOk) << healthy.output << healthy.errors;
}

TEST_F(CliTrust, AModelOfABatchEndsWithAResultToo) {
    setenv("FAKECUDA_SPOIL", "pointwise_vector=fault", 1);
    const ProcessResult ran = run({"batch", "models", "-o", "out", "--backend", "cuda", "--measure",
                                   "on", "--seconds", "0.001", "--timing-cache", "t.cache"});
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.output << ran.errors;
    EXPECT_TRUE(has(readAll(folder.file("t.cache")), "\"refused\":\"device.lost\""));
}
