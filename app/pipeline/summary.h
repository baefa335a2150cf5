// SPDX-License-Identifier: Apache-2.0
// The parts of a Report that come from plans, traces and timings. Only arranges; computes no costs.
#pragma once

#include "app/pipeline/measure.h"
#include "app/pipeline/model.h"
#include "app/pipeline/planned.h"
#include "app/pipeline/prepared.h"
#include "app/pipeline/report.h"
#include "core/rewrite/engine.h"

#include <map>
#include <string>
#include <vector>

namespace fuselage::app {

/// Of the machine what predictions are made for; where a run happens is added by bench().
/// `precision`: of the plan, whose peak is the roof.
MachineReport summariseProfile(const DeviceProfile& profile, Precision precision);
ModelReport summariseModel(const LoadedModel& model, const std::map<std::string, int64_t>& dims);

PrecisionReport summarisePrecision(const PrecisionRecord& record);

/// The graph as it was planned, figures of the plan and its kernels without tactics.
SideReport summariseSide(const Planned& side);
/// The same with summariseGraph() of side.graph, which needs no plan.
SideReport summariseSide(const Planned& side, GraphReport graph);

/// Tactics and fallbacks; steps whose shapes depend on data have theirs once they ran.
void addTactics(const Executable& executable, std::vector<KernelReport>& kernels);

/// Rules that fired, in rule order, with the launches and logical bytes they saved: those of the
/// kernels their source nodes had before, minus those of the fused kernels.
std::vector<RuleReport> summariseRules(const RuleSet& rules, const Graph& fused, const Trace& trace,
                                       const Plan& before, const Plan& after);

/// Names, types and wiring, without weights. Bodies of If, Loop and Scan stand in the same list,
/// their nodes and values called by path ("If_12/then_branch/Conv_3"); the node itself reads what
/// they make.
GraphReport summariseGraph(const Graph& graph);

/// Steps and near misses of the trace; touches nothing else of the report.
void addSteps(const RuleSet& rules, const Trace& trace, Report& report);

/// The fused nodes with what they saved; reads the graphs and kernels that are in the report.
void addMatches(const Trace& trace, Report& report);

std::vector<SplitReport> summariseSplits(const Plan& plan);
std::vector<SweepReport> summariseSweeps(const Plan& plan);
std::vector<RecomputeReport> summariseRecomputes(const Plan& plan);
std::vector<GroupReport> summariseGroups(const Plan& plan);
std::vector<LayoutReport> summariseLayouts(const Plan& plan);

/// Times of both sides, the ratio, and per-kernel medians with their shares.
void addMeasurements(const Measured& measured, Report& report);

} // namespace fuselage::app
