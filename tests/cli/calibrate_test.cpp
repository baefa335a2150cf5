// SPDX-License-Identifier: Apache-2.0
// fuselage calibrate writes a profile that --device takes.
#include "tests/cli/cli.h"

using namespace fuselage::cli_test;

namespace {

class CliCalibrate : public Command {};

} // namespace

TEST_F(CliCalibrate, WritesAProfileThatBenchPredictsWith) {
    ProcessResult ran =
        run({"calibrate", "-o", "mine.toml", "--threads", "1", "--seconds", "0.001", "-q"});
    ASSERT_EQ(ran.exitCode, ExitOk) << ran.errors;
    EXPECT_NE(ran.output.find("rank correlation"), std::string::npos) << ran.output;
    const std::string profile = readAll(folder.file("mine.toml"));
    EXPECT_NE(profile.find("cpu_calibrated"), std::string::npos);
    EXPECT_NE(profile.find("units = { value = 1"), std::string::npos) << profile;
    EXPECT_NE(profile.find("; before "), std::string::npos) << "sheet values stay beside";
    zoo("lstm");
    ProcessResult bench =
        run({"bench", "lstm.onnx", "--no-measure", "--no-verify", "--device", "./mine.toml", "-q"});
    EXPECT_EQ(bench.exitCode, ExitOk) << bench.errors;
}

TEST_F(CliCalibrate, TheProfileMustBeOfTheBackendsDevice) {
    expectRefused({"calibrate", "-o", "x.toml", "--device", "h200"}, ExitDevice,
                  {"h200", "gpu", "cpu"});
    expectRefused({"calibrate", "-o", "x.toml", "--device", "h9000"}, ExitUsage, {"h9000"});
}
