// SPDX-License-Identifier: Apache-2.0
// The report as JSON: `results` is deterministic (counts, bytes, predictions), `timings` holds what
// depends on the machine.
#pragma once

#include "app/pipeline/report.h"

#include <string>

namespace fuselage::app {

/// Indented, keys sorted, ends with a line break.
std::string renderJson(const Report& report);

} // namespace fuselage::app
