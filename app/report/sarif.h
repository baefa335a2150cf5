// SPDX-License-Identifier: Apache-2.0
// A run as SARIF 2.1.0 for code scanning: near misses, refusals and splits at the lines of their
// rules, failed gates and models at the model's file. Alerts keep their identity when nodes are
// renumbered.
#pragma once

#include "app/report/run_report.h"

#include <string>

namespace fuselage::app {

constexpr size_t sarifLimit = 4'000; ///< results; hosts keep 5,000

/// What is above the limit is counted by a last result.
std::string renderSarif(const RunReport& run, size_t limit = sarifLimit);

} // namespace fuselage::app
