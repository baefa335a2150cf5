// SPDX-License-Identifier: Apache-2.0
// The status line: the numbers a person came for, before -> after.
#pragma once

#include "app/pipeline/report.h"
#include "app/studio/graph_view/colours.h"

#include <QString>

namespace fuselage::studio {

/// "launches 174 -> 56 . DRAM 284.7 MB -> 156.4 MB predicted . ...", as rich text: what is a gain
/// or a loss says so in colour and in words. Says when it is stale, or when what was measured was
/// something else.
QString statusText(const app::Report& report, bool stale, bool measurementStale,
                   const Colours& colours);

} // namespace fuselage::studio
