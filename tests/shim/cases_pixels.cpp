// SPDX-License-Identifier: Apache-2.0
// Convolutions whose taps TMA fetches by im2col mode: borders, strides, dilations, one to three
// spatial dims, columns of pixels that go on in the next row and image and beyond the last one,
// channels that leave a stage part empty, pairs of blocks.
#include "core/graph/type.h"
#include "tests/shim/suite_cases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <random>

namespace fuselage::gpu_suite {

namespace {

struct PixelText {
    Extents x; ///< images, channels, places
    int64_t results;
    Extents kernel, strides, dilations, begin, end; ///< of the places; the last two are pads
    std::string type = "float16";
};

Extents resultsOf(const PixelText& text) {
    Extents out = {text.x[0], text.results};
    for (size_t d = 0; d < text.kernel.size(); ++d)
        out.push_back((text.x[d + 2] + text.begin[d] + text.end[d] -
                       (text.kernel[d] - 1) * text.dilations[d] - 1) /
                          text.strides[d] +
                      1);
    return out;
}

/// Convolution, bias and what `end` makes of their sum a, perhaps with r of the results' shape.
std::string pixels(const PixelText& text, const std::string& end = "y = Relu(a)") {
    const std::string results = fmt::format("{}[{}]", text.type, fmt::join(resultsOf(text), ","));
    Extents weight = {text.results, text.x[1]}, pads = text.begin;
    weight.insert(weight.end(), text.kernel.begin(), text.kernel.end());
    pads.insert(pads.end(), text.end.begin(), text.end.end());
    return fmt::format("({0}[{1}] x, {0}[{2}] w, {0}[{3}] b{4}) => ({5} y) {{ "
                       "a = Conv<kernel_shape=[{6}], strides=[{7}], dilations=[{8}], pads=[{9}]>"
                       "(x, w, b) {10} }}",
                       text.type, fmt::join(text.x, ","), fmt::join(weight, ","), text.results,
                       end.find(", r)") == std::string::npos ? "" : fmt::format(", {} r", results),
                       results, fmt::join(text.kernel, ","), fmt::join(text.strides, ","),
                       fmt::join(text.dilations, ","), fmt::join(pads, ","), end);
}

constexpr const char* residual = "s = Add(a, r) y = Relu(s)";

Case caseOf(const std::string& name, const PixelText& text, const std::string& body,
            const std::string& variants) {
    Case out;
    out.name = "pixels_" + name;
    out.bodies = {body};
    out.variants = variants;
    out.constants = "in1";
    out.capability = 90;
    out.units = 1;
    std::vector<uint32_t> last = {0};
    for (uint32_t d = 2; d < text.x.size(); ++d)
        last.push_back(d);
    last.push_back(1);
    for (const char* operand : {"in0", "in3", "out0"})
        out.placements[operand] = {last};
    return out;
}

/// What cuTensorMapEncodeIm2col and the instruction leave a filter, drawn: the tile of 128 x 64
/// must accept it.
Case drawn(uint32_t seed) {
    std::mt19937 random(seed);
    auto from = [&](int64_t least, int64_t most) {
        return least + static_cast<int64_t>(random() % static_cast<uint32_t>(most - least + 1));
    };
    PixelText text{{from(2, 3), 8 * from(4, 9)}, 8 * from(1, 10), {}, {}, {}, {}, {}};
    const bool isPoint = from(0, 5) == 0;
    if (isPoint)
        text.x[1] = 8 * from(1, 12);
    for (int64_t d = 0, places = 2; d < places; ++d) {
        text.kernel.push_back(isPoint ? 1 : from(d == 0 ? 2 : 1, 4));
        text.strides.push_back(from(isPoint ? 2 : 1, from(0, 3) == 0 ? 8 : 2));
        text.dilations.push_back(from(0, 2) == 0 ? from(2, 3) : 1);
        text.begin.push_back(from(0, 2));
        text.end.push_back(from(0, 3));
        const int64_t reach = (text.kernel.back() - 1) * text.dilations.back() + 1;
        const int64_t results = from(6, 8);
        text.x.push_back(std::max<int64_t>(1, (results - 1) * text.strides.back() + reach -
                                                  text.begin.back() - text.end.back() +
                                                  from(0, text.strides.back() - 1)));
    }
    text.type = from(0, 3) == 0 ? "bfloat16" : "float16";
    Case out = caseOf(fmt::format("drawn_{}", seed), text,
                      from(0, 2) == 0 ? pixels(text, residual) : pixels(text), "tma_im2col_128x64");
    out.units = static_cast<int>(from(0, 2));
    return out;
}

} // namespace

std::vector<Case> pixelCases() {
    const auto square = [](int64_t number) { return Extents{number, number}; };
    std::vector<Case> out;
    // The second tile begins within a row.
    const PixelText plain{{2, 40, 10, 7}, 136,       square(3), square(1),
                          square(1),      square(1), square(1)};
    out.push_back(caseOf("plain", plain, pixels(plain),
                         "tma_im2col_192x128 tma_im2col_128x128 tma_im2col_128x64 "
                         "tma_im2col_192x128_pair tma_im2col_128x128_pair "
                         "tma_im2col_128x64_pair"));
    // As TensorFlow pads, in two slices of channels; blocks of pairs below each other.
    const PixelText strided{{4, 72, 13, 15}, 72,        square(3), square(2),
                            square(1),       square(0), square(1), "bfloat16"};
    out.push_back(caseOf("strided_residual", strided, pixels(strided, residual),
                         "tma_im2col_128x128 tma_im2col_128x64 tma_im2col_128x64_pair"));
    out.back().units = 2;
    const PixelText point{{3, 24, 11, 13}, 72, square(1), {2, 3}, square(1), square(0), square(0)};
    out.push_back(caseOf("point", point, pixels(point), "tma_im2col_128x64"));
    out.back().placements["in0"].pad =
        8; // channels of a pixel do not end where the next one begins
    const PixelText dilated{{2, 64, 9, 7}, 72, square(3), square(1), {2, 1}, {2, 0}, {1, 2}};
    out.push_back(caseOf("dilated_results_first", dilated, pixels(dilated),
                         "tma_im2col_128x128 tma_im2col_128x64"));
    out.back().placements.erase("out0");
    const PixelText line{{3, 48, 37}, 40, {5}, {1}, {2}, {4}, {1}};
    out.push_back(caseOf("line", line, pixels(line), "tma_im2col_128x64"));
    const PixelText volume{{2, 40, 5, 7, 4}, 40,        {2, 3, 2}, {1, 2, 1},
                           {1, 1, 2},        {1, 0, 1}, {0, 1, 1}};
    out.push_back(caseOf("volume", volume, pixels(volume), "tma_im2col_128x64"));
    // Blocks side by side, which share the pixels of a tile; several turns, a tile too few.
    const PixelText columns{{2, 64, 7, 6}, 328, {3, 1}, square(1), square(1), {1, 0}, {1, 0}};
    out.push_back(caseOf("pair_columns", columns, pixels(columns),
                         "tma_im2col_128x128_pair tma_im2col_128x64_pair"));
    out.back().units = 2;
    // Weights that are computed come as they lie, taps by their own strides.
    const PixelText computed{{2, 48, 6, 7}, 24, {2, 3}, square(1), square(1), {1, 1}, {0, 1}};
    out.push_back(caseOf("computed_weights", computed, pixels(computed), "tma_im2col_128x64"));
    out.back().constants.clear();
    out.back().placements["in1"] = {{2, 0, 3, 1}};
    const PixelText small{{2, 40, 6, 7}, 24, square(3), square(1), square(1), square(1), square(1)};
    out.push_back(caseOf("special", small, pixels(small), "tma_im2col_128x64"));
    out.back().special = true; // zeros around the picture make NaN where a weight is infinite
    out.back().finiteRest = true;
    for (uint32_t seed = 1; seed <= 8; ++seed)
        out.push_back(drawn(seed));
    // Of ResNet-50.
    constexpr int64_t sizes[][4] = {{128, 128, 3, 2}, {256, 512, 1, 2}, {64, 64, 3, 1}};
    for (const auto& [channels, results, taps, step] : sizes) {
        const PixelText text{{32, channels, 56, 56}, results,   square(taps),
                             square(step),           square(1), square(taps / 2),
                             square(taps / 2)};
        out.push_back(caseOf(fmt::format("resnet_{}_{}", channels, taps), text,
                             pixels(text, residual), "tma_im2col_128x64_pair"));
        out.back().compileOnly = true;
        out.back().units = 132;
        out.back().sharedBytes = 228 << 10;
    }
    return out;
}

} // namespace fuselage::gpu_suite
