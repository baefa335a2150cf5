// SPDX-License-Identifier: Apache-2.0
// The cuda backend from the command line: without a device, with the stand-in driver, and kernels
// written to a folder.
#include "core/onnx/model_file.h"
#include "core/support/hash.h"
#include "tests/cli/cli.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <unistd.h>

using namespace fuselage::cli_test;

namespace {

bool has(const ProcessResult& ran, const std::string& piece) {
    return (ran.output + ran.errors).find(piece) != std::string::npos;
}

class CliCuda : public Command {
protected:
    void SetUp() override { setenv("FUSELAGE_CUDA_LIBRARIES", "/nonexistent", 1); }

    void TearDown() override {
        unsetenv("FUSELAGE_CUDA_LIBRARIES");
        unsetenv("FAKECUDA_DEVICES");
    }

    /// m.onnx
    void tanhModel() {
        auto graph =
            fuselage::model_io::loadText("g (float[4,3] x) => (float[4,3] y) { y = Tanh(x) }");
        ASSERT_TRUE(graph) << graph.error().text();
        ASSERT_TRUE(fuselage::model_io::save(*graph, folder.file("m.onnx")));
    }

    static void useStandIns() { setenv("FUSELAGE_CUDA_LIBRARIES", FAKECUDA_FOLDER, 1); }
};

} // namespace

TEST_F(CliCuda, WithoutADriverItSaysSoAndPredicts) {
    zoo("unet");
    ProcessResult ran = run({"bench", "unet.onnx", "--backend", "cuda"});
    EXPECT_EQ(ran.exitCode, ExitDevice);
    EXPECT_TRUE(has(ran, "libcuda.so.1")) << ran.errors;
    EXPECT_TRUE(has(ran, "[device.driver]")) << ran.errors;
    EXPECT_TRUE(has(ran, "predictions for NVIDIA H200")) << ran.output;
    EXPECT_TRUE(has(ran, "time, predicted")) << ran.output;
    EXPECT_TRUE(has(ran, "not measured")) << ran.output;
}

TEST_F(CliCuda, WhoAsksForPredictionsAloneNeedsNoDriver) {
    tanhModel();
    const std::vector<std::string> predicts = {"bench",        "m.onnx",      "--backend", "cuda",
                                               "--no-measure", "--no-verify", "--fail-on"};
    const auto with = [&](const char* condition) {
        std::vector<std::string> out = predicts;
        out.emplace_back(condition);
        return out;
    };
    ProcessResult ran = run(with("predicted_us > 1000000"));
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
    EXPECT_TRUE(has(ran, "not usable: ")) << ran.output;
    EXPECT_TRUE(has(ran, "time, predicted")) << ran.output;
    EXPECT_NE(run(with("predicted_us > 0")).exitCode, ExitOk) << "gates read what is predicted";
}

TEST_F(CliCuda, RunningWithoutADeviceIsAnErrorOfTheDevice) {
    zoo("unet");
    useStandIns();
    setenv("FAKECUDA_DEVICES", "0", 1);
    expectRefused({"run", "unet.onnx", "--backend", "cuda"}, ExitDevice, {"device.absent"});
}

TEST_F(CliCuda, AutoIsTheCpuWithoutADevice) {
    zoo("unet");
    ProcessResult ran = run({"bench", "unet.onnx", "--no-measure", "--no-verify"});
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
    EXPECT_TRUE(has(ran, "backend cpu:")) << ran.output;
}

TEST_F(CliCuda, DoctorNamesVersionsAndWhatIsMissing) {
    ProcessResult without = run({"doctor"});
    EXPECT_EQ(without.exitCode, ExitOk);
    EXPECT_TRUE(has(without, "cuda: not usable")) << without.output;
    EXPECT_TRUE(has(without, "used        cpu")) << without.output;
    useStandIns();
    ProcessResult with = run({"doctor"});
    EXPECT_TRUE(has(with, "driver 13.0")) << with.output;
    EXPECT_TRUE(has(with, "without cudnn")) << with.output;
    EXPECT_TRUE(has(with, "used        cuda")) << with.output;
}

TEST_F(CliCuda, BytesArePredictedUnlessTheyAreCounted) {
    tanhModel();
    useStandIns();
    ProcessResult ran = run({"bench", "m.onnx", "--backend", "cuda", "--no-measure"});
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
    EXPECT_TRUE(has(ran, "bytes are predicted: bench --counters")) << ran.output;
    EXPECT_TRUE(has(ran, "DRAM traffic, predicted")) << ran.output;
    EXPECT_FALSE(has(ran, "DRAM traffic, measured")) << ran.output;
}

TEST_F(CliCuda, CountedBytesStandBesidePredictedOnes) {
    tanhModel();
    setenv("FUSELAGE_CUDA_LIBRARIES", FAKELIBS_FOLDER, 1);
    ProcessResult ran = run({"bench", "m.onnx", "--backend", "cuda", "--no-measure", "--counters",
                             "--report", "r.json"});
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
    EXPECT_TRUE(has(ran, "bytes counted by CUPTI 130000 on GH100, 1 pass")) << ran.output;
    EXPECT_TRUE(has(ran, "DRAM traffic, measured")) << ran.output;
    EXPECT_TRUE(has(ran, "1.10 kB")) << ran.output;
    const std::string report = readAll(folder.file("r.json"));
    EXPECT_NE(report.find("\"dram_read\": 1000"), std::string::npos) << report;
    EXPECT_TRUE(has(run({"doctor"}), "can be read, by bench --counters: CUPTI 130000 on GH100"));
}

TEST_F(CliCuda, EarlyLaunchesAreTriedWhereTheDriverHasThem) {
    auto graph = fuselage::model_io::loadText("g (float[32,64] x) => (float[32,64] y) {"
                                              " a = Softmax<axis=-1>(x) y = Softmax<axis=0>(a) }");
    ASSERT_TRUE(graph) << graph.error().text();
    ASSERT_TRUE(fuselage::model_io::save(*graph, folder.file("m.onnx")));
    const auto bench = [&](const std::vector<std::string>& more) {
        std::vector<std::string> words = {"bench", "m.onnx",      "--backend", "cuda", "--seconds",
                                          "0",     "--no-verify", "--cache",   "none"};
        words.insert(words.end(), more.begin(), more.end());
        ProcessResult ran = run(words);
        EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
        return ran;
    };
    useStandIns();
    ProcessResult tried = bench({});
    EXPECT_TRUE(has(tried, "plan of 2 steps: kernels are ")) << tried.output;
    EXPECT_TRUE(has(tried, "launched early: ")) << tried.output;
    EXPECT_TRUE(has(tried, " us")) << tried.output;
    ProcessResult left = bench({"--without", "early_launch"});
    EXPECT_TRUE(has(left, "left out by --without early_launch")) << left.output;
    EXPECT_FALSE(has(bench({"--no-measure"}), "launched early"));
    setenv("FUSELAGE_CUDA_LIBRARIES", FAKECUDA_FOLDER "/plain", 1);
    EXPECT_FALSE(has(bench({}), "launched early"));
}

TEST_F(CliCuda, CountersThatAreRefusedCostNothingElse) {
    tanhModel();
    useStandIns();
    ProcessResult without =
        run({"bench", "m.onnx", "--backend", "cuda", "--no-measure", "--counters"});
    EXPECT_EQ(without.exitCode, ExitOk) << without.errors;
    EXPECT_TRUE(has(without, "bytes were not measured: no counters without CUPTI"))
        << without.output;
    EXPECT_TRUE(has(without, "ok (limit")) << without.output;
    EXPECT_TRUE(has(run({"doctor"}), "cannot be read: no counters without CUPTI"));
    setenv("FUSELAGE_CUDA_LIBRARIES", FAKELIBS_FOLDER, 1);
    setenv("FAKECUPTI_UNSUPPORTED", "2", 1);
    EXPECT_TRUE(has(run({"doctor"}), "cannot be read: this virtual GPU has no counters"));
    unsetenv("FAKECUPTI_UNSUPPORTED");
    ProcessResult cpu = run({"bench", "m.onnx", "--backend", "cpu", "--no-measure", "--counters"});
    EXPECT_EQ(cpu.exitCode, ExitOk) << cpu.errors;
    EXPECT_TRUE(has(cpu, "bytes were not measured: this backend has no hardware counters"))
        << cpu.output;
}

TEST_F(CliCuda, WithoutADeviceDoctorSaysThatNothingCanBeCounted) {
    EXPECT_TRUE(has(run({"doctor"}), "cannot be read: no CUDA device can be used"));
}

TEST_F(CliCuda, WithoutADevicePreferredKernelsAreCompiledForThePredictedOne) {
    tanhModel();
    useStandIns();
    setenv("FAKECUDA_DEVICES", "0", 1);
    const std::vector<std::string> arguments{"bench",    "m.onnx",   "--backend", "cuda",
                                             "--device", "h100",     "--compile", "--cache",
                                             "cache",    "--report", "r.json"};
    ProcessResult ran = run(arguments);
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors << "compiling needs no device";
    EXPECT_TRUE(has(ran, "for sm_90 (1 anew, 0 found)")) << ran.output;
    EXPECT_TRUE(has(ran, "the same kernels compiled, not measured")) << ran.output;
    EXPECT_TRUE(has(ran, "pointwise_vector")) << ran.output;
    EXPECT_NE(readAll(folder.file("r.json")).find("\"choice\": \"compiled\""), std::string::npos);
    EXPECT_TRUE(has(run(arguments), "(0 anew, 1 found)")) << "the cache has it";
    EXPECT_TRUE(has(run({"bench", "m.onnx", "--device", "h100", "--compile", "--cache", "cache"}),
                    "(0 anew, 1 found)"))
        << "what is compiled is for cuda";
    EXPECT_TRUE(has(run({"bench", "m.onnx", "--backend", "cuda", "--device", "t4", "--compile"}),
                    "registers are not known: t4: NVRTC 13.0 does not know sm_75"));
}

TEST_F(CliCuda, WithoutACompilerRegistersAreSaidToBeUnknown) {
    tanhModel();
    ProcessResult ran = run({"bench", "m.onnx", "--backend", "cuda", "--compile"});
    EXPECT_EQ(ran.exitCode, ExitDevice);
    EXPECT_TRUE(has(ran, "registers are not known: `libnvrtc")) << ran.output;
    EXPECT_TRUE(has(ran, "time, predicted")) << ran.output;
    expectRefused({"bench", "m.onnx", "--backend", "cpu", "--compile"}, ExitUsage,
                  {"--backend cuda"});
}

TEST_F(CliCuda, KernelsAreWrittenWithARepro) {
    zoo("unet");
    ProcessResult ran = run({"bench", "unet.onnx", "--device", "h200", "--no-measure",
                             "--no-verify", "--dump-kernels", "kernels"});
    EXPECT_EQ(ran.exitCode, ExitOk) << ran.errors;
    EXPECT_TRUE(has(ran, "kernels written to kernels")) << ran.output;
    size_t kernels = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder.file("kernels")))
        kernels += entry.path().extension() == ".cu" ? 1 : 0;
    EXPECT_GT(kernels, 3U);
}

TEST_F(CliCuda, KernelsAreForADevice) {
    zoo("unet");
    expectRefused({"bench", "unet.onnx", "--device", "cpu", "--dump-kernels", "kernels",
                   "--no-measure", "--no-verify"},
                  ExitUsage, {"--device h200"});
}

namespace {

/// Files of the folder of compiled kernels, "NAME" to whole or not: the second line of each says
/// how long the rest is and what hash it has.
std::map<std::string, bool> compiledKernels(const std::string& folder) {
    std::map<std::string, bool> out;
    std::error_code error;
    for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
         at.increment(error)) {
        const std::string text = readAll(at->path().string());
        const size_t first = text.find('\n'), second = text.find('\n', first + 1);
        bool whole = text.starts_with("fuselage-cubin ") && second != std::string::npos;
        if (whole) {
            const std::string code = text.substr(second + 1);
            whole = text.substr(0, second).ends_with("\n" + std::to_string(code.size()) + " " +
                                                     fuselage::Hasher().text(code).hex());
        }
        out[at->path().filename().string()] = whole;
    }
    return out;
}

} // namespace

TEST_F(CliCuda, ABatchKilledAtAnyMomentLeavesWholeCachesAndOutputs) {
    useStandIns();
    setenv("XDG_CACHE_HOME", folder.file("cache").c_str(), 1);
    std::filesystem::create_directory(folder.file("models"));
    for (int width : {3, 5, 7}) {
        const std::string size = "[4," + std::to_string(width) + "]";
        auto graph = fuselage::model_io::loadText(
            "g (float" + size + " x) => (float" + size +
            " y) { a = Softmax(x) b = Transpose(a) c = Transpose(b) y = Tanh(c) }");
        ASSERT_TRUE(graph) << graph.error().text();
        ASSERT_TRUE(fuselage::model_io::save(
            *graph, folder.file("models/m" + std::to_string(width) + ".onnx")));
    }
    const std::vector<std::string> arguments{
        "batch", "models",         "-o",      "out",       "--backend", "cuda",      "--jobs",
        "2",     "--timing-cache", "t.cache", "--measure", "on",        "--seconds", "0.001"};
    ProcessResult whole = run(arguments);
    ASSERT_EQ(whole.exitCode, ExitOk) << whole.output << whole.errors;
    const std::string kernels = folder.file("cache/fuselage/cubin");
    ASSERT_GT(compiledKernels(kernels).size(), 3U) << "nothing was compiled";
    ASSERT_NE(readAll(folder.file("t.cache")), "");
    std::mt19937_64 random(3);
    for (int i = 0; i < 50; ++i) {
        // A part is made again, so that there is something to write.
        for (const auto& [name, _] : compiledKernels(kernels))
            if (random() % 2 == 0)
                std::filesystem::remove(kernels + "/" + name);
        if (i % 4 == 0)
            std::filesystem::remove(folder.file("t.cache"));
        Process process = start(arguments);
        // A moment, not a condition: any one will do.
        ::usleep(static_cast<useconds_t>(random() % 300'000));
        process.signal(SIGKILL);
        process.finish();
        for (const auto& [name, good] : compiledKernels(kernels))
            EXPECT_TRUE(good || name.ends_with(".part")) << name;
        if (std::filesystem::exists(folder.file("t.cache"))) {
            ProcessResult shown = run({"cache", "show", "t.cache"});
            EXPECT_EQ(shown.exitCode, ExitOk);
            EXPECT_EQ(shown.errors, "") << "no line is broken";
        }
        for (const std::string& name : files())
            if (name.ends_with(".json") && name.find(".work-") == std::string::npos) {
                EXPECT_TRUE(readAll(folder.file(name)).ends_with("}\n")) << name;
            }
    }
    EXPECT_EQ(run(arguments).exitCode, ExitOk);
    unsetenv("XDG_CACHE_HOME");
}

TEST_F(CliCuda, AReproCompilesWithNvcc) {
    const std::string compiler = "/usr/local/cuda/bin/nvcc";
    if (!std::filesystem::exists(compiler))
        GTEST_SKIP() << "no nvcc: `" << compiler << "` is not here";
    zoo("unet");
    std::set<std::string> seen; // one kernel of each variant and precision
    for (const char* precision : {"fp32", "fp16"}) {
        const std::string to = std::string("kernels_") + precision;
        run({"bench", "unet.onnx", "--device", "h200", "--no-measure", "--no-verify", "--precision",
             precision, "--dump-kernels", to});
        for (const auto& entry : std::filesystem::directory_iterator(folder.file(to))) {
            const std::string stem = entry.path().stem().string();
            if (entry.path().extension() != ".cu" ||
                !seen.insert(precision + stem.substr(0, stem.rfind('_'))).second)
                continue;
            const std::string text = readAll(entry.path().string());
            const size_t arch = text.find("-gencode=");
            ASSERT_NE(arch, std::string::npos) << stem << " does not say what it is built for";
            auto ran = fuselage::testing_support::runProcess(
                {compiler, text.substr(arch, text.find(' ', arch) - arch), "-std=c++17", "-w", "-c",
                 "-o", folder.file("repro.o"), entry.path().string()});
            ASSERT_TRUE(ran) << ran.error().text();
            EXPECT_EQ(ran->exitCode, 0) << stem << "\n" << ran->errors;
        }
    }
    EXPECT_GT(seen.size(), 4U);
}
