// SPDX-License-Identifier: Apache-2.0
// Texts of the folder resources that are embedded in the program: themes, the page's script and
// style.
#pragma once

#include <string_view>

namespace fuselage::app {

/// "themes/light.json", "report/page.js"; empty when there is none.
std::string_view resource(std::string_view name);

} // namespace fuselage::app
