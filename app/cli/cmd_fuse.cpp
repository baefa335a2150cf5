// SPDX-License-Identifier: Apache-2.0
// fuselage fuse MODEL -o OUT.onnx: rewrite only; prints the count table.
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/exit_codes.h"
#include "app/cli/rewrite_input.h"
#include "app/cli/saved_files.h"
#include "app/pipeline/fuse.h"
#include "app/pipeline/target.h"
#include "app/report/format.h"
#include "core/graph/bodies.h"
#include "core/onnx/file_opset.h"
#include "core/onnx/model_file.h"
#include "core/rewrite/left_out.h"
#include "core/support/text.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace fuselage::cli {

namespace {

struct Options {
    std::string model;
    std::string output, plan, planOut, target;
    RewriteOptions rewrite;
};

std::string countsText(const RuleSet& rules, const Trace& trace, size_t before, size_t after) {
    using Align = app::TextTable::Align;
    app::TextTable table({Align::Left, Align::Right, Align::Left});
    table.row({"rule", "matches", "from"});
    bool any = false;
    for (const Rule& rule : rules.rules) {
        uint32_t applied = trace.applied(rule.name);
        if (applied == 0)
            continue;
        any = true;
        table.row({rule.name, std::to_string(applied), fmt::format("{}:{}", rule.file, rule.line)});
    }
    std::string counts =
        any ? table.text("") : "no rule fired; `fuselage explain` says why, rule by rule\n";
    return counts + fmt::format("nodes {} -> {}\n", before, after);
}

/// Matches that were taken although the prediction says that they cost time; empty: none.
std::string costlyText(const Trace& trace) {
    size_t count = 0;
    double us = 0;
    for (const TraceEvent& event : trace.events)
        if (event.kind == TraceEvent::Kind::Fused && event.gain < 0) {
            ++count;
            us -= event.gain;
        }
    if (count == 0)
        return {};
    return fmt::format(
        "{} predicted to cost time, {:.4g} us in all; --decide cost leaves out those "
        "whose rule has no gate\n",
        count == 1 ? "1 match is" : fmt::format("{} matches are", count), us);
}

/// Places of legal matches that costs left out, by rule, and for which device; empty: none.
std::string leftOutText(const RuleSet& rules, const Trace& trace, const app::FuseOptions& options) {
    std::map<std::string, std::map<std::string, size_t>> counts; // by what said so, then by rule
    for (const TraceEvent* place : leftOutPlaces(trace)) {
        const auto rule = std::find_if(rules.rules.begin(), rules.rules.end(),
                                       [&](const Rule& each) { return each.name == place->rule; });
        if (rule != rules.rules.end() && rule->gate.kind == Gate::Kind::Default &&
            !rule->gate.measured)
            for (const ReasonFact& fact : place->reason.facts)
                if (fact.name == "by")
                    ++counts[fact.value][place->rule];
    }
    std::string out;
    for (const auto& [source, byRule] : counts)
        out += fmt::format("left out, since they are {} to save no time on {}: {}; --decide rules "
                           "takes them\n",
                           source == "measurement" ? "measured" : "predicted", options.profile,
                           joined(byRule, [](const auto& each) {
                               return each.first + " " + std::to_string(each.second);
                           }));
    return out;
}

/// Of a search that was cut off: all searches of its rule were, not the one from one node.
bool isOfRule(const Reason& reason) {
    return std::ranges::any_of(reason.facts, [](const ReasonFact& fact) {
        return fact.name == "of" && fact.value == "rule";
    });
}

/// Searches that ended before they had seen all, by rule, and phases that ended early; empty: none.
std::string cutOffText(const Trace& trace) {
    std::map<std::string, std::map<std::string, size_t>> counts; // by option, then by rule
    std::string out;
    for (const TraceEvent& event : trace.events) {
        if (event.kind == TraceEvent::Kind::Stopped)
            out += event.reason.message + "; " + event.reason.flip + "\n";
        if (event.reason.code == code::budget && event.kind == TraceEvent::Kind::Refused)
            ++counts[isOfRule(event.reason) ? "--rule-steps" : "--search-steps"][event.rule];
    }
    for (const auto& [option, byRule] : counts)
        out += fmt::format(
            "cut off, so that a match may be missing: {}; {} searches longer\n",
            joined(byRule,
                   [](const auto& each) { return each.first + " " + std::to_string(each.second); }),
            option);
    return out;
}

/// Operators that the file that was written has no more, though a runtime has them; empty: none.
std::string writtenOutText(const app::LoadedModel& model) {
    std::map<std::string, std::vector<std::string>> byTargets;
    for (const auto& [name, count] : model.writtenOut)
        if (const auto targets = app::targetsThatKeep(name); !targets.empty())
            byTargets[joined(targets)].push_back(fmt::format("{} {}", name, count));
    std::string out;
    for (const auto& [targets, names] : byTargets)
        out += fmt::format("written out in ONNX's operators, which run anywhere: {}; a runtime "
                           "that has them may be faster with them, which --target keeps: {}\n",
                           joined(names), targets);
    return out;
}

/// Where the file that was written needs a newer opset than the model has; empty: it does not.
std::string opsetText(const Graph& from, const Graph& written) {
    const auto imported = from.opsetImports.find("");
    const int64_t needs = model_io::opsetFor(written);
    if (imported == from.opsetImports.end() ||
        needs <= std::max(imported->second, model_io::normalOpset))
        return {};
    return fmt::format("opset {} -> {}: operators of the written file are that new; a runtime that "
                       "does not know them refuses it\n",
                       imported->second, needs);
}

int run(Options& options) {
    ConsoleProgress progress(options.rewrite.quiet);
    if (!options.target.empty())
        if (auto ready = app::writeFor(options.target, options.rewrite.rules, options.rewrite.fuse);
            !ready)
            return reportError(ready.error());
    auto opened = openForRewrite(options.model, options.rewrite, progress);
    if (!opened)
        return reportError(opened.error());
    const auto& [library, model] = *opened;
    printNotes(model.notes, options.rewrite.quiet);
    if (!options.plan.empty()) {
        auto plan = app::readPlan(options.plan);
        if (!plan)
            return reportError(plan.error());
        options.rewrite.fuse.plan = std::move(*plan);
    }
    auto rewritten = app::fuseGraph(model.graph, library, options.rewrite.fuse, progress);
    if (!rewritten)
        return reportError(rewritten.error());
    if (!options.planOut.empty()) {
        app::FusePlan plan =
            app::planOf(model.graph, rewritten->trace, options.rewrite.fuse.precision);
        if (auto written = writeFile(options.planOut, app::planText(plan)); !written)
            return reportError(written.error());
    }
    if (!options.output.empty()) {
        if (auto whole = requireData(rewritten->graph); !whole)
            return reportError(whole.error());
        auto saved = model_io::save(rewritten->graph, options.output, {.progress = &progress});
        if (!saved)
            return reportError(saved.error());
        printNotes(dataFileNotes(*saved), options.rewrite.quiet);
    }
    printOut(countsText(library.loaded.rules, rewritten->trace, countNodes(model.graph),
                        countNodes(rewritten->graph)));
    printOut(costlyText(rewritten->trace));
    printOut(leftOutText(library.loaded.rules, rewritten->trace, options.rewrite.fuse));
    printOut(cutOffText(rewritten->trace));
    if (!options.output.empty())
        printOut(opsetText(model.graph, rewritten->graph));
    if (!options.output.empty() && options.target.empty())
        printOut(writtenOutText(model));
    return ExitOk;
}

} // namespace

Action addFuse(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_option("model", options->model, "ONNX file")->required();
    app.add_option("-o,--output", options->output, "fused ONNX file to write");
    app.add_option(
        "--target", options->target,
        "write the operators that this runtime computes at once instead of fused nodes: " +
            joined(app::targetNames(), [](const auto& name) { return name; }));
    app.add_option("--plan-out", options->planOut,
                   ".fuseplan to write: which matches were applied");
    app.add_option("--plan", options->plan,
                   ".fuseplan to replay: its matches and no others, or an error");
    addRewriteOptions(app, options->rewrite);
    app.add_option("--device", options->rewrite.fuse.profile,
                   "decide for this device profile (see devices)")
        ->capture_default_str();
    return [options] { return run(*options); };
}

} // namespace fuselage::cli
