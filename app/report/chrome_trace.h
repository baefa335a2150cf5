// SPDX-License-Identifier: Apache-2.0
// Kernels on a time line, in the event format that chrome://tracing and Perfetto open. One process
// a model, one thread a side; times are medians laid end to end, or predictions and said to be.
#pragma once

#include "app/report/run_report.h"

#include <string>

namespace fuselage::app {

std::string renderChromeTrace(const RunReport& run);

} // namespace fuselage::app
