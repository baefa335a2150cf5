// SPDX-License-Identifier: Apache-2.0
// What messages about misspelt words are made of; which word is near is core/support's.
#pragma once

#include "core/support/near_word.h"

#include <string>
#include <string_view>
#include <vector>

namespace fuselage::dsl {

using fuselage::closest;
using fuselage::didYouMean;

/// A to Z as a to z.
std::string lowered(std::string_view word);

/// "a, b, c", at most `limit` of them, then "...".
std::string listed(const std::vector<std::string>& words, size_t limit = 24);

} // namespace fuselage::dsl
