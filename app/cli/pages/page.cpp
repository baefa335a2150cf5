// SPDX-License-Identifier: Apache-2.0
#include "app/cli/pages/page.h"

#include "app/pipeline/compiled.h"
#include "app/zoo/zoo.h"
#include "core/cost/cost.h"

#include <CLI/CLI.hpp>

#include <sstream>

namespace fuselage::cli {

namespace {

std::vector<std::string> splitWords(std::string text) {
    for (char& c : text)
        c = c == ',' ? ' ' : c;
    std::istringstream in(text);
    std::vector<std::string> out;
    for (std::string word; in >> word;)
        out.push_back(word);
    return out;
}

std::vector<std::string> zooNames() {
    std::vector<std::string> out;
    for (const zoo::ZooEntry& entry : zoo::models())
        out.push_back(entry.name);
    return out;
}

/// Values that the parser does not list: other tables know them.
std::vector<std::string> knownWords(const std::string& command, const std::string& option) {
    if (option == "--backend")
        return splitWords(backendNames());
    if (option == "--device" || (command == "devices" && option == "name"))
        return deviceProfileNames();
    if (option == "--precision")
        return {"fp32", "tf32", "fp16", "bf16"};
    if (option == "--decide")
        return {"rules", "cost", "measure"};
    if (command == "zoo" && option == "name")
        return zooNames();
    return {};
}

OptionPage describe(const std::string& command, const CLI::Option& option) {
    OptionPage out;
    for (const std::string& name : option.get_snames())
        out.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames())
        out.names.push_back("--" + name);
    if (out.names.empty())
        out.names.push_back(option.get_name(true));
    out.help = option.get_description();
    out.initial = option.get_default_str();
    out.required = option.get_required();
    out.repeatable = option.get_items_expected_max() > 1;
    if (option.get_items_expected_max() == 0)
        return out;
    const std::string type = option.get_type_name();
    out.value = type.substr(0, type.find(':'));
    const size_t open = type.find('{'), close = type.find('}');
    out.words = open != std::string::npos && close != std::string::npos
                    ? splitWords(type.substr(open + 1, close - open - 1))
                    : knownWords(command, out.names.back());
    return out;
}

void place(const CommandPage& page, const std::string& path, std::vector<PlacedPage>& out) {
    out.push_back({path, &page});
    for (const CommandPage& command : page.commands)
        place(command, path.empty() ? command.name : path + " " + command.name, out);
}

} // namespace

CommandPage describe(const CLI::App& app) {
    CommandPage out;
    out.name = app.get_name();
    out.help = app.get_description();
    out.examples = app.get_footer();
    for (const CLI::Option* option : app.get_options())
        (option->nonpositional() ? out.options : out.positionals)
            .push_back(describe(out.name, *option));
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
        out.commands.push_back(describe(*command));
    return out;
}

std::vector<PlacedPage> placed(const CommandPage& root) {
    std::vector<PlacedPage> out;
    place(root, "", out);
    return out;
}

std::string listed(const std::vector<std::string>& words, std::string_view between) {
    std::string out;
    for (const std::string& word : words) {
        if (!out.empty())
            out += between;
        out += word;
    }
    return out;
}

} // namespace fuselage::cli
