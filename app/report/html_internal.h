// SPDX-License-Identifier: Apache-2.0
// Parts of the report page, each in a file of its own.
#pragma once

#include "app/pipeline/report.h"
#include "app/report/scene/scene.h"

#include <string>

namespace fuselage::app {

/// Compact JSON for the script: strings once, places as whole numbers.
std::string pageData(const Report& report, const scene::Scene& collapsed, const scene::Scene& open);

/// Tables: counts by rule, before and after, fused nodes, kernels, near misses and refusals.
std::string rulesTable(const Report& report, const scene::Scene& scene);
std::string sidesTable(const Report& report);
std::string bodiesTable(const Report& report); ///< empty without If, Loop and Scan
std::string matchesTable(const Report& report, const scene::Scene& scene);
std::string kernelsTable(const Report& report);
std::string missesTable(const Report& report);
std::string splitsTable(const Report& report);
std::string sweepsTable(const Report& report);

/// What is stored in few bits, what that opens and blocks, and what nodes lose by it; empty where
/// nothing is.
std::string quantisedSection(const Report& report);

/// "launches 174 → 56, ... ; numerics agree", with classes good and bad.
std::string verdictLine(const Report& report);

} // namespace fuselage::app
