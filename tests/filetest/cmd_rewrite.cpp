// SPDX-License-Identifier: Apache-2.0
// rewrite: a graph and rules -> the graph afterwards, how often each rule applied, what was refused
// and how near rules came. same: two graphs that rules bring to one form.
#include "app/pipeline/fuse.h"
#include "app/report/trace_text.h"
#include "core/graph/text.h"
#include "core/passes/passes.h"
#include "core/rewrite/state_hash.h"
#include "core/support/text.h"
#include "tests/filetest/commands.h"

#include <fmt/format.h>

namespace fuselage::filetest {

namespace {

/// Which rules the case wants to hear about: the option `only`, else all.
bool concerns(const CaseFile& file, const std::string& rule) {
    std::string only = file.option("only");
    return only.empty() || only == rule;
}

std::string traceText(const CaseFile& file, const Trace& trace) {
    std::string out;
    for (const TraceEvent& event : trace.events)
        if (concerns(file, event.rule))
            out += app::text(event, app::TracePlaces::Hidden);
    for (const NearMiss& miss : trace.nearMisses)
        if (concerns(file, miss.rule))
            out += app::text(miss);
    return out;
}

/// "R INPUT of x: Conv[0]", a line each.
std::string pointsText(const CaseFile& file, const Trace& trace) {
    std::string out;
    for (const TraceEvent& event : trace.events)
        for (const TracePoint& point : event.points) {
            if (!concerns(file, event.rule))
                continue;
            std::string reads = joined(point.reads, [](const TraceRead& read) {
                return fmt::format("{}[{}]", read.node, read.slot);
            });
            if (!point.leftOut.empty())
                reads = "left out: " + point.leftOut;
            out += fmt::format("{} {} of {}{}: {}\n", event.rule, point.name, point.value,
                               point.axis ? fmt::format(" axis {}", *point.axis) : "", reads);
        }
    return out;
}

bool changed(const Trace& trace) {
    for (const TraceEvent& event : trace.events)
        if (event.applied())
            return true;
    return false;
}

Result<Rewritten> rewriteSection(const CaseFile& file, const std::string& section,
                                 Outcome& outcome) {
    Graph graph;
    outcome = readPrepared(file, section, graph);
    if (outcome.broken)
        return failure("case.broken", *outcome.broken);
    auto library = readRules(file);
    if (!library)
        return failure(library.error());
    app::FuseOptions options;
    options.pipeline = file.option("pipeline", "default");
    auto decide = decideOption(file);
    if (!decide)
        return failure(decide.error());
    options.decide = *decide;
    options.profile = "h200"; // a profile of data only: the same on every machine
    options.explain = file.find("trace") != nullptr;
    options.strict = file.option("strict", "no") == "yes";
    if (const std::string* text = file.find("plan")) {
        auto plan = app::parsePlan(*text + "\n");
        if (!plan)
            return failure(plan.error());
        options.plan = std::move(*plan);
    }
    Progress progress;
    return app::fuseGraph(graph, *library, options, progress);
}

} // namespace

Result<Decide> decideOption(const CaseFile& file) {
    const std::string name = file.option("decide", "rules");
    if (auto decide = decideFromName(name))
        return *decide;
    return failure("case.decide", "no way to decide `" + name + "`");
}

Result<app::RuleLibrary> readRules(const CaseFile& file) {
    app::RuleOptions options;
    std::string rules = file.option("rules");
    options.builtin = rules == "std";
    if (!rules.empty() && !options.builtin)
        options.paths.push_back(std::string(FUSELAGE_SOURCE_DIR) + "/" + rules);
    if (const std::string* text = file.find("rules"))
        options.texts.push_back({"rules.fuse", "fuse 1;\n" + *text + "\n"});
    return app::requireRuleLibrary(options);
}

Outcome readPrepared(const CaseFile& file, const std::string& section, Graph& graph) {
    Outcome outcome = readGraph(file, section, graph);
    if (outcome.broken)
        return outcome;
    Progress progress;
    if (auto made = makeConstants(file, graph); !made)
        outcome.broken = made.error().text();
    else if (auto prepared = prepareGraph(graph, progress); !prepared)
        outcome.broken = prepared.error().text();
    return outcome;
}

Outcome runRewrite(const CaseFile& file) {
    Outcome outcome;
    auto done = rewriteSection(file, "input", outcome);
    if (!done && !outcome.broken && file.find("plan")) {
        outcome.sections["output"] = "error: " + done.error().text();
        return outcome;
    }
    if (!done) {
        outcome.broken = done.error().text();
        return outcome;
    }
    outcome.sections["output"] = changed(done->trace) ? text(done->graph) : "unchanged";
    outcome.sections["trace"] = traceText(file, done->trace);
    outcome.sections["points"] = pointsText(file, done->trace);
    std::string counts;
    for (const RuleCount& count : done->trace.counts)
        if (count.applied > 0 && concerns(file, count.rule))
            counts += fmt::format("{} {}\n", count.applied, count.rule);
    outcome.sections["counts"] = counts;
    return outcome;
}

Outcome runSame(const CaseFile& file) {
    Outcome outcome;
    std::vector<Graph> forms;
    bool any = false;
    for (const Section& section : file.sections)
        if (section.name.rfind("input", 0) == 0) {
            auto done = rewriteSection(file, section.name, outcome);
            if (!done) {
                outcome.broken = done.error().text();
                return outcome;
            }
            any = any || changed(done->trace);
            forms.push_back(std::move(done->graph));
        }
    if (forms.size() < 2) {
        outcome.broken = "needs two sections that begin with `input`";
        return outcome;
    }
    if (!any) {
        outcome.broken = "no rule changes any of the graphs";
        return outcome;
    }
    bool same = true;
    for (const Graph& form : forms)
        same = same && stateHash(form) == stateHash(forms[0]);
    std::string all;
    for (const Graph& form : forms)
        all += text(form) + "\n";
    outcome.sections["output"] = same ? text(forms[0]) : "different\n" + all;
    return outcome;
}

} // namespace fuselage::filetest
