// SPDX-License-Identifier: Apache-2.0
// A graph whose shapes depend on data, cut where they open: what must be computed before any more
// of them is known, and what is left, which can then be planned like any other graph.
#pragma once

#include "core/graph/graph.h"
#include "core/support/progress.h"
#include "core/support/result.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fuselage {

/// Two parts of a graph, one after the other. Values keep their names: what `rest` reads of `first`
/// is an output of that and an input of this. A result of the graph is an output of the part that
/// makes it.
struct ShapeStage {
    Graph first; ///< without nodes where inputs of the graph say the shapes
    Graph rest;
    std::vector<std::string> givers; ///< small values, inputs of both or made by `first`, whose
                                     ///< elements are shapes in `rest`
};

/// Cut before the shapes that open first. Where elements of small values say them, the values are
/// made by `first`; where they did not settle the shape, or the data themselves decide (NonZero, a
/// Loop), `first` has the nodes that open it. None: all shapes are known, or something that is no
/// tensor would go from part to part.
std::optional<ShapeStage> firstStage(const Graph& graph);

/// Makes the rest one for what was made, by name of its inputs: their extents, and the elements of
/// the givers, become known. Errors: those of prepareGraph, where these contradict.
Result<void> settleRest(Graph& rest, const std::vector<std::string>& givers,
                        const std::map<std::string, Tensor>& made, Progress& progress);

} // namespace fuselage
