// SPDX-License-Identifier: Apache-2.0
// The walks of shape inference over a whole graph, and what each of them tells.
#include "core/passes/dimensions_internal.h"
#include "core/passes/inference.h"

#include <algorithm>

namespace fuselage {

namespace {

void walk(Graph& graph, InferShared& shared) {
    nameInputDimensions(graph);
    for (const std::string& name : inputSymbols(graph))
        shared.inputSymbols.insert(name);
    GraphInference(graph, shared, "", NodeId()).run();
}

/// Each problem once; a hundred are enough.
std::vector<InferProblem> distinct(std::vector<InferProblem> problems) {
    std::vector<InferProblem> out;
    for (InferProblem& found : problems) {
        auto same = [&](const InferProblem& other) {
            return other.node == found.node && other.message == found.message;
        };
        if (out.size() < 100 && std::none_of(out.begin(), out.end(), same))
            out.push_back(std::move(found));
    }
    return out;
}

} // namespace

std::vector<InferProblem> inferShapes(Graph& graph) {
    InferShared shared;
    walk(graph, shared);
    return distinct(std::move(shared.problems));
}

std::vector<InferProblem> inferShownShapes(Graph& graph) {
    InferShared shared;
    shared.keepNumbers = true;
    walk(graph, shared);
    return distinct(std::move(shared.problems));
}

std::vector<InferProblem> inferUntilContradiction(Graph& graph) {
    InferShared shared;
    shared.stopAtContradiction = true;
    walk(graph, shared);
    return std::move(shared.problems);
}

std::vector<InferProblem> inferDeclaredShapes(Graph& graph) {
    InferShared shared;
    shared.judgeDeclarations = true;
    walk(graph, shared);
    return distinct(std::move(shared.problems));
}

} // namespace fuselage
