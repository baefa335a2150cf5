// SPDX-License-Identifier: Apache-2.0
#include "tests/shim/mutants.h"

namespace fuselage::gpu_suite {

namespace {

constexpr const char* race = "a race in shared memory";
constexpr const char* differs = ", wanted ";
constexpr const char* missing = "bytes are missing";
constexpr const char* residual = "contraction_tma_landed";
constexpr const char* sixBoxes = "tma_192x128"; ///< of a warp, in two places
constexpr const char* onePlace = "tma_64x128";

} // namespace

const std::vector<Mutant>& landedMutants() {
    static const std::vector<Mutant> mutants = {
        {"read_before_it_is_there",
         "waitBarrier(landed + number % 2, parityLanded ^ (number / 2 & 1));", "", race, residual,
         sixBoxes},
        {"next_before_it_is_read",
         "                    __syncwarp();\n                    if (number",
         "                    if (number", race, residual, sixBoxes},
        {"first_before_the_last_is_read", "            __syncwarp();\n            if (lane == 0)\n",
         "            if (lane == 0)\n", race, residual, sixBoxes},
        {"the_last_tiles_parity", "            parityLanded ^= 1;\n", "",
         "arrivals and 0 bytes are missing", residual, sixBoxes},
        {"one_parity_for_all", "parityLanded ^ (number / 2 & 1)", "parityLanded", race, residual,
         sixBoxes},
        {"box_too_few", "number <= 4 && lane", "number <= 3 && lane", missing, residual, sixBoxes},
        {"fewer_bytes_than_land", "arriveExpecting(landed + box % 2, 2048)",
         "arriveExpecting(landed + box % 2, 1024)", missing, residual, sixBoxes},
        {"more_bytes_than_land", "arriveExpecting(landed + box % 2, 2048)",
         "arriveExpecting(landed + box % 2, 4096)", missing, residual, sixBoxes},
        {"places_of_the_first_warp", " + (warp - 4) * 4096;", ";", race, residual, sixBoxes},
        {"barriers_of_the_first_warp", "turn + 2 + (warp - 4) * 2;", "turn + 2;", "an arrival too",
         residual, sixBoxes},
        {"barrier_too_few", "for (int i = 0; i < 16; ++i)", "for (int i = 0; i < 15; ++i)",
         "of what is no barrier", residual, sixBoxes},
        {"another_box_in_its_place", "landedBoxes + number % 2 * 2048",
         "landedBoxes + (number + 1) % 2 * 2048", race, residual, sixBoxes},
        {"rows_of_the_first_warp", "box % 3 * 64 + warp % 4 * 16", "box % 3 * 64", differs,
         residual, sixBoxes},
        {"columns_of_the_first_box", "+ box / 3 * 64;", ";", differs, residual, sixBoxes},
        {"rows_as_if_swizzled", "(row * 64 + column) * 2)", "(row * 64 + (column ^ 8)) * 2)",
         differs, residual, sixBoxes},
        {"one_place_not_read", "                    __syncwarp();\n                    if (number",
         "                    if (number", race, residual, onePlace},
    };
    return mutants;
}

} // namespace fuselage::gpu_suite
