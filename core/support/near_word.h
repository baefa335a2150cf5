// SPDX-License-Identifier: Apache-2.0
// "did you mean": the known word that is closest to a misspelt one, in rules, gates and options.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fuselage {

namespace near_word {

inline char withoutCase(char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

/// Edits between two words, swapped neighbours counting once; a change of case costs nothing.
inline size_t editsBetween(std::string_view a, std::string_view b) {
    std::vector<size_t> before(b.size() + 1);
    std::vector<size_t> last(b.size() + 1);
    std::vector<size_t> row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j)
        row[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
        before = std::move(last);
        last = row;
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            size_t changed = last[j - 1] + (withoutCase(a[i - 1]) == withoutCase(b[j - 1]) ? 0 : 1);
            row[j] = std::min({changed, last[j] + 1, row[j - 1] + 1});
            bool isSwap = i > 1 && j > 1 && withoutCase(a[i - 1]) == withoutCase(b[j - 2]) &&
                          withoutCase(a[i - 2]) == withoutCase(b[j - 1]);
            if (isSwap)
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
    }
    return row[b.size()];
}

} // namespace near_word

/// The candidate with the smallest edit distance, or empty when none is close. A change of case
/// costs nothing.
inline std::string closest(std::string_view word, const std::vector<std::string>& candidates) {
    // In a word of one letter every other letter is near: only its case may differ.
    size_t best = std::min(std::max<size_t>(1, word.size() / 3) + 1, word.size());
    const std::string* found = nullptr;
    for (const std::string& candidate : candidates) {
        size_t gap = candidate.size() > word.size() ? candidate.size() - word.size()
                                                    : word.size() - candidate.size();
        if (gap >= best)
            continue;
        size_t edits = near_word::editsBetween(word, candidate);
        if (edits < best) {
            best = edits;
            found = &candidate;
        }
    }
    return found ? *found : std::string();
}

/// "did you mean `near`?", or `otherwise` where nothing is near.
inline std::string didYouMean(const std::string& near, std::string otherwise) {
    return near.empty() ? std::move(otherwise) : "did you mean `" + near + "`?";
}

} // namespace fuselage
