// SPDX-License-Identifier: Apache-2.0
#include "app/cli/project_options.h"

#include "app/cli/pages/page.h"
#include "app/report/format.h"
#include "core/support/file.h"
#include "dsl/suggest.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace fuselage::cli {

namespace {

using batch::ProjectOption;

constexpr const char* configOption = "--config";
constexpr const char* printOption = "--print-config";

const OptionPage* find(const CommandPage& command, const std::string& name) {
    for (const OptionPage& option : command.options)
        if (std::find(option.names.begin(), option.names.end(), "--" + name) != option.names.end())
            return &option;
    return nullptr;
}

bool takesModels(const CommandPage& command) {
    return std::any_of(command.positionals.begin(), command.positionals.end(),
                       [](const OptionPage& word) { return word.names.front() == "models"; });
}

/// Takes "--config FILE" out of the words; the file, or none.
std::optional<std::string> takeConfig(std::vector<std::string>& words) {
    for (size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
        if (words[i] == configOption && i + 1 < words.size()) {
            std::string file = words[i + 1];
            words.erase(words.begin() + static_cast<ptrdiff_t>(i),
                        words.begin() + static_cast<ptrdiff_t>(i) + 2);
            return file;
        }
        const std::string start = std::string(configOption) + "=";
        if (words[i].starts_with(start)) {
            std::string file = words[i].substr(start.size());
            words.erase(words.begin() + static_cast<ptrdiff_t>(i));
            return file;
        }
    }
    return {};
}

/// True when the person gave the option by one of its names.
bool given(const OptionPage& option, const std::vector<std::string>& words) {
    for (const std::string& word : words) {
        if (word == "--")
            return false;
        for (const std::string& name : option.names) {
            const bool shortName = !name.starts_with("--");
            if (word == name || word.starts_with(name + "=") ||
                (shortName && word.starts_with(name) && !word.starts_with("--")))
                return true;
        }
    }
    return false;
}

Failure unknown(const ProjectOption& option, const std::vector<const CommandPage*>& commands) {
    std::vector<std::string> names;
    for (const CommandPage* command : commands)
        for (const OptionPage& known : command->options)
            for (const std::string& name : known.names)
                if (name.starts_with("--"))
                    names.push_back(name.substr(2));
    return failure("usage.project",
                   option.command.empty()
                       ? fmt::format("no command has an option `{}`", option.name)
                       : fmt::format("`{}` has no option `{}`", option.command, option.name),
                   option.where, dsl::didYouMean(dsl::closest(option.name, names), ""));
}

/// The option belongs somewhere, if not to this command.
Result<void> check(const ProjectOption& option, const CommandPage& root) {
    std::vector<const CommandPage*> commands;
    for (const CommandPage& command : root.commands)
        if (!option.model.empty() ? command.name == "batch"
                                  : option.command.empty() || command.name == option.command)
            commands.push_back(&command);
    if (commands.empty())
        return failure("usage.project", fmt::format("no command `{}`", option.command),
                       option.where,
                       "a table is named after a command, or is `dim` or `model.\"ID\"`");
    const bool known =
        std::any_of(commands.begin(), commands.end(), [&](const CommandPage* command) {
            return find(*command, option.name) != nullptr ||
                   (option.name == "models" && takesModels(*command));
        });
    if (!known)
        return unknown(option, commands);
    return {};
}

/// Tables of single models as --model-option words; where the next word goes.
size_t addForModels(const CommandPage& command, const std::vector<ProjectOption>& options,
                    const std::vector<std::string>& written, ProjectWords& out) {
    size_t at = 1;
    for (const ProjectOption& option : options) {
        const OptionPage* page = find(command, option.name);
        if (option.model.empty() || page == nullptr || given(*page, written))
            continue;
        out.used.push_back(option);
        for (const std::string& value : option.values)
            out.words.insert(
                out.words.begin() + static_cast<ptrdiff_t>(at++),
                fmt::format("--model-option={}:{}={}", option.model, option.name, value));
    }
    return at;
}

/// "command line", "fuselage.toml:3", "default".
std::string originOf(const CLI::Option& option, const CommandPage& command,
                     const ProjectWords& project) {
    if (option.count() == 0)
        return "default";
    if (option.get_positional())
        return project.models.empty() ? "command line" : project.path;
    const std::string& name = option.get_lnames().front();
    std::string places;
    const OptionPage* page = find(command, name);
    if (page != nullptr && given(*page, project.written))
        places = "command line";
    for (const ProjectOption& used : project.used)
        if (used.name == name ? used.model.empty() : name == "model-option" && !used.model.empty())
            places += (places.empty() ? "" : ", ") + used.where;
    return places;
}

} // namespace

Result<ProjectWords> withProject(const CLI::App& app, std::vector<std::string> words) {
    ProjectWords out;
    const auto named = takeConfig(words);
    if (named && named->empty())
        return failure("usage.value", "--config: the value is empty", "",
                       "name a file, or write `none`; was a variable set?");
    out.print = std::erase(words, printOption) > 0;
    out.written = words;
    out.words = std::move(words);
    const std::string path = named ? (*named == "none" ? "" : *named) : batch::findProject();
    if (path.empty())
        return out;
    out.path = path;
    auto text = readFile(path);
    if (!text)
        return failure(text.error());
    auto options = batch::readProject(*text, path);
    if (!options)
        return failure(options.error());
    const CommandPage root = describe(app);
    for (const ProjectOption& option : *options)
        if (auto known = check(option, root); !known)
            return failure(known.error());
    auto command = std::find_if(root.commands.begin(), root.commands.end(), [&](const auto& page) {
        return !out.words.empty() && page.name == out.words.front();
    });
    if (command == root.commands.end())
        return out;
    const std::vector<std::string> written = out.words;
    size_t at = 1;
    if (command->name == "batch")
        at = addForModels(*command, *options, written, out);
    // A command's own table comes first: what it says hides what all commands are told.
    for (const bool own : {true, false})
        for (const ProjectOption& option : *options) {
            if (!option.model.empty() || (option.command == command->name) != own ||
                (!own && !option.command.empty()))
                continue;
            const OptionPage* page = find(*command, option.name);
            if (option.name == "models" && takesModels(*command) && out.models.empty())
                out.models = option.values;
            if (page == nullptr || given(*page, written) ||
                std::any_of(out.used.begin(), out.used.end(), [&](const ProjectOption& used) {
                    return used.name == option.name && used.model.empty();
                }))
                continue;
            out.used.push_back(option);
            for (const std::string& value : option.values) {
                const bool flag = page->value.empty();
                if (flag && value != "true")
                    continue;
                out.words.insert(out.words.begin() + static_cast<ptrdiff_t>(at++),
                                 flag ? "--" + option.name : "--" + option.name + "=" + value);
            }
        }
    return out;
}

std::string settingsText(const CLI::App& app, const ProjectWords& project) {
    std::string out;
    for (const CLI::App* command : app.get_subcommands()) {
        const CommandPage root = describe(app);
        auto page =
            std::find_if(root.commands.begin(), root.commands.end(), [&](const CommandPage& other) {
                return other.name == command->get_name();
            });
        out += "[" + command->get_name() + "]\n";
        app::TextTable table({app::TextTable::Align::Left, app::TextTable::Align::Left});
        for (const CLI::Option* option : command->get_options()) {
            const std::vector<std::string> values =
                option->count() > 0 ? option->results() : std::vector{option->get_default_str()};
            const std::string name = listed(option->get_lnames(), ", ");
            if (values == std::vector<std::string>{""} || name == "help")
                continue;
            const bool positional = option->get_positional();
            table.row({fmt::format("{} = {}", positional ? option->get_name(true) : name,
                                   listed(values, ", ")),
                       originOf(*option, *page, project)});
        }
        out += table.text("");
    }
    return out;
}

std::string placeOf(const std::string& text, const ProjectWords& project) {
    for (const ProjectOption& option : project.used)
        if (text.find("--" + option.name) != std::string::npos)
            return option.where;
    return "";
}

} // namespace fuselage::cli
