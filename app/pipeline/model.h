// SPDX-License-Identifier: Apache-2.0
// Loading a model for any front end: read, normalise, infer, fold, and say what cannot be run.
#pragma once

#include "core/graph/graph.h"
#include "core/support/progress.h"
#include "core/support/result.h"

#include <map>
#include <string>
#include <vector>

namespace fuselage::app {

struct LoadedModel {
    std::string path;
    Graph graph;          ///< prepared: types inferred, constants and shape arithmetic folded
    size_t fileNodes = 0; ///< before folding
    std::map<std::string, double> seconds; ///< "load", "prepare"
    /// What a person should know although the model loads: a newer opset, what is not computed,
    /// what was assumed. One sentence each; every front end shows all of them.
    std::vector<std::string> notes = {};
};

/// Reads and prepares a model file; symbolic dimensions stay, except those in `dims`.
Result<LoadedModel> loadModel(const std::string& path, const std::map<std::string, int64_t>& dims,
                              Progress& progress);

/// Success when the graph's inputs have all these symbols; for work that keeps them symbolic. Error
/// "dim.unknown" lists those there are.
Result<void> requireDimensions(const Graph& graph, const std::map<std::string, int64_t>& dims);

/// An operator that nothing here can compute, with the nodes that use it.
struct MissingOperator {
    std::string op;
    std::string why; ///< "attribute `x` is not known"; empty: the operator itself is not
    std::vector<std::string> nodes;
};

/// Operators without a reference function and nodes that are kept, subgraphs included; sorted by
/// name.
std::vector<MissingOperator> missingOperators(const Graph& graph);

/// Error "load.missing" naming all of them and their nodes, or success.
Result<void> requireOperators(const Graph& graph);

} // namespace fuselage::app
