// SPDX-License-Identifier: Apache-2.0
// fuselage derive MODEL --nodes A,B,C: a rule that matches these nodes, and what several such
// places have in common.
#include "app/cli/command.h"
#include "app/cli/common_options.h"
#include "app/cli/console.h"
#include "app/cli/exit_codes.h"
#include "app/cli/value_checks.h"
#include "app/pipeline/derive.h"
#include "app/pipeline/model.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <sstream>

namespace fuselage::cli {

namespace {

struct Options {
    std::string model, output;
    std::vector<std::string> sites, dims; ///< "A,B,C"; "N=4"
    app::DeriveOptions derive;
    bool quiet = false;
};

std::vector<std::vector<std::string>> namesOf(const std::vector<std::string>& sites) {
    std::vector<std::vector<std::string>> out;
    for (const std::string& site : sites) {
        std::istringstream words(site);
        out.emplace_back();
        for (std::string name; std::getline(words, name, ',');)
            if (!name.empty())
                out.back().push_back(name);
    }
    return out;
}

int run(Options& options) {
    ConsoleProgress progress(options.quiet);
    auto dims = parseDims(options.dims);
    if (!dims)
        return reportError(dims.error());
    auto model = app::loadModel(options.model, *dims, progress);
    if (!model)
        return reportError(model.error());
    printNotes(model->notes, options.quiet);
    auto derived =
        app::deriveShared(model->graph, namesOf(options.sites), options.derive, progress);
    if (!derived)
        return reportError(derived.error());
    if (options.output.empty())
        writeOut(derived->text);
    else if (auto written = writeFile(options.output, derived->text); !written)
        return reportError(written.error());
    std::string sites =
        derived->sites == 1 ? "on its site" : fmt::format("on its {} sites", derived->sites);
    fmt::print(stderr, "{} fires {} and on {} more in {}{}\n", derived->name, sites,
               derived->others, options.model,
               derived->tests == 0 ? "; no small graph was found for a test inside" : "");
    return ExitOk;
}

} // namespace

Action addDerive(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_option("model", options->model, "ONNX file")->required();
    app.add_option("--nodes", options->sites,
                   "names of the nodes of one place, with commas; repeatable: what the places have "
                   "in common")
        ->required();
    app.add_option("--dim", options->dims,
                   "size of an open dimension, N=4, or of an axis, x.2=320, that the rule and its "
                   "test shall have; repeatable");
    app.add_option("--name", options->derive.name, "of the rule (default: from its operators)");
    app.add_option("--priority", options->derive.priority, "of the rule")
        ->check(wholeNumber(-1'000'000, 1'000'000))
        ->capture_default_str();
    app.add_option("-o,--output", options->output, ".fuse file to write instead of printing");
    app.add_flag("-q,--quiet", options->quiet, "no progress, no notes about the model");
    return [options] { return run(*options); };
}

} // namespace fuselage::cli
