// SPDX-License-Identifier: Apache-2.0
#include "tests/shim/mutants.h"

namespace fuselage::gpu_suite {

const std::vector<Mutant>& chainMutants() {
    constexpr const char* differs = ", wanted ";
    constexpr const char *race = "a race in shared memory", *token = "front_token",
                         *tiles = "front_tiles", *rows = "front_eight_by_columns";
    constexpr const char *alone = "chain_norm", *groups = "chain_norm_groups";
    static const std::vector<Mutant> mutants = {
        {"half_a_team", "reduceWarp<Sum, 4>", "reduceWarp<Sum, 2>", differs, alone, "chain_tensor"},
        {"two_rows_together", "reduceWarp<Sum, 4>", "reduceWarp<Sum, 8>", differs, alone,
         "chain_tensor"},
        {"the_row_above", "step % 2 * 2 + h, v", "step % 2 * 2, v", differs, alone, "chain_tensor"},
        {"eights_exchanged", "step % 2 * 2 + h, v", "(step + 1) % 2 * 2 + h, v", differs, alone,
         "chain_tensor"},
        {"columns_of_the_first_lane", "row_front(x, t,", "row_front(x, 0,", differs, alone,
         "chain_tensor"},
        {"half_of_the_rows", "for (int h = 0; h < 2; ++h) {\n                float x[12][2]",
         "for (int h = 0; h < 1; ++h) {\n                float x[12][2]", differs, alone,
         "chain_tensor"},
        {"half_of_the_columns", "step < 12; ++step) {\n        const unsigned at",
         "step < 6; ++step) {\n        const unsigned at", differs, groups, "chain_wgmma"},
        {"halves_exchanged", "packPair(x[step][0], x[step][1], type)",
         "packPair(x[step][1], x[step][0], type)", differs, groups, "chain_wgmma"},
        {"rows_not_made", "rows);\n    __syncthreads();\n", "rows);\n", race, token, "gemv_row"},
        {"sums_of_the_tile_before", "sumsOfTiles + turn * ", "sumsOfTiles + 0 * ", race, tiles,
         "gemv_row"},
        {"sums_not_met", "    }\n    __syncthreads();\n    for (int result",
         "    }\n    for (int result", race, tiles, "gemv_row"},
        {"tiles_left_out", "turn = 0; tileN < ", "turn = 0; tileN + 16 < ", differs, tiles,
         "gemv_row"},
        {"one_reduction", "sharedMemory + 128", "sharedMemory + 0", race, token, "gemv_row"},
        {"half_a_row", "reduceWarp<Sum, 32>", "reduceWarp<Sum, 16>", differs, rows, "gemv_row"},
        {"rows_exchanged", "aStart[m] = ", "aStart[(m + 1) % 8] = ", differs, rows, "gemv_row"},
    };
    return mutants;
}

} // namespace fuselage::gpu_suite
