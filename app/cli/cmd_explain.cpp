// SPDX-License-Identifier: Apache-2.0
// fuselage explain MODEL [--node N] [--rule R]: what happened to a node, or how near a rule came.
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/exit_codes.h"
#include "app/cli/rewrite_input.h"
#include "app/pipeline/flip.h"
#include "app/report/trace_text.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace fuselage::cli {

namespace {

struct Options {
    std::string model, node, rule;
    size_t limit = 10;
    RewriteOptions rewrite;
};

bool contains(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

bool concerns(const Options& options, const std::string& rule,
              const std::vector<std::string>& nodes) {
    return (options.rule.empty() || rule == options.rule) &&
           (options.node.empty() || contains(nodes, options.node));
}

/// "= then it fires 4 times": the suggested change is made and the rules run again.
class Flips {
public:
    Flips(const Options& options, const RewriteInput& input, const Trace& trace, Progress& progress)
        : m_options(options), m_input(input), m_trace(trace), m_progress(progress) {}

    std::string text(const std::string& rule, const std::optional<RuleEdit>& edit) {
        if (!edit || m_left == 0)
            return {};
        --m_left;
        app::FuseOptions quick = m_options.rewrite.fuse;
        auto flipped = app::tryFlip(m_input.model.graph, m_input.library, m_options.rewrite.rules,
                                    quick, rule, m_trace, *edit, m_progress);
        if (!flipped) // the change is for a person to write
            return {};
        if (flipped->fires <= flipped->before)
            return "  = another step fails after that\n";
        return fmt::format("  = then it fires {} times instead of {}: predicted gain {:.3g} us\n",
                           flipped->fires, flipped->before, flipped->us);
    }

private:
    const Options& m_options;
    const RewriteInput& m_input;
    const Trace& m_trace;
    Progress& m_progress;
    int m_left = 5; ///< each runs all rules
};

std::string explain(const Options& options, const Trace& trace, Flips& flips) {
    std::string out;
    for (const TraceEvent& event : trace.events)
        if (concerns(options, event.rule, event.nodes))
            out += app::text(event) + flips.text(event.rule, event.edit);
    std::vector<const NearMiss*> misses;
    for (const NearMiss& miss : trace.nearMisses)
        if (concerns(options, miss.rule, {miss.anchor, miss.node}))
            misses.push_back(&miss);
    // The nearest first: few steps missing, then many steps made.
    std::stable_sort(misses.begin(), misses.end(), [](const NearMiss* a, const NearMiss* b) {
        uint32_t left = a->steps - std::min(a->step, a->steps);
        uint32_t right = b->steps - std::min(b->step, b->steps);
        return left != right ? left < right : a->step > b->step;
    });
    for (size_t i = 0; i < misses.size() && i < options.limit; ++i)
        out += app::text(*misses[i]) + flips.text(misses[i]->rule, misses[i]->edit);
    if (misses.size() > options.limit)
        out +=
            fmt::format("{} more near misses; --limit shows them\n", misses.size() - options.limit);
    return out;
}

int run(Options& options) {
    ConsoleProgress progress(options.rewrite.quiet);
    auto opened = openForRewrite(options.model, options.rewrite, progress);
    if (!opened)
        return reportError(opened.error());
    const auto& [library, model] = *opened;
    if (!options.node.empty() && !model.graph.findNode(options.node).valid())
        return reportError(failure("usage.node", "no node `" + options.node + "` after folding",
                                   options.model, "`fuselage inspect --graph` lists the nodes")
                               .error);
    const auto& rules = library.loaded.rules.rules;
    bool known = options.rule.empty() ||
                 std::any_of(rules.begin(), rules.end(),
                             [&](const Rule& rule) { return rule.name == options.rule; });
    if (!known)
        return reportError(failure("usage.rule", "no rule `" + options.rule + "`").error);
    options.rewrite.fuse.explain = true;
    auto rewritten = app::fuseGraph(model.graph, library, options.rewrite.fuse, progress);
    if (!rewritten)
        return reportError(rewritten.error());
    Flips flips(options, *opened, rewritten->trace, progress);
    std::string out = explain(options, rewritten->trace, flips);
    printOut(out.empty() ? "no rule came near\n" : out);
    return ExitOk;
}

} // namespace

Action addExplain(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_option("model", options->model, "ONNX file")->required();
    app.add_option("--node", options->node, "only what concerns this node");
    app.add_option("--rule", options->rule, "only this rule");
    app.add_option("--limit", options->limit, "near misses to print")->capture_default_str();
    addRewriteOptions(app, options->rewrite);
    return [options] { return run(*options); };
}

} // namespace fuselage::cli
