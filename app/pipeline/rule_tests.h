// SPDX-License-Identifier: Apache-2.0
// Runs the `test` blocks of rule files: each gives a graph and says how often its rule fires there,
// which near misses it meets, how many nodes are left, and that results stay the same. Does not
// know where zoo models come from: the caller gives a builder.
#pragma once

#include "app/pipeline/rules.h"
#include "core/graph/graph.h"
#include "core/rewrite/trace.h"
#include "core/support/progress.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace fuselage::app {

struct RuleTestOptions {
    std::string rule; ///< only the tests of this rule; empty: all
    /// Only tests of these files (as the library names them); empty: all.
    std::vector<std::string> files;
    /// Builds `zoo NAME`.
    std::function<Result<Graph>(const std::string&)> zoo;
    uint64_t seed = 1;
};

/// One expectation that was not met.
struct RuleTestFailure {
    std::string expected; ///< "fires 1"
    std::string found;    ///< "fires 0"
};

struct RuleTestResult {
    const dsl::RuleTest* test = nullptr; ///< of the library
    std::string where;                   ///< "file:line"
    std::vector<RuleTestFailure> failures;
    std::optional<std::string> skipped; ///< what this machine lacks
    std::vector<NearMiss> nearest;      ///< of the rule, when it fired too seldom; nearest first
    std::vector<Reason> refused;        ///< of its complete matches: another rule has the nodes ...
    std::vector<std::string> cutOff;    ///< rules whose search ended before it had seen all
    std::vector<std::string> stopped;   ///< why phases ended while rules still fired

    bool passed() const { return failures.empty() && !skipped; }
};

/// Runs the tests in file order with the pipeline "default" and all rules of the library; a rule
/// of a phase outside of that pipeline runs with its phase alone. Error "cancelled".
Result<std::vector<RuleTestResult>>
runRuleTests(const RuleLibrary& library, const RuleTestOptions& options, Progress& progress);

/// Rules (of the chosen files and name) without a test, as "file:line: rule `R`".
std::vector<std::string> rulesWithoutTests(const RuleLibrary& library,
                                           const RuleTestOptions& options);

} // namespace fuselage::app
