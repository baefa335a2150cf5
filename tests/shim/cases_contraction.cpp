// SPDX-License-Identifier: Apache-2.0
// Products and convolutions: sizes beside every tile, transposed operands, heads, groups,
// padding, epilogues with several results, prologues, pools, types without tensor cores.
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

/// Several tiles of k with a rest, rows and columns beside the tiles, operands along k, along their
/// rows, and through a prologue; a constant weight comes packed.
void addWarpgroups(Family& out) {
    auto add = [&](const std::string& name, const std::string& body, const std::string& variants) {
        Case& made = out.add("wgmma_" + name, body, variants);
        made.capability = 90;
        made.constants = "in1";
    };
    add("gelu",
        "(float16[67,272] x, float16[272,136] w, float16[136] b) => (float16[67,136] y) "
        "<float h = {0.5}, float one = {1.0}, float q = {1.41421356}> { m = MatMul(x, w) "
        "a = Add(m, b) f = Cast<to=1>(a) d = Div(f, q) e = Erf(d) p = Add(e, one) "
        "g = Mul(f, p) z = Mul(g, h) y = Cast<to=10>(z) }",
        "wgmma_128x256 wgmma_128x128 wgmma_128x64 wgmma_128x128_split wgmma_128x64_split");
    add("split_two_results",
        "(float16[67,520] x, float16[520,72] w, float16[67,72] r) => (float16[67,72] s, "
        "float16[67,72] y) { m = MatMul(x, w) s = Add(m, r) y = Sigmoid(s) }",
        "wgmma_128x128_split wgmma_128x64_split");
    Case& conv =
        out.add("wgmma_split_conv",
                "(float16[3,64,5,5] x, float16[72,64,3,3] w, float16[3,72,5,5] r) => "
                "(float16[3,72,5,5] y) { c = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(x, w) "
                "s = Add(c, r) y = Relu(s) }",
                "wgmma_128x128_split wgmma_128x64_split");
    conv.capability = 90;
    conv.constants = "in1";
    for (const char* operand : {"in0", "in2", "out0"})
        conv.placements[operand] = {{0, 2, 3, 1}};
    add("bfloat16_transposed",
        "(bfloat16[72,130] x, bfloat16[70,72] w, bfloat16[70] c) => (bfloat16[130,70] y) "
        "{ y = Gemm<transA=1, transB=1>(x, w, c) }",
        "wgmma_128x128 wgmma_128x64");
    add("prologue",
        "(float16[66,100] x, float16[100,24] w, float16[100] s) => (float16[66,24] y) "
        "{ d = Mul(x, s) e = Relu(d) y = MatMul(e, w) }",
        "wgmma_128x64");
}

/// More tiles than blocks, rests of rows, columns and k; a batch between the rows; rows in another
/// order than the results; results along m; a residual; a convolution that is a product.
Case& tmaCase(Family& out, const std::string& name, const std::string& body,
              const std::string& variants) {
    Case& made = out.add("tma_" + name, body, variants);
    made.capability = 90;
    made.units = 1;
    made.constants = "in1";
    return made;
}

void addTma(Family& out) {
    auto add = [&](const std::string& name, const std::string& body,
                   const std::string& variants) -> Case& {
        return tmaCase(out, name, body, variants);
    };
    add("gelu",
        "(float16[200,136] x, float16[136,136] w, float16[136] b) => (float16[200,136] y) "
        "<float h = {0.5}, float one = {1.0}, float q = {1.41421356}> { m = MatMul(x, w) "
        "a = Add(m, b) f = Cast<to=1>(a) d = Div(f, q) e = Erf(d) p = Add(e, one) "
        "g = Mul(f, p) z = Mul(g, h) y = Cast<to=10>(z) }",
        "tma_192x128 tma_128x128 tma_64x256 tma_64x128 tma_128x64 tma_192x128_pair "
        "tma_128x128_pair tma_64x128_pair tma_128x64_pair");
    add("batch_between_rows",
        "(bfloat16[3,66,40] x, bfloat16[3,40,68] w, bfloat16[3,66,68] r) => (bfloat16[3,66,68] y) "
        "{ m = MatMul(x, w) a = Add(m, r) y = Relu(a) }",
        "tma_128x128 tma_64x128 tma_128x64")
        .placements = {{"in0", {{1, 0, 2}}}, {"in1", {{0, 2, 1}}}};
    add("rows_of_images",
        "(float16[67,3,40] x, float16[40,72] w, float16[72] b, float16[67,3,72] r) => "
        "(float16[67,3,72] y) { m = MatMul(x, w) a = Add(m, b) s = Add(a, r) y = Relu(s) }",
        "tma_128x128 tma_64x128 tma_128x64")
        .placements = {{"in0", {{1, 0, 2}}}};
    add("along_m",
        "(float16[72,45] x, float16[45,70] w) => (float16[70,72] y) "
        "{ m = MatMul(x, w) y = Transpose<perm=[1,0]>(m) }",
        "tma_128x128 tma_64x128 tma_128x64")
        .placements = {{"in0", {{0, 1}, 3}}};
    add("conv_1x1",
        "(float16[2,72,9,8] x, float16[70,72,1,1] w, float16[70] b) => (float16[2,70,9,8] y) "
        "{ c = Conv<kernel_shape=[1,1]>(x, w, b) y = Relu(c) }",
        "tma_128x128 tma_64x128 tma_128x64")
        .placements = {{"in0", {{0, 2, 3, 1}}}, {"out0", {{0, 2, 3, 1}}}};
    // Clusters of blocks with a tile too few and several turns; more stages than tiles of k.
    add("pair_rows",
        "(float16[330,264] x, float16[264,64] w, float16[64] b, float16[330,64] r) => "
        "(float16[330,64] y) { m = MatMul(x, w) a = Add(m, b) s = Add(a, r) y = Relu(s) }",
        "tma_128x64_pair")
        .units = 2;
    add("pair_columns",
        "(float16[64,264] x, float16[264,392] w, float16[392] b) => (float16[64,392] y) "
        "{ m = MatMul(x, w) a = Add(m, b) y = Relu(a) }",
        "tma_64x256_pair tma_64x128_pair")
        .units = 2;
    add("pair_batch",
        "(bfloat16[3,130,72] x, bfloat16[3,72,72] w) => (bfloat16[3,130,72] y) "
        "{ m = MatMul(x, w) y = Sigmoid(m) }",
        "tma_128x128_pair tma_64x128_pair tma_128x64_pair")
        .units = 4;
}

/// Residuals that TMA brings to the warps: tiles that reach over rows and columns, several turns,
/// pairs with a tile too few; in a batch, with a narrower operand and one of the whole batch beside
/// it; of other widths than the results, with room for one box of a warp or none; rows further
/// apart.
void addLanded(Family& out) {
    auto add = [&](const std::string& name, const std::string& body,
                   const std::string& variants) -> Case& {
        return tmaCase(out, "landed" + name, body, variants);
    };
    add("",
        "(float16[330,72] x, float16[72,264] w, float16[264] b, float16[330,264] r) => "
        "(float16[330,264] y) { m = MatMul(x, w) a = Add(m, b) y = Add(a, r) }",
        "tma_192x128 tma_128x128 tma_64x256 tma_64x128 tma_128x64 tma_192x128_pair "
        "tma_128x128_pair tma_64x256_pair tma_64x128_pair tma_128x64_pair");
    add("_batch",
        "(bfloat16[3,66,40] x, bfloat16[3,40,72] w, bfloat16[3,66,72] r, bfloat16[66,72] s) => "
        "(bfloat16[3,66,72] y) { m = MatMul(x, w) a = Add(m, r) b = Add(a, s) y = Relu(b) }",
        "tma_128x128 tma_64x128 tma_128x64");
    add("_float",
        "(float16[200,72] x, float16[72,136] w, float[200,136] r) => (float[200,136] y) "
        "{ m = MatMul(x, w) c = Cast<to=1>(m) y = Add(c, r) }",
        "tma_192x128 tma_128x128 tma_64x256 tma_64x128 tma_128x64");
    add("_half_of_float",
        "(float16[200,72] x, float16[72,136] w, float16[200,136] r) => (float[200,136] y) "
        "{ m = MatMul(x, w) a = Add(m, r) y = Cast<to=1>(a) }",
        "tma_192x128 tma_128x128");
    add("_bytes",
        "(float16[200,72] x, float16[72,144] w, uint8[200,144] r) => (float16[200,144] y) "
        "{ m = MatMul(x, w) c = Cast<to=10>(r) y = Add(m, c) }",
        "tma_192x128 tma_128x64");
    add("_far_rows",
        "(float16[135,72] x, float16[72,72] w, float16[135,72] r) => (float16[135,72] y) "
        "{ m = MatMul(x, w) y = Mul(m, r) }",
        "tma_128x128 tma_64x128 tma_128x64")
        .placements = {{"in2", {{0, 1}, 24}}};
}

void addTiles(Family& out) {
    const std::string all = "tensor_256x128 tensor_128x128 tensor_128x64 tensor_64x128 "
                            "tensor_64x64 tensor_64x32 tensor_32x64 tensor_16x64";
    out.add("half_all_tiles",
            "(float16[133,72] x, float16[72,72] w, float16[72] b, float16[133,72] r) => "
            "(float16[133,72] y) { m = MatMul(x, w) a = Add(m, b) s = Add(a, r) y = Relu(s) }",
            all);
    addWarpgroups(out);
    addTma(out);
    out.add("float_tiles",
            "(float[70,36] x, float[36,66] w, float[66] b) => (float[70,66] y) "
            "{ m = MatMul(x, w) a = Add(m, b) y = Relu(a) }",
            "float_128x128 float_64x64");
    out.add("few_rows",
            "(float16[3,136] x, float16[136,72] w, float16[72] b) => (float16[3,72] y) "
            "{ m = MatMul(x, w) a = Add(m, b) y = Relu(a) }",
            "gemv_split");
    out.add("few_rows_along_k",
            "(float16[2,264] x, float16[45,264] w, float16[45] c) => (float16[2,45] y) "
            "{ y = Gemm<transB=1>(x, w, c) }",
            "gemv_split");
    out.add("one_row_float_batched",
            "(float[3,1,40] x, float[3,40,12] w) => (float[3,1,12] y) { y = MatMul(x, w) }",
            "gemv_split");
    out.add("float_split",
            "(float[5,200] x, float[200,24] w) => (float[5,24] y) { y = MatMul(x, w) }",
            "float_64x64_split");
    out.add("half_split",
            "(float16[9,520] x, float16[520,40] w, float16[40] b) => (float16[9,40] y) "
            "{ m = MatMul(x, w) a = Add(m, b) y = Relu(a) }",
            "tensor_16x64 tensor_16x64_split");
    out.add("half_split_two_results",
            "(float16[66,260] x, float16[260,48] w, float16[66,48] r) => (float16[66,48] s, "
            "float16[66,48] y) { m = MatMul(x, w) s = Add(m, r) y = Sigmoid(s) }",
            "tensor_128x64_split tensor_64x64_split");
    out.add("half_heads",
            "(float16[2,20,48] x, float16[48,32] w, float16[32] b) => (float16[2,4,20,8] y) "
            "{ m = MatMul(x, w) a = Add(m, b) s = Constant<value_ints=[2,20,4,8]>() "
            "h = Reshape(a, s) y = Transpose<perm=[0,2,1,3]>(h) }",
            "tensor_64x32 tensor_32x64");
    out.add("half_batched",
            "(float16[3,17,24] x, float16[3,24,16] w) => (float16[3,17,16] y) "
            "{ y = MatMul(x, w) }",
            "tensor_32x64 tensor_16x64");
    out.add("half_prologue",
            "(float16[36,64] x, float16[64] s, float16[64,24] w) => (float16[36,24] y) "
            "{ d = Mul(x, s) e = Relu(d) y = MatMul(e, w) }",
            "tensor_64x32 tensor_32x64");
    out.add("half_along_m",
            "(float16[40,24] x, float16[24,40] w) => (float16[40,40] y) "
            "{ m = MatMul(x, w) y = Transpose<perm=[1,0]>(m) }",
            "tensor_64x32 tensor_32x64");
    Case& gelu = out.add(
        "half_gelu_large",
        "(float16[6304,768] x, float16[768,3072] w, float16[3072] b) => (float16[6304,3072] y) "
        "<float h = {0.5}, float one = {1.0}, float q = {1.41421356}> { m = MatMul(x, w) "
        "a = Add(m, b) f = Cast<to=1>(a) d = Div(f, q) e = Erf(d) p = Add(e, one) "
        "g = Mul(f, p) z = Mul(g, h) y = Cast<to=10>(z) }",
        all);
    gelu.compileOnly = true;
    gelu.capability = 90;
    out.add("bfloat16_transposed",
            "(bfloat16[40,40] x, bfloat16[40,40] w, bfloat16[40] c) => (bfloat16[40,40] y) "
            "{ y = Gemm<transA=1, transB=1>(x, w, c) }",
            "tensor_64x32 tensor_32x64");
    out.add("half_odd",
            "(float16[35,45] x, float16[45,37] w) => (float16[35,37] y) { y = MatMul(x, w) }",
            "tensor_64x32 tensor_32x64");
    out.add("tf32", "(float[33,40] x, float[40,34] w) => (float[33,34] y) { y = MatMul(x, w) }",
            "tensor_64x32 tensor_32x64")
        .tf32 = true;
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
    out.add("conv_transpose_prologue",
            "(float[1,4,5,5] x, float[4,3,2,2] w, float[4,1,5] s) => (float[1,3,10,10] y) "
            "{ p = Add(x, s) y = ConvTranspose<kernel_shape=[2,2], strides=[2,2]>(p, w) }",
            "");
    const std::map<std::string, Placement> channelsLast = {
        {"in0", {{0, 2, 3, 1}}}, {"out0", {{0, 2, 3, 1}}}, {"in2", {{0, 2, 3, 1}}}};
    auto last = [&](Case& made) -> Case& {
        made.placements = channelsLast;
        made.constants = "in1";
        return made;
    };
    last(out.add("conv_float_channels_last",
                 "(float[1,8,7,6] x, float[12,8,3,3] w) => (float[1,12,7,6] y) { c = "
                 "Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(x, w) y = Relu(c) }",
                 "float_64x64"));
    last(out.add("conv_half_3x3",
                 "(float16[2,16,7,6] x, float16[24,16,3,3] w, float16[2,24,7,6] r) => "
                 "(float16[2,24,7,6] y) { c = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(x, w) "
                 "s = Add(c, r) y = Relu(s) }",
                 "wgmma_128x64 tensor_64x32 tensor_32x64"))
        .capability = 90;
    last(out.add("conv_half_one_tap",
                 "(float16[2,64,5,5] x, float16[24,64,3,3] w) => (float16[2,24,3,3] y) { y = "
                 "Conv<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(x, w) }",
                 "tensor_32x64 tensor_16x64"));
    last(out.add("conv_half_1x1_strided",
                 "(float16[1,24,8,7] x, float16[40,24,1,1] w) => (float16[1,40,4,4] y) { y = "
                 "Conv<kernel_shape=[1,1], strides=[2,2]>(x, w) }",
                 "tensor_32x64 tensor_16x64"));
    last(out.add("conv_half_groups",
                 "(float16[1,32,5,6] x, float16[48,16,3,3] w) => (float16[1,48,5,6] y) { y = "
                 "Conv<kernel_shape=[3,3], dilations=[2,2], pads=[2,2,2,2], group=2>(x, w) }",
                 "tensor_32x64 tensor_16x64"));
    last(out.add("conv_half_three_channels",
                 "(float16[1,3,9,9] x, float16[16,3,3,3] w) => (float16[1,16,5,5] y) { y = "
                 "Conv<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(x, w) }",
                 "tensor_32x64 tensor_16x64"));
    out.add("conv_half_row_major",
            "(float16[1,16,8,8] x, float16[24,16,1,1] w, float16[24] b) => (float16[1,24,8,8] y) "
            "{ c = Conv<kernel_shape=[1,1]>(x, w, b) y = Relu(c) }",
            "tensor_64x32 tensor_32x64");
    last(out.add("conv_half_large",
                 "(float16[32,64,56,56] x, float16[64,64,3,3] w, float16[32,64,56,56] r, "
                 "float16[64] b) => (float16[32,64,56,56] y) { c = Conv<kernel_shape=[3,3], "
                 "pads=[1,1,1,1]>(x, w, b) s = Add(c, r) y = Relu(s) }",
                 "tensor_256x128 tensor_128x64"))
        .compileOnly = true;
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
    addTiles(out);
    addLanded(out);
    addConvolutions(out);
    return out.cases;
}

} // namespace fuselage::gpu_suite
