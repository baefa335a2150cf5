// SPDX-License-Identifier: Apache-2.0
// The halves of a report as JSON values, for every file that holds them. Stays in this room.
#pragma once

#include "app/report/run_report.h"
#include "core/support/result.h"

#include <nlohmann/json.hpp>

#include <string>

namespace fuselage::app {

constexpr const char* reportSchema = "fuselage.report/1";
constexpr const char* resultsSchema = "fuselage.results/1";
constexpr const char* timingsSchema = "fuselage.timings/1";

/// What the model, the rules and the profile determine: equal in every run, fit for comparing.
nlohmann::json resultsJson(const Report& report);

/// What depends on the machine and the moment.
nlohmann::json timingsJson(const Report& report);

/// All gates of a run, also those on times.
nlohmann::json gatesJson(const RunReport& run);

/// Indented, keys sorted, broken UTF-8 replaced, ends with a line break.
std::string fileText(const nlohmann::json& document);

/// A Report from its parts; `timings` and `graphs` may be null. Error "report.field" has the path.
Result<Report> readReportParts(const nlohmann::json& results, const nlohmann::json* timings,
                               const nlohmann::json* graphs);

} // namespace fuselage::app
