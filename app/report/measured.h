// SPDX-License-Identifier: Apache-2.0
// The measured part of a JSON report -> a Report that was only analysed: what a front end needs
// that measures in another process.
#pragma once

#include "app/pipeline/report.h"
#include "core/support/result.h"

#include <string>
#include <string_view>

namespace fuselage::app {

/// Puts measured times, shares and agreement into the report of the same model and rules. Kernels
/// and matches are found by name, so that a backend which plans differently leaves predictions
/// where it has no such kernel. Errors: "measure.json" (no such file), "measure.none" (it holds no
/// times).
Result<void> addMeasurements(Report& report, std::string_view json);

/// Puts the errors of single nodes into the report of the same model. Errors: "measure.json";
/// "errors.none" where the file holds none.
Result<void> addNodeErrors(Report& report, std::string_view json);

/// "other processes used 0.9 of 2 cores meanwhile: ..." beside measured times; empty where the
/// machine was idle or nobody knows.
std::string busyText(const MachineReport& machine);

} // namespace fuselage::app
