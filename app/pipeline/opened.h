// SPDX-License-Identifier: Apache-2.0
// The bodies of fused nodes as plain data, for drawings in which a person opened some.
#pragma once

#include "app/pipeline/graph_report.h"
#include "core/graph/graph.h"

#include <set>
#include <string>

namespace fuselage::app {

/// The report with what is in the bodies of those fused nodes in their place, called by path
/// ("NAME/body/Conv_3") as what is in the bodies of If is. Of a node that a rule made, the
/// `sources` of what is in it are nodes of the model. `report` is of `graph`.
GraphReport withBodies(const GraphReport& report, const Graph& graph,
                       const std::set<std::string>& fused);

} // namespace fuselage::app
