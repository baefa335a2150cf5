// SPDX-License-Identifier: Apache-2.0
// fuselage lsp: the language server on standard input and output, for editors.
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/exit_codes.h"
#include "app/lsp/stdio.h"
#include "app/zoo/zoo.h"
#include "patterns/embedded.h"

#include <CLI/CLI.hpp>

#include <unistd.h>

namespace fuselage::cli {

namespace {

int run(const std::string& model) {
    lsp::ServerOptions options;
    options.model = model;
    options.checks = true;
    for (const zoo::ZooEntry& entry : zoo::models())
        options.words.zoo.push_back(entry.name);
    for (const std::string_view path : embeddedPatternPaths())
        options.words.imports.emplace_back(path);
    auto served = lsp::serve(std::move(options), STDIN_FILENO, STDOUT_FILENO);
    if (!served)
        return reportError(served.error());
    return *served == 0 ? ExitOk : ExitGate;
}

} // namespace

Action addLsp(CLI::App& app) {
    auto model = std::make_shared<std::string>();
    app.add_option("--model", *model, "hovers show how often a rule matches this model");
    return [model] { return run(*model); };
}

} // namespace fuselage::cli
