// SPDX-License-Identifier: Apache-2.0
// What a match gains in a small graph, whose values lie as a caller has them.
#include "app/pipeline/compiled.h"
#include "app/pipeline/fuse.h"
#include "core/onnx/model_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace fuselage;

namespace {

Tensor bytes(const Extents& extents) {
    Tensor out(DType::Int8, extents);
    for (int64_t i = 0; i < out.elementCount(); ++i)
        out.setInt(i, i * 37 % 255 - 127);
    return out;
}

/// Nodes that became part of fused ones, by price alone.
size_t fusedNodes(const std::string& text,
                  const std::vector<std::pair<const char*, Extents>>& weights) {
    auto graph = model_io::loadText("<ir_version: 8, opset_import: [\"\" : 18]> g " + text);
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().text());
    for (const auto& [name, extents] : weights)
        EXPECT_TRUE(bindInput(*graph, name, bytes(extents)));
    app::FuseOptions options;
    options.decide = Decide::Cost;
    options.device = *deviceProfile("cpu_avx512");
    options.device->integerGain = 6; // with dot products of bytes
    auto library = app::loadRuleLibrary({});
    EXPECT_TRUE(library);
    Progress progress;
    auto fused = app::fuseGraph(*graph, *library, options, progress);
    EXPECT_TRUE(fused) << (fused ? "" : fused.error().text());
    size_t out = 0;
    if (fused)
        for (NodeId node : fused->graph.nodes())
            out += fused->graph.node(node).op == Op::Fused;
    return out;
}

/// A convolution of 3x3 of 8-bit integers between a caller's images in the model's order.
size_t lone(int64_t channels, int64_t perGroup, int64_t size) {
    return fusedNodes(
        fmt::format("(uint8[1,{0},{2},{2}] x, int8[{0},{1},3,3] w) => (uint8[1,{0},{2},{2}] y) "
                    "<float sx = {{0.02}}, float sw = {{0.01}}, float sy = {{0.05}}, "
                    "uint8 zx = {{128}}, int8 zw = {{0}}> {{ "
                    "f = DequantizeLinear(x, sx, zx) g = DequantizeLinear(w, sw, zw) "
                    "c = Conv<pads = [1, 1, 1, 1], group = {3}>(f, g) "
                    "y = QuantizeLinear(c, sy, zx) }}",
                    channels, perGroup, size, channels / perGroup),
        {{"w", {channels, perGroup, 3, 3}}});
}

/// Whether a product less is said to save a millisecond on an H200.
bool savesAMillisecond(Precision precision) {
    auto graph = model_io::loadText(
        "<ir_version: 8, opset_import: [\"\" : 18]> g "
        "(float[4096,4096] x, float[4096,4096] w, float[4096,4096] v) => (float[4096,4096] y) "
        "{ a = MatMul(x, w) b = MatMul(x, v) y = Add(a, b) }");
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().text());
    auto library = app::loadRuleLibrary(
        {.builtin = false,
         .texts = {{"one.fuse", "fuse 1; rule OneProduct in canonicalize { "
                                "match { a = MatMul(x, w); b = MatMul(x, v); y = Add(a, b); } "
                                "rewrite { y = MatMul(x, Add(w, v)); } "
                                "gate gain.us > 1000; }"}}});
    EXPECT_TRUE(library && !library->loaded.rules.rules.empty());
    app::FuseOptions options;
    options.profile = "h200";
    options.precision = precision;
    Progress progress;
    auto fused = app::fuseGraph(*graph, *library, options, progress);
    EXPECT_TRUE(fused) << (fused ? "" : fused.error().text());
    return fused && fused->graph.nodeCount() == 2;
}

} // namespace

/// Tensor cores make TF32 several times cheaper than float32.
TEST(Gain, IsOfThePrecisionThatRuns) {
    EXPECT_TRUE(savesAMillisecond(Precision::Fp32));
    EXPECT_FALSE(savesAMillisecond(Precision::Tf32));
}

TEST(Gain, ALoneDepthwiseOfBytesPaysForTurningItsImages) {
    for (int64_t channels : {8, 16})
        EXPECT_EQ(lone(channels, 1, 56), 0U) << channels;
    // What computes much more than it turns is worth it.
    EXPECT_EQ(lone(256, 256, 14), 1U);
}
