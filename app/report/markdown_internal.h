// SPDX-License-Identifier: Apache-2.0
// Pieces of Markdown that every page is made of. Stays in this room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fuselage::app {

/// Names are hostile: nothing of Markdown, HTML, mentions or links is left in them.
std::string markdownCell(std::string_view text);

std::string markdownRow(const std::vector<std::string>& cells);

} // namespace fuselage::app
