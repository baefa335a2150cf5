// SPDX-License-Identifier: Apache-2.0
// Convolutions of 3 by 3 taps whose picture is staged once for all of them: borders, odd sizes,
// tiles over several pictures, channels and results that are no whole slice, weights that stay and
// weights that pass.
#include "tests/shim/suite_cases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <random>

namespace fuselage::gpu_suite {

namespace {

struct HaloText {
    int64_t images, channels, rows, columns, results;
    std::string type = "float16";
    int64_t pads[4] = {1, 1, 1, 1}; ///< above, to the left, below, to the right
};

/// Convolution, bias and Relu, or what `end` makes of the convolution c and the bias b.
std::string halo(const HaloText& text, const std::string& end = "y = Relu(a)",
                 const std::string& more = "") {
    const std::string y = fmt::format("{},{},{},{}", text.images, text.results,
                                      text.rows + text.pads[0] + text.pads[2] - 2,
                                      text.columns + text.pads[1] + text.pads[3] - 2);
    const std::string result = fmt::format("{}[{}]", text.type, y);
    return fmt::format("({0}[{1},{2},{3},{4}] x, {0}[{5},{2},3,3] w, {0}[{5}] b{6}) => ({7} y{8}) "
                       "{{ a = Conv<kernel_shape=[3,3], pads=[{9}]>(x, w, b) {10} }}",
                       text.type, text.images, text.channels, text.rows, text.columns, text.results,
                       more.empty() ? "" : fmt::format(", {} r", result), result,
                       more == "two" ? fmt::format(", {} z", result) : "",
                       fmt::join(text.pads, ","), end);
}

/// Sizes, borders, ends and devices as they come: tiles of all forms, and what lies beyond the last
/// one.
Case drawn(uint32_t seed) {
    std::mt19937 random(seed);
    auto from = [&](int64_t least, int64_t most) {
        return least + static_cast<int64_t>(random() % static_cast<uint32_t>(most - least + 1));
    };
    HaloText text{from(1, 4), 8 * from(2, 12), from(2, 15), from(2, 3) * from(1, 8),
                  8 * from(1, 16)};
    text.type = from(0, 3) == 0 ? "bfloat16" : "float16";
    for (int64_t& pad : text.pads)
        pad = from(0, 3) == 0 ? from(0, 2) : 1;
    text.rows = std::max(text.rows, 3 - text.pads[0] - text.pads[2]);
    text.columns = std::max(text.columns, 3 - text.pads[1] - text.pads[3]);
    Case out;
    out.name = fmt::format("halo_drawn_{}", seed);
    out.bodies = {from(0, 2) == 0 ? halo(text, "s = Add(a, r) y = Relu(s)", "one") : halo(text)};
    out.variants = "conv_halo";
    out.constants = "in1";
    out.capability = 90;
    for (const char* operand : {"in0", "in3", "out0"})
        out.placements[operand] = {{0, 2, 3, 1}};
    constexpr int devices[] = {0, 1, 2, 4, 12};
    constexpr int64_t shared[] = {48, 100, 228};
    out.units = devices[from(0, 4)];
    out.sharedBytes = shared[from(0, 2)] << 10;
    return out;
}

} // namespace

std::vector<Case> haloCases() {
    std::vector<Case> out;
    auto add = [&](const std::string& name, const std::string& body) -> Case& {
        Case made;
        made.name = "halo_" + name;
        made.bodies = {body};
        made.variants = "conv_halo";
        made.constants = "in1";
        made.capability = 90;
        for (const char* operand : {"in0", "in3", "out0", "out1"})
            made.placements[operand] = {{0, 2, 3, 1}};
        out.push_back(std::move(made));
        return out.back();
    };
    // A block takes several tiles; weights pass through shared memory, or stay there.
    Case& passes = add("weights_pass", halo({3, 48, 12, 8, 48}));
    passes.units = 1;
    passes.sharedBytes = 50 << 10;
    Case& stays = add("weights_stay", halo({5, 16, 12, 16, 48}));
    stays.units = 1;
    add("half_odd", halo({3, 40, 7, 5, 24}));
    add("bfloat_one_picture", halo({1, 72, 5, 7, 40, "bfloat16"}));
    add("borders", halo({2, 16, 10, 11, 16, "float16", {0, 2, 1, 0}}));
    add("residual_two_outputs", halo({2, 48, 7, 7, 24}, "y = Add(a, r) z = Tanh(y)", "two"));
    add("results_first", halo({1, 32, 6, 9, 40})).placements.erase("out0");
    Case& wide = add("float_results",
                     "(float16[1,32,8,8] x, float16[32,32,3,3] w) => (float[1,32,8,8] y) "
                     "{ c = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(x, w) y = Cast<to=1>(c) }");
    wide.units = 2;
    Case& special = add("special", halo({1, 24, 8, 9, 16}));
    special.special = true; // zeros around the picture make NaN where a weight is infinite
    special.finiteRest = true;
    // Seeds whose tiles are of all forms that there are.
    for (const uint32_t seed : {64, 203, 324, 335, 420, 423, 855, 958, 982, 1038})
        out.push_back(drawn(seed));
    // Of ResNet-50; tests/gpu_compile/issue_main.cpp compiles the larger ones.
    constexpr int64_t sizes[][3] = {{32, 64, 56}, {1, 64, 56}, {1, 128, 28}, {1, 256, 14}};
    for (const auto& [images, channels, width] : sizes) {
        Case& large = add(fmt::format("resnet_{}_{}", channels, images),
                          halo({images, channels, width, width, channels}));
        large.compileOnly = true;
        large.units = 132;
        large.sharedBytes = 228 << 10;
    }
    return out;
}

} // namespace fuselage::gpu_suite
