// SPDX-License-Identifier: Apache-2.0
#include "dsl/suggest.h"

#include <algorithm>
#include <cctype>

namespace fuselage::dsl {

namespace {

char lowerOf(char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

/// Edits between two words, swapped neighbours counting once; a change of case costs nothing.
size_t distance(std::string_view a, std::string_view b) {
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
            size_t changed = last[j - 1] + (lowerOf(a[i - 1]) == lowerOf(b[j - 1]) ? 0 : 1);
            row[j] = std::min({changed, last[j] + 1, row[j - 1] + 1});
            bool isSwap = i > 1 && j > 1 && lowerOf(a[i - 1]) == lowerOf(b[j - 2]) &&
                          lowerOf(a[i - 2]) == lowerOf(b[j - 1]);
            if (isSwap)
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
    }
    return row[b.size()];
}

} // namespace

std::string lowered(std::string_view word) {
    std::string out;
    for (const char c : word)
        out += lowerOf(c);
    return out;
}

std::string closest(std::string_view word, const std::vector<std::string>& candidates) {
    // In a word of one letter every other letter is near: only its case may differ.
    size_t best = std::min(std::max<size_t>(1, word.size() / 3) + 1, word.size());
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

std::string didYouMean(const std::string& near, std::string otherwise) {
    return near.empty() ? std::move(otherwise) : "did you mean `" + near + "`?";
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
