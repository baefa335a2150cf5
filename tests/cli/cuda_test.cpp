// SPDX-License-Identifier: Apache-2.0
// The cuda backend from the command line: without a device, with the stand-in driver, and kernels
// written to a folder.
#include "tests/cli/cli.h"

#include <cstdlib>
#include <filesystem>
#include <set>

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
            auto ran = fuselage::testing_support::runProcess(
                {compiler, "-arch=sm_90", "-std=c++17", "-w", "-c", "-o", folder.file("repro.o"),
                 entry.path().string()});
            ASSERT_TRUE(ran) << ran.error().text();
            EXPECT_EQ(ran->exitCode, 0) << stem << "\n" << ran->errors;
        }
    }
    EXPECT_GT(seen.size(), 4U);
}
