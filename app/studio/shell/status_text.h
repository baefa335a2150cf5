// SPDX-License-Identifier: Apache-2.0
// The status line: the numbers a person came for, before -> after.
#pragma once

#include "app/pipeline/report.h"

#include <QString>

namespace fuselage::studio {

/// "launches 174 -> 56 . DRAM 284.7 MB -> 156.4 MB predicted . ..."; says so when it is stale.
QString statusText(const app::Report& report, bool stale);

} // namespace fuselage::studio
