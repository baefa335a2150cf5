// SPDX-License-Identifier: Apache-2.0
// Products and convolutions of 8-bit integers: signs, zero points of either side, as numbers and as
// operands, padding that stands for zero, what a quantised model puts behind the sums.
#include "tests/shim/suite_cases.h"

#include <fmt/format.h>

#include <random>

namespace fuselage::gpu_suite {

namespace {

struct Family {
    std::vector<Case> cases;

    Case& add(const std::string& name, std::string body, const std::string& variants) {
        Case made;
        made.name = "integer_" + name;
        made.bodies = {std::move(body)};
        made.variants = variants + (variants.empty() ? "" : " ") + "contract_plain";
        made.constants = "in1";
        cases.push_back(std::move(made));
        return cases.back();
    }
};

void addProducts(Family& out) {
    const std::string small = "integer_64x64 integer_32x64 integer_16x64";
    out.add("product",
            "(int8[133,96] a, int8[96,72] b) => (int32[133,72] y) { y = MatMulInteger(a, b) }",
            "integer_128x128 integer_128x64 " + small);
    out.add("product_zero",
            "(uint8[70,80] a, int8[80,66] b) => (int32[70,66] y) <uint8 z = {131}> "
            "{ y = MatMulInteger(a, b, z) }",
            small);
    out.add("product_both_zeros",
            "(uint8[37,45] a, uint8[45,40] b) => (int32[37,40] y) <uint8 az = {7}, uint8 bz = "
            "{201}> { y = MatMulInteger(a, b, az, bz) }",
            "integer_32x64 integer_16x64");
    out.add("product_zeros_read",
            "(int8[3,20,48] a, uint8[3,48,40] b, int8 az, uint8 bz) => (int32[3,20,40] y) "
            "{ y = MatMulInteger(a, b, az, bz) }",
            "integer_32x64 integer_16x64")
        .constants = "";
    out.add("product_split",
            "(uint8[9,1040] a, int8[1040,40] b) => (int32[9,40] y) <uint8 z = {128}> "
            "{ y = MatMulInteger(a, b, z) }",
            "integer_16x64 integer_16x64_split");
    out.add("product_split_wide",
            "(uint8[70,1040] a, uint8[1040,72] b) => (int32[70,72] y) <uint8 az = {3}, "
            "uint8 bz = {140}> { y = MatMulInteger(a, b, az, bz) }",
            "integer_128x64_split integer_64x64_split integer_32x64_split");
    out.add("product_rescaled",
            "(uint8[35,64] a, int8[64,48] b, float[48] s, float[48] c) => (float16[35,48] y) "
            "<uint8 z = {120}> { m = MatMulInteger(a, b, z) f = Cast<to=1>(m) g = Mul(f, s) "
            "h = Add(g, c) r = Relu(h) y = Cast<to=10>(r) }",
            "integer_64x64 integer_32x64");
    out.add("rows_with_zeros_of_their_own",
            "(uint8[20,32] a, int8[32,24] b, uint8[20] az) => (int32[20,24] y) "
            "{ y = MatMulInteger(a, b, az) }",
            "");
}

void addConvolutions(Family& out) {
    const std::map<std::string, Placement> channelsLast = {
        {"in0", {{0, 2, 3, 1}}}, {"in3", {{0, 2, 3, 1}}}, {"out0", {{0, 2, 3, 1}}}};
    out.add("conv_requantised",
            "(uint8[2,16,7,6] x, int8[24,16,3,3] w, int32[24] b) => (uint8[2,24,7,6] y) "
            "<float xs = {0.02}, uint8 xz = {120}, float ws = {0.01}, int8 wz = {0}, "
            "float ys = {0.25}, uint8 yz = {131}> { y = QLinearConv<kernel_shape=[3,3], "
            "pads=[1,1,1,1]>(x, xs, xz, w, ws, wz, ys, yz, b) }",
            "integer_64x64 integer_32x64 integer_16x64")
        .placements = channelsLast;
    out.add("conv_residual",
            "(uint8[2,16,9,8] x, int8[40,16,3,3] w, float[40] ws, uint8[2,40,5,4] r, float[40] b) "
            "=> (uint8[2,40,5,4] y) <float xs = {0.02}, uint8 xz = {3}, int8 wz = {0}, "
            "float rs = {0.03}, uint8 rz = {110}, float ys = {0.05}, uint8 yz = {0}> "
            "{ dx = DequantizeLinear(x, xs, xz) dw = DequantizeLinear<axis=0>(w, ws) "
            "c = Conv<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(dx, dw, b) "
            "dr = DequantizeLinear(r, rs, rz) s = Add(c, dr) u = Relu(s) "
            "y = QuantizeLinear(u, ys, yz) }",
            "integer_32x64 integer_16x64")
        .placements = channelsLast;
    out.cases.back().stored = 1;
    out.add("conv_groups",
            "(int8[1,8,6,5] x, int8[12,4,3,3] w) => (int32[1,12,6,5] y) "
            "{ y = ConvInteger<kernel_shape=[3,3], pads=[1,1,1,1], group=2>(x, w) }",
            "");
}

/// Tiles of warpgroups: several of k with a rest, rows and columns beside them, every pair of
/// signs, zero points of either side, a batch, results along m; a 1x1 convolution and a residual.
void addTma(Family& out) {
    const std::string some = "tma_128x128 tma_64x128 tma_128x64";
    auto add = [&](const std::string& name, const std::string& body,
                   const std::string& variants) -> Case& {
        Case& made = out.add("tma_" + name, body, variants);
        made.capability = 90;
        made.units = 1;
        return made;
    };
    add("product",
        "(int8[200,272] a, int8[272,136] b) => (int32[200,136] y) { y = MatMulInteger(a, b) }",
        "tma_192x128 tma_128x128 tma_64x256 tma_64x128 tma_128x64");
    add("both_zeros",
        "(uint8[133,272] a, int8[272,136] b) => (int32[133,136] y) <uint8 az = {7}, int8 bz = {9}> "
        "{ y = MatMulInteger(a, b, az, bz) }",
        "tma_192x128 tma_128x128 tma_64x256 tma_64x128 tma_128x64");
    add("batch_zeros_read",
        "(int8[3,66,48] a, uint8[3,48,72] b, int8 az, uint8 bz) => (int32[3,66,72] y) "
        "{ y = MatMulInteger(a, b, az, bz) }",
        some);
    add("rescaled",
        "(uint8[135,144] a, int8[144,72] b, float[72] s, float[72] c) => (float16[135,72] y) "
        "<uint8 z = {120}> { m = MatMulInteger(a, b, z) f = Cast<to=1>(m) g = Mul(f, s) "
        "h = Add(g, c) r = Relu(h) y = Cast<to=10>(r) }",
        some);
    add("along_m",
        "(uint8[80,45] a, uint8[45,70] b) => (int32[70,80] y) <uint8 z = {131}> "
        "{ m = MatMulInteger(a, b, z) y = Transpose<perm=[1,0]>(m) }",
        some)
        .placements = {{"in0", {{0, 1}, 3}}};
    add("computed_weight",
        "(int8[70,64] a, int8[72,64] b) => (int32[70,72] y) "
        "{ t = Transpose<perm=[1,0]>(b) y = MatMulInteger(a, t) }",
        some)
        .constants = "";
    add("conv_1x1",
        "(uint8[2,80,9,8] x, int8[72,80,1,1] w, int32[72] b) => (uint8[2,72,9,8] y) "
        "<float xs = {0.02}, uint8 xz = {120}, float ws = {0.01}, int8 wz = {0}, "
        "float ys = {0.25}, uint8 yz = {131}> { y = QLinearConv<kernel_shape=[1,1]>"
        "(x, xs, xz, w, ws, wz, ys, yz, b) }",
        some)
        .placements = {{"in0", {{0, 2, 3, 1}}}, {"out0", {{0, 2, 3, 1}}}};
    add("residual",
        "(uint8[70,96] x, int8[96,72] w, float[72] ws, uint8[70,72] r, float[72] b) => "
        "(uint8[70,72] y) <float xs = {0.02}, uint8 xz = {3}, float rs = {0.03}, "
        "uint8 rz = {110}, float ys = {0.05}, uint8 yz = {0}> { dx = DequantizeLinear(x, xs, xz) "
        "dw = DequantizeLinear<axis=1>(w, ws) m = MatMul(dx, dw) c = Add(m, b) "
        "dr = DequantizeLinear(r, rs, rz) s = Add(c, dr) u = Relu(s) "
        "y = QuantizeLinear(u, ys, yz) }",
        some)
        .stored = 1;
}

/// The same of stages that threads fill: pictures whose padding stands for zero, k in parts.
void addWarpgroups(Family& out) {
    auto add = [&](const std::string& name, const std::string& body,
                   const std::string& variants) -> Case& {
        Case& made = out.add("wgmma_" + name, body, variants);
        made.capability = 90;
        return made;
    };
    add("zeros",
        "(uint8[70,272] a, int8[272,136] b) => (int32[70,136] y) <uint8 az = {3}, int8 bz = {40}> "
        "{ y = MatMulInteger(a, b, az, bz) }",
        "wgmma_128x256 wgmma_128x128 wgmma_128x64");
    add("split",
        "(uint8[70,1040] a, uint8[1040,72] b) => (int32[70,72] y) <uint8 az = {3}, "
        "uint8 bz = {140}> { y = MatMulInteger(a, b, az, bz) }",
        "wgmma_128x128_split wgmma_128x64_split");
    add("conv_requantised",
        "(uint8[3,16,7,6] x, int8[72,16,3,3] w, int32[72] b) => (uint8[3,72,7,6] y) "
        "<float xs = {0.02}, uint8 xz = {120}, float ws = {0.01}, int8 wz = {9}, "
        "float ys = {0.25}, uint8 yz = {131}> { y = QLinearConv<kernel_shape=[3,3], "
        "pads=[1,1,1,1]>(x, xs, xz, w, ws, wz, ys, yz, b) }",
        "wgmma_128x128 wgmma_128x64")
        .placements = {{"in0", {{0, 2, 3, 1}}}, {"out0", {{0, 2, 3, 1}}}};
}

/// A product whose sizes, signs and zero points (none, a number, an operand) come from the seed.
Case drawn(uint32_t seed) {
    std::mt19937 random(seed);
    auto from = [&](int64_t least, int64_t most) {
        return least + static_cast<int64_t>(random() % static_cast<uint32_t>(most - least + 1));
    };
    const int64_t m = from(65, 140), n = from(65, 140), rest = from(0, 1);
    const int64_t k = rest == 0 ? 16 * from(1, 12) : from(1, 200);
    const bool batch = from(0, 2) == 0, shared = from(0, 1) == 0;
    std::string inputs, numbers;
    const std::string of[] = {from(0, 1) == 0 ? "int8" : "uint8",
                              from(0, 1) == 0 ? "int8" : "uint8"};
    for (const size_t i : {size_t(0), size_t(1)}) {
        const char* name = i == 0 ? "az" : "bz";
        if (const int64_t kind = from(0, 2); kind == 2)
            inputs += fmt::format(", {} {}", of[i], name);
        else
            numbers += fmt::format("{}{} {} = {{{}}}", numbers.empty() ? "" : ", ", of[i], name,
                                   kind * from(1, 127));
    }
    Case out;
    out.name = fmt::format("integer_drawn_{}", seed);
    out.bodies = {fmt::format("({0}[{2}{3},{5}] a, {1}[{6}{5},{4}] b{7}) => (int32[{2}{3},{4}] y) "
                              "{8}{{ y = MatMulInteger(a, b, az, bz) }}",
                              of[0], of[1], batch ? "2," : "", m, n, k,
                              batch && !shared ? "2," : "", inputs,
                              numbers.empty() ? "" : "<" + numbers + "> ")};
    out.placements = {{"in0", {{}, (16 - k % 16) % 16}}};
    out.variants =
        fmt::format("tma_64x128 tma_128x64 {}contract_plain", k % 16 == 0 ? "wgmma_128x64 " : "");
    out.constants = "in1";
    out.capability = 90;
    out.units = static_cast<int>(from(1, 3));
    return out;
}

} // namespace

std::vector<Case> integerCases() {
    Family out;
    addProducts(out);
    addConvolutions(out);
    addTma(out);
    addWarpgroups(out);
    for (uint32_t seed = 1; seed <= 8; ++seed)
        out.cases.push_back(drawn(seed));
    return out.cases;
}

} // namespace fuselage::gpu_suite
