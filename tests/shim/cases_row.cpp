// SPDX-License-Identifier: Apache-2.0
// Reductions and normalisations: row lengths on both sides of every variant's limits, reductions
// that are not innermost, NaN and infinities, arg-reductions with ties.
#include "tests/shim/suite_cases.h"

#include <fmt/format.h>

namespace fuselage::gpu_suite {

namespace {

std::string layerNorm(const char* type, int rows, int length) {
    return fmt::format("({0}[{1},{2}] x, {0}[{2}] g, {0}[{2}] b) => ({0}[{1},{2}] y) "
                       "{{ y = LayerNormalization<axis=-1, epsilon=1e-5>(x, g, b) }}",
                       type, rows, length);
}

std::string softmax(const char* type, int rows, int length) {
    return fmt::format("({0}[{1},{2}] x) => ({0}[{1},{2}] y) {{ y = Softmax<axis=-1>(x) }}", type,
                       rows, length);
}

} // namespace

std::vector<Case> rowCases() {
    std::vector<Case> out;
    auto add = [&](std::string name, std::string body, std::string variants) -> Case& {
        Case made;
        made.name = "row_" + std::move(name);
        made.bodies = {std::move(body)};
        made.variants = std::move(variants);
        out.push_back(std::move(made));
        return out.back();
    };
    const std::string warp = "row_warp row_two_pass row_plain";
    const std::string block = "row_block row_two_pass row_plain";
    const std::string both = "row_warp row_block row_two_pass row_plain";
    add("layer_norm_half", layerNorm("float16", 11, 192), both);
    add("layer_norm_half_to_float", // a step of float16 apart is no difference of float32
        "(float16[33,384] x, float16[384] g, float16[384] b) => (float[33,384] y) "
        "{ n = LayerNormalization<axis=-1, epsilon=1e-5>(x, g, b) y = Cast<to=1>(n) }",
        both);
    add("layer_norm_float_odd", layerNorm("float", 5, 77), warp);
    add("layer_norm_long", layerNorm("float", 3, 1536), block);
    add("layer_norm_very_long", layerNorm("float16", 2, 20000), "row_two_pass row_plain");
    add("layer_norm_special", layerNorm("float", 9, 50), warp).special = true;
    add("softmax_half", softmax("float16", 7, 96), warp);
    add("softmax_float_odd", softmax("float", 3, 1001), both);
    add("softmax_one", softmax("float", 6, 1), "row_plain");
    add("softmax_short_special", softmax("float", 40, 5), warp).special = true;
    add("softmax_bfloat16", softmax("bfloat16", 4, 320), both);
    add("softmax_outer", "(float[3,10,41] x) => (float[3,10,41] y) { y = Softmax<axis=1>(x) }",
        "row_warp row_two_pass row_outer row_plain");
    add("sum_outer_half",
        "(float16[57,40] x) => (float16[40] y) { a = Constant<value_ints=[0]>() "
        "y = ReduceSum<keepdims=0>(x, a) }",
        "row_outer row_plain");
    add("mean_spatial", "(float[2,6,7,9] x) => (float[2,6,1,1] y) { y = GlobalAveragePool(x) }",
        "row_warp row_two_pass row_plain");
    add("mean_spatial_channels_last",
        "(float16[2,24,5,5] x) => (float16[2,24,1,1] y) { y = GlobalAveragePool(x) }",
        "row_outer row_plain")
        .placements = {{"in0", {{0, 2, 3, 1}}}, {"out0", {{0, 2, 3, 1}}}};
    add("max_special",
        "(float[30,45] x) => (float[30] y) { y = ReduceMax<axes=[1], keepdims=0>(x) }", warp)
        .special = true;
    add("min_integers", "(int32[9,130] x) => (int32[9,1] y) { y = ReduceMin<axes=[1]>(x) }", both);
    add("arg_max_ties", "(int32[8,300] x) => (int64[8] y) { y = ArgMax<axis=1, keepdims=0>(x) }",
        both);
    add("arg_min_last_special",
        "(float[12,70] x) => (int64[12,1] y) { y = ArgMin<axis=1, select_last_index=1>(x) }", warp)
        .special = true;
    add("norm_product",
        "(double[6,34] x) => (double[6] y) { y = ReduceProd<axes=[1], keepdims=0>(x) }", warp);
    add("add_layer_norm_two_outputs",
        "(float16[6,128] x, float16[6,128] r, float16[128] g, float16[128] b) => "
        "(float16[6,128] s, float16[6,128] y) { s = Add(x, r) "
        "y = LayerNormalization<axis=-1, epsilon=1e-5>(s, g, b) }",
        both);
    add("strict_softmax", softmax("float16", 3, 64), warp).strict = true;
    // Many rows for the device: several of them a warp, some warps with fewer than they could take.
    auto teams = [&](const std::string& name, const std::string& body,
                     const std::string& variants) {
        add("teams_" + name, body, variants).units = 1;
    };
    teams("layer_norm_96", layerNorm("float16", 261, 96), warp);
    teams("layer_norm_192", layerNorm("float16", 136, 192), both);
    teams("layer_norm_bfloat16_384", layerNorm("bfloat16", 67, 384), both);
    teams("softmax_float_40", softmax("float", 259, 40), warp);
    teams("arg_max", "(int32[131,28] x) => (int64[131] y) { y = ArgMax<axis=1, keepdims=0>(x) }",
          warp);
    teams("two_outputs",
          "(float16[263,64] x, float16[263,64] r, float16[64] g, float16[64] b) => "
          "(float16[263,64] s, float16[263,64] y) { s = Add(x, r) "
          "y = LayerNormalization<axis=-1, epsilon=1e-5>(s, g, b) }",
          warp);
    add("sum_of_squares",
        "(float[4,3000] x) => (float[4,1] y) { y = ReduceSumSquare<axes=[1]>(x) }", block);
    return out;
}

} // namespace fuselage::gpu_suite
