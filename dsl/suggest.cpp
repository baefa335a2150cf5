// SPDX-License-Identifier: Apache-2.0
#include "dsl/suggest.h"

#include <algorithm>
#include <cctype>

namespace fuselage::dsl {

namespace {

char lowered(char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

/// Edits between two words; a change of case alone costs nothing.
size_t distance(std::string_view a, std::string_view b) {
    std::vector<size_t> row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j)
        row[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            size_t changed = diagonal + (lowered(a[i - 1]) == lowered(b[j - 1]) ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row[b.size()];
}

} // namespace

std::string closest(std::string_view word, const std::vector<std::string>& candidates) {
    size_t best = std::max<size_t>(1, word.size() / 3) + 1;
    const std::string* found = nullptr;
    for (const std::string& candidate : candidates) {
        size_t gap = candidate.size() > word.size() ? candidate.size() - word.size()
                                                    : word.size() - candidate.size();
        if (gap >= best)
            continue;
        size_t edits = distance(word, candidate);
        if (edits < best) {
            best = edits;
            found = &candidate;
        }
    }
    return found ? *found : std::string();
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
