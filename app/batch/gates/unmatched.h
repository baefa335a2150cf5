// SPDX-License-Identifier: Apache-2.0
// Names in gates that nothing of a run has: a slip, or a model or rule that was renamed. Such a
// gate could never fail, so every command that judges gates says so in rows of their own.
#pragma once

#include "app/batch/gates/gate.h"
#include "app/report/run_report.h"

#include <string>
#include <vector>

namespace fuselage::batch {

/// What gates may name.
struct Names {
    std::vector<std::string> models;
    std::vector<std::string> rules;
    bool modelsAreAll = true; ///< otherwise a shard is missing, and no model is a slip
    bool rulesAreAll = true;  ///< otherwise those of the library, and those that fired
};

/// Of a rule that `matches.RULE` or `near_misses.RULE` counts; empty: the metric is of no rule.
std::string ruleOf(const std::string& metric);

/// A row with the verdict Warn for each name that `names` has not, with what may have been meant:
/// of a model in `model`; of a rule with an empty one, since it is of all models.
std::vector<app::GateRow> unmatched(const std::vector<Gate>& gates, const Names& names);

/// Appends them to the run. Where `fail` they fail it, by reasons "unknown:GATE".
void addUnmatched(std::vector<app::GateRow> rows, bool fail, app::RunReport& run);

} // namespace fuselage::batch
