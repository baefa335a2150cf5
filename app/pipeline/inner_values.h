// SPDX-License-Identifier: Apache-2.0
// Values inside of a graph and of the bodies in it, given out by a run besides its outputs: what a
// layer computes, and the first place where two forms of a model part.
#pragma once

#include "core/graph/graph.h"
#include "core/support/result.h"

#include <string>
#include <vector>

namespace fuselage::app {

/// Appends to the outputs of `graph`, whose shapes are inferred for its sizes, what the names say:
/// of a value that value, of a node all of its tensors; `*` stands for any text, and what it takes
/// in again is given out once. What is in a body is called by its own name or by its path
/// ("Loop_3/body/h"): that of a Loop or Scan comes stacked over the iterations where it has one
/// shape in all of them, that of an If where its branch runs (body_results.h). Bodies inside of a
/// Loop or Scan are not entered.
/// Returns what each appended value is called, in topological order: its own name, its path where
/// several are called so. Error "run.value": a name that fits nothing that can be given out.
Result<std::vector<std::string>> giveOut(Graph& graph, const std::vector<std::string>& names);

/// The same for values, by what giveOut() called them, that may not be there; says of each whether
/// it is.
std::vector<bool> giveOutKnown(Graph& graph, const std::vector<std::string>& values);

/// What giveOut() calls the tensors that a node makes, the node by its path (core/graph/bodies.h).
std::vector<std::string> namesOfResults(const Graph& graph, const std::string& node);

/// Whether a node of the graph or of a body in it makes a value that giveOut() may call so.
bool makesValue(const Graph& graph, const std::string& called);

} // namespace fuselage::app
