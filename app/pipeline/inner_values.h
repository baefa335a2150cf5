// SPDX-License-Identifier: Apache-2.0
// Values inside of a graph, given out by a run besides its outputs: what a layer computes, and the
// first place where two forms of a model part.
#pragma once

#include "core/graph/graph.h"
#include "core/support/result.h"

#include <string>
#include <vector>

namespace fuselage::app {

/// Appends to the outputs of `graph` what the names say: of a value that value, of a node all of
/// its tensors; `*` stands for any text, and what it takes in again is given out once. Returns the
/// names of the values appended, in topological order. Bodies of If, Loop and Scan are
/// not entered. Error "run.value": a name that fits nothing, or a value that a fused node keeps to
/// itself.
Result<std::vector<std::string>> giveOut(Graph& graph, const std::vector<std::string>& names);

/// The same for values by name that may not be there; says of each whether it is.
std::vector<bool> giveOutKnown(Graph& graph, const std::vector<std::string>& values);

} // namespace fuselage::app
