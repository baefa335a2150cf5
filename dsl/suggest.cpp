// SPDX-License-Identifier: Apache-2.0
#include "dsl/suggest.h"

#include <cctype>

namespace fuselage::dsl {

std::string lowered(std::string_view word) {
    std::string out;
    for (const char c : word)
        out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
}

std::string listed(const std::vector<std::string>& words, size_t limit) {
    std::string out;
    for (size_t i = 0; i < words.size() && i < limit; ++i) {
        if (i > 0)
            out += ", ";
        out += words[i];
    }
    if (words.size() > limit)
        out += ", ...";
    return out;
}

} // namespace fuselage::dsl
