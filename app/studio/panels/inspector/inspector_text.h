// SPDX-License-Identifier: Apache-2.0
// What the Inspector says of a selection, as simple HTML. No widgets: tested as text.
#pragma once

#include "app/pipeline/report.h"
#include "app/studio/session/selection_hub.h"

#include <QString>
#include <functional>

namespace fuselage::studio {

/// Asked for the text of a kernel by its place in the report; null: texts are not shown.
using KernelTextOf = std::function<std::string(size_t kernel)>;

/// Whether one of the nodes stores a value in few bits, or reads one that is stored so.
bool touchesPairs(const app::GraphReport& graph, const QStringList& nodes);

/// The node, its match, its kernels and the near misses at it; a summary of the rule or the numbers
/// of the model when no single node is selected. Of `pairs` those that concern the nodes. Links:
/// "place:FILE:LINE", "node:NAME", "rule:NAME", "text:on", "text:off", "text:window:KERNEL".
QString inspectorHtml(const app::Report& report, const Selection& selection,
                      const KernelTextOf& textOf = {},
                      const std::vector<app::PairReport>& pairs = {});

} // namespace fuselage::studio
