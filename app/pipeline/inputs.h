// SPDX-License-Identifier: Apache-2.0
// Input tensors for a run: generated from a seed, or read from a folder of input_N.pb files.
#pragma once

#include "core/graph/graph.h"
#include "core/support/result.h"

#include <vector>

namespace fuselage::app {

/// One tensor per graph input. Shapes must be static. Floats are standard normal; integer inputs
/// that index a table through Gather stay below its extent; those that are only computed with are
/// small, of both signs, and some at the ends of types; others are 0 or 1.
Result<std::vector<Tensor>> generateInputs(const Graph& graph, uint64_t seed);

/// Reads FOLDER/input_0.pb, input_1.pb ...: `count` tensors, in the order of a graph's inputs.
Result<std::vector<Tensor>> readTensors(const std::string& folder, size_t count);

} // namespace fuselage::app
