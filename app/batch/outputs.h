// SPDX-License-Identifier: Apache-2.0
// The folder of a run: written whole file by whole file, read back, joined from shards.
#pragma once

#include "app/report/run_report.h"
#include "core/support/result.h"

#include <string>
#include <vector>

namespace fuselage::batch {

/// Endings of the reports of one model.
constexpr const char* reportEndings[] = {".html", ".svg", ".json"};

/// Names of the files in the folder that a run wrote of one model.
std::vector<std::string> modelFilesOf(const std::string& id, const std::string& folder);

/// Makes FOLDER/models and marks it as one of runs. Errors "save.write"; "usage.output": it is
/// there with files, and no run made it.
Result<void> claimModels(const std::string& folder);

/// Removes what runs wrote there: reports, and the files of their models.
void clearOutputs(const std::string& folder);

/// A run made the folder.
bool isOutputs(const std::string& folder);

/// results.json, timings.json, report.html and the other formats. One writer at a time: others
/// wait. Error "save.write".
Result<void> writeOutputs(const app::RunReport& run, const std::string& folder);

/// The files that readOutputs reads of this path, the results first; they need not be there.
std::vector<std::string> filesOfOutputs(const std::string& path);

/// A folder that writeOutputs wrote, a results.json, or a report of one model. Error codes
/// "file.read" and "report.*".
Result<app::RunReport> readOutputs(const std::string& path);

/// Runs over different models as one, without gates. Shards that are missing are reasons
/// "partial:shard I/N". Error "usage.merge" when they do not belong together.
Result<app::RunReport> mergeRuns(std::vector<app::RunReport> runs);

/// Copies the files of the run's models from one folder of a run, or that of its results.json, to
/// another. Error "save.write".
Result<void> copyModels(const app::RunReport& run, const std::string& from, const std::string& to);

} // namespace fuselage::batch
