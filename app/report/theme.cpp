// SPDX-License-Identifier: Apache-2.0
#include "app/report/theme.h"

#include "app/report/resource.h"

#include <nlohmann/json.hpp>

#include <cassert>

namespace fuselage::app {

namespace {

Theme parsed(const char* name) {
    auto json = nlohmann::json::parse(resource(name), nullptr, false);
    assert(json.is_object() && "embedded theme");
    Theme theme;
    theme.name = json.value("name", "");
    theme.dark = json.value("dark", false);
    for (const auto& [token, color] : json["colors"].items())
        theme.colors[token] = color.get<std::string>();
    return theme;
}

} // namespace

const std::string& Theme::color(const std::string& token) const {
    static const std::string missing = "#ff00ff";
    auto found = colors.find(token);
    return found == colors.end() ? missing : found->second;
}

const Theme& lightTheme() {
    static const Theme theme = parsed("themes/light.json");
    return theme;
}

const Theme& darkTheme() {
    static const Theme theme = parsed("themes/dark.json");
    return theme;
}

} // namespace fuselage::app
