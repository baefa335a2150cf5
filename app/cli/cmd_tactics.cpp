// SPDX-License-Identifier: Apache-2.0
// fuselage tactics MODEL --device D: which steps cuDNN and cuBLASLt can compute there; needs the
// libraries, no GPU.
#include "app/cli/command.h"
#include "app/cli/common_options.h"
#include "app/cli/console.h"
#include "app/cli/exit_codes.h"
#include "app/cli/value_checks.h"
#include "app/pipeline/library_tactics.h"
#include "app/report/format.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace fuselage::cli {

namespace {

struct Options {
    app::LibraryTacticsOptions tactics;
    RewriteOptions rewrite;
    bool summary = false;
};

bool anySupports(const app::StepTactics& step) {
    return std::any_of(step.answers.begin(), step.answers.end(),
                       [](const app::LibraryAnswer& answer) { return answer.supported; });
}

std::string stepsText(const app::LibraryTactics& tactics) {
    std::string out;
    for (const app::StepTactics& step : tactics.steps) {
        if (!step.asked)
            continue;
        out += fmt::format("{} {}  {}{}\n", anySupports(step) ? "+" : "-", step.step, step.program,
                           step.rule.empty() ? "" : " " + step.rule);
        for (const app::LibraryAnswer& answer : step.answers)
            out += "    " + answer.text + "\n";
    }
    return out;
}

std::string summaryText(const app::LibraryTactics& tactics) {
    struct Counts {
        int64_t steps = 0, any = 0;
        std::map<std::string, int64_t> byLibrary;
    };
    std::map<std::string, Counts> kinds;
    for (const app::StepTactics& step : tactics.steps) {
        Counts& counts = kinds[step.program];
        ++counts.steps;
        counts.any += anySupports(step);
        for (const app::LibraryAnswer& answer : step.answers)
            counts.byLibrary[answer.library] += answer.supported;
    }
    using Align = app::TextTable::Align;
    app::TextTable table({Align::Left, Align::Right, Align::Right, Align::Right, Align::Right});
    table.row({"program", "steps", "a library", "cudnn", "cublaslt"});
    for (auto& [kind, counts] : kinds)
        table.row({kind, app::countText(counts.steps), app::countText(counts.any),
                   app::countText(counts.byLibrary["cudnn"]),
                   app::countText(counts.byLibrary["cublaslt"])});
    return table.text("");
}

int run(Options& options) {
    if (auto ready = finish(options.rewrite); !ready)
        return reportError(ready.error());
    options.tactics.rules = options.rewrite.rules;
    options.tactics.fuse = options.rewrite.fuse;
    ConsoleProgress progress(options.rewrite.quiet);
    auto tactics = app::libraryTactics(options.tactics, progress);
    if (!tactics)
        return reportError(tactics.error());
    std::string out = tactics->description + "\n";
    if (!tactics->asksCompiling)
        out += "no libcuda: engines that compile at run time were not asked\n";
    if (!options.summary)
        out += stepsText(*tactics);
    printOut(out + summaryText(*tactics));
    return ExitOk;
}

} // namespace

Action addTactics(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app::LibraryTacticsOptions& tactics = options->tactics;
    app.add_option("model", tactics.model, "ONNX file")->required();
    addRewriteOptions(app, options->rewrite);
    app.add_option("--device", tactics.device, "device profile (see devices)")
        ->capture_default_str();
    app.add_option("--workspace", tactics.workspaceLimit,
                   "memory that a tactic may ask for, e.g. 64MiB")
        ->transform(CLI::Validator(size(0), ""))
        ->type_name("SIZE")
        ->default_str("256MiB");
    app.add_flag("--finish", tactics.finish, "also finish one plan a step: seconds each");
    app.add_flag("--summary", options->summary, "only the table");
    return [options] { return run(*options); };
}

} // namespace fuselage::cli
