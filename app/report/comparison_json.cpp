// SPDX-License-Identifier: Apache-2.0
#include "app/report/comparison.h"
#include "app/report/json_archive_internal.h"
#include "app/report/json_internal.h"

namespace fuselage::app {

using nlohmann::json;

namespace {

json partsJson(const std::vector<ComparedPart>& parts) {
    json out = json::array();
    for (const ComparedPart& part : parts)
        out.push_back({{"what", part.what}, {"a", part.base}, {"b", part.now}});
    return out;
}

/// How many fused nodes a rule made; on a side where it is not there it made none.
json rulesJson(const std::vector<ComparedPart>& rules) {
    const auto count = [](const std::string& text) {
        return text.empty() ? 0 : static_cast<int64_t>(numberIn(text));
    };
    json out = json::array();
    for (const ComparedPart& rule : rules)
        out.push_back({{"rule", rule.what}, {"a", count(rule.base)}, {"b", count(rule.now)}});
    return out;
}

/// Both sides of a metric; a hash stays a text.
json metricJson(const ComparedMetric& metric) {
    json out{{"metric", metric.name}, {"unit", metric.unit}, {"verdict", metric.verdict}};
    const auto add = [&](const std::string& side, const std::string& text,
                         const std::optional<ComparedNumber>& number) {
        if (!number) {
            out[side] = text;
            return;
        }
        out[side] = rounded(number->value);
        if (number->low != number->high) {
            out[side + "_low"] = rounded(number->low);
            out[side + "_high"] = rounded(number->high);
        }
    };
    add("a", metric.base, metric.baseNumber);
    add("b", metric.now, metric.nowNumber);
    if (metric.change)
        out["change"] = rounded(*metric.change);
    return out;
}

json modelJson(const ModelComparison& model) {
    json out{{"a", model.other},
             {"b", model.id},
             {"compared", model.ran},
             {"not_run", model.notRun},
             {"kinds", model.kinds},
             {"times_apart", model.timesApart},
             {"parts", partsJson(model.parts)},
             {"rules", rulesJson(model.rules)},
             {"nodes", json::array()},
             {"metrics", json::array()}};
    for (const ComparedNodes& nodes : model.nodes)
        out["nodes"].push_back({{"what", nodes.what}, {"names", nodes.names}});
    for (const ComparedMetric& metric : model.metrics)
        out["metrics"].push_back(metricJson(metric));
    return out;
}

} // namespace

std::string renderComparisonJson(const Comparison& comparison, const RunReport& b) {
    json out{{"schema", "fuselage.comparison/2"},
             {"tool", {{"version", b.version}}},
             {"status", {{"exit", b.exitCode}, {"reasons", b.reasons}}},
             {"models", json::array()},
             {"gates", gatesJson(b)}};
    for (const ModelComparison& model : comparison)
        out["models"].push_back(modelJson(model));
    return fileText(out);
}

} // namespace fuselage::app
