// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/tma_landed.h"

#include "core/support/text.h"

#include <fmt/format.h>

namespace fuselage::gpu {

std::string TmaLandedText::barriers() const {
    if (!m_plan.landed)
        return {};
    return fmt::format("        for (int i = 0; i < {}; ++i)\n"
                       "            initBarrier(turn + 2 + i, 1);\n",
                       8 * m_plan.landed->places);
}

std::string TmaLandedText::places() const {
    if (!m_plan.landed)
        return {};
    const TmaLanded& landed = *m_plan.landed;
    return fmt::format("        Barrier* const landed = turn + 2 + (warp - 4) * {0};\n"
                       "        unsigned char* const landedBoxes = sharedMemory + {1} + (warp - 4) "
                       "* {2};\n        unsigned parityLanded = 0;\n",
                       landed.places, m_plan.landedAt(), landed.places * landed.boxBytes());
}

/// A lane asks for the tile's box of the number `box`.
std::string TmaLandedText::ask(const std::string& indent, const std::string& box) const {
    const TmaLanded& landed = *m_plan.landed;
    const TmaTile& tile = m_plan.tile;
    const std::vector<std::string>& at = landed.operand.coordinates;
    return fmt::format(
        "{0}const int box = {1};\n"
        "{0}const unsigned row = tileM * {2}u + box % {3} * 64 + warp % 4 * {4};\n"
        "{0}const unsigned column = tileN * {5}u + box / {3} * {6};\n"
        "{0}const int landedAt[] = {{{7}}};\n"
        "{0}arriveExpecting(landed + box % {8}, {9});\n"
        "{0}copyBox(landedBoxes + box % {8} * {9}, map2, landed + box % {8}, landedAt);\n",
        indent, box, tile.m, tile.pieces(), tmaEndRows, tile.n, tmaEndColumns,
        joined(at, [](const std::string& text) { return text; }), landed.places, landed.boxBytes());
}

std::string TmaLandedText::first() const {
    if (!m_plan.landed)
        return {};
    return m_plan.landed->operand.setup +
           fmt::format("            fenceForProducts();\n"
                       "            __syncwarp();\n            if (lane == 0)\n#pragma unroll\n"
                       "                for (int place = 0; place < {}; ++place) {{\n{}"
                       "                }}\n",
                       m_plan.landed->places, ask("                    ", "place"));
}

std::string TmaLandedText::number() const {
    return m_plan.landed ? fmt::format("                    const int number = j * {} + i;\n"
                                       "                    fenceForProducts();\n",
                                       m_plan.tile.pieces())
                         : "";
}

std::string TmaLandedText::next() const {
    const int places = m_plan.landed ? m_plan.landed->places : 0, boxes = m_plan.boxesOfWarp();
    if (places == 0 || boxes <= places)
        return {};
    return fmt::format("                    if (number > 0 && number <= {} && lane == 0) {{\n"
                       "{}                    }}\n",
                       boxes - places,
                       ask("                        ", fmt::format("number + {}", places - 1)));
}

std::string TmaLandedText::wait() const {
    if (!m_plan.landed)
        return {};
    return fmt::format("                    waitBarrier(landed + number % {0}, parityLanded ^ "
                       "(number / {0} & 1));\n",
                       m_plan.landed->places);
}

std::string TmaLandedText::ofLane() const {
    if (!m_plan.landed)
        return {};
    const TmaLanded& landed = *m_plan.landed;
    return fmt::format("reinterpret_cast<const unsigned*>(landedBoxes + number % {} * {} + (row * "
                       "{} + column) * {})",
                       landed.places, landed.boxBytes(), tmaEndColumns, landed.elementBytes);
}

std::string TmaLandedText::turn() const {
    return m_plan.landed && m_plan.boxesOfWarp() / m_plan.landed->places % 2 != 0
               ? "            parityLanded ^= 1;\n"
               : "";
}

} // namespace fuselage::gpu
