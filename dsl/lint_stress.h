// SPDX-License-Identifier: Apache-2.0
// Graphs on which a search has the most to try: long chains, ladders and full trees of a rule's own
// operators, where a match can be tried in most ways and fails as late as it can.
#pragma once

#include "core/graph/graph.h"
#include "core/rewrite/matcher.h"

#include <vector>

namespace fuselage::dsl {

/// All values are float[4,4], whatever the operators would make: only their order is searched.
std::vector<Graph> stressGraphs(const Rule& rule);

/// Whether the search from one node of these graphs is cut off, as it would be on a model.
bool isCutOff(const PreparedRule& rule);

} // namespace fuselage::dsl
