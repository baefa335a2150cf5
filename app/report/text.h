// SPDX-License-Identifier: Apache-2.0
// The report as it is printed on a terminal.
#pragma once

#include "app/pipeline/report.h"

#include <string>

namespace fuselage::app {

/// Machine, counts by rule, before -> after, agreement, the ten kernels that cost most.
std::string renderText(const Report& report);

/// Only the count table: what `fuse` prints.
std::string renderCounts(const Report& report);

} // namespace fuselage::app
