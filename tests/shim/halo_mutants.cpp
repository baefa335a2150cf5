// SPDX-License-Identifier: Apache-2.0
#include "tests/shim/mutants.h"

namespace fuselage::gpu_suite {

namespace {

constexpr const char* race = "a race in shared memory";
constexpr const char* differs = ", wanted ";
constexpr const char* variant = "conv_halo";
constexpr const char* passes = "halo_weights_pass";
constexpr const char* stays = "halo_weights_stay";

} // namespace

const std::vector<Mutant>& haloMutants() {
    static const std::vector<Mutant> mutants = {
        {"no_barrier", "                __syncthreads();\n", "", race, passes, variant},
        {"no_wait_for_copies", "                waitCopies<1>();\n", "", race, passes, variant},
        {"a_copy_too_late", "                waitCopies<1>();\n",
         "                waitCopies<2>();\n", race, passes, variant},
        {"no_fence", "                fenceForProducts();\n", "", "without a fence.proxy.async",
         passes, variant},
        {"not_opened", "                    openProducts();\n", "", "without wgmma.fence", passes,
         variant},
        {"stage_under_products", "                waitProducts<1>();\n                waitCopies",
         "                waitCopies", race, passes, variant},
        {"fragments_under_products", "                    waitProducts<1>();\n", "",
         "registers of a product that changed", stays, variant},
        {"sums_under_products", "        }\n        waitProducts<0>();\n",
         "        }\n        waitProducts<1>();\n", differs, stays, variant},
        {"slices_not_ended", "            waitProducts<0>();\n", "",
         "registers of a product that changed", passes, variant},
        {"no_swizzle", "tileByte<8>(line, unit)", "(line * 8 + unit) * 16", differs, passes,
         variant},
        {"one_picture", "pictures + (picture ^ 1) *", "pictures + picture *", race, passes,
         variant},
        {"a_line_too_few", "(last - first + 3u)", "(last - first + 2u)", differs, passes, variant},
        {"a_line_too_high", "const int y = at % 14 - 1;", "const int y = at % 14 - 2;", differs,
         passes, variant},
        {"a_column_aside", "+ column - 1, c =", "+ column - 0, c =", differs, passes, variant},
        {"beside_the_picture", "inside = within && static_cast<unsigned>(x) < 8u",
         "inside = within && static_cast<unsigned>(x + 8) < 24u", differs, passes, variant},
        {"above_the_picture", "within = static_cast<unsigned>(y) < 12u",
         "within = static_cast<unsigned>(y + 1) < 13u", differs, passes, variant},
        {"halves_exchanged", "own / 16 * 16", "(own / 16 ^ 1) * 16", differs, passes, variant},
        {"taps_in_one_row", "a[r + tap]", "a[r]", differs, passes, variant},
        {"columns_in_one", "step / 1 * 48", "step / 1 * 0", differs, passes, variant},
        {"stages_not_in_turn", "next = next + 1 == 4 ? 0 : next + 1;",
         "next = next + 1 == 3 ? 0 : next + 1;", race, passes, variant},
        {"results_of_others", "const int c = ", "const int c = 8 + ", differs, passes, variant},
    };
    return mutants;
}

} // namespace fuselage::gpu_suite
