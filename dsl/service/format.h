// SPDX-License-Identifier: Apache-2.0
// The formatter: spaces, indentation and empty lines become uniform; words, comments and the places
// where a person broke lines stay. Works on tokens, so the tree cannot change.
#pragma once

#include <string>
#include <string_view>

namespace fuselage::dsl {

/// Canonical layout of a text; formatting it again changes nothing. Lines end as the first one does
/// (`\n` or `\r\n`), and strings stay byte for byte. A text with an unclosed string or a stray
/// character comes back as it is.
std::string formatText(std::string_view text);

} // namespace fuselage::dsl
