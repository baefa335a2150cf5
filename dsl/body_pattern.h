// SPDX-License-Identifier: Apache-2.0
// What an operator of resources/operators/bodies.txt stands for, as a pattern: a graph without
// shapes in, the text of a file with one pattern out.
#pragma once

#include "core/graph/graph.h"

#include <optional>
#include <string>

namespace fuselage::dsl {

/// "fuse 1; pattern Body(p0, p1) -> y { ... }" for the first result, each step with the attributes
/// that it has. None where a step cannot stand in a pattern: one with several results or a
/// subgraph, one that reads a constant of more than one element (but axes), or a Cast.
std::optional<std::string> patternText(const Graph& graph);

} // namespace fuselage::dsl
