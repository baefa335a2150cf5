// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/rules.h"

#include "app/pipeline/foreign_rules.h"
#include "app/pipeline/imports.h"
#include "app/pipeline/model.h"
#include "app/pipeline/named_operators.h"
#include "core/rewrite/engine.h"
#include "core/support/file.h"
#include "patterns/embedded.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

namespace fuselage::app {

namespace {

namespace fs = std::filesystem;

/// Imports the whole standard library and defines its pipelines.
constexpr const char* libraryPath = "std/all";

/// canonicalize* then convert* then fuse by exact: what a rule file without a pipeline gets.
Pipeline defaultPipeline() {
    Pipeline out{"default", {}};
    out.steps.push_back({"canonicalize", true, PhaseStep::Selection::Gain});
    out.steps.push_back({"convert", true, PhaseStep::Selection::Gain});
    out.steps.push_back({"fuse", false, PhaseStep::Selection::Exact});
    return out;
}

/// "F/a/b.fuse" of a folder "G/F" is imported as "F/a/b"; a file by itself as "a".
std::string importPathOf(const fs::path& file, const fs::path& base) {
    return file.lexically_relative(base).replace_extension().generic_string();
}

using Texts = std::map<std::string, std::string>;

/// A folder's rule files in sorted order, or the path itself; those with a text need not exist.
Result<std::vector<dsl::RuleInput>> expand(const std::string& path, const Texts& unsaved) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
        if (!fs::exists(path, error) && !unsaved.contains(path))
            return failure("rules.read", "no such file or folder", path,
                           "give a .fuse file or a folder of them");
        return std::vector<dsl::RuleInput>{{path, std::nullopt, fs::path(path).stem().string()}};
    }
    fs::path base = fs::absolute(path).lexically_normal();
    if (!base.has_filename()) // of "folder/"
        base = base.parent_path();
    std::vector<dsl::RuleInput> files;
    const auto add = [&](const fs::path& file) {
        files.push_back({file.string(), std::nullopt,
                         importPathOf(fs::absolute(file).lexically_normal(), base.parent_path())});
    };
    for (const auto& entry : fs::recursive_directory_iterator(path, error))
        if (entry.is_regular_file() && entry.path().extension() == ".fuse")
            add(entry.path());
    const std::string inside = (fs::path(path) / "").string();
    std::error_code absent;
    for (const auto& [file, text] : unsaved)
        if (file.starts_with(inside) && file.ends_with(".fuse") && !fs::exists(file, absent))
            add(file);
    if (error)
        return failure("rules.read", error.message(), path, "check its permissions");
    if (files.empty())
        return failure("rules.read", "holds no .fuse file", path,
                       "give a .fuse file or a folder of them");
    std::sort(files.begin(), files.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    return files;
}

/// Adds a file of the paths. Two files `a.fuse` of different folders both count, the second one
/// importable by its whole path only; one file that is named twice counts once.
void addFile(std::vector<dsl::RuleInput>& inputs, dsl::RuleInput file) {
    for (const dsl::RuleInput& earlier : inputs) {
        if (earlier.text || earlier.importPath != file.importPath)
            continue;
        std::error_code error;
        if (fs::equivalent(earlier.name, file.name, error))
            return;
        file.importPath = fs::path(file.name).replace_extension().generic_string();
    }
    inputs.push_back(std::move(file));
}

} // namespace

Result<std::vector<std::string>> ruleFiles(const std::string& path, const Texts& unsaved) {
    auto inputs = expand(path, unsaved);
    if (!inputs)
        return failure(inputs.error());
    std::vector<std::string> out;
    for (const dsl::RuleInput& input : *inputs)
        out.push_back(input.name);
    return out;
}

Result<std::string> builtinImport(const std::string& path) {
    for (const std::string& candidate : {path, path + ".fuse"})
        if (auto text = embeddedPattern(candidate))
            return std::string(*text);
    return failure("rules.import", "no built-in file `" + path + "`");
}

Result<RuleLibrary> loadRuleLibrary(const RuleOptions& options) {
    RuleLibrary out;
    std::vector<dsl::RuleInput> inputs;
    if (options.builtin)
        inputs.push_back({libraryPath, std::string(*embeddedPattern(libraryPath)), libraryPath});
    for (const std::string& path : options.paths) {
        auto files = expand(path, options.unsaved);
        if (!files)
            return failure(files.error());
        for (dsl::RuleInput& file : *files) {
            out.files.push_back(file.name);
            addFile(inputs, std::move(file));
        }
    }
    inputs.insert(inputs.end(), options.texts.begin(), options.texts.end());
    for (dsl::RuleInput& input : inputs)
        if (auto unsaved = options.unsaved.find(input.name); unsaved != options.unsaved.end())
            input.text = unsaved->second;
    const dsl::ImportResolver lookup = importLookup(importFolders(options));
    auto import = [&](const std::string& path) -> Result<std::string> {
        auto unsaved = options.unsaved.find(path);
        return unsaved != options.unsaved.end() ? unsaved->second : lookup(path);
    };
    out.loaded = dsl::loadRules(*out.sources, inputs, import);
    auto& rules = out.loaded.rules.rules;
    const auto left = std::stable_partition(rules.begin(), rules.end(), [&](const Rule& rule) {
        return !options.without.contains(rule.name);
    });
    out.leftOut.assign(std::make_move_iterator(left), std::make_move_iterator(rules.end()));
    rules.erase(left, rules.end());
    if (!findPipeline(out.loaded.rules, "default"))
        out.loaded.rules.pipelines.push_back(defaultPipeline());
    return out;
}

Result<RuleLibrary> requireRuleLibrary(const RuleOptions& options) {
    auto library = loadRuleLibrary(options);
    if (library && library->loaded.diagnostics.hasErrors())
        return failure("rules.invalid", "rules with errors\n" +
                                            render(library->loaded.diagnostics, *library->sources));
    if (!library)
        return library;
    for (const std::string& name : options.without)
        if (std::none_of(library->leftOut.begin(), library->leftOut.end(),
                         [&](const Rule& rule) { return rule.name == name; }))
            return failure("usage.rule", "no rule `" + name + "` to leave out", "--without-rule",
                           "take the name as reports give it");
    return library;
}

std::set<std::string> namedOperators(const Rule& rule) {
    std::set<std::string> out;
    for (const Term& term : rule.terms) {
        for (Op op : term.ops)
            out.insert(qualifiedNameOf(op));
        for (const CustomOperatorPtr& custom : term.custom)
            if (!custom->body)
                out.insert(custom->text());
    }
    return out;
}

std::set<std::string> namedOperators(const RuleLibrary& library, const std::string& pipeline) {
    std::set<std::string> out;
    if (const Pipeline* found = findPipeline(library.loaded.rules, pipeline))
        out.insert(found->kept.begin(), found->kept.end());
    for (const Rule& rule : library.loaded.rules.rules)
        if (!isBuiltIn(rule.file))
            out.merge(namedOperators(rule));
    return out;
}

void readFor(const RuleLibrary& library, const std::string& pipeline, ModelRequest& request) {
    request.whole = namedOperators(library, pipeline);
    for (const CustomOperatorPtr& custom : library.loaded.rules.operators)
        if (custom->body)
            request.declared.insert(custom->text());
}

std::map<std::string, NumericClass> numericClasses(const RuleLibrary& library) {
    std::map<std::string, NumericClass> out;
    for (const Rule& rule : library.loaded.rules.rules)
        out.emplace(rule.name, rule.numeric);
    return out;
}

} // namespace fuselage::app
