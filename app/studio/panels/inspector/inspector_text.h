// SPDX-License-Identifier: Apache-2.0
// What the Inspector says of a selection, as simple HTML. No widgets: tested as text.
#pragma once

#include "app/pipeline/report.h"
#include "app/studio/session/selection_hub.h"

#include <QString>

namespace fuselage::studio {

/// The node, its match, its kernels and the near misses at it; a summary of the rule or the numbers
/// of the model when no single node is selected. Links: "place:FILE:LINE", "node:NAME",
/// "rule:NAME".
QString inspectorHtml(const app::Report& report, const Selection& selection);

} // namespace fuselage::studio
