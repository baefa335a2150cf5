// SPDX-License-Identifier: Apache-2.0
#include "app/cli/project_options.h"

#include "app/cli/pages/page.h"
#include "core/support/file.h"
#include "dsl/suggest.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace fuselage::cli {

namespace {

using batch::ProjectOption;

constexpr const char* configOption = "--config";

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
    const std::string near = dsl::closest(option.name, names);
    return failure("usage.project",
                   option.command.empty()
                       ? fmt::format("no command has an option `{}`", option.name)
                       : fmt::format("`{}` has no option `{}`", option.command, option.name),
                   option.where, near.empty() ? "" : "did you mean `" + near + "`?");
}

/// The option belongs somewhere, if not to this command.
Result<void> check(const ProjectOption& option, const CommandPage& root) {
    std::vector<const CommandPage*> commands;
    for (const CommandPage& command : root.commands)
        if (option.command.empty() || command.name == option.command)
            commands.push_back(&command);
    if (commands.empty())
        return failure("usage.project", fmt::format("no command `{}`", option.command),
                       option.where, "a table is named after a command, or is `dim`");
    const bool known =
        std::any_of(commands.begin(), commands.end(), [&](const CommandPage* command) {
            return find(*command, option.name) != nullptr ||
                   (option.name == "models" && takesModels(*command));
        });
    if (!known)
        return unknown(option, commands);
    return {};
}

} // namespace

Result<ProjectWords> withProject(const CLI::App& app, std::vector<std::string> words) {
    ProjectWords out;
    const auto named = takeConfig(words);
    out.words = std::move(words);
    const std::string path = named ? (*named == "none" ? "" : *named) : batch::findProject();
    if (path.empty())
        return out;
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
    // A command's own table comes first: what it says hides what all commands are told.
    for (const bool own : {true, false})
        for (const ProjectOption& option : *options) {
            if ((option.command == command->name) != own || (!own && !option.command.empty()))
                continue;
            const OptionPage* page = find(*command, option.name);
            if (option.name == "models" && takesModels(*command) && out.models.empty())
                out.models = option.values;
            if (page == nullptr || given(*page, written) ||
                std::any_of(out.used.begin(), out.used.end(),
                            [&](const ProjectOption& used) { return used.name == option.name; }))
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

std::string placeOf(const std::string& text, const ProjectWords& project) {
    for (const ProjectOption& option : project.used)
        if (text.find("--" + option.name) != std::string::npos)
            return option.where + ": ";
    return "";
}

} // namespace fuselage::cli
