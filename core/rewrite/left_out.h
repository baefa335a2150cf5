// SPDX-License-Identifier: Apache-2.0
// Where a model could have been fused and was not, since that saves no time: places, not matches.
#pragma once

#include "core/rewrite/trace.h"

namespace fuselage {

/// What gates refused, one event for each place of a rule, in the order of the trace. Matches of
/// one rule that share nodes are ways to take the same place. None is left out where one was
/// applied.
std::vector<const TraceEvent*> leftOutPlaces(const Trace& trace);

} // namespace fuselage
