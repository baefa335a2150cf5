// SPDX-License-Identifier: Apache-2.0
// Copies (transposes, slices, concatenations, pads), pools, and groups.
#include "tests/shim/suite_cases.h"

namespace fuselage::gpu_suite {

namespace {

/// Appends cases whose names begin with `prefix`.
struct Family {
    std::string prefix;
    std::vector<Case> cases;

    Case& add(const std::string& name, std::vector<std::string> bodies, std::string variants) {
        Case made;
        made.name = prefix + name;
        made.bodies = std::move(bodies);
        made.variants = std::move(variants);
        cases.push_back(std::move(made));
        return cases.back();
    }
};

} // namespace

std::vector<Case> copyCases() {
    Family out{"copy_", {}};
    const std::string transposed = "copy_transpose copy_plain";
    out.add("transpose_float",
            {"(float[70,45] x) => (float[45,70] y) { y = Transpose<perm=[1,0]>(x) }"}, transposed);
    out.add(
        "transpose_half_batched",
        {"(float16[2,33,5,64] x) => (float16[2,5,64,33] y) { y = Transpose<perm=[0,2,3,1]>(x) }"},
        transposed);
    out.add("transpose_bytes",
            {"(uint8[40,100] x) => (uint8[100,40] y) { y = Transpose<perm=[1,0]>(x) }"},
            transposed);
    out.add("transpose_double",
            {"(double[3,37,34] x) => (double[3,34,37] y) { y = Transpose<perm=[0,2,1]>(x) }"},
            transposed);
    out.add("heads",
            {"(float16[2,9,64] x) => (float16[2,4,9,16] y) { s = "
             "Constant<value_ints=[2,9,4,16]>() r = Reshape(x, s) "
             "y = Transpose<perm=[0,2,1,3]>(r) }"},
            "copy_vector copy_plain");
    out.add("concat_pieces",
            {"(float[3,8] a, float[3,5] b, float[3,12] c) => (float[3,25] y) "
             "{ y = Concat<axis=1>(a, b, c) }"},
            "copy_plain");
    out.add("concat_outer",
            {"(bfloat16[2,24] a, bfloat16[5,24] b) => (bfloat16[7,24] y) "
             "{ y = Concat<axis=0>(a, b) }"},
            "copy_vector copy_plain");
    out.add("concat_beside_vectors", // the second piece begins at an odd element
            {"(float[5] a, float[5] b) => (float[10] y) { y = Concat<axis=0>(a, b) }"},
            "copy_vector copy_plain");
    out.add("pad_with_fill",
            {"(float16[3,6,10] x) => (float16[3,8,13] y) { p = "
             "Constant<value_ints=[0,1,2,0,1,1]>() y = Pad(x, p) }"},
            "copy_plain")
        .special = true;
    out.add("expand_bool",
            {"(bool[5,1] x) => (bool[3,5,16] y) { s = Constant<value_ints=[3,5,16]>() "
             "y = Expand(x, s) }"},
            "copy_vector copy_plain");
    out.add("split_two_outputs",
            {"(int64[4,10] x) => (int64[4,4] a, int64[4,6] b) { s = Constant<value_ints=[4,6]>() "
             "a, b = Split<axis=1>(x, s) }"},
            "copy_vector copy_plain");
    return out.cases;
}

std::vector<Case> windowCases() {
    Family out{"window_", {}};
    const std::string both = "window_row window_plain";
    const std::map<std::string, Placement> channelsLast = {{"in0", {{0, 2, 3, 1}}},
                                                           {"out0", {{0, 2, 3, 1}}}};
    out.add("max_float",
            {"(float[2,5,13,11] x) => (float[2,5,7,6] y) "
             "{ y = MaxPool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(x) }"},
            both)
        .special = true;
    out.add("max_half_channels_last",
            {"(float16[2,16,10,9] x) => (float16[2,16,5,5] y) "
             "{ y = MaxPool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(x) }"},
            both)
        .placements = channelsLast;
    out.add("relu_max_scale",
            {"(float16[1,8,9,9] x, float16[8,1,1] s) => (float16[1,8,5,5] y) { r = Relu(x) "
             "p = MaxPool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(r) y = Mul(p, s) }"},
            both);
    out.add("average_excluding",
            {"(float[1,3,8,10] x) => (float[1,3,4,5] y) "
             "{ y = AveragePool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,0,0]>(x) }"},
            both);
    out.add("average_including_ceil",
            {"(float[2,4,9,7] x) => (float[2,4,5,4] y) { y = AveragePool<kernel_shape=[3,2], "
             "strides=[2,2], pads=[1,0,1,0], count_include_pad=1, ceil_mode=1>(x) }"},
            both);
    out.add("dilated_max",
            {"(float[1,2,12,14] x) => (float[1,2,8,10] y) "
             "{ y = MaxPool<kernel_shape=[3,3], dilations=[2,2]>(x) }"},
            both);
    out.add("one_dim_lp",
            {"(float[2,3,17] x) => (float[2,3,8] y) "
             "{ y = LpPool<kernel_shape=[3], strides=[2], p=2>(x) }"},
            both);
    out.add(
        "three_dims",
        {"(float[1,2,5,6,7] x) => (float[1,2,4,5,6] y) { y = MaxPool<kernel_shape=[2,2,2]>(x) }"},
        both);
    out.add("max_bytes",
            {"(int8[1,3,8,8] x) => (int8[1,3,4,4] y) "
             "{ y = MaxPool<kernel_shape=[2,2], strides=[2,2]>(x) }"},
            both);
    return out.cases;
}

std::vector<Case> groupCases() {
    Family out{"group_", {}};
    const std::string relu = "(float16[5,24] x, float16[24] b) => (float16[5,24] y) "
                             "{ s = Add(x, b) y = Relu(s) }";
    const std::string norm = "(float[7,200] x, float[200] g, float[200] b) => (float[7,200] y) "
                             "{ y = LayerNormalization<axis=-1, epsilon=1e-5>(x, g, b) }";
    const std::string sums = "(float[3,2000] x) => (float[3,1] y) { y = ReduceMean<axes=[1]>(x) }";
    const std::string moved = "(int32[6,9] x) => (int32[9,6] y) { y = Transpose<perm=[1,0]>(x) }";
    out.add("two_pointwise", {relu, relu}, "group");
    out.add("all_kinds", {sums, relu, moved, norm}, "group");
    return out.cases;
}

} // namespace fuselage::gpu_suite
