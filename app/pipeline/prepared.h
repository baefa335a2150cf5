// SPDX-License-Identifier: Apache-2.0
// The first part of the one road from a model to something that runs, which every front end takes:
// prepare -> Prepared -> fuse (fuse.h) -> Rewritten -> withSizes, planSide (planned.h) -> Planned.
// Decides in which precision a graph is; knows neither rules nor devices.
#pragma once

#include "core/graph/graph.h"
#include "core/passes/dimensions.h"
#include "core/passes/precision.h"
#include "core/support/progress.h"
#include "core/support/result.h"

#include <memory>

namespace fuselage::app {

/// A graph as rules and plans want to see it.
struct Prepared {
    std::shared_ptr<const Graph> graph; ///< float32 values stored as the precision says
    DimensionValues dims;               ///< sizes of its open dimensions, as far as they are known
    PrecisionRecord precision;          ///< what it changed
};

/// `graph`: types inferred, constants folded, as loadModel() leaves it; open dimensions stay open.
/// Error "precision.types".
Result<Prepared> prepare(Graph graph, DimensionValues dims, const PrecisionChoice& choice);

/// The same; the graph is copied only where the precision changes it.
Result<Prepared> prepare(std::shared_ptr<const Graph> graph, DimensionValues dims,
                         const PrecisionChoice& choice);

/// Success when every exception says something of the graph. Error "precision.node".
Result<void> requireAllSaid(const Prepared& prepared);

/// Numbers for the open dimensions of the inputs, 1 for those without one; nothing is folded: how
/// a judge sees it.
Graph sized(Graph graph, const DimensionValues& dims);

/// The same for `dims` that name all that are open; what they decide is folded, as a plan wants it.
/// Errors: those of prepareGraph.
Result<Graph> withSizes(Graph graph, const DimensionValues& dims, Progress& progress);

} // namespace fuselage::app
