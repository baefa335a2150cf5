// SPDX-License-Identifier: Apache-2.0
#include "app/report/rules_json.h"

#include "app/report/json_internal.h"

namespace fuselage::app {

std::string renderRulesJson(const RulesReport& report) {
    nlohmann::json rules = nlohmann::json::array(), tests = nlohmann::json::array();
    for (const RuleVerdict& each : report.rules) {
        nlohmann::json rule = {{"rule", each.rule},         {"where", each.where},
                               {"verdict", each.verdict},   {"samples", each.samples},
                               {"attempts", each.attempts}, {"failing", each.failing},
                               {"given", each.conditions},  {"not_sampled", each.unsampled}};
        if (!each.obstacle.empty())
            rule["not_proved"] = each.obstacle;
        if (each.failing > 0)
            rule["counterexample"] = {{"graph", each.graph}, {"difference", each.difference}};
        if (!each.guard.empty())
            rule["guard"] = each.guard;
        rules.push_back(std::move(rule));
    }
    for (const RuleTestEntry& each : report.tests) {
        nlohmann::json failures = nlohmann::json::array();
        for (const auto& [expected, found] : each.failures)
            failures.push_back({{"expected", expected}, {"found", found}});
        tests.push_back({{"rule", each.rule},
                         {"name", each.name},
                         {"where", each.where},
                         {"result", each.result},
                         {"reason", each.reason},
                         {"failures", std::move(failures)}});
    }
    return fileText({{"schema", "fuselage.rules/1"},
                     {"rules", std::move(rules)},
                     {"tests", std::move(tests)},
                     {"untested", report.untested}});
}

} // namespace fuselage::app
