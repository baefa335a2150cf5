// SPDX-License-Identifier: Apache-2.0
// Colours by token. Scenes and charts hold tokens only; painters look them up here.
#pragma once

#include <map>
#include <string>

namespace fuselage::app {

struct Theme {
    std::string name;
    bool dark = false;
    std::map<std::string, std::string> colors; ///< token -> "#rrggbb"

    /// Of the token; "#ff00ff" when there is none, so that a mistake shows.
    const std::string& color(const std::string& token) const;
};

const Theme& lightTheme();
const Theme& darkTheme();

} // namespace fuselage::app
