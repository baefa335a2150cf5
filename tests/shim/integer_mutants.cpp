// SPDX-License-Identifier: Apache-2.0
#include "tests/shim/mutants.h"

namespace fuselage::gpu_suite {

namespace {

constexpr const char* race = "a race in shared memory";
constexpr const char* differs = ", wanted ";
constexpr const char *boxes = "integer_tma_both_zeros", *ofBoxes = "tma_128x128";
constexpr const char *parts = "integer_wgmma_split", *ofParts = "wgmma_128x64_split";
constexpr const char *picture = "integer_wgmma_conv_requantised", *ofPicture = "wgmma_128x64";

} // namespace

const std::vector<Mutant>& integerMutants() {
    static const std::vector<Mutant> mutants = {
        {"rows_signed", "<128, unsigned char, signed char>", "<128, signed char, signed char>",
         differs, boxes, ofBoxes},
        {"columns_unsigned", "<128, unsigned char, signed char>",
         "<128, unsigned char, unsigned char>", differs, boxes, ofBoxes},
        {"sums_of_rows_signed", "<8, unsigned char, unsigned char>",
         "<8, signed char, unsigned char>", differs, boxes, ofBoxes},
        {"stages_of_half_words", "k * 128", "k * 64", differs, boxes, ofBoxes},
        {"steps_of_16_bytes", "rowsB + step * 2", "rowsB + step", differs, boxes, ofBoxes},
        {"not_opened", "                openProducts();\n", "", "without wgmma.fence", boxes,
         ofBoxes},
        {"ones_without_a_fence", "    fenceForProducts();\n", "", "without a fence.proxy.async",
         boxes, ofBoxes},
        {"ones_are_twos", "0x01010101u", "0x02020202u", differs, boxes, ofBoxes},
        {"stage_under_products", "waitProducts<1>();", "waitProducts<2>();", race, boxes, ofBoxes},
        {"sums_under_products", "            waitProducts<0>();\n", "", differs, boxes, ofBoxes},
        {"columns_as_they_are", "x[v] = subtractWrapped(x[v], shift[v]);", "", differs, boxes,
         ofBoxes},
        {"rows_as_they_are", "subtractWrapped(sum[2], rowHigh)", "sum[2]", differs, boxes, ofBoxes},
        {"rows_of_the_half_above", "rowSums[i][0][2]", "rowSums[i][0][0]", differs, boxes, ofBoxes},
        {"a_term_too_few", "multiplyWrapped(bZero, 272)", "multiplyWrapped(bZero, 271)", differs,
         boxes, ofBoxes},
        {"every_part_shifts", "if (split == 0)\n", "", differs, parts, ofParts},
        {"sums_of_stored_rows", "multiplyWrapped(bZero, rowSums[0][s / 2 * 2])", "0", differs,
         parts, ofParts},
        {"no_fence", "        fenceForProducts();\n", "", "without a fence.proxy.async", picture,
         ofPicture},
        {"padding_is_zero", "fillShared16(at, aZero)", "fillShared16(at, 0)", differs, picture,
         ofPicture},
    };
    return mutants;
}

} // namespace fuselage::gpu_suite
