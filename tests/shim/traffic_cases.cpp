// SPDX-License-Identifier: Apache-2.0
#include "tests/shim/traffic_cases.h"

#include "gpu/kernels/variant_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace fuselage::gpu_suite {

namespace {

const std::map<std::string, Placement> channelsLast = {
    {"in0", {{0, 2, 3, 1}}}, {"in2", {{0, 2, 3, 1}}}, {"out0", {{0, 2, 3, 1}}}};
const std::map<std::string, Placement> onlyImagesLast = {{"in0", {{0, 2, 3, 1}}},
                                                         {"out0", {{0, 2, 3, 1}}}};

struct Family {
    std::vector<Case> cases;

    Case& add(const std::string& name, const std::string& body, const std::string& variants) {
        Case made;
        made.name = name;
        made.bodies = {body};
        made.variants = variants;
        cases.push_back(std::move(made));
        return cases.back();
    }
};

std::string gelu(const char* type) {
    const std::string cast = std::string(type) == "float" ? "Identity" : "Cast<to=10>";
    return fmt::format("({0}[32,4096] x, {0}[4096] b) => ({0}[32,4096] y) "
                       "<float half = {{0.5}}, float one = {{1.0}}, float root = {{1.41421356}}> "
                       "{{ h = {1}(half) o = {1}(one) r = {1}(root) a = Add(x, b) d = Div(a, r) "
                       "e = Erf(d) p = Add(e, o) q = Mul(a, p) y = Mul(q, h) }}",
                       type, cast);
}

/// The memory-bound sequences that are measured on 65536 x 4096.
void addRows(Family& out) {
    for (const char* type : {"float16", "float"}) {
        const std::string suffix = type[5] == '1' ? "_half" : "_float";
        out.add("gelu_bias" + suffix, gelu(type), "pointwise_vector");
        out.add("relu_product" + suffix,
                fmt::format("({0}[32,4096] x, {0}[32,4096] z) => ({0}[32,4096] y) "
                            "{{ a = Add(x, z) s = Sigmoid(x) m = Mul(a, s) y = Relu(m) }}",
                            type),
                "pointwise_vector");
        out.add("layer_norm" + suffix,
                fmt::format("({0}[4,4096] x, {0}[4096] g, {0}[4096] b) => ({0}[4,4096] y) "
                            "{{ y = LayerNormalization<axis=-1, epsilon=1e-5>(x, g, b) }}",
                            type),
                "row_block");
        out.add("add_layer_norm" + suffix,
                fmt::format("({0}[4,4096] x, {0}[4,4096] r, {0}[4096] g, {0}[4096] b) => "
                            "({0}[4,4096] y) {{ s = Add(x, r) "
                            "y = LayerNormalization<axis=-1, epsilon=1e-5>(s, g, b) }}",
                            type),
                "row_block");
        out.add(
            "softmax" + suffix,
            fmt::format("({0}[4,4096] x) => ({0}[4,4096] y) {{ y = Softmax<axis=-1>(x) }}", type),
            "row_block");
    }
    out.add("layer_norm_768_half",
            "(float16[16,768] x, float16[768] g, float16[768] b) => (float16[16,768] y) "
            "{ y = LayerNormalization<axis=-1, epsilon=1e-5>(x, g, b) }",
            "row_warp row_block");
    out.add("softmax_197_half",
            "(float16[24,197] x) => (float16[24,197] y) { y = Softmax<axis=-1>(x) }", "row_warp");
    out.add("softmax_long_half",
            "(float16[2,24000] x) => (float16[2,24000] y) { y = Softmax<axis=-1>(x) }",
            "row_two_pass");
    out.add("softmax_across_float",
            "(float[2,20,64] x) => (float[2,20,64] y) { y = Softmax<axis=1>(x) }", "row_outer");
    out.add("global_pool_half_last",
            "(float16[2,256,7,7] x) => (float16[2,256,1,1] y) { y = GlobalAveragePool(x) }",
            "row_outer")
        .placements = onlyImagesLast;
}

void addWindows(Family& out) {
    const char* const seven = "(float16[1,96,14,56] x, float16[96,1,7,7] w, float16[96] b) => "
                              "(float16[1,96,14,56] y) "
                              "{ y = Conv<group=96, kernel_shape=[7,7], pads=[3,3,3,3]>(x, w, b) }";
    out.add("depthwise_7x7_half_last", seven, "depthwise_tiled").placements = onlyImagesLast;
    out.add("depthwise_tensor_7x7_half_last", seven, "depthwise_tensor").placements =
        onlyImagesLast;
    out.add("depthwise_7x7_half_first", seven, "depthwise_tiled");
    out.add("depthwise_7x7_half_last_to_first", seven, "depthwise_tiled").placements = {
        {"in0", {{0, 2, 3, 1}}}};
    Case& stem = out.add(
        "stem_pool_half_last",
        "(float16[1,3,64,112] x, float16[64,3,7,7] w, float16[64,1,1] s, float16[64,1,1] b) => "
        "(float16[1,64,16,28] y) { c = Conv<kernel_shape=[7,7], strides=[2,2], pads=[3,3,3,3]>(x, "
        "w) m = Mul(c, s) a = Add(m, b) r = Relu(a) "
        "y = MaxPool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(r) }",
        "stem_pool");
    stem.placements = {{"out0", {{0, 2, 3, 1}}}};
    stem.constants = "in1";
    const char* const pool =
        "(float16[1,64,56,56] x) => (float16[1,64,28,28] y) "
        "{ y = MaxPool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(x) }";
    out.add("max_pool_half_last", pool, "window_row").placements = onlyImagesLast;
    out.add("max_pool_half_first", pool, "window_row");
}

void addMoves(Family& out) {
    out.add("transpose_float",
            "(float[128,160] x) => (float[160,128] y) "
            "{ y = Transpose<perm=[1,0]>(x) }",
            "copy_transpose");
    out.add("to_channels_last_half",
            "(float16[2,64,28,28] x) => (float16[2,28,28,64] y) "
            "{ y = Transpose<perm=[0,2,3,1]>(x) }",
            "copy_transpose");
    out.add("transpose_bytes",
            "(uint8[128,160] x) => (uint8[160,128] y) { y = Transpose<perm=[1,0]>(x) }",
            "copy_transpose");
    out.add("heads_half",
            "(float16[2,32,768] x) => (float16[2,12,32,64] y) "
            "{ s = Constant<value_ints=[2,32,12,64]>() r = Reshape(x, s) "
            "y = Transpose<perm=[0,2,1,3]>(r) }",
            "copy_vector");
    out.add("concat_half",
            "(float16[8,256] a, float16[8,128] b) => (float16[8,384] y) "
            "{ y = Concat<axis=1>(a, b) }",
            "copy_vector");
    out.add("residual_half_last",
            "(float16[1,64,28,28] x, float16[64,1,1] b, float16[1,64,28,28] r) => "
            "(float16[1,64,28,28] y) { a = Add(x, b) s = Add(a, r) y = Relu(s) }",
            "pointwise_vector")
        .placements = channelsLast;
    // One of two orders that meet in a kernel lies across: what a layout's price is made of.
    const char* const residual = "(float16[1,64,28,28] x, float16[64,1,1] b, "
                                 "float16[1,64,28,28] r) => (float16[1,64,28,28] y) "
                                 "{ a = Add(x, b) s = Add(a, r) y = Relu(s) }";
    out.add("residual_half_read_across", residual, "pointwise_vector pointwise_plain").placements =
        onlyImagesLast;
    out.add("residual_half_written_across", residual, "pointwise_vector").placements = {
        {"out0", {{0, 2, 3, 1}}}};
    out.add("softmax_of_channels_float_read_across",
            "(float[2,24,8,16] x) => (float[2,24,8,16] y) { y = Softmax<axis=1>(x) }",
            "row_warp row_outer")
        .placements = {{"out0", {{0, 2, 3, 1}}}};
    out.add("scale_half_first",
            "(float16[1,64,28,28] x, float16[64,1,1] b) => (float16[1,64,28,28] y) "
            "{ a = Mul(x, b) y = Relu(a) }",
            "pointwise_vector");
    const char* const nearest =
        "(float16[1,64,14,14] x) => (float16[1,64,28,28] y) "
        "{ s = Constant<value_floats=[1.0,1.0,2.0,2.0]>() y = Resize<mode=\"nearest\", "
        "nearest_mode=\"floor\", coordinate_transformation_mode=\"asymmetric\">(x, , s) }";
    out.add("resize_nearest_half_last", nearest, "resize_table").placements = onlyImagesLast;
    out.add("resize_nearest_half_first", nearest, "resize_table");
    out.add("gather_embedding_half",
            "(float16[128,768] e, int64[2,16] i) => (float16[2,16,768] y) "
            "{ y = Gather<axis=0>(e, i) }",
            "gather");
}

void addProducts(Family& out) {
    const char* const product = "(float16[256,128] x, float16[128,256] w, float16[256] b) => "
                                "(float16[256,256] y) "
                                "{ m = MatMul(x, w) a = Add(m, b) y = Relu(a) }";
    Case& tiles = out.add("product_half", product,
                          "tma_128x128 tma_64x256 tma_128x64 tma_128x128_pair tma_64x256_pair "
                          "tma_128x64_pair wgmma_128x256 "
                          "wgmma_128x128 wgmma_128x64 tensor_256x128 "
                          "tensor_128x128 tensor_128x64 tensor_64x128 tensor_64x64 tensor_64x32 "
                          "tensor_32x64 tensor_16x64");
    tiles.constants = "in1";
    tiles.capability = 90;
    Case& residual = out.add("product_residual_half",
                             "(float16[128,128] x, float16[128,128] w, float16[128,128] r) => "
                             "(float16[128,128] y) { m = MatMul(x, w) y = Add(m, r) }",
                             "tma_128x128 tma_64x128 wgmma_128x128 tensor_128x128 tensor_64x64");
    residual.constants = "in1";
    residual.capability = 90;
    out.add("product_heads_half",
            "(float16[1,64,128] x, float16[128,128] w) => (float16[1,2,64,64] y) "
            "{ m = MatMul(x, w) s = Constant<value_ints=[1,64,2,64]>() r = Reshape(m, s) "
            "y = Transpose<perm=[0,2,1,3]>(r) }",
            "tensor_64x64");
    out.add("product_keys_half",
            "(float16[2,64,64] x, float16[2,64,64] w) => (float16[2,64,64] y) "
            "{ t = Transpose<perm=[0,2,1]>(w) y = MatMul(x, t) }",
            "tensor_64x64");
    Case& conv = out.add("conv_3x3_half_last",
                         "(float16[1,64,14,14] x, float16[64,64,3,3] w, float16[1,64,14,14] r) => "
                         "(float16[1,64,14,14] y) { c = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>"
                         "(x, w) s = Add(c, r) y = Relu(s) }",
                         "conv_halo tma_im2col_128x64 wgmma_128x64 tensor_128x64 tensor_64x64");
    conv.placements = channelsLast;
    conv.constants = "in1";
    conv.capability = 90;
    Case& strided = out.add("conv_3x3_strided_half_last",
                            "(float16[1,64,28,28] x, float16[128,64,3,3] w) => "
                            "(float16[1,128,14,14] y) { c = Conv<kernel_shape=[3,3], "
                            "strides=[2,2], pads=[1,1,1,1]>(x, w) y = Relu(c) }",
                            "tma_im2col_128x128 tma_im2col_128x128_pair wgmma_128x128");
    strided.placements = channelsLast;
    strided.constants = "in1";
    strided.capability = 90;
    // Orders in which a convolution's channels do not lie side by side.
    const char* const pointwise = "(float16[2,64,14,16] x, float16[64,64,1,1] w) => "
                                  "(float16[2,64,14,16] y) { y = Conv(x, w) }";
    for (const auto& [name, places] :
         std::initializer_list<std::pair<const char*, std::map<std::string, Placement>>>{
             {"conv_1x1_half_first", {}},
             {"conv_1x1_half_first_to_last", {{"out0", {{0, 2, 3, 1}}}}},
             {"conv_1x1_half_last_to_first", {{"in0", {{0, 2, 3, 1}}}}}}) {
        Case& made = out.add(name, pointwise, "tensor_64x64 tensor_128x64 contract_plain");
        made.placements = places;
        made.constants = "in1";
        made.capability = 90;
    }
    Case& window = out.add("conv_3x3_half_first",
                           "(float16[1,64,14,14] x, float16[64,64,3,3] w) => "
                           "(float16[1,64,14,14] y) { y = Conv<pads=[1,1,1,1]>(x, w) }",
                           "tensor_64x64");
    window.constants = "in1";
    window.capability = 90;
    out.add("product_float",
            "(float[128,64] x, float[64,128] w, float[128] b) => (float[128,128] y) "
            "{ m = MatMul(x, w) y = Add(m, b) }",
            "float_128x128 float_64x64");
    out.add("vector_half",
            "(float16[1,512] x, float16[512,256] w, float16[256] b) => (float16[1,256] y) "
            "{ m = MatMul(x, w) y = Add(m, b) }",
            "gemv_split");
    out.add("vector_half_along_k",
            "(float16[1,512] x, float16[256,512] w, float16[256] b) => (float16[1,256] y) "
            "{ y = Gemm<transB=1>(x, w, b) }",
            "gemv_split");
    Case& token = out.add("norm_and_vector_half",
                          "(float16[1,512] x, float16[512,256] w) => (float16[1,256] y) "
                          "{ y = MatMul(x, w) }",
                          "gemv_row");
    token.bodies.insert(token.bodies.begin(),
                        "(float16[1,512] x, float16[512] g) => (float16[1,512] y) "
                        "{ y = RMSNormalization<axis=-1, epsilon=1e-5>(x, g) }");
    token.chained = true;
    out.add("attention_half",
            "(float16[2,128,64] q, float16[2,128,64] k, float16[2,128,64] v) => "
            "(float16[2,128,64] y) { t = Transpose<perm=[0,2,1]>(k) s = MatMul(q, t) "
            "p = Softmax<axis=-1>(s) y = MatMul(p, v) }",
            "attention_wgmma attention_tensor attention_tiled")
        .capability = 90;
}

} // namespace

std::vector<Case> trafficCases() {
    Family out;
    addRows(out);
    addWindows(out);
    addMoves(out);
    addProducts(out);
    return out.cases;
}

const DeviceProfile& smallDevice() {
    static const DeviceProfile small = [] {
        DeviceProfile out = *deviceProfile("h200");
        out.units = 2;
        out.l2Bytes = 1 << 16;
        return out;
    }();
    return small;
}

Prepared prepareTraffic(const Case& source) {
    Prepared out = prepare(source);
    out.request.profile = &smallDevice();
    return out;
}

std::vector<gpu::KernelSet> trafficKernels(const Prepared& prepared) {
    std::istringstream in(prepared.source.variants);
    std::vector<std::string> names;
    for (std::string name; in >> name;)
        names.push_back(name);
    std::vector<gpu::KernelSet> out;
    for (gpu::KernelSet& set : gpu::emitAll(prepared.request).accepted)
        if (std::find(names.begin(), names.end(), set.variant) != names.end())
            out.push_back(std::move(set));
    return out;
}

} // namespace fuselage::gpu_suite
