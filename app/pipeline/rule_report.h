// SPDX-License-Identifier: Apache-2.0
// What `fuselage test` found in rule files, as plain data: the verdict of each rule and the result
// of each test. `app/report` writes it as JSON; nothing here computes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fuselage::app {

struct RuleVerdict {
    std::string rule, where; ///< "file:line"
    std::string verdict;     ///< "proved", "equal over the reals", "tested", "unsound" ...
    uint32_t samples = 0;    ///< graphs in which it fired
    uint32_t attempts = 0;   ///< graphs that were generated
    uint32_t failing = 0;
    std::vector<std::string> conditions; ///< that a proof rests on
    std::string obstacle;                ///< why there is no proof
    std::vector<std::string> unsampled;  ///< of the pattern: what no sample has met
    std::string graph, difference;       ///< the smallest counterexample
    std::string guard;                   ///< what would make the rule right
};

struct RuleTestEntry {
    std::string rule, name, where;                             ///< "file:line"
    std::string result;                                        ///< "passed", "failed" or "skipped"
    std::string reason;                                        ///< of a skipped one
    std::vector<std::pair<std::string, std::string>> failures; ///< expected, found
};

struct RulesReport {
    std::vector<RuleVerdict> rules;
    std::vector<RuleTestEntry> tests;
    std::vector<std::string> untested; ///< rules without a test
};

} // namespace fuselage::app
