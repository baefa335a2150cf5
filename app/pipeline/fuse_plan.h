// SPDX-License-Identifier: Apache-2.0
// Accepted matches as a file (`.fuseplan`): which matches a run applied, by names, in order. It is
// text for git: one match a line. Written from a trace, compared with another; fuse.h replays it.
#pragma once

#include "core/ops/precision.h"
#include "core/rewrite/replay.h"

#include <string>
#include <string_view>
#include <vector>

namespace fuselage::app {

struct FusePlan {
    std::string model;     ///< name of the graph, for people
    std::string precision; ///< that the graph was converted to before the rules
    std::vector<PlannedMatch> matches;
};

FusePlan planOf(const Graph& graph, const Trace& trace, Precision precision);

/// The file's text; the same plan gives the same bytes.
std::string planText(const FusePlan& plan);

/// Error "plan.syntax" with the line.
Result<FusePlan> parsePlan(std::string_view text);

/// The same from a file; error "plan.read".
Result<FusePlan> readPlan(const std::string& path);

struct PlanDifference {
    std::vector<PlannedMatch> lost;   ///< only in the first
    std::vector<PlannedMatch> gained; ///< only in the second
    size_t same = 0;
};

/// Matches are the same when rule and nodes are; names of what they make do not count.
PlanDifference comparePlans(const FusePlan& before, const FusePlan& after);

/// "ConvBNReLU: "/conv1/Conv", "/relu/Relu"", as a line of a plan begins.
std::string matchText(const PlannedMatch& match);

} // namespace fuselage::app
