// SPDX-License-Identifier: Apache-2.0
// Completion for fish: one line an option.
#include "app/cli/pages/page.h"

#include <fmt/format.h>

#include <sstream>

namespace fuselage::cli {

namespace {

std::string quoted(std::string_view text) {
    std::string out = "'";
    for (char c : text) {
        if (c == '\'' || c == '\\')
            out += '\\';
        out += c;
    }
    return out + "'";
}

/// True at the command `path` ("baseline update").
std::string condition(const std::string& path) {
    if (path.empty())
        return "__fish_use_subcommand";
    std::string out;
    std::istringstream in(path);
    for (std::string word; in >> word;)
        out += (out.empty() ? "" : "; and ") + std::string("__fish_seen_subcommand_from ") + word;
    return out;
}

std::string line(const std::string& path, const std::string& rest) {
    return "complete -c fuselage -n " + quoted(condition(path)) + rest + "\n";
}

std::string words(const OptionPage& option) {
    return quoted(listed(option.words, " "));
}

std::string optionLine(const std::string& path, const OptionPage& option) {
    std::string rest;
    for (const std::string& name : option.names)
        rest += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (!option.words.empty())
        rest += " -x -a " + words(option);
    else if (!option.value.empty())
        rest += option.isText() ? " -r" : " -x";
    return line(path, rest + " -d " + quoted(option.help));
}

} // namespace

std::string fishCompletion(const CommandPage& page) {
    std::string out = "# fish completion for fuselage; generated from the table of commands.\n";
    for (const PlacedPage& place : placed(page)) {
        for (const CommandPage& command : place.page->commands)
            out += line(place.path, " -f -a " + command.name + " -d " + quoted(command.help));
        for (const OptionPage& word : place.page->positionals)
            if (!word.words.empty())
                out += line(place.path, " -f -a " + words(word));
        for (const OptionPage& option : place.page->options)
            out += optionLine(place.path, option);
    }
    return out;
}

} // namespace fuselage::cli
