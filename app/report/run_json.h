// SPDX-License-Identifier: Apache-2.0
// A run as two files: results.json, the same bytes on every machine with the same profile, and
// timings.json with what the machine and the moment decide. Both are read back to compare runs and
// to join shards.
#pragma once

#include "app/report/run_report.h"
#include "core/support/result.h"

#include <string>
#include <string_view>

namespace fuselage::app {

std::string renderResults(const RunReport& run);
std::string renderTimings(const RunReport& run);

/// `timings` may be empty. Also reads a single report (of `bench`) as a run of one model. Errors:
/// "report.syntax", "report.schema", "report.field".
Result<RunReport> readRun(std::string_view results, std::string_view timings);

} // namespace fuselage::app
