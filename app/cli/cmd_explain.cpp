// SPDX-License-Identifier: Apache-2.0
// fuselage explain MODEL [--node N] [--rule R]: why rules do not fire, nearest first.
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/exit_codes.h"
#include "app/cli/rewrite_input.h"
#include "app/cli/value_checks.h"
#include "app/pipeline/explain.h"
#include "app/report/explain_text.h"

#include <CLI/CLI.hpp>

namespace fuselage::cli {

namespace {

struct Options {
    std::string model;
    size_t limit = 6;
    bool json = false;
    app::ExplainOptions explain;
    RewriteOptions rewrite;
};

int run(Options& options) {
    ConsoleProgress progress(options.rewrite.quiet);
    auto opened = openForRewrite(options.model, options.rewrite, progress);
    if (!opened)
        return reportError(opened.error());
    app::ExplainOptions& explain = options.explain;
    std::string device = explain.fuse.profile;
    explain.fuse = options.rewrite.fuse;
    explain.fuse.profile = device;
    explain.rules = options.rewrite.rules;
    auto explained = app::explainModel(opened->model, opened->library, explain, progress);
    if (!explained)
        return reportError(explained.error());
    if (options.json)
        writeOut(app::renderExplanationJson(*explained));
    else
        printOut(app::renderExplanation(*explained, options.limit));
    return ExitOk;
}

} // namespace

Action addExplain(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_option("model", options->model, "ONNX file")->required();
    app.add_option("--node", options->explain.node,
                   "only what concerns this node; one in a body has its path in front, "
                   "If_0/then_branch/Conv_3");
    app.add_option("--rule", options->explain.rule, "only this rule");
    app.add_option("--limit", options->limit, "reasons to print")
        ->check(wholeNumber(0, 1'000'000'000))
        ->capture_default_str();
    app.add_option("--device", options->explain.fuse.profile,
                   "predict gains for this device profile (see devices)")
        ->capture_default_str();
    app.add_option("--try", options->explain.tries, "suggested changes to try, each on all rules")
        ->check(wholeNumber(0, 1'000'000))
        ->capture_default_str();
    app.add_flag("--json", options->json, "everything, for programs (fuselage.explain/1)");
    addRewriteOptions(app, options->rewrite);
    return [options] { return run(*options); };
}

} // namespace fuselage::cli
