// SPDX-License-Identifier: Apache-2.0
// The folder of a run: written whole file by whole file, read back, joined from shards.
#pragma once

#include "app/report/run_report.h"
#include "core/support/result.h"

#include <string>
#include <vector>

namespace fuselage::batch {

/// results.json, timings.json, report.html and the other formats. One writer at a time: others
/// wait. Error "save.write".
Result<void> writeOutputs(const app::RunReport& run, const std::string& folder);

/// A folder that writeOutputs wrote, a results.json, or a report of one model. Error codes
/// "file.read" and "report.*".
Result<app::RunReport> readOutputs(const std::string& path);

/// Runs over different models as one, without gates. Shards that are missing are reasons
/// "partial:shard I/N". Error "usage.merge" when they do not belong together.
Result<app::RunReport> mergeRuns(std::vector<app::RunReport> runs);

} // namespace fuselage::batch
