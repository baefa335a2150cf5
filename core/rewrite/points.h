// SPDX-License-Identifier: Apache-2.0
// Where the `qdq` clause of a rule lies in one match: which reads of which values a quantiser may
// put a pair on. Places only; what is quantised, and with which scale, is decided elsewhere.
#pragma once

#include "core/rewrite/match.h"
#include "core/rewrite/trace.h"

namespace fuselage {

/// One entry for each value that a point's name stands for; none for a name that this match does
/// not bind. A value from outside of the match (an operand, a weight) is meant as the match reads
/// it; one that the match makes, as it is read behind the match, or inside where nothing outside
/// reads it. Of points that name one value the first takes the first reader in topological order,
/// and so on; the last takes the rest. A condition that is false or unknown gives
/// TracePoint::leftOut.
std::vector<TracePoint> pointsOf(const Graph& graph, const Match& match);

} // namespace fuselage
