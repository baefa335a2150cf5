// SPDX-License-Identifier: Apache-2.0
// fuselage zoo NAME -o FILE
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/exit_codes.h"
#include "app/cli/value_checks.h"
#include "app/report/format.h"
#include "app/zoo/zoo.h"
#include "core/onnx/model_file.h"

#include <CLI/CLI.hpp>

namespace fuselage::cli {

namespace {

struct Options {
    std::string name;
    std::string output;
    uint64_t seed = 1;
};

int list() {
    app::TextTable table({app::TextTable::Align::Left, app::TextTable::Align::Left});
    for (const zoo::ZooEntry& entry : zoo::models())
        table.row({entry.name, entry.description});
    printOut(table.text(""));
    return ExitOk;
}

int run(const Options& options) {
    if (options.name.empty())
        return list();
    auto graph = zoo::written(options.name, options.seed);
    if (!graph)
        return reportError(graph.error());
    std::string path = options.output.empty() ? options.name + ".onnx" : options.output;
    if (auto saved = model_io::save(*graph, path); !saved)
        return reportError(saved.error());
    printOut(path + ": " + std::to_string(graph->nodeCount()) + " nodes\n");
    return ExitOk;
}

} // namespace

Action addZoo(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_option("name", options->name, "the network; without it the zoo is listed");
    app.add_option("-o,--output", options->output, "file to write (default NAME.onnx)");
    app.add_option("--seed", options->seed, "of the random weights")
        ->check(seedNumber())
        ->capture_default_str();
    return [options] { return run(*options); };
}

} // namespace fuselage::cli
