// SPDX-License-Identifier: Apache-2.0
// The rules of a run: the built-in library, a person's files and folders, or both.
#pragma once

#include "core/support/result.h"
#include "dsl/load.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace fuselage::app {

struct RuleOptions {
    std::vector<std::string> paths; ///< .fuse files, or folders whose .fuse files are taken sorted
    bool builtin = true;            ///< the embedded standard library, before the paths
    std::vector<dsl::RuleInput> texts = {};   ///< in memory, after the paths
    std::vector<std::string> importPath = {}; ///< folders where imports are looked up last
    /// Texts to take instead of what is on disk, by the file's name as `paths` give it: an editor's
    /// unsaved work, also of a file that is gone. Built-in files by "std/activation", `texts` by
    /// their name.
    std::map<std::string, std::string> unsaved = {};
    std::set<std::string> without = {}; ///< names of rules that are left out
};

struct ModelRequest;

/// Rules with the texts that their diagnostics and provenance point into.
struct RuleLibrary {
    std::unique_ptr<SourceSet> sources = std::make_unique<SourceSet>();
    dsl::LoadedRules loaded;
    std::vector<std::string> files; ///< those of the paths, by name, in order
    std::vector<Rule> leftOut = {}; ///< those that RuleOptions::without names
};

/// A folder's .fuse files in sorted order, or the path itself; `unsaved` may hold some that are
/// gone from the disk. Error "rules.read".
Result<std::vector<std::string>> ruleFiles(const std::string& path,
                                           const std::map<std::string, std::string>& unsaved = {});

/// The text of a built-in file by its import path, "std/activation".
Result<std::string> builtinImport(const std::string& path);

/// Loads all but what is left out, of which names that no rule has say nothing; mistakes in the
/// texts are in loaded.diagnostics, unreadable paths are an Error. An import is looked up among the
/// files given ("mine/acts" is acts.fuse in a given folder `mine`, "acts" a given file acts.fuse),
/// then among the embedded ones, then as a file "acts.fuse" beside the files given, then in
/// `importPath`. Adds the pipeline "default" when no file defines it.
Result<RuleLibrary> loadRuleLibrary(const RuleOptions& options);

/// The same; any error among the diagnostics is an Error "rules.invalid" holding their text, and a
/// name of `without` that no rule has is one, "usage.rule".
Result<RuleLibrary> requireRuleLibrary(const RuleOptions& options);

/// Operators that a person's rules name or the pipeline keeps, "com.microsoft.MoE": a model is read
/// with them as they are, and not by what they stand for (ModelRequest::whole). Declared operators
/// with a body are none.
std::set<std::string> namedOperators(const RuleLibrary& library,
                                     const std::string& pipeline = "default");

/// Makes a model be read for these rules and that pipeline: with the operators that they name or
/// keep, and no notes of those that they declare with a body.
void readFor(const RuleLibrary& library, const std::string& pipeline, ModelRequest& request);

/// What each rule's `numeric` clause allows, by name.
std::map<std::string, NumericClass> numericClasses(const RuleLibrary& library);

} // namespace fuselage::app
