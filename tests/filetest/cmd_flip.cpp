// SPDX-License-Identifier: Apache-2.0
// flip: a graph and a rule that does not fire -> what explain suggests, and whether the rule fires
// once that is written into its text.
#include "app/pipeline/flip.h"
#include "core/graph/bodies.h"
#include "core/passes/passes.h"
#include "tests/filetest/commands.h"

#include <fmt/format.h>

namespace fuselage::filetest {

namespace {

/// The nearest reason of the rule: a refused match, else the near miss that came furthest.
struct Nearest {
    Reason reason;
    std::optional<RuleEdit> edit;
    std::string rule;
};

std::optional<Nearest> nearestOf(const Trace& trace) {
    for (const TraceEvent& event : trace.events)
        if (event.kind == TraceEvent::Kind::Refused)
            return Nearest{event.reason, event.edit, event.rule};
    const NearMiss* best = nullptr;
    for (const NearMiss& miss : trace.nearMisses)
        if (!best || miss.step > best->step)
            best = &miss;
    return best ? std::optional(Nearest{best->reason, best->edit, best->rule}) : std::nullopt;
}

} // namespace

Outcome runFlip(const CaseFile& file) {
    Graph graph;
    Outcome outcome = readPrepared(file, "input", graph);
    auto library = readRules(file);
    if (!library)
        outcome.broken = library.error().text();
    auto decide = decideOption(file);
    if (!decide)
        outcome.broken = decide.error().text();
    if (outcome.broken)
        return outcome;
    app::FuseOptions options;
    options.profile = "h200";
    options.decide = *decide;
    options.explain = true;
    Progress progress;
    auto now = app::fuseGraph(graph, *library, options, progress);
    auto nearest = now ? nearestOf(now->trace) : std::nullopt;
    if (!nearest) {
        outcome.broken = now ? "nothing came near" : now.error().text();
        return outcome;
    }
    std::string& out = outcome.sections["output"];
    out = nearest->reason.code + ": " +
          (nearest->reason.flip.empty() ? "no change suggested" : nearest->reason.flip) + "\n";
    if (!nearest->edit)
        return outcome;
    app::RuleOptions rules;
    rules.builtin = false;
    rules.texts.push_back({"rules.fuse", "fuse 1;\n" + *file.find("rules") + "\n"});
    auto planned = app::planToJudge(now->graph, *library, options, progress);
    if (!planned) {
        outcome.broken = planned.error().text();
        return outcome;
    }
    auto flipped = app::tryFlip(graph, *library, rules, options, nearest->rule,
                                {now->trace, **planned}, *nearest->edit, progress);
    out += flipped ? fmt::format("fires {} -> {}\n", flipped->before, flipped->fires)
                   : flipped.error().text() + "\n";
    if (flipped && flipped->fires <= flipped->before)
        out += fmt::format("nodes {} -> {}, bytes {:+}\n", countNodes(now->graph), flipped->nodes,
                           flipped->bytes);
    if (flipped && flipped->isUnsound)
        out += "unsound then\n";
    return outcome;
}

} // namespace fuselage::filetest
