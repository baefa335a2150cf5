// SPDX-License-Identifier: Apache-2.0
#include "app/report/comparison.h"
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

json modelJson(const ModelComparison& model) {
    json out{{"a", model.other},
             {"b", model.id},
             {"compared", model.ran},
             {"kinds", model.kinds},
             {"times_apart", model.timesApart},
             {"parts", partsJson(model.parts)},
             {"rules", partsJson(model.rules)},
             {"nodes", json::array()},
             {"metrics", json::array()}};
    for (const ComparedNodes& nodes : model.nodes)
        out["nodes"].push_back({{"what", nodes.what}, {"names", nodes.names}});
    for (const ComparedMetric& metric : model.metrics) {
        json row{{"metric", metric.name},
                 {"a", metric.base},
                 {"b", metric.now},
                 {"verdict", metric.verdict}};
        if (metric.change)
            row["change"] = *metric.change;
        out["metrics"].push_back(std::move(row));
    }
    return out;
}

} // namespace

std::string renderComparisonJson(const Comparison& comparison, const RunReport& b) {
    json out{{"schema", "fuselage.comparison/1"},
             {"tool", {{"version", b.version}}},
             {"status", {{"exit", b.exitCode}, {"reasons", b.reasons}}},
             {"models", json::array()},
             {"gates", gatesJson(b)}};
    for (const ModelComparison& model : comparison)
        out["models"].push_back(modelJson(model));
    return fileText(out);
}

} // namespace fuselage::app
