// SPDX-License-Identifier: Apache-2.0
// Completion for bash: needs nothing but bash. What it does not know, the shell completes as files.
#include "app/cli/pages/page.h"

#include <fmt/format.h>

namespace fuselage::cli {

namespace {

std::string optionWords(const CommandPage& page) {
    std::string out;
    for (const OptionPage& option : page.options)
        for (const std::string& name : option.names)
            out += (out.empty() ? "" : " ") + name;
    return out;
}

/// Subcommands, or what the first positional chooses from.
std::string plainWords(const CommandPage& page) {
    std::string out;
    for (const CommandPage& command : page.commands)
        out += (out.empty() ? "" : " ") + command.name;
    for (const OptionPage& word : page.positionals)
        out += fmt::format("{}{}", out.empty() ? "" : " ", listed(word.words, " "));
    return out;
}

/// A row "PATH OPTION) words" for each option that takes a value.
std::string valueRows(const PlacedPage& place) {
    std::string out;
    for (const OptionPage& option : place.page->options) {
        if (option.value.empty())
            continue;
        std::string pattern;
        for (const std::string& name : option.names)
            pattern += fmt::format("{}\"{} {}\"", pattern.empty() ? "" : " | ", place.path, name);
        out += fmt::format("    {}) values=\"{}\" ;;\n", pattern, listed(option.words, " "));
    }
    return out;
}

} // namespace

std::string bashCompletion(const CommandPage& page) {
    std::string commands, values, words;
    for (const PlacedPage& place : placed(page)) {
        for (const CommandPage& command : place.page->commands)
            commands +=
                fmt::format("      \"{}:{}\") command=\"{}{}{}\" ;;\n", place.path, command.name,
                            place.path, place.path.empty() ? "" : " ", command.name);
        values += valueRows(place);
        words += fmt::format("    \"{}\") options=\"{}\" plain=\"{}\" ;;\n", place.path,
                             optionWords(*place.page), plainWords(*place.page));
    }
    return "# bash completion for fuselage; generated from the table of commands.\n"
           "_fuselage() {\n"
           "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
           "  local command=\"\" options=\"\" plain=\"\" values=none i\n"
           "  # \"--name=value\" arrives as three words.\n"
           "  if [[ $current == \"=\" ]]; then\n"
           "    current=\"\"\n"
           "  elif [[ $previous == \"=\" ]]; then\n"
           "    previous=${COMP_WORDS[COMP_CWORD-2]}\n"
           "  fi\n"
           "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
           "    case \"$command:${COMP_WORDS[i]}\" in\n" +
           commands +
           "    esac\n"
           "  done\n"
           "  COMPREPLY=()\n"
           "  case \"$command $previous\" in\n" +
           values +
           "  esac\n"
           "  if [[ $values != none ]]; then\n"
           "    [[ -n $values ]] && mapfile -t COMPREPLY < <(compgen -W \"$values\" -- "
           "\"$current\")\n"
           "    return\n"
           "  fi\n"
           "  case \"$command\" in\n" +
           words +
           "  esac\n"
           "  if [[ $current == -* ]]; then\n"
           "    mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")\n"
           "  elif [[ -n $plain ]]; then\n"
           "    mapfile -t COMPREPLY < <(compgen -W \"$plain\" -- \"$current\")\n"
           "  fi\n"
           "}\n"
           "complete -o bashdefault -o default -F _fuselage fuselage\n";
}

} // namespace fuselage::cli
