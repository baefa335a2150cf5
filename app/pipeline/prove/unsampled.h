// SPDX-License-Identifier: Apache-2.0
// What of a rule's pattern no sample has met: alternatives, optional steps, operators of a class.
#pragma once

#include "app/pipeline/prove/choices.h"
#include "core/rewrite/pattern.h"

#include <set>
#include <string>
#include <vector>

namespace fuselage::app {

/// Answers to structural decisions, by the number of the term and the answer.
using Met = std::set<std::pair<uint64_t, uint32_t>>;

void note(Met& met, const std::vector<PairCoverage::Taken>& taken);

/// In the words of the rule: "`Clip` of an alternative", "without `b`".
std::vector<std::string> unsampled(const Rule& rule, const Met& met);

} // namespace fuselage::app
