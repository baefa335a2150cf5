// SPDX-License-Identifier: Apache-2.0
// Products and convolutions of 8-bit integers: signs, zero points of either side, as numbers and as
// operands, padding that stands for zero, what a quantised model puts behind the sums.
#include "tests/shim/suite_cases.h"

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

} // namespace

std::vector<Case> integerCases() {
    Family out;
    addProducts(out);
    addConvolutions(out);
    return out.cases;
}

} // namespace fuselage::gpu_suite
