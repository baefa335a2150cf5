// SPDX-License-Identifier: Apache-2.0
// Small helpers for the words of messages.
#pragma once

#include <functional>
#include <string>

namespace fuselage {

/// "a, b, c": the items of a range, or what `print` makes of each, with commas between.
template <typename Range, typename Print = std::identity>
std::string joined(const Range& items, Print print = {}) {
    std::string out;
    bool first = true;
    for (const auto& item : items) {
        if (!first)
            out += ", ";
        first = false;
        out += print(item);
    }
    return out;
}

} // namespace fuselage
