// SPDX-License-Identifier: Apache-2.0
// Convolutions of pictures with few channels, with and without the pool after them, on tensor cores
// and without: borders, odd sizes, several tiles a picture, results that are no whole block.
#include "tests/shim/suite_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace fuselage::gpu_suite {

namespace {

struct StemText {
    std::string type, x, w, results, y, conv, pool;
};

/// Convolution, scale and shift a channel, Relu, and a pool where one is given.
std::string stem(const StemText& text) {
    return fmt::format("({0}[{1}] x, {0}[{2}] w, {0}[{3},1,1] s, {0}[{3},1,1] b) => ({0}[{4}] y) "
                       "{{ c = Conv<{5}>(x, w) m = Mul(c, s) a = Add(m, b) {6} }}",
                       text.type, text.x, text.w, text.results, text.y, text.conv,
                       text.pool.empty() ? "y = Relu(a)" : "r = Relu(a) y = " + text.pool + "(r)");
}

/// Sizes, steps, pools, layouts and devices as they come: tiles of all forms, and what lies beyond
/// the last one.
Case drawn(uint32_t seed) {
    std::mt19937 random(seed);
    auto from = [&](int64_t least, int64_t most) {
        return least + static_cast<int64_t>(random() % static_cast<uint32_t>(most - least + 1));
    };
    auto extent = [](int64_t in, int64_t pads, int64_t kernel, int64_t stride) {
        return (in + pads - kernel) / stride + 1;
    };
    const int64_t images = from(1, 3), channels = from(1, 4), results = from(1, 10) * from(1, 8);
    const int64_t down = from(1, 7), right = from(1, 7), step = from(1, 3), pad = from(0, 2);
    const int64_t rows = from(7, 60), columns = from(7, 60);
    const int64_t madeRows = extent(rows, 2 * pad, down, step);
    const int64_t madeColumns = extent(columns, 2 * pad, right, step);
    const bool pooled = from(0, 2) != 0 && std::min(madeRows, madeColumns) >= 3;
    const int64_t window = from(2, 3), apart = from(1, 2);
    StemText text;
    text.type = from(0, 4) == 0 ? "float" : from(0, 3) == 0 ? "bfloat16" : "float16";
    text.x = fmt::format("{},{},{},{}", images, channels, rows, columns);
    text.w = fmt::format("{},{},{},{}", results, channels, down, right);
    text.results = std::to_string(results);
    text.conv = fmt::format("kernel_shape=[{},{}], strides=[{},{}], pads=[{},{},{},{}]", down,
                            right, step, step, pad, pad, pad, pad);
    if (pooled)
        text.pool = fmt::format("{}Pool<kernel_shape=[{},{}], strides=[{},{}], pads=[1,0,1,0]>",
                                from(0, 3) == 0 ? "Average" : "Max", window, window, apart, apart);
    text.y = fmt::format("{},{},{},{}", images, results,
                         pooled ? extent(madeRows, 2, window, apart) : madeRows,
                         pooled ? extent(madeColumns, 0, window, apart) : madeColumns);
    Case out;
    out.name = fmt::format("stem_drawn_{}", seed);
    out.bodies = {stem(text)};
    out.variants = pooled ? "stem_pool" : "conv_direct";
    for (const char* value : {"in0", "out0"})
        if (from(0, 1) == 0)
            out.placements[value] = {{0, 2, 3, 1}};
    if (from(0, 1) == 0)
        out.constants = "in1";
    out.units = static_cast<int>(from(0, 2) * from(1, 4));
    out.sharedBytes = from(0, 2) * (114 << 10);
    return out;
}

const char* const seven = "kernel_shape=[7,7], strides=[2,2], pads=[3,3,3,3]";
const char* const three = "kernel_shape=[3,3], strides=[1,1], pads=[1,1,1,1]";
const char* const maxPool = "MaxPool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>";

} // namespace

std::vector<Case> fewChannelsCases() {
    std::vector<Case> out;
    auto add = [&](const std::string& name, const std::string& body,
                   const std::string& variant) -> Case& {
        Case made;
        made.name = "stem_" + name;
        made.bodies = {body};
        made.variants = variant;
        out.push_back(std::move(made));
        return out.back();
    };
    const std::map<std::string, Placement> lastOut = {{"out0", {{0, 2, 3, 1}}}};
    Case& packed =
        add("pool_half_last",
            stem({"float16", "2,3,37,43", "16,3,7,7", "16", "2,16,10,11", seven, maxPool}),
            "stem_pool");
    packed.placements = lastOut;
    packed.constants = "in1";
    add("pool_half_first",
        stem({"float16", "1,3,21,25", "24,3,7,7", "24", "1,24,6,7", seven, maxPool}), "stem_pool");
    add("pool_float_last",
        stem({"float", "1,3,37,41", "16,3,7,7", "16", "1,16,10,11", seven, maxPool}), "stem_pool")
        .placements = lastOut;
    add("pool_uneven_pads",
        stem({"float16", "1,3,13,15", "16,3,3,3", "16", "1,16,14,6", three,
              "MaxPool<kernel_shape=[3,5], strides=[1,3], pads=[2,1,1,4]>"}),
        "stem_pool");
    add("pool_dilated",
        stem({"float16", "1,3,13,15", "16,3,3,3", "16", "1,16,11,7", three,
              "MaxPool<kernel_shape=[3,2], dilations=[2,3], strides=[1,2], pads=[1,1,1,1]>"}),
        "stem_pool");
    add("pool_average_bfloat",
        stem({"bfloat16", "1,4,13,15", "8,4,3,3", "8", "1,8,7,8", three,
              "AveragePool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>"}),
        "stem_pool");
    add("direct_half_one_channel",
        stem({"float16", "2,1,11,23", "32,1,3,3", "32", "2,32,11,23", three, ""}), "conv_direct")
        .placements = {{"in0", {{0, 2, 3, 1}}}, {"out0", {{0, 2, 3, 1}}}};
    add("direct_float_first",
        stem({"float", "1,3,19,18", "12,3,3,3", "12", "1,12,19,18", three, ""}), "conv_direct");
    add("direct_half_dilated_rows",
        stem({"float16", "1,2,17,13", "16,2,3,3", "16", "1,16,15,11",
              "kernel_shape=[3,3], dilations=[2,1], pads=[1,0,1,0]", ""}),
        "conv_direct");
    Case& special = add(
        "pool_special",
        stem({"float16", "1,3,18,18", "16,3,3,3", "16", "1,16,9,9", three, maxPool}), "stem_pool");
    special.special = true; // a weight times the zeros around the picture is no zero when infinite
    special.finiteRest = true;
    Case& beside = add("pool_special_fragments",
                       stem({"float16", "1,3,21,25", "16,3,7,7", "16", "1,16,6,7", seven, maxPool}),
                       "stem_pool");
    beside.special = true; // taps that pad a row meet what lies beside it
    beside.finiteRest = true;
    Case& few = add("pool_half_few_blocks",
                    stem({"float16", "2,3,37,43", "24,3,7,7", "24", "2,24,10,11", seven, maxPool}),
                    "stem_pool");
    few.units = 1; // so that a block takes several tiles
    few.constants = "in1";
    add("pool_float_few_blocks",
        stem({"float", "2,3,37,41", "12,3,7,7", "12", "2,12,10,11", seven, maxPool}), "stem_pool")
        .units = 1;
    Case& patches = add("direct_half_few_blocks",
                        stem({"float16", "3,3,36,48", "32,3,4,4", "32", "3,32,9,12",
                              "kernel_shape=[4,4], strides=[4,4]", ""}),
                        "conv_direct");
    patches.placements = {{"in0", {{0, 2, 3, 1}}}, {"out0", {{0, 2, 3, 1}}}};
    patches.units = 1;
    Case& large =
        add("resnet",
            stem({"float16", "32,3,224,224", "64,3,7,7", "64", "32,64,56,56", seven, maxPool}),
            "stem_pool");
    large.placements = {{"in0", {{0, 2, 3, 1}}}, {"out0", {{0, 2, 3, 1}}}};
    large.constants = "in1";
    large.compileOnly = true;
    for (uint32_t seed = 1; seed <= 12; ++seed)
        out.push_back(drawn(seed));
    return out;
}

} // namespace fuselage::gpu_suite
