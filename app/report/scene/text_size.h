// SPDX-License-Identifier: Apache-2.0
// Sizes of texts without a font: estimates for a wide sans-serif, so that every painter has room.
#pragma once

#include <string>
#include <string_view>

namespace fuselage::scene {

constexpr double titleSize = 13; ///< of letters, in pixels
constexpr double lineSize = 11;
constexpr double titleHeight = 17; ///< of a row
constexpr double lineHeight = 14;

constexpr double badgeHeight = 15;

/// Of a badge with its text.
double badgeWidth(std::string_view text);

/// Width in pixels at this size of letters.
double textWidth(std::string_view text, double size);

/// At most `characters` of the text, the middle left out: "encoder…LayerNorm".
std::string elided(std::string_view text, size_t characters);

/// "float[1,64,56,56]" -> "1×64×56×56", "int64[2]" -> "int64 2": what a box has room for.
std::string shortType(std::string_view type);

} // namespace fuselage::scene
