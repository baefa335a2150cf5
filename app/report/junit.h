// SPDX-License-Identifier: Apache-2.0
// A run as JUnit XML: a suite a model; cases for running it, each output's agreement, each gate. A
// gate on a model that is gone has a suite of that name; one that is of no model is in `gates`.
#pragma once

#include "app/report/run_report.h"

#include <string>

namespace fuselage::app {

std::string renderJUnit(const RunReport& run);

} // namespace fuselage::app
