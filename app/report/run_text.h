// SPDX-License-Identifier: Apache-2.0
// What gates said of a run as lines for a terminal, a log or a text file: the verdict first, then
// what failed, what could not be judged and what did not run.
#pragma once

#include "app/report/run_report.h"

#include <string>
#include <vector>

namespace fuselage::app {

/// "FAILED: 2 of 2 models ran, 1 gate, 1 fail", and a line below it for each row that is no pass
/// and each model that did not run.
std::string renderVerdict(const RunReport& run);

/// "launches was 2, is 3, limit +0 (increased)": a row without its gate and model.
std::string gateText(const GateRow& gate);

/// Rows of no model of the run, in their order: of a model that is gone, of a name that none has.
std::vector<const GateRow*> rowsOfNoModel(const RunReport& run);

} // namespace fuselage::app
