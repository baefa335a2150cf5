// SPDX-License-Identifier: Apache-2.0
// fuselage check FILES.fuse: parse and check rules; prints every diagnostic.
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/exit_codes.h"
#include "app/pipeline/rules.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace fuselage::cli {

namespace {

int run(const std::vector<std::string>& paths) {
    auto library = app::loadRuleLibrary({paths, paths.empty()});
    if (!library)
        return reportError(library.error());
    const Diagnostics& diagnostics = library->loaded.diagnostics;
    printOut(render(diagnostics, *library->sources));
    auto counted = [](size_t count, const char* what) {
        return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
    };
    printOut(counted(library->loaded.rules.rules.size(), "rule") + ", " +
             counted(diagnostics.all().size(), "diagnostic") + "\n");
    return diagnostics.hasErrors() ? ExitInput : ExitOk;
}

} // namespace

Action addCheck(CLI::App& app) {
    auto paths = std::make_shared<std::vector<std::string>>();
    app.add_option("files", *paths, ".fuse files or folders; none: the built-in library");
    return [paths] { return run(*paths); };
}

} // namespace fuselage::cli
