// SPDX-License-Identifier: Apache-2.0
// Networks of the zoo in fp16 and bf16 on the cpu backend: both sides within the limit of their
// storage, nothing left to the reference functions, bytes about half.
#include "app/pipeline/bench.h"
#include "app/zoo/zoo.h"
#include "core/onnx/model_file.h"

#include <gtest/gtest.h>

#include <filesystem>

using namespace fuselage;

namespace {

class PrecisionOf : public testing::TestWithParam<const char*> {
protected:
    void SetUp() override {
        m_path = std::filesystem::temp_directory_path() /
                 (std::string("fuselage_precision_") + GetParam() + ".onnx");
        auto graph = zoo::build(GetParam());
        ASSERT_TRUE(graph);
        auto saved = model_io::save(*graph, m_path.string());
        ASSERT_TRUE(saved) << saved.error().text();
    }

    void TearDown() override { std::filesystem::remove(m_path); }

    app::Report reportOf(Precision precision, bool verify) const {
        app::BenchOptions options;
        options.model = m_path.string();
        options.fuse.precision = precision;
        options.run.backend = BackendKind::Cpu;
        options.measure = false;
        options.verify = verify;
        Progress progress;
        auto result = app::bench(options, progress);
        EXPECT_TRUE(result) << (result ? "" : result.error().text());
        return result ? std::move(result->report) : app::Report{};
    }

    std::filesystem::path m_path;
};

class SmallPrecision : public PrecisionOf {};
class LargePrecision : public PrecisionOf {};

void expectVerified(const app::Report& report) {
    EXPECT_TRUE(report.verified());
    for (const app::OutputAgreement& output : report.agreement)
        EXPECT_TRUE(output.ok) << output.side << " " << output.output << ": " << output.maxRelative
                               << ", limit " << output.tolerance;
    for (const app::KernelReport& kernel : report.after.kernels)
        EXPECT_EQ(kernel.tactic.find("reference"), std::string::npos)
            << kernel.name << ": " << kernel.tactic;
}

} // namespace

TEST_P(SmallPrecision, SixteenBitPlansAreWithinTheirLimit) {
    for (Precision precision : {Precision::Fp16, Precision::Bf16}) {
        SCOPED_TRACE(nameOf(precision));
        expectVerified(reportOf(precision, true));
    }
}

TEST_P(LargePrecision, SixteenBitPlansAreWithinTheirLimit) {
    for (Precision precision : {Precision::Fp16, Precision::Bf16}) {
        SCOPED_TRACE(nameOf(precision));
        expectVerified(reportOf(precision, true));
    }
}

INSTANTIATE_TEST_SUITE_P(Zoo, SmallPrecision,
                         testing::Values("resnet18", "mobilenet_v3_large", "gpt2_block", "lstm",
                                         "unet"));
INSTANTIATE_TEST_SUITE_P(Zoo, LargePrecision,
                         testing::Values("resnet50", "convnext_tiny", "vit_b_16", "bert_base"));

/// Half of float32's bytes, and what the boundary adds: Casts of input and output, and the vectors
/// of BatchNormalization (53, 26,560 channels), which stay in float32. In float32 the result of the
/// last Reshape is an output, which no view may be: it is copied; before the Cast it is a view.
TEST(PrecisionBytes, ResNet50InFp16) {
    auto path = std::filesystem::temp_directory_path() / "fuselage_precision_bytes.onnx";
    auto graph = zoo::build("resnet50");
    ASSERT_TRUE(graph);
    ASSERT_TRUE(model_io::save(*graph, path.string()));
    int64_t before[2] = {}, after[2] = {};
    for (Precision precision : {Precision::Fp32, Precision::Fp16}) {
        app::BenchOptions options;
        options.model = path.string();
        options.fuse.precision = precision;
        options.measure = options.verify = false;
        Progress progress;
        auto result = app::bench(options, progress);
        ASSERT_TRUE(result) << result.error().text();
        const int side = precision == Precision::Fp16 ? 1 : 0;
        before[side] = result->report.before.traffic.logical();
        after[side] = result->report.after.traffic.logical();
    }
    std::filesystem::remove(path);
    constexpr int64_t vectors = int64_t(26560) * 4 * 2;
    constexpr int64_t casts = int64_t(3) * 224 * 224 * (4 + 2) + 1000 * (4 + 2);
    EXPECT_EQ(before[0] / 2, 212997920);
    EXPECT_EQ(after[0] / 2, 104818464);
    EXPECT_EQ(before[1] - before[0] / 2, vectors + casts);
    EXPECT_EQ(after[1] - 104818464, vectors + casts);
}
