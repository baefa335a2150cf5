// SPDX-License-Identifier: Apache-2.0
// The door of the dsl room: texts of .fuse files in, compiled rules, their tests and everything
// that is wrong with them out. Reads no files itself except those it is given as paths.
#pragma once

#include "core/rewrite/pattern.h"
#include "dsl/resolve.h"

#include <optional>
#include <string>
#include <vector>

namespace fuselage::dsl {

/// A .fuse text; without `text` it is read from the file `name`.
struct RuleInput {
    std::string name;
    std::optional<std::string> text;
    /// As other files import it ("std/activation"); goes before what the resolver knows by that
    /// path, and is loaded once. Of inputs with one path the last counts. Empty: not importable.
    std::string importPath = {};
};

/// A `test "..." { }` of a rule.
struct RuleTest {
    enum class Given { Nothing, Graph, Zoo, Model };

    std::string rule;
    std::string file; ///< of the rule
    std::string name;
    Given given = Given::Nothing;
    std::string subject; ///< graph text, name in the zoo, or path of a model
    std::optional<uint32_t> fires;
    std::optional<uint32_t> nodes;   ///< of the graph afterwards
    std::optional<double> tolerance; ///< `expect same`
    std::vector<std::string> misses; ///< codes of near misses
    Span span;
};

struct LoadedRules {
    RuleSet rules;
    /// Each form as a rewrite from its body to its operator, "form Gelu": for checks and proofs,
    /// the rules have them written out already.
    std::vector<Rule> forms;
    std::vector<RuleTest> tests;
    Diagnostics diagnostics;
};

/// Loads the inputs in order, each after its imports (`resolver` gives their text). Rules with
/// errors are left out; all errors are in `diagnostics`, whose spans point into `sources`.
LoadedRules loadRules(SourceSet& sources, const std::vector<RuleInput>& inputs,
                      const ImportResolver& resolver);

} // namespace fuselage::dsl
