// SPDX-License-Identifier: Apache-2.0
// Ranges for the lines of a plan that have none, from what their values hold on sets of inputs. In
// bodies of If, Loop and Scan the interpreter is asked, which sees every value of every run.
#pragma once

#include "app/quantize/observe.h"
#include "app/quantize/pair_plan.h"

#include <map>
#include <string>

namespace fuselage::quantize {

struct Calibrated {
    Histograms histograms; ///< of values of the outermost graph
    bool any = false;      ///< some line had no range
    /// Nodes whose lines are taken out of the plan, and why: in bodies that no set of inputs
    /// entered; or a computed operand is always 0, where no line of a person asks for it.
    std::map<std::string, std::string> lost;
};

/// Errors: those of readOf and observe.
Result<Calibrated> calibratePlan(const Graph& graph, PairPlan& plan, const RangeChoice& choice,
                                 const ObserveRequest& request, Progress& progress);

} // namespace fuselage::quantize
