// SPDX-License-Identifier: Apache-2.0
#include "tests/shim/mutants.h"

namespace fuselage::gpu_suite {

namespace {

constexpr const char* race = "a race in shared memory";
constexpr const char* differs = ", wanted ";
constexpr const char* plain = "pixels_plain"; ///< one slice of channels
constexpr const char* strided = "pixels_strided_residual";
constexpr const char* dilated = "pixels_dilated_results_first";
constexpr const char* columns = "pixels_pair_columns";
constexpr const char* variant = "tma_im2col_128x64";
constexpr const char* paired = "tma_im2col_128x64_pair";

} // namespace

const std::vector<Mutant>& pixelMutants() {
    static const std::vector<Mutant> mutants = {
        {"no_offset_along", "short>(aTap1)", "short>(0)", differs, plain, variant},
        {"no_offset_down", "short>(aTap0)", "short>(0)", differs, plain, variant},
        {"offsets_exchanged", "short>(aTap1), static_cast<unsigned short>(aTap0)",
         "short>(aTap0), static_cast<unsigned short>(aTap1)", differs, plain, variant},
        {"an_offset_too_far", "short>(aTap1)", "short>(aTap1 + 256u)", "no bits for", plain,
         variant},
        {"taps_side_by_side", "aTap0 * 2u", "aTap0", differs, dilated, variant},
        {"weights_of_one_tap", "static_cast<int>(bTap0)", "0", differs, plain, variant},
        {"channels_of_one_slice", "slice * 64", "0", differs, strided, variant},
        {"weights_of_other_channels", "bAt[] = {slice * 64", "bAt[] = {64 - slice * 64", differs,
         strided, variant},
        {"steps_of_one", "aAt2 * 2u", "aAt2", differs, strided, variant},
        {"a_row_lower", "static_cast<int>(aAt1) - 1", "static_cast<int>(aAt1) - 0", differs, plain,
         variant},
        {"from_the_first_column", "static_cast<int>(aAt2) - 1", "0 - 1", differs, plain, variant},
        {"a_column_before_the_border", "static_cast<int>(aAt2) - 1", "static_cast<int>(aAt2) - 2",
         "outside of their box", plain, variant},
        {"of_the_first_image", "static_cast<int>(aAt0)", "0", differs, plain, variant},
        {"from_the_first_pixel", "aPixel = tileM * 128u", "aPixel = tileM * 0u", differs, plain,
         variant},
        {"by_the_weights_map", "copyPixels(to, map0", "copyPixels(to, map1",
         "a copy of pixels by a map of boxes", plain, variant},
        {"a_pixel_too_few", "arriveExpecting(full + stage, 24576)",
         "arriveExpecting(full + stage, 24448)", "-128 bytes are missing", plain, variant},
        {"a_pixel_too_many", "arriveExpecting(full + stage, 24576)",
         "arriveExpecting(full + stage, 24704)", "128 bytes are missing", plain, variant},
        {"read_before_it_is_full", "                waitBarrier(full + stage, parity);\n", "", race,
         plain, variant},
        {"filled_before_it_is_empty", "                    waitBarrier(empty + stage, parity);\n",
         "", race, strided, variant},
        {"half_a_column_twice", "tileM * 128u + inCluster * 64u", "tileM * 128u + 0u", differs,
         columns, paired},
        {"columns_for_nobody_else", "copyPixels<4, 3u>", "copyPixels<4, 0u>",
         "0 arrivals and 8192 bytes are missing", columns, paired},
    };
    return mutants;
}

} // namespace fuselage::gpu_suite
