// SPDX-License-Identifier: Apache-2.0
// Texts from models and rules inside of SVG, HTML and terminals: names are hostile input.
#pragma once

#include <string>
#include <string_view>

namespace fuselage::app {

/// For element content and quoted attributes of XML, SVG and HTML: & < > " ' are written as
/// entities, and so are a new line and a tab; other control characters and broken UTF-8 as U+FFFD.
std::string escaped(std::string_view text);

/// A JSON text that may stand inside of a script element: no `<`, `>`, `&`, U+2028 and U+2029 are
/// left.
std::string escapedForScript(std::string_view json);

/// For a terminal or a log: control characters but those in `kept` are written as escapes, `\n`,
/// `\x1b`, so that a name is no line of its own and gives no commands.
std::string visible(std::string_view text, std::string_view kept = "");

} // namespace fuselage::app
