// SPDX-License-Identifier: Apache-2.0
#include "tests/shim/mutants.h"

namespace fuselage::gpu_suite {

namespace {

constexpr const char* race = "a race in shared memory";
constexpr const char* differs = ", wanted ";
constexpr const char* columns = "contraction_tma_pair_columns"; ///< whose pairs share A
constexpr const char* rows = "contraction_tma_pair_rows";       ///< B
constexpr const char* sharesA = "tma_64x128_pair";
constexpr const char* sharesB = "tma_128x64_pair";
constexpr const char* leave =
    "            for (int i = 0; i < 8; ++i) {\n                waitForCluster";
constexpr const char* leaveSeven = // whose residual took the room of one
    "            for (int i = 0; i < 7; ++i) {\n                waitForCluster";

} // namespace

const std::vector<Mutant>& pairMutants() {
    static const std::vector<Mutant> mutants = {
        {"own_stage_twice", "arriveIn(lane, empty", "arriveIn(inCluster, empty", race, columns,
         sharesA},
        {"own_stage_alone", "if (lane < 2", "if (lane == static_cast<int>(inCluster)",
         "arrivals and 0 bytes are missing", columns, sharesA},
        {"stage_back_under_products", "                waitProducts<1>();\n", "", race, rows,
         sharesB},
        {"for_its_own_warps", "initBarrier(empty + i, 8)", "initBarrier(empty + i, 4)", race, rows,
         sharesB},
        {"too_few_bytes", "arriveExpecting(full + stage, 24576)",
         "arriveExpecting(full + stage, 20480)", race, columns, sharesA},
        {"too_many_bytes", "arriveExpecting(full + stage, 24576)",
         "arriveExpecting(full + stage, 28672)", "bytes are missing", columns, sharesA},
        {"leaves_its_neighbour", leave,
         "            for (int i = 0; i < 0; ++i) {\n                waitForCluster",
         "may end before an arrival at the barrier", columns, sharesA},
        {"leaves_one_stage_early", leaveSeven,
         "            for (int i = 0; i < 6; ++i) {\n                waitForCluster",
         "may end before an arrival at the barrier", rows, sharesB},
        {"meets_its_block_alone", "meetCluster();", "__syncthreads();", "barrier", columns,
         sharesA},
        {"acquires_its_block_alone", "                    waitForCluster",
         "                    waitBarrier",
         "a wait that does not acquire what other blocks released", columns, sharesA},
        {"nothing_for_the_neighbour", "copyBox<2, 3u>(to", "copyBox<2, 0u>(to",
         "0 arrivals and 4096 bytes are missing", columns, sharesA},
        {"for_a_third_block", "copyBox<2, 3u>(to", "copyBox<2, 7u>(to",
         "a copy to a block that the cluster does not have", rows, sharesB},
        {"halves_exchanged", "to + inCluster * 4096u", "to + (inCluster ^ 1u) * 4096u", differs,
         columns, sharesA},
        {"one_half_twice", " + inCluster * 32u)", " + 0u)", differs, rows, sharesB},
        {"one_tile_twice", "tileM = tileM * 2u + inCluster;", "tileM = tileM * 2u;", differs, rows,
         sharesB},
        {"tiles_beyond_the_results", "m >= 330u", "m >= 512u", "an access outside", rows, sharesB},
    };
    return mutants;
}

} // namespace fuselage::gpu_suite
