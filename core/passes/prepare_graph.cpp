// SPDX-License-Identifier: Apache-2.0
// Inference and folding in turns until nothing changes.
#include "core/passes/inference.h"

#include <fmt/format.h>

namespace fuselage {

namespace {

/// One round is enough for most models: inference evaluates small values as it goes. Another is
/// needed where folding opened something (a branch, a large constant).
constexpr int maxRounds = 6;

/// The first few in full: a file that declares everything for another batch says it once.
void noteDeclarations(const std::vector<InferProblem>& problems, std::vector<std::string>& notes) {
    constexpr size_t shown = 3;
    size_t count = 0;
    for (const InferProblem& problem : problems)
        if (problem.kind == InferProblem::Kind::Declaration && ++count <= shown)
            notes.push_back(problem.message + ": the declaration is ignored");
    if (count > shown)
        notes.push_back(fmt::format("{} more declared shapes differ from those computed, and are "
                                    "ignored",
                                    count - shown));
}

/// `infer` is called once a round.
template <typename Infer> Result<void> prepareBy(Graph& graph, Infer infer, Progress& progress) {
    for (int round = 0; round < maxRounds; ++round) {
        for (const InferProblem& problem : infer(round))
            if (!problem.warning())
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

} // namespace

Result<void> prepareGraph(Graph& graph, Progress& progress, std::vector<std::string>* notes) {
    const auto infer = [&](int round) {
        if (!notes || round > 0)
            return inferShapes(graph);
        std::vector<InferProblem> problems = inferDeclaredShapes(graph);
        noteDeclarations(problems, *notes);
        return problems;
    };
    return prepareBy(graph, infer, progress);
}

Result<void> prepareShownGraph(Graph& graph, Progress& progress) {
    return prepareBy(
        graph, [&](int) { return inferShownShapes(graph); }, progress);
}

} // namespace fuselage
