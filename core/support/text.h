// SPDX-License-Identifier: Apache-2.0
// Small helpers for the words of messages and the texts of keys.
#pragma once

#include <functional>
#include <string>
#include <string_view>

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

/// With its length before it, so that in a key no text can look like what stands around it.
inline void appendSized(std::string& key, std::string_view text) {
    key += std::to_string(text.size());
    key += ':';
    key += text;
}

} // namespace fuselage
