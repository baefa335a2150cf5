// SPDX-License-Identifier: Apache-2.0
// Verifying says how far each fused node is from the reference, and the text of every kernel can be
// read.
#include "app/pipeline/bench.h"
#include "app/pipeline/kernel_text.h"
#include "app/pipeline/match_errors.h"
#include "core/onnx/model_file.h"
#include "core/support/file.h"

#include <gtest/gtest.h>

using namespace fuselage;

namespace {

const char* const chain =
    "g (float[4,8] x) => (float[4,3] y)"
    "<float[8,3] w = {0.1, 0.7, 0.3, -0.2, 0.9, 0.11, 0.13, 0.17, -0.19, 0.23, 0.29, 0.31, 0.37,"
    " 0.41, -0.43, 0.47, 0.53, 0.59, 0.61, -0.67, 0.71, 0.73, 0.79, 0.83},"
    " float[3] b = {1.1, 2.3, 3.7}>"
    "{ m = MatMul(x, w) a = Add(m, b) r = Relu(a) y = Exp(r) }";

std::string chainFile() {
    auto graph = model_io::loadText(chain);
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().text());
    std::string path = ::testing::TempDir() + "match_errors_chain.onnx";
    EXPECT_TRUE(model_io::save(*graph, path));
    return path;
}

app::Report benched(bool verify, const char* rule, Precision precision = Precision::Fp32) {
    app::BenchOptions options;
    options.model = chainFile();
    options.rules.builtin = false;
    options.rules.texts = {{"rule.fuse", std::string("fuse 1;\n") + rule}};
    options.run.backend = BackendKind::Cpu;
    options.run.threads = 1;
    options.measure = false;
    options.verify = verify;
    options.fuse.precision = precision;
    Progress quiet;
    auto result = app::bench(options, quiet);
    EXPECT_TRUE(result) << (result ? "" : result.error().text());
    return result ? std::move(result->report) : app::Report();
}

} // namespace

TEST(MatchErrors, EveryFusedNodeIsComparedWithTheReference) {
    app::Report report =
        benched(true, "rule R { match { y = MatMul(x, w) -> Add(_, b) -> Relu; } }\n");
    ASSERT_EQ(report.matches.size(), 1U);
    ASSERT_TRUE(report.matches[0].error.has_value());
    EXPECT_GT(*report.matches[0].error, 0);    // single precision is not double precision
    EXPECT_LT(*report.matches[0].error, 1e-4); // and not wrong
    EXPECT_TRUE(report.verified());
    EXPECT_EQ(report.agreement.size(), 2U); // inner values are no outputs
}

TEST(MatchErrors, ValuesStoredIn16BitsAreComparedAsNumbers) {
    const char* rule = "rule R { match { y = MatMul(x, w) -> Add(_, b) -> Relu; } }\n";
    double single = benched(true, rule).matches.at(0).error.value();
    for (Precision precision : {Precision::Fp16, Precision::Bf16}) {
        app::Report report = benched(true, rule, precision);
        ASSERT_EQ(report.matches.size(), 1U);
        ASSERT_TRUE(report.matches[0].error.has_value());
        EXPECT_GT(*report.matches[0].error, 10 * single); // they are rounded
        EXPECT_LT(*report.matches[0].error, 0.05);
    }
}

TEST(MatchErrors, NothingIsKnownWithoutVerifying) {
    app::Report report = benched(false, "rule R { match { y = Relu -> Exp; } }\n");
    ASSERT_EQ(report.matches.size(), 1U);
    EXPECT_FALSE(report.matches[0].error.has_value());
}

TEST(KernelText, NamesTheProgramAndForADeviceTheCudaText) {
    auto graph = model_io::loadText(chain);
    ASSERT_TRUE(graph);
    auto compiled = CompiledGraph::compile(fuseWhole(*graph, "All"), {});
    ASSERT_TRUE(compiled) << compiled.error().text();
    auto host = deviceProfile("cpu"), device = deviceProfile("h200");
    ASSERT_TRUE(host && device);
    std::string program = app::kernelText(compiled->plan(), 0, *host);
    EXPECT_NE(program, "");
    std::string both = app::kernelText(compiled->plan(), 0, *device);
    EXPECT_EQ(both.substr(0, program.size()), program);
#if FUSELAGE_HAS_CUDA
    EXPECT_NE(both.find("__global__"), std::string::npos);
#endif
}
