// SPDX-License-Identifier: Apache-2.0
#include "app/cli/parse_error.h"

#include "app/cli/pages/page.h"
#include "dsl/suggest.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

namespace fuselage::cli {

namespace {

/// The innermost command that the words name; its path ("baseline update") too.
const CommandPage& commandOf(const CommandPage& root, const std::vector<std::string>& words,
                             std::string& path) {
    const CommandPage* page = &root;
    for (const std::string& word : words) {
        auto inner = std::find_if(page->commands.begin(), page->commands.end(),
                                  [&](const CommandPage& command) { return command.name == word; });
        if (inner == page->commands.end())
            continue;
        page = &*inner;
        path += " " + word;
    }
    return *page;
}

std::string nearestOption(const CommandPage& command, const std::string& word) {
    std::vector<std::string> names;
    for (const OptionPage& option : command.options)
        for (const std::string& name : option.names)
            if (name.starts_with("--"))
                names.push_back(name.substr(2));
    const std::string near =
        word.starts_with("--") ? dsl::closest(word.substr(2, word.find('=') - 2), names) : "";
    return near.empty() ? "" : "--" + near;
}

/// What follows the first ": " of CLI11's sentence: the words that nobody expects.
std::string afterColon(const std::string& text) {
    const size_t colon = text.find(": ");
    return colon == std::string::npos ? text : text.substr(colon + 2);
}

/// Of words that nobody expects the one that reads like an option, else the first.
std::string unexpected(const std::string& text) {
    std::istringstream in(afterColon(text));
    std::string first, word;
    while (in >> word) {
        if (word.starts_with("-"))
            return word;
        first = first.empty() ? word : first;
    }
    return first;
}

std::string sentence(const CLI::ParseError& error) {
    std::string text = error.what();
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr)
        return fmt::format("`{}` is not expected here", unexpected(text));
    if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
        text = afterColon(text); // "--threads = many"
        const size_t equals = text.find(" = ");
        if (equals != std::string::npos)
            return fmt::format("{}: `{}` is not a value that it takes", text.substr(0, equals),
                               text.substr(equals + 3));
    }
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && text.ends_with(" missing"))
        return text.substr(0, text.find(": ")) + ": the value is missing";
    if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr &&
        text.ends_with(" is required") && !text.starts_with("A "))
        return fmt::format("`{}` is required", text.substr(0, text.rfind(" is required")));
    // "x not in {a,b}" of a choice
    const size_t choice = text.find(" not in {"), begin = text.find(": ");
    if (choice != std::string::npos && begin != std::string::npos && begin < choice)
        return fmt::format("{}: `{}` is not one of: {}", text.substr(0, begin),
                           text.substr(begin + 2, choice - begin - 2),
                           text.substr(choice + 9, text.size() - choice - 10));
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
    return text;
}

} // namespace

Error usageError(const CLI::App& app, const CLI::ParseError& error,
                 const std::vector<std::string>& words, const std::string& where) {
    const CommandPage root = describe(app);
    std::string path;
    const CommandPage& command = commandOf(root, words, path);
    const bool extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
    const std::string near = !extra ? "" : nearestOption(command, unexpected(error.what()));
    const std::string help = "see `fuselage" + path + " --help`";
    return Error{"usage.option", sentence(error), where,
                 near.empty() ? help : "did you mean `" + near + "`? " + help};
}

namespace {

Failure emptyValue(const std::string& option) {
    return failure("usage.value", option + ": the value is empty", "",
                   "give a value, or leave the option out; was a variable set?");
}

} // namespace

Result<void> requireWords(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
        if (word == "--")
            break;
        if (word.starts_with("--") && word.find('=') == word.size() - 1)
            return emptyValue(word.substr(0, word.size() - 1));
    }
    return {};
}

Result<void> requireValues(const CLI::App& app) {
    for (const CLI::Option* option : app.get_options())
        if (option->count() > 0 && option->get_expected_max() > 0 &&
            !option->check_lname("commit")) // no commit is "unknown"
            for (const std::string& value : option->results())
                if (value.empty())
                    return emptyValue(option->get_positional() ? "`" + option->get_name(true) + "`"
                                                               : option->get_name());
    for (const CLI::App* command : app.get_subcommands())
        if (auto fine = requireValues(*command); !fine)
            return fine;
    return {};
}

} // namespace fuselage::cli
