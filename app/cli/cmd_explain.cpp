// SPDX-License-Identifier: Apache-2.0
// fuselage explain MODEL [--node N] [--rule R]: why rules do not fire, nearest first.
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/exit_codes.h"
#include "app/cli/rewrite_input.h"
#include "app/cli/value_checks.h"
#include "app/pipeline/explain.h"
#include "app/quantize/pair_lint.h"
#include "app/report/explain_text.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace fuselage::cli {

namespace {

struct Options {
    std::string model;
    size_t limit = 6;
    bool json = false;
    app::ExplainOptions explain;
    RewriteOptions rewrite;
    std::vector<std::string> nodes;
};

/// Two nodes are given one by one, or as "A,B". Error "usage.node" for more.
Result<void> takeNodes(const std::vector<std::string>& given, const Graph& graph,
                       app::ExplainOptions& explain) {
    std::vector<std::string> nodes = given;
    const size_t comma = given.size() == 1 ? given[0].find(',') : std::string::npos;
    const bool isName = given.size() == 1 && std::ranges::any_of(graph.nodes(), [&](NodeId id) {
                            return graph.node(id).name == given[0];
                        });
    if (comma != std::string::npos && !isName)
        nodes = {given[0].substr(0, comma), given[0].substr(comma + 1)};
    if (nodes.size() > 2)
        return failure("usage.node", fmt::format("{} nodes are given", nodes.size()), "",
                       "give one, or the two that should be together");
    explain.node = nodes.empty() ? "" : nodes[0];
    explain.with = nodes.size() < 2 ? "" : nodes[1];
    return {};
}

/// As `quantize --lint` says it.
std::vector<app::PairRemark> lintPairs(const Graph& model, const Graph& fused) {
    std::vector<app::PairRemark> out;
    for (quantize::PairFinding& finding : quantize::lintPairs(model, fused))
        out.push_back({std::move(finding.node), nameOf(finding.lint), std::move(finding.message),
                       std::move(finding.fix), isAdvice(finding.lint)});
    return out;
}

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
    explain.lintPairs = lintPairs;
    if (auto taken = takeNodes(options.nodes, opened->model.graph, explain); !taken)
        return reportError(taken.error());
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
    app.add_option(
        "--node", options->nodes,
        "only what concerns this node, by its name or that of a value that it makes; one "
        "in a body has its path in front, If_0/then_branch/Conv_3. A second --node, or "
        "A,B: what keeps the two apart");
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
