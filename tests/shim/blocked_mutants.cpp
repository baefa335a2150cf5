// SPDX-License-Identifier: Apache-2.0
#include "tests/shim/mutants.h"

namespace fuselage::gpu_suite {

const std::vector<Mutant>& blockedMutants() {
    constexpr const char* race = "a race in shared memory";
    constexpr const char* differs = ", wanted ";
    constexpr const char* bits = "few_bits_rows_with_zeros"; // three steps of k
    constexpr const char* ofBits = "blocked_16x64";
    static const std::vector<Mutant> mutants = {
        {"no_barrier_in_a_tile", "        __syncthreads();\n", "", race, bits, ofBits},
        {"not_fetched_first", "later = next + 1; later < tiles", "later = next + 1; later < 0",
         differs, bits, ofBits},
        {"not_fetched_ahead", "later = tile + 4; later < tiles", "later = tile + 4; later < 0",
         differs, "few_bits_large_tiles", "blocked_64x128"},
        {"zero_of_the_neighbour", "k / 16u % 2u * 4u", "k / 16u % 2u * 0u", differs, bits, ofBits},
        {"scale_of_another_block", "n * 9u + k / 16u]", "n * 9u + k / 32u]", differs, bits, ofBits},
        {"elements_exchanged", "bRun * 2 + c", "bRun * 2 + (c ^ 1)", differs, bits, ofBits},
    };
    return mutants;
}

} // namespace fuselage::gpu_suite
