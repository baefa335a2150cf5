// SPDX-License-Identifier: Apache-2.0
// Other places of a graph that are built like some nodes: the same operators wired the same way,
// whatever their attributes and sizes. Finds; derives no rules.
#pragma once

#include "core/graph/graph.h"

#include <string>
#include <vector>

namespace fuselage::studio {

/// Names of the nodes of each place, makers first; `nodes` are the first one. Places share no
/// nodes. Empty when a name is not known, or when not every node leads to the last one of them.
std::vector<std::vector<std::string>> placesLike(const Graph& graph,
                                                 const std::vector<std::string>& nodes);

} // namespace fuselage::studio
