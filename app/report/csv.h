// SPDX-License-Identifier: Apache-2.0
// Tables of a run as CSV (RFC 4180): kernels, matches, gates. Numbers without units or separators;
// of gates in the last two columns, behind the texts for people.
#pragma once

#include "app/report/run_report.h"

#include <string>

namespace fuselage::app {

std::string renderKernelsCsv(const RunReport& run);
std::string renderMatchesCsv(const RunReport& run);
std::string renderGatesCsv(const RunReport& run);

} // namespace fuselage::app
