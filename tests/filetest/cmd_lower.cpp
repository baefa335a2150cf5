// SPDX-License-Identifier: Apache-2.0
// lower: the whole graph as one body -> its kernel program and logical traffic, or the refusal.
#include "core/cost/cost.h"
#include "core/kernel/lower.h"
#include "core/passes/passes.h"
#include "tests/filetest/commands.h"

#include <fmt/format.h>

namespace fuselage::filetest {

namespace {

std::string reasonText(const Reason& reason) {
    std::string out = "refused " + reason.text() + "\n";
    for (const ReasonFact& fact : reason.facts)
        out += "  " + fact.name + " = " + fact.value + "\n";
    return reason.flip.empty() ? out : out + "  flip: " + reason.flip + "\n";
}

} // namespace

Outcome runLower(const CaseFile& file) {
    Graph graph;
    Outcome outcome = readGraph(file, "input", graph);
    if (outcome.broken)
        return outcome;
    auto constants = seededConstants(file, graph);
    if (!constants) {
        outcome.broken = constants.error().text();
        return outcome;
    }
    inferShapes(graph);
    LowerRequest request;
    request.constants = std::move(*constants);
    request.operands = graph.inputs();
    request.results = graph.outputs();
    request.body = std::make_shared<const Graph>(std::move(graph));
    LowerResult lowered = lower(request);
    if (const auto* reason = std::get_if<Reason>(&lowered)) {
        outcome.sections["programs"] = reasonText(*reason);
        return outcome;
    }
    const auto& program = std::get<KernelProgram>(lowered);
    Traffic traffic = logicalTraffic(program);
    outcome.sections["programs"] =
        text(program) + fmt::format("\nreads {} B, writes {} B, {} FLOP\n", traffic.logicalRead,
                                    traffic.logicalWritten, workOf(program).flops);
    return outcome;
}

} // namespace fuselage::filetest
