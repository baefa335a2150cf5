// SPDX-License-Identifier: Apache-2.0
// What toml++ says of a text that it cannot read, as one of our sentences.
#pragma once

#include <string>
#include <string_view>

namespace fuselage::batch {

inline std::string tomlProblem(std::string_view description) {
    constexpr std::string_view start = "Error while parsing ";
    if (description.starts_with(start))
        description.remove_prefix(start.size());
    return "this is no TOML: " + std::string(description);
}

} // namespace fuselage::batch
