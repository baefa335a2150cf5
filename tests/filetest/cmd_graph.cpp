// SPDX-License-Identifier: Apache-2.0
// infer: a graph's inferred types. fold: the graph after prepareGraph.
#include "core/graph/text.h"
#include "core/passes/passes.h"
#include "tests/filetest/commands.h"

namespace fuselage::filetest {

Outcome runInfer(const CaseFile& file) {
    Graph graph;
    Outcome outcome = readGraph(file, "input", graph);
    if (outcome.broken)
        return outcome;
    std::string problems;
    for (const InferProblem& problem : inferShapes(graph))
        problems += graph.node(problem.node).name + ": " + problem.message + "\n";
    std::string types;
    for (NodeId id : topologicalOrder(graph))
        for (ValueId output : graph.node(id).outputs)
            if (output.valid())
                types += graph.value(output).name + ": " + graph.value(output).type.text() + "\n";
    outcome.sections["output"] = types;
    outcome.sections["problems"] = problems;
    return outcome;
}

Outcome runFold(const CaseFile& file) {
    Graph graph;
    Outcome outcome = readGraph(file, "input", graph);
    if (outcome.broken)
        return outcome;
    Progress progress;
    auto prepared = prepareGraph(graph, progress);
    outcome.sections["output"] = prepared ? text(graph) : "error: " + prepared.error().text();
    return outcome;
}

} // namespace fuselage::filetest
