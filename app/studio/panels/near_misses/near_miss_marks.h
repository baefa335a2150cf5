// SPDX-License-Identifier: Apache-2.0
// A near miss as signs on the graph: what matched, where it ended, with the values of both sides.
#pragma once

#include "app/pipeline/report.h"
#include "app/studio/session/mark_board.h"
#include "core/graph/graph.h"

namespace fuselage::studio {

/// On the graph before; nodes that it does not have (a rewrite made them) are left out.
QList<NodeMark> marksOf(const app::NearMissReport& miss, const app::GraphReport& before);

} // namespace fuselage::studio
