// SPDX-License-Identifier: Apache-2.0
// Writes tests/counts/exports.toml for a folder of real exports, and the table of nodes before and
// after that patterns/README.md shows of it. Files whose rules fire alike share an entry.
#include "core/onnx/model_file.h"
#include "core/support/file.h"
#include "tests/counts/checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>

namespace fuselage::counts {

namespace {

namespace fs = std::filesystem;

/// One entry of the table.
struct Entry {
    CountTable rules;
    CountTable withoutFlatten; ///< where it differs, 0 where a rule is gone
    std::vector<std::string> rows;
};

std::vector<std::string> modelsIn(const std::string& folder) {
    std::vector<std::string> out;
    std::error_code error;
    for (const auto& file : fs::directory_iterator(folder, error))
        if (file.path().extension() == ".onnx")
            out.push_back(file.path().stem().string());
    std::sort(out.begin(), out.end());
    return out;
}

CountTable changesOf(const CountTable& from, const CountTable& to) {
    CountTable out;
    for (const auto& [rule, count] : from)
        if (!to.contains(rule))
            out[rule] = 0;
    for (const auto& [rule, count] : to)
        if (auto old = from.find(rule); old == from.end() || old->second != count)
            out[rule] = count;
    return out;
}

std::string assignments(const CountTable& counts, const char* between) {
    std::vector<std::string> parts;
    for (const auto& [rule, count] : counts)
        parts.push_back(fmt::format("{} = {}", rule, count));
    return fmt::format("{}", fmt::join(parts, between));
}

void print(const Entry& entry, const std::string& name) {
    fmt::print("\n[{}]\nmodels = [\n{}]\n", name, fmt::join(entry.rows, ""));
    if (!entry.rules.empty())
        fmt::print("{}\n", assignments(entry.rules, "\n"));
    if (!entry.withoutFlatten.empty())
        fmt::print("without_flatten = {{ {} }}\n", assignments(entry.withoutFlatten, ", "));
}

/// Rows of the Markdown table, two models a line.
std::string coverageOf(const std::string& tables) {
    std::vector<std::string> cells;
    const toml::table parsed = toml::parse_file(tables);
    for (const auto& [key, entry] : parsed)
        if (const toml::array* models = entry.as_table()->get_as<toml::array>("models"))
            for (const toml::node& model : *models)
                if (const toml::array* row = model.as_array(); row && row->size() == 3)
                    cells.push_back(fmt::format("{} | {} → {} |", row->at(0).value_or(""),
                                                row->at(1).value_or(int64_t{0}),
                                                row->at(2).value_or(int64_t{0})));
    std::sort(cells.begin(), cells.end());
    std::string out = "| export | nodes | export | nodes |\n|---|---|---|---|\n";
    const size_t lines = (cells.size() + 1) / 2;
    for (size_t i = 0; i < lines; ++i)
        out += "| " + cells[i] + " " + (lines + i < cells.size() ? cells[lines + i] : "| |") + "\n";
    return out;
}

} // namespace

int writeExports(const std::string& folder) {
    const app::RuleLibrary library = builtinRules();
    const app::RuleLibrary withoutFlatten = rulesWithout("FlattenLinearToConv1x1");
    Progress progress;
    std::map<std::string, Entry> entries; ///< by what they say
    int wrong = 0;
    for (const std::string& name : modelsIn(folder)) {
        auto graph = model_io::load(folder + "/" + name + ".onnx", {}, progress);
        auto counted = graph ? countModel(graph->clone(), library) : std::nullopt;
        if (!counted) {
            fmt::print(stderr, "FAILED {}: {}\n", name, graph ? "" : graph.error().text());
            ++wrong;
            continue;
        }
        CountTable changes = changesOf(counted->rules, countsOf(std::move(*graph), withoutFlatten));
        Entry& entry =
            entries[assignments(counted->rules, "\n") + "\n" + assignments(changes, ", ")];
        entry.rules = counted->rules;
        entry.withoutFlatten = std::move(changes);
        entry.rows.push_back(
            fmt::format("  [\"{}\", {}, {}],\n", name, counted->before, counted->after));
    }
    std::map<std::string, const Entry*> byName;
    for (const auto& [text, entry] : entries)
        byName[entry.rows[0].substr(4, entry.rows[0].find('"', 4) - 4)] = &entry;
    for (const auto& [name, entry] : byName)
        print(*entry, name);
    return wrong;
}

int writeCoverage(const std::string& tables, const std::string& page) {
    try {
        const std::string table = coverageOf(tables);
        if (page.empty()) {
            fmt::print("{}", table);
            return 0;
        }
        auto text = readFile(page);
        const bool holds = text && text->find(table) != std::string::npos;
        if (!holds)
            fmt::print("{} does not hold this table:\n{}", page, table);
        return holds ? 0 : 1;
    } catch (const toml::parse_error& error) {
        fmt::print("{}: {}\n", tables, std::string(error.description()));
        return 1;
    }
}

} // namespace fuselage::counts
