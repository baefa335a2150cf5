// SPDX-License-Identifier: Apache-2.0
// Completion for zsh: one function a command, over _arguments.
#include "app/cli/pages/page.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::cli {

namespace {

/// Text between single quotes, where _arguments gives `[`, `]` and `:` a meaning.
std::string escaped(std::string_view text) {
    std::string out;
    for (char c : text) {
        if (c == '\'')
            out += "'\\''";
        else if (c == '[' || c == ']' || c == ':' || c == '\\')
            out += std::string("\\") + c;
        else
            out += c;
    }
    return out;
}

std::string functionName(const std::string& path) {
    std::string out = "_fuselage" + std::string(path.empty() ? "" : "_") + path;
    std::replace(out.begin(), out.end(), ' ', '_');
    return out;
}

/// What completes a value, after its colon.
std::string action(const OptionPage& option) {
    if (!option.words.empty())
        return fmt::format("({})", listed(option.words, " "));
    return option.isText() ? "_files" : " ";
}

std::string specification(const OptionPage& option) {
    std::string help = "[" + escaped(option.help) + "]";
    if (!option.value.empty())
        help += ":" + escaped(option.value) + ":" + action(option);
    if (option.names.size() == 1)
        return fmt::format("'{}{}{}'", option.repeatable ? "*" : "", option.names[0], help);
    // Names of one option shut each other out, unless it may be given again.
    const std::string shut =
        option.repeatable ? "'*'" : fmt::format("'({})'", listed(option.names, " "));
    return fmt::format("{}{{{}}}'{}'", shut, listed(option.names, ","), help);
}

std::string function(const PlacedPage& place) {
    std::string out = functionName(place.path) + "() {\n";
    const CommandPage& page = *place.page;
    if (!page.commands.empty())
        out += "  local context state state_descr line\n  typeset -A opt_args\n";
    out += "  _arguments -s -S";
    if (!page.commands.empty())
        out += " -C";
    for (const OptionPage& option : page.options)
        out += " \\\n    " + specification(option);
    for (const OptionPage& word : page.positionals)
        out +=
            fmt::format(" \\\n    '{}:{}:{}'", word.repeatable ? "*" : "",
                        escaped(word.names.front()), word.words.empty() ? "_files" : action(word));
    if (page.commands.empty())
        return out + "\n}\n";
    out += " \\\n    '1:command:->command' '*::argument:->argument'\n"
           "  case $state in\n    command)\n      local -a commands=(\n";
    for (const CommandPage& command : page.commands)
        out += fmt::format("        '{}:{}'\n", command.name, escaped(command.help));
    out += "      )\n      _describe command commands ;;\n    argument)\n      case $line[1] in\n";
    for (const CommandPage& command : page.commands)
        out += fmt::format(
            "        {}) {} ;;\n", command.name,
            functionName(place.path.empty() ? command.name : place.path + " " + command.name));
    return out + "      esac ;;\n  esac\n}\n";
}

} // namespace

std::string zshCompletion(const CommandPage& page) {
    std::string out = "#compdef fuselage\n# Generated from the table of commands.\n";
    for (const PlacedPage& place : placed(page))
        out += function(place);
    // Loaded from $fpath the file is the function's body; sourced, it only defines.
    return out + "if [[ $funcstack[1] == _fuselage ]]; then\n  _fuselage \"$@\"\nelse\n"
                 "  compdef _fuselage fuselage\nfi\n";
}

} // namespace fuselage::cli
