// SPDX-License-Identifier: Apache-2.0
// One condition, or two together, that separate the samples where a rule is right from those where
// it is wrong; and the rule with it.
#pragma once

#include "app/pipeline/prove/sample.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace fuselage::app {

/// Of a fact by its name: this text, or a number beyond one end. What says nothing of the name took
/// another alternative and passes.
struct Claim {
    std::string name, text;
    std::optional<double> least, above, most, below;

    bool admits(const Facts& facts) const;
};

/// What the failing samples share, and what the rule should demand so that none of them is left.
struct Guard {
    std::vector<Claim> claims; ///< all of them hold; empty: nothing separates the samples
    std::string shared;        ///< "`where min(p.value) < 0`"
    std::string suggested;     ///< "`where min(p.value) >= 0`"
    size_t agreeing = 0;       ///< passing samples that are left with it
    bool isProved = false;     ///< the rule with it, by the exact level
    std::map<std::string, AttributeValue> values; ///< of claims about attributes

    explicit operator bool() const { return !claims.empty(); }

    bool admits(const Facts& facts) const;

    /// It leaves tensors of few elements alone, in which little can go wrong, or of many
    /// dimensions, or cuts a constant at a number of the samples, or wants two shapes or two of
    /// their dimensions to differ, or takes an attribute's value that is not its default: that
    /// these agree says nothing.
    bool isDoubtful() const;
};

/// The one that leaves most passing samples; two claims only where one does not do. `refused`:
/// suggestions that did not hold.
Guard separatingGuard(const std::vector<Facts>& passing, const std::vector<Facts>& failing,
                      const std::set<std::string>& refused = {});

/// The rule as it is with the guard in its text; none where the language has no words for it.
std::optional<Rule> guarded(const Rule& rule, const Guard& guard);

} // namespace fuselage::app
