// SPDX-License-Identifier: Apache-2.0
// Products and convolutions: sizes beside every tile, transposed operands, heads, groups,
// padding, epilogues with several results, prologues, pools, types without matrix units.
#include "tests/shim/suite_cases.h"

namespace fuselage::gpu_suite {

namespace {

struct Family {
    std::vector<Case> cases;

    Case& add(const std::string& name, std::string body, std::string variants) {
        Case made;
        made.name = "contraction_" + name;
        made.bodies = {std::move(body)};
        made.variants = std::move(variants) + " contract_plain";
        cases.push_back(std::move(made));
        return cases.back();
    }
};

void addProducts(Family& out) {
    out.add("float_odd", "(float[7,19] x, float[19,13] w) => (float[7,13] y) { y = MatMul(x, w) }",
            "");
    out.add("double_bias",
            "(double[5,6] x, double[6,9] w, double[9] b) => (double[5,9] y) "
            "{ m = MatMul(x, w) y = Add(m, b) }",
            "");
    out.add("integers", "(int32[4,7] x, int32[7,6] w) => (int32[4,6] y) { y = MatMul(x, w) }", "");
    out.add("gemm_transposed",
            "(float[9,6] x, float[10,9] w, float[10] c) => (float[6,10] y) "
            "{ y = Gemm<transA=1, transB=1, alpha=0.5, beta=2.0>(x, w, c) }",
            "");
    out.add("prologue_scale",
            "(float16[6,24] x, float16[24] s, float16[24,8] w) => (float16[6,8] y) "
            "{ d = Mul(x, s) y = MatMul(d, w) }",
            "");
    out.add("strict_half",
            "(float16[5,16] x, float16[16,8] w, float16[8] b) => (float16[5,8] y) "
            "{ m = MatMul(x, w) a = Add(m, b) y = Relu(a) }",
            "")
        .strict = true;
}

void addConvolutions(Family& out) {
    out.add("conv_float",
            "(float[2,3,7,6] x, float[5,3,3,3] w, float[5] b) => (float[2,5,4,3] y) { y = "
            "Conv<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(x, w, b) }",
            "");
    out.add("conv_groups_dilated",
            "(float[1,4,9,8] x, float[6,2,3,3] w) => (float[1,6,7,6] y) { y = "
            "Conv<kernel_shape=[3,3], dilations=[2,2], pads=[1,1,1,1], group=2>(x, w) }",
            "");
    out.add("conv_one_dim",
            "(float16[2,4,11] x, float16[3,4,5] w) => (float16[2,3,11] y) "
            "{ c = Conv<kernel_shape=[5], pads=[2,2]>(x, w) y = Relu(c) }",
            "");
    out.add("conv_transpose",
            "(float[2,4,5,4] x, float[4,3,3,3] w, float[6] b) => (float[2,6,10,8] y) { y = "
            "ConvTranspose<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1], "
            "output_padding=[1,1], group=2>(x, w, b) }",
            "");
    out.add("conv_max_pool",
            "(float16[1,3,12,10] x, float16[8,3,3,3] w) => (float16[1,8,6,5] y) { c = "
            "Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(x, w) r = Relu(c) "
            "y = MaxPool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(r) }",
            "");
}

} // namespace

std::vector<Case> contractionCases() {
    Family out;
    addProducts(out);
    addConvolutions(out);
    return out.cases;
}

} // namespace fuselage::gpu_suite
