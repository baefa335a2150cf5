// SPDX-License-Identifier: Apache-2.0
// What the samples of a rule have met, and what they have not: alternatives, optional steps,
// operators of a class; element types, ranks, dimensions of 0, values of attributes.
#pragma once

#include "app/pipeline/prove/sample.h"
#include "core/rewrite/pattern.h"

#include <set>
#include <string>
#include <vector>

namespace fuselage::app {

struct Met {
    /// Answers to structural decisions, by the number of the term and the answer.
    std::set<std::pair<uint64_t, uint32_t>> answers;
    std::set<DType> types; ///< of inputs, like the ranks
    std::set<size_t> ranks;
    bool hasEmpty = false;                                   ///< an input without elements
    bool hasResults = false;                                 ///< a result with an element
    std::map<std::string, std::set<std::string>> attributes; ///< "Pad[mode]": "edge"
};

void note(Met& met, const std::vector<PairCoverage::Taken>& taken, const Sample& sample);

/// In the words of the rule: "`Clip` of an alternative", "without `b`", "inputs of rank 6".
std::vector<std::string> unsampled(const Rule& rule, const Met& met);

} // namespace fuselage::app
