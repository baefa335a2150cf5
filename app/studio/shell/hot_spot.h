// SPDX-License-Identifier: Apache-2.0
// Nodes that no rule took, by the time that they take: where the next rule would gain most.
#pragma once

#include "app/pipeline/report.h"
#include "app/studio/workbench/workbench.h"

namespace fuselage::studio {

struct HotSpot {
    QString node; ///< of the graph after, where no rule took it
    double seconds = 0;
    bool measured = false; ///< else predicted
    double share = 0;      ///< of all that is spent in such nodes
};

/// Hottest first.
std::vector<HotSpot> hotSpotsOf(const app::Report& report);

/// The command that goes from one to the next; `say` tells where one is.
void addHotSpotCommand(Workbench& workbench, std::function<void(const QString& words)> say);

} // namespace fuselage::studio
