// SPDX-License-Identifier: Apache-2.0
// Inference and folding in turns until nothing changes.
#include "core/passes/passes.h"

namespace fuselage {

namespace {

/// One round is enough for most models: inference evaluates small values as it goes. Another is
/// needed where folding opened something (a branch, a large constant).
constexpr int maxRounds = 6;

} // namespace

Result<void> prepareGraph(Graph& graph, Progress& progress) {
    for (int round = 0; round < maxRounds; ++round) {
        for (const InferProblem& problem : inferShapes(graph))
            if (!problem.warning)
                return failure("infer.contradiction", problem.message,
                               problem.node.valid() ? graph.node(problem.node).name : "",
                               "check what this node reads, or export the model again");
        auto removed = foldConstants(graph, {}, progress);
        if (!removed)
            return failure(removed.error());
        if (*removed == 0)
            break;
    }
    return {};
}

} // namespace fuselage
