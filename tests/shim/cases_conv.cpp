// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions.
#include "tests/shim/suite_cases.h"

#include <fmt/format.h>

namespace fuselage::gpu_suite {

namespace {

const std::map<std::string, Placement> channelsLast = {{"in0", {{0, 2, 3, 1}}},
                                                       {"out0", {{0, 2, 3, 1}}}};

struct DepthwiseText {
    std::string type, x, w, y, attributes;
};

/// Depthwise convolution with a bias and a Relu.
std::string depthwise(const DepthwiseText& text, int64_t channels) {
    return fmt::format("({0}[{1}] x, {0}[{2}] w, {0}[{5}] b) => ({0}[{3}] y) "
                       "{{ c = Conv<group={5}, {4}>(x, w, b) y = Relu(c) }}",
                       text.type, text.x, text.w, text.y, text.attributes, channels);
}

} // namespace

std::vector<Case> depthwiseCases() {
    std::vector<Case> out;
    auto add = [&](const std::string& name, const std::string& body) -> Case& {
        Case made;
        made.name = "depthwise_" + name;
        made.bodies = {body};
        made.variants = "depthwise_tiled";
        made.constants = "in1"; // comes packed, where its channels are many enough
        out.push_back(std::move(made));
        return out.back();
    };
    add("seven_half_last", depthwise({"float16", "2,12,9,11", "12,1,7,7", "2,12,9,11",
                                      "kernel_shape=[7,7], pads=[3,3,3,3]"},
                                     12))
        .placements = channelsLast;
    add("three_strided_last", depthwise({"float", "1,8,13,10", "8,1,3,3", "1,8,7,5",
                                         "kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]"},
                                        8))
        .placements = channelsLast;
    add("five_bfloat_first", depthwise({"bfloat16", "2,3,10,17", "3,1,5,5", "2,3,10,17",
                                        "kernel_shape=[5,5], pads=[2,2,2,2]"},
                                       3));
    add("three_last_made_when_it_runs", depthwise({"float16", "1,16,8,9", "16,1,3,3", "1,16,8,9",
                                                   "kernel_shape=[3,3], pads=[1,1,1,1]"},
                                                  16))
        .constants = "";
    out.back().placements = channelsLast;
    // Rows along memory: whole accesses of them, and results that leave by lines.
    add("seven_half_first_lines", depthwise({"float16", "2,3,9,16", "3,1,7,7", "2,3,9,16",
                                             "kernel_shape=[7,7], pads=[3,3,3,3]"},
                                            3));
    add("three_strided_first_lines",
        depthwise({"float", "1,4,13,24", "4,1,3,3", "1,4,7,12",
                   "kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]"},
                  4));
    add("five_half_last_to_first", depthwise({"float16", "1,16,9,16", "16,1,5,5", "1,16,9,16",
                                              "kernel_shape=[5,5], pads=[2,2,2,2]"},
                                             16))
        .placements = {{"in0", {{0, 2, 3, 1}}}};
    add("dilated_uneven_pads", depthwise({"float", "1,4,12,9", "4,1,3,3", "1,4,9,8",
                                          "kernel_shape=[3,3], dilations=[2,3], pads=[0,2,1,3]"},
                                         4));
    add("one_dim",
        depthwise(
            {"float", "2,6,19", "6,1,4", "2,6,9", "kernel_shape=[4], strides=[2], pads=[1,0]"}, 6));
    add("one_dim_last",
        depthwise({"float16", "1,16,33", "16,1,5", "1,16,33", "kernel_shape=[5], pads=[2,2]"}, 16))
        .placements = {{"in0", {{0, 2, 1}}}, {"out0", {{0, 2, 1}}}};
    // Eights of channels along memory: also on tensor cores.
    auto addTensor = [&](const std::string& name, const std::string& body) {
        Case& made = add("tensor_" + name, body);
        made.variants += " depthwise_tensor";
        made.placements = channelsLast;
    };
    addTensor("seven_uneven", depthwise({"float16", "3,24,9,11", "24,1,7,7", "3,24,9,11",
                                         "kernel_shape=[7,7], pads=[3,3,3,3]"},
                                        24));
    addTensor("three_strided", depthwise({"float16", "2,16,13,10", "16,1,3,3", "2,16,7,5",
                                          "kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]"},
                                         16));
    addTensor("five_wide_bfloat", depthwise({"bfloat16", "1,8,5,150", "8,1,5,5", "1,8,3,150",
                                             "kernel_shape=[5,5], pads=[1,2,1,2]"},
                                            8));
    addTensor("dilated_strides_apart",
              depthwise({"float16", "1,40,21,35", "40,1,3,5", "1,40,9,11",
                         "kernel_shape=[3,5], strides=[2,3], dilations=[2,2], pads=[1,1,0,4]"},
                        40));
    addTensor("nine_tall", depthwise({"float16", "1,16,30,8", "16,1,9,2", "1,16,30,7",
                                      "kernel_shape=[9,2], pads=[4,0,4,0]"},
                                     16));
    add("multiplier", "(float[1,3,6,7] x, float[6,1,3,3] w) => (float[1,6,6,7] y) "
                      "{ y = Conv<group=3, kernel_shape=[3,3], pads=[1,1,1,1]>(x, w) }");
    add("double_precision", "(double[1,2,5,6] x, double[2,1,3,3] w) => (double[1,2,5,6] y) "
                            "{ y = Conv<group=2, kernel_shape=[3,3], pads=[1,1,1,1]>(x, w) }");
    add("residual_two_outputs",
        "(float16[1,8,6,6] x, float16[8,1,3,3] w, float16[1,8,6,6] r) => (float16[1,8,6,6] y, "
        "float16[1,8,6,6] z) { c = Conv<group=8, kernel_shape=[3,3], pads=[1,1,1,1]>(x, w) "
        "y = Add(c, r) z = Tanh(y) }")
        .placements = {{"in0", {{0, 2, 3, 1}}},
                       {"in2", {{0, 2, 3, 1}}},
                       {"out0", {{0, 2, 3, 1}}},
                       {"out1", {{0, 2, 3, 1}}}};
    Case& large =
        add("convnext", "(float16[32,96,56,56] x, float16[96,1,7,7] w, float16[96] b) => "
                        "(float16[32,96,56,56] y) "
                        "{ y = Conv<group=96, kernel_shape=[7,7], pads=[3,3,3,3]>(x, w, b) }");
    large.placements = channelsLast;
    large.compileOnly = true;
    return out;
}

} // namespace fuselage::gpu_suite
