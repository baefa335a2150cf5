// SPDX-License-Identifier: Apache-2.0
// What the attention of sm_90's warpgroups refuses, each by the reason that it gives.
#include "gpu/kernels/attention.h"
#include "tests/shim/suite.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <utility>

namespace {

using namespace fuselage;

gpu_suite::Case attention(const std::string& type, int queries, int d, int e) {
    gpu_suite::Case out;
    out.name = "attention";
    out.bodies = {fmt::format("({0}[2,{1},{2}] q, {0}[2,70,{2}] k, {0}[2,70,{3}] v) => "
                              "({0}[2,{1},{3}] y) {{ t = Transpose<perm=[0,2,1]>(k) "
                              "s = MatMul(q, t)  p = Softmax<axis=-1>(s)  y = MatMul(p, v) }}",
                              type, queries, d, e)};
    out.capability = 90;
    return out;
}

/// "layout", ...; empty: it is accepted.
std::string refusalOf(const gpu_suite::Case& source) {
    const gpu_suite::Prepared prepared = gpu_suite::prepare(source);
    if (!prepared.program)
        return "not lowered";
    const gpu::EmitResult result = gpu::emitAttentionWgmma(prepared.request);
    const auto* reason = std::get_if<Reason>(&result);
    return reason != nullptr ? reason->code : "";
}

TEST(AttentionWgmma, takesWholeUnitsOf16Bytes) {
    gpu_suite::Case source = attention("float16", 40, 64, 64);
    EXPECT_EQ(refusalOf(source), "");
    for (const char* operand : {"in0", "in1", "in2"}) {
        source.placements = {{operand, {{}, 8}}};
        EXPECT_EQ(refusalOf(source), "");
        source.placements = {{operand, {{}, 4}}}; // every other row
        EXPECT_EQ(refusalOf(source), "layout");
        source.placements = {{operand, {{}, 0, 8}}};
        EXPECT_EQ(refusalOf(source), "layout");
        source.placements = {{operand, {{0, 2, 1}}}}; // elements apart
        EXPECT_EQ(refusalOf(source), "layout");
    }
    source.placements = {{"out0", {{0, 2, 1}, 3, 2}}};
    EXPECT_EQ(refusalOf(source), "");
    EXPECT_EQ(refusalOf(attention("float16", 40, 20, 64)), "layout");
    EXPECT_EQ(refusalOf(attention("float16", 40, 64, 12)), "layout");
}

TEST(AttentionWgmma, takesQueriesAndHeadsThatFillItsProducts) {
    EXPECT_EQ(refusalOf(attention("bfloat16", 17, 8, 8)), "");
    EXPECT_EQ(refusalOf(attention("bfloat16", 17, 128, 128)), "");
    EXPECT_EQ(refusalOf(attention("bfloat16", 16, 64, 64)), "occupancy");
    EXPECT_EQ(refusalOf(attention("float16", 40, 136, 64)), "support");
    EXPECT_EQ(refusalOf(attention("float16", 40, 64, 136)), "support");
    EXPECT_EQ(refusalOf(attention("float", 40, 64, 64)), "dtype");
}

/// Blocks, and threads of each.
std::pair<uint32_t, uint32_t> launchOf(const gpu_suite::Case& source) {
    const gpu_suite::Prepared prepared = gpu_suite::prepare(source);
    const gpu::EmitResult result = gpu::emitAttentionWgmma(prepared.request);
    const gpu::KernelText& kernel = std::get<gpu::KernelSet>(result).kernels[0];
    return {kernel.grid[0], kernel.block[0]};
}

TEST(AttentionWgmma, twoGroupsShareKeysWhereThereAreBlocksEnough) {
    gpu_suite::Case source = attention("float16", 130, 64, 64);
    using Launch = std::pair<uint32_t, uint32_t>;
    EXPECT_EQ(launchOf(source), Launch(4, 256));
    source.units = 5;
    EXPECT_EQ(launchOf(source), Launch(4, 256));
    source.units = 6;
    EXPECT_EQ(launchOf(source), Launch(6, 128));
    source.units = 0;
    EXPECT_EQ(launchOf(attention("float16", 64, 64, 64)), Launch(2, 128));
}

TEST(AttentionWgmma, isForOneArchitecture) {
    gpu_suite::Case source = attention("float16", 40, 64, 64);
    for (const uint32_t capability : {0U, 80U, 100U, 120U}) {
        source.capability = capability;
        EXPECT_EQ(refusalOf(source), "support") << capability;
    }
    source.capability = 90;
    source.strict = true;
    EXPECT_EQ(refusalOf(source), "numeric-class");
}

} // namespace
