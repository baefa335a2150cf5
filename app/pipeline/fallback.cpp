// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/fallback.h"

#include <algorithm>
#include <array>

namespace fuselage::app {

bool isFallbackTactic(std::string_view tactic) {
    // Of the whole step, and of a part of it.
    constexpr std::array<std::string_view, 2> first{"reference", "host"};
    constexpr std::array<std::string_view, 4> anywhere{"plain loops", "naive", "onednn ref",
                                                       "onednn simple_nchw"};
    return std::any_of(first.begin(), first.end(),
                       [&](std::string_view word) { return tactic.starts_with(word); }) ||
           std::any_of(anywhere.begin(), anywhere.end(), [&](std::string_view words) {
               return tactic.find(words) != std::string_view::npos;
           });
}

} // namespace fuselage::app
