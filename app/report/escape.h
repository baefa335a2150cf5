// SPDX-License-Identifier: Apache-2.0
// Texts from models and rules inside of SVG and HTML: names are hostile input.
#pragma once

#include <string>
#include <string_view>

namespace fuselage::app {

/// For element content and quoted attributes of SVG and HTML: & < > " ' are written as entities,
/// control characters and broken UTF-8 as U+FFFD.
std::string escaped(std::string_view text);

/// A JSON text that may stand inside of a script element: no `<`, `>`, `&`, U+2028 and U+2029 are
/// left.
std::string escapedForScript(std::string_view json);

} // namespace fuselage::app
