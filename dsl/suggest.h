// SPDX-License-Identifier: Apache-2.0
// "did you mean": the known word that is closest to a misspelt one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fuselage::dsl {

/// A to Z as a to z.
std::string lowered(std::string_view word);

/// The candidate with the smallest edit distance, or empty when none is close.
std::string closest(std::string_view word, const std::vector<std::string>& candidates);

/// "did you mean `near`?", or `otherwise` where nothing is near.
std::string didYouMean(const std::string& near, std::string otherwise);

/// "a, b, c", at most `limit` of them, then "...".
std::string listed(const std::vector<std::string>& words, size_t limit = 24);

} // namespace fuselage::dsl
