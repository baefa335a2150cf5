// SPDX-License-Identifier: Apache-2.0
#include "app/batch/compare.h"

#include "app/batch/baseline.h"
#include "app/batch/gates/evaluate.h"
#include "app/batch/gates/metric.h"
#include "app/batch/gates/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace fuselage::batch {

using app::ComparedNodes;
using app::ComparedPart;
using app::ModelComparison;
using app::ModelRun;
using app::Report;
using app::RunReport;

namespace {

/// Times with less than this between them count as the same.
constexpr double sameTimes = 0.05;

/// Names of all metrics, and of matches of each rule that one side has.
std::vector<std::string> metricsOf(const Report& a, const Report& b) {
    std::vector<std::string> out = metricNames();
    std::set<std::string> rules;
    for (const Report* report : {&a, &b})
        for (const app::RuleReport& rule : report->rules)
            rules.insert("matches." + rule.rule);
    out.insert(out.end(), rules.begin(), rules.end());
    return out;
}

/// Nothing of a hash, nor of what is no number: a text says that.
std::optional<app::ComparedNumber> asNumber(const MetricValue& value, const std::string& name) {
    if (!asNamed(value, name))
        return {};
    return app::ComparedNumber{inNamedUnit(value.value, name), inNamedUnit(value.low, name),
                               inNamedUnit(value.high, name)};
}

void addMetrics(const Report& a, const Report& b, ModelComparison& out) {
    const std::string apart = deviceDifference(a, b);
    for (const std::string& name : metricsOf(a, b)) {
        const auto before = metricOf(a, name), now = metricOf(b, name);
        const bool isTime = before && before->kind == MetricValue::Kind::Time;
        const bool isRun = isTime && isMeasured(name);
        if (!before || !now || (before->value == now->value && !isRun) || (isRun && !apart.empty()))
            continue;
        app::ComparedMetric& row = out.metrics.emplace_back();
        row = {name, text(*before), text(*now), {}, {}, unitOf(name)};
        row.baseNumber = asNumber(*before, name);
        row.nowNumber = asNumber(*now, name);
        if (row.baseNumber && row.nowNumber && before->value > 0)
            row.change = now->value / before->value - 1;
        if (isTime)
            row.verdict = nameOf(compareTimes(*before, *now, sameTimes, 0));
    }
    if (a.after.measured && b.after.measured)
        out.timesApart = apart;
}

void addPart(const std::string& what, const std::string& a, const std::string& b,
             std::vector<ComparedPart>& out) {
    if (a != b)
        out.push_back({what, a, b});
}

/// Names of both in the order of the first, then of the second.
template <typename Rows> std::vector<std::string> namesOf(const Rows& a, const Rows& b) {
    std::vector<std::string> out;
    std::set<std::string> seen;
    for (const Rows* rows : {&a, &b})
        for (const auto& [name, value] : *rows)
            if (seen.insert(name).second)
                out.push_back(name);
    return out;
}

using Values = std::vector<std::pair<std::string, std::string>>;

std::string valueOf(const Values& values, const std::string& name) {
    auto at = std::find_if(values.begin(), values.end(),
                           [&](const auto& value) { return value.first == name; });
    return at == values.end() ? "" : at->second;
}

/// "x: float[1,3]" in two.
Values typesOf(const std::vector<std::string>& texts) {
    Values out;
    for (const std::string& text : texts) {
        const size_t colon = std::min(text.rfind(": "), text.size());
        out.emplace_back(text.substr(0, colon), text.substr(std::min(colon + 2, text.size())));
    }
    return out;
}

void addValues(const std::string& what, const Values& a, const Values& b, ModelComparison& out) {
    for (const std::string& name : namesOf(a, b))
        addPart(fmt::format("{} {}", what, name), valueOf(a, name), valueOf(b, name), out.parts);
}

Values sizesOf(const Report& report) {
    Values out;
    for (const auto& [name, size] : report.model.dims)
        out.emplace_back(name, std::to_string(size));
    return out;
}

void addParts(const ModelRun& a, const ModelRun& b, ModelComparison& out) {
    const Report &before = *a.report, &now = *b.report;
    if (a.structure != b.structure)
        out.parts.push_back({"another structure", fmt::format("{} nodes", before.model.nodes),
                             fmt::format("{} nodes", now.model.nodes)});
    addValues("input", typesOf(before.model.inputs), typesOf(now.model.inputs), out);
    addValues("output", typesOf(before.model.outputs), typesOf(now.model.outputs), out);
    addValues("size of", sizesOf(before), sizesOf(now), out);
    addPart("precision", before.precision.name, now.precision.name, out.parts);
    addPart("device profile", before.machine.profile, now.machine.profile, out.parts);
    addPart("backend", before.machine.backend, now.machine.backend, out.parts);
}

std::map<std::string, size_t> firedOf(const Report& report) {
    std::map<std::string, size_t> out;
    for (const app::RuleReport& rule : report.rules)
        if (rule.fused > 0)
            out[rule.rule] = rule.fused;
    return out;
}

/// Rules that fire on one side alone; how often the others do is among the metrics.
void addRules(const Report& a, const Report& b, ModelComparison& out) {
    const auto before = firedOf(a), now = firedOf(b);
    for (const auto& [rule, count] : before)
        if (!now.contains(rule))
            out.rules.push_back({rule, std::to_string(count), ""});
    for (const auto& [rule, count] : now)
        if (!before.contains(rule))
            out.rules.push_back({rule, "", std::to_string(count)});
}

/// Names of a model's nodes, and which of them are in fused nodes.
struct Nodes {
    explicit Nodes(const Report& report) {
        // Results of a batch hold no graph; what kernels were made of is there in both.
        for (const app::KernelReport& kernel : report.before.kernels)
            for (const std::string& name : kernel.sources)
                add(name);
        for (const app::MatchReport& match : report.matches)
            for (const std::string& name : match.nodes) {
                add(name);
                fused.insert(name);
            }
    }

    void add(const std::string& name) {
        if (known.insert(name).second)
            order.push_back(name);
    }

    std::vector<std::string> order;
    std::set<std::string> known, fused;
};

template <typename Is>
void addNodes(const char* what, const Nodes& nodes, ModelComparison& out, Is is) {
    ComparedNodes found{what, {}};
    std::copy_if(nodes.order.begin(), nodes.order.end(), std::back_inserter(found.names), is);
    if (!found.names.empty())
        out.nodes.push_back(std::move(found));
}

void addNodes(const Report& a, const Report& b, ModelComparison& out) {
    const Nodes before(a), now(b);
    const auto lost = [](const Nodes& here, const Nodes& there) {
        return [&](const std::string& name) {
            return here.fused.contains(name) && there.known.contains(name) &&
                   !there.fused.contains(name);
        };
    };
    const auto alone = [](const Nodes& there) {
        return [&](const std::string& name) { return !there.known.contains(name); };
    };
    addNodes("fused in A, not in B", before, out, lost(before, now));
    addNodes("fused in B, not in A", now, out, lost(now, before));
    addNodes("only in A", before, out, alone(now));
    addNodes("only in B", now, out, alone(before));
}

ModelComparison compareModels(const ModelRun& a, const ModelRun& b) {
    ModelComparison out;
    out.id = b.id;
    out.other = a.id;
    out.ran = a.ran() && b.ran();
    if (!out.ran) {
        for (const auto& [side, model] : {std::pair("A", &a), {"B", &b}})
            if (!model->ran())
                out.notRun +=
                    fmt::format("{} {}: {}", out.notRun.empty() ? "did not run in" : ", nor in",
                                side, nameOf(model->state));
        return out;
    }
    if (!areOfOneKind(a, b))
        out.kinds = fmt::format("A is of {}; B is of {}", kindOf(*a.report), kindOf(*b.report));
    addParts(a, b, out);
    addRules(*a.report, *b.report, out);
    addNodes(*a.report, *b.report, out);
    addMetrics(*a.report, *b.report, out);
    return out;
}

} // namespace

app::Comparison compareRuns(const RunReport& a, const RunReport& b, const Pairs& pairs) {
    app::Comparison out;
    std::set<const ModelRun*> paired;
    for (const ModelRun& model : b.models) {
        auto at = pairs.find(model.id);
        if (at == pairs.end()) {
            out.emplace_back().id = model.id;
            continue;
        }
        paired.insert(at->second);
        out.push_back(compareModels(*at->second, model));
    }
    for (const ModelRun& model : a.models)
        if (!paired.contains(&model))
            out.emplace_back().other = model.id;
    return out;
}

} // namespace fuselage::batch
