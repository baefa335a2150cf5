// SPDX-License-Identifier: Apache-2.0
// The table of commands and options as plain data, read from the parser that runs them, and what is
// made of it: the manual page and the completions of three shells. Knows nothing of what a command
// does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace fuselage::cli {

struct OptionPage {
    std::vector<std::string> names; ///< "-o", "--output"; of a positional its one name
    std::string value;              ///< "TEXT", "INT" ...; empty: a flag
    std::string initial;            ///< default as text; empty: none
    std::string help;
    std::vector<std::string> words; ///< values to choose from; empty: any
    bool repeatable = false;
    bool required = false;

    /// True when a value may name a file.
    bool isText() const { return value == "TEXT"; }
};

struct CommandPage {
    std::string name, help, examples;
    std::vector<OptionPage> positionals, options;
    std::vector<CommandPage> commands;
};

/// Everything that `app` accepts, in the order of its help.
CommandPage describe(const CLI::App& app);

/// The manual page, section 1, in troff.
std::string manualPage(const CommandPage& page, std::string_view version);

std::string bashCompletion(const CommandPage& page);
std::string zshCompletion(const CommandPage& page);
std::string fishCompletion(const CommandPage& page);

/// Every command with its path of names ("baseline update"), the root first with an empty path.
struct PlacedPage {
    std::string path;
    const CommandPage* page;
};

std::vector<PlacedPage> placed(const CommandPage& root);

/// Words with `between` them.
std::string listed(const std::vector<std::string>& words, std::string_view between);

} // namespace fuselage::cli
