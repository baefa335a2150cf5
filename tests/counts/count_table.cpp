// SPDX-License-Identifier: Apache-2.0
// Counts of rules on the networks of the zoo and on real exports, against tables in TOML.
#include "app/zoo/zoo.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "tests/counts/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace fuselage::counts {

namespace {

/// The libraries that a table is checked with.
struct Libraries {
    app::RuleLibrary builtin = builtinRules();
    app::RuleLibrary files = rulesFromFiles();
    app::RuleLibrary withoutFlatten = rulesWithout("FlattenLinearToConv1x1");
};

/// `row`: its name, the nodes before and the nodes after; or null.
int checkModel(const std::string& name, const toml::table& entry, const Graph& graph,
               const Libraries& libraries, const toml::array* row = nullptr) {
    CountTable expected = tableOf(entry);
    auto counted = countModel(graph.clone(), libraries.builtin);
    int wrong = !counted || differs(name, expected, counted->rules) ? 1 : 0;
    if (counted && row)
        wrong += differs(name + ", nodes",
                         {{"before", row->at(1).value_or(int64_t{-1})},
                          {"after", row->at(2).value_or(int64_t{-1})}},
                         {{"before", counted->before}, {"after", counted->after}})
                     ? 1
                     : 0;
    wrong +=
        differs(name + ", rules from files", expected, countsOf(graph.clone(), libraries.files))
            ? 1
            : 0;
    if (const toml::table* changed = entry["without_flatten"].as_table())
        wrong += differs(name + ", without FlattenLinearToConv1x1", tableOf(*changed, expected),
                         countsOf(graph.clone(), libraries.withoutFlatten))
                     ? 1
                     : 0;
    return wrong;
}

app::RuleLibrary loaded(const app::RuleOptions& options) {
    auto library = app::requireRuleLibrary(options);
    if (library)
        return std::move(*library);
    fmt::print("{}\n", library.error().text());
    return {};
}

} // namespace

CountTable tableOf(const toml::table& from, CountTable base) {
    for (const auto& [key, value] : from)
        if (auto number = value.value<int64_t>()) {
            base[std::string(key.str())] = *number;
            if (*number == 0)
                base.erase(std::string(key.str()));
        }
    return base;
}

toml::table parsed(const std::string& path) {
    try {
        return toml::parse_file(path);
    } catch (const toml::parse_error& error) {
        fmt::print("{}: {}\n", path, std::string(error.description()));
        return {};
    }
}

bool differs(const std::string& name, const CountTable& expected, const CountTable& found) {
    std::string rows = differences(expected, found);
    fmt::print("{} {}\n{}", rows.empty() ? "ok    " : "FAILED", name, rows);
    return !rows.empty();
}

app::RuleLibrary builtinRules() {
    return loaded({});
}

app::RuleLibrary rulesFromFiles() {
    return loaded({{std::string(FUSELAGE_SOURCE_DIR) + "/patterns/std"}, false});
}

app::RuleLibrary rulesWithout(const std::string& rule) {
    app::RuleLibrary library = builtinRules();
    std::erase_if(library.loaded.rules.rules, [&](const Rule& it) { return it.name == rule; });
    return library;
}

std::optional<Counted> countModel(Graph graph, const app::RuleLibrary& library) {
    Progress progress;
    if (auto prepared = prepareGraph(graph, progress); !prepared) {
        fmt::print(stderr, "  {}\n", prepared.error().text());
        return std::nullopt;
    }
    app::FuseOptions options;
    options.profile = "h200";
    auto fused = app::fuseGraph(graph, library, options, progress);
    if (!fused) {
        fmt::print(stderr, "  {}\n", fused.error().text());
        return std::nullopt;
    }
    Counted out;
    out.before = static_cast<int64_t>(graph.nodeCount());
    out.after = static_cast<int64_t>(fused->graph.nodeCount());
    for (NodeId id : fused->graph.nodes())
        if (fused->graph.node(id).op == Op::Fused)
            ++out.rules[fused->graph.node(id).customOp];
    return out;
}

CountTable countsOf(Graph graph, const app::RuleLibrary& library) {
    auto counted = countModel(std::move(graph), library);
    return counted ? std::move(counted->rules) : CountTable();
}

std::string differences(const CountTable& expected, const CountTable& found) {
    CountTable all = expected;
    all.insert(found.begin(), found.end());
    std::string out;
    auto at = [](const CountTable& table, const std::string& rule) {
        auto row = table.find(rule);
        return row == table.end() ? 0 : row->second;
    };
    for (const auto& [rule, count] : all)
        if (at(expected, rule) != at(found, rule))
            out +=
                fmt::format("  {}: {}, expected {}\n", rule, at(found, rule), at(expected, rule));
    return out;
}

int checkZoo(const std::string& tables) {
    Libraries libraries;
    int wrong = 0;
    size_t checked = 0;
    for (const auto& [key, entry] : parsed(tables)) {
        std::string name(key.str());
        auto graph = zoo::build(name);
        if (!graph || !entry.is_table()) {
            fmt::print("FAILED {}: {}\n", name, graph ? "no table" : graph.error().text());
            ++wrong;
            continue;
        }
        wrong += checkModel(name, *entry.as_table(), *graph, libraries);
        ++checked;
    }
    return checked == 0 ? 1 : wrong;
}

int checkExports(const std::string& tables, const std::string& folder) {
    if (folder.empty() || !std::filesystem::is_directory(folder))
        return -1;
    Libraries libraries;
    Progress progress;
    int wrong = 0;
    size_t checked = 0;
    for (const auto& [key, entry] : parsed(tables)) {
        const toml::array* models =
            entry.is_table() ? entry.as_table()->get_as<toml::array>("models") : nullptr;
        if (!models) {
            fmt::print("FAILED {}: no list `models`\n", std::string(key.str()));
            ++wrong;
            continue;
        }
        for (const toml::node& model : *models) {
            const toml::array* row = model.as_array();
            const std::string name = row && row->size() == 3 ? row->at(0).value_or("") : "";
            std::string path = folder + "/" + name + ".onnx";
            if (!std::filesystem::exists(path)) {
                fmt::print("absent {}\n", path);
                continue;
            }
            auto graph = model_io::load(path, {}, progress);
            if (!graph) {
                fmt::print("FAILED {}\n", graph.error().text());
                ++wrong;
                continue;
            }
            wrong += checkModel(name, *entry.as_table(), *graph, libraries, row);
            ++checked;
        }
    }
    return checked == 0 ? -1 : wrong;
}

} // namespace fuselage::counts
