// SPDX-License-Identifier: Apache-2.0
// fuselage manual, fuselage completions SHELL: what packages install beside the program, made from
// the same table that parses the command line.
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/exit_codes.h"
#include "app/cli/pages/page.h"

#include <CLI/CLI.hpp>

namespace fuselage::cli {

namespace {

struct Shell {
    const char* name;
    std::string (*render)(const CommandPage&);
};

constexpr Shell shells[] = {
    {"bash", bashCompletion}, {"zsh", zshCompletion}, {"fish", fishCompletion}};

} // namespace

Action addManual(CLI::App& app) {
    return [&app] {
        writeOut(manualPage(describe(*app.get_parent()), FUSELAGE_VERSION));
        return ExitOk;
    };
}

Action addCompletions(CLI::App& app) {
    auto name = std::make_shared<std::string>();
    std::vector<std::string> names;
    for (const Shell& shell : shells)
        names.emplace_back(shell.name);
    app.add_option("shell", *name, "for which the script is")
        ->required()
        ->check(CLI::IsMember(names));
    return [name, &app] {
        for (const Shell& shell : shells)
            if (shell.name == *name)
                writeOut(shell.render(describe(*app.get_parent())));
        return ExitOk;
    };
}

} // namespace fuselage::cli
