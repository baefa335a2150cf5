// SPDX-License-Identifier: Apache-2.0
// One condition that separates the samples where a rule is right from those where it is wrong.
#pragma once

#include "app/pipeline/prove/sample.h"

#include <optional>
#include <string>
#include <vector>

namespace fuselage::app {

/// What the failing samples share, and what the rule should demand so that none of them is left.
struct Guard {
    std::string shared;    ///< "min(p.value) < 0"; empty: nothing separates them
    std::string suggested; ///< "where min(p.value) >= 0"
    size_t agreeing = 0;   ///< passing samples that are left with it

    /// What `suggested` says of facts: this text under the name, or a number between the ends.
    std::string name, text;
    std::optional<double> least, most;

    /// Whether a sample is left with it. One that says nothing about the name is.
    bool admits(const Facts& facts) const;
};

Guard separatingGuard(const std::vector<Facts>& passing, const std::vector<Facts>& failing);

} // namespace fuselage::app
