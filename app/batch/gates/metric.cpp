// SPDX-License-Identifier: Apache-2.0
#include "app/batch/gates/metric.h"

#include "app/batch/gates/quantity.h"
#include "app/report/format.h"
#include "app/report/verdict.h"
#include "core/support/hash.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace fuselage::batch {

namespace {

using app::KernelReport;
using app::Report;
using Kind = MetricValue::Kind;
using Found = std::optional<MetricValue>;

template <typename T> Found exactly(T value, Kind kind) {
    MetricValue out;
    out.value = out.low = out.high = static_cast<double>(value);
    out.kind = kind;
    return out;
}

Found timed(const std::optional<TimingSummary>& timing) {
    if (!timing || timing->samples == 0)
        return {};
    return MetricValue{timing->median, timing->low, timing->high,
                       Kind::Time,     false,       timing->samples};
}

/// All of the side is constant: nothing is left to run.
bool hasNoSteps(const app::SideReport& side) {
    return side.kernels.empty() && side.launches == 0;
}

/// For the profile that the report names; it needs no run, and has no interval.
Found predicted(const app::SideReport& side) {
    return side.predictedSeconds > 0 || hasNoSteps(side)
               ? exactly(side.predictedSeconds, Kind::Time)
               : Found();
}

Found speedUp(const Report& report) {
    if (!report.ratio || report.ratio->low <= 0 || report.fallbackCount() > 0)
        return {};
    const auto& measured = report.after.measured;
    return MetricValue{1 / report.ratio->ratio,
                       1 / report.ratio->high,
                       1 / report.ratio->low,
                       Kind::Number,
                       true,
                       measured ? measured->samples : 0};
}

Found worstAgreement(const Report& report) {
    if (report.agreement.empty())
        return {};
    double worst = 0;
    for (const app::OutputAgreement& output : report.agreement)
        if (output.compares() && !(output.maxRelative <= worst) && !std::isnan(worst))
            worst = output.maxRelative; // one that is no number is the worst
    return exactly(worst, Kind::Number);
}

/// The most that a compiled kernel has; nothing when none was compiled.
Found mostOf(const Report& report, uint32_t KernelFacts::*fact) {
    Found out;
    for (const KernelReport& kernel : report.after.kernels)
        if (kernel.facts && kernel.facts->registers > 0)
            out =
                exactly(std::max(out ? out->value : 0, static_cast<double>((*kernel.facts).*fact)),
                        Kind::Count);
    return out;
}

/// Of the texts of all kernels in their order; nothing when the report has none.
Found kernelText(const Report& report) {
    Hasher hash;
    for (const KernelReport& kernel : report.after.kernels) {
        if (kernel.textHash.empty())
            return {};
        hash.text(kernel.name).text(kernel.textHash);
    }
    // A double holds 52 bits exactly.
    return exactly(hash.value() >> 12U, Kind::Hash);
}

Found refusals(const Report& report) {
    return exactly(std::count_if(report.steps.begin(), report.steps.end(),
                                 [](const app::StepReport& step) {
                                     return step.kind == app::StepReport::Kind::Refused;
                                 }),
                   Kind::Count);
}

/// Where it was timed, and had no fused node, none is slower.
Found slowerMatches(const Report& report) {
    const auto count = report.slowerMatchCount();
    if (!count && report.matches.empty() && report.after.measured)
        return exactly(0, Kind::Count);
    return count ? exactly(*count, Kind::Count) : Found();
}

/// Of both sides; nothing when no kernel was chosen, so nobody knows.
Found fallbacks(const Report& report) {
    for (const auto* side : {&report.after.kernels, &report.before.kernels})
        for (const KernelReport& kernel : *side)
            if (!kernel.tactic.empty())
                return exactly(report.fallbackCount(), Kind::Count);
    return hasNoSteps(report.after) && hasNoSteps(report.before) ? exactly(0, Kind::Count)
                                                                 : Found();
}

/// Fused nodes in several kernels.
size_t cutNodes(const Report& report) {
    return static_cast<size_t>(std::count_if(report.splits.begin(), report.splits.end(),
                                             [](const auto& split) { return split.isCut; }));
}

struct Row {
    const char* name;
    bool measured;
    Found (*read)(const Report&);
};

constexpr Row rows[] = {
    {"nodes", false, [](const Report& r) { return exactly(r.after.nodes, Kind::Count); }},
    {"launches", false, [](const Report& r) { return exactly(r.after.launches, Kind::Count); }},
    {"logical_bytes", false,
     [](const Report& r) { return exactly(r.after.traffic.logical(), Kind::Bytes); }},
    {"l2_bytes", false, [](const Report& r) { return exactly(r.after.traffic.l2, Kind::Bytes); }},
    {"dram_bytes", false,
     [](const Report& r) { return exactly(r.after.traffic.dram, Kind::Bytes); }},
    {"peak_bytes", false, [](const Report& r) { return exactly(r.after.peakBytes, Kind::Bytes); }},
    {"constant_bytes", false,
     [](const Report& r) { return exactly(r.after.constantBytes, Kind::Bytes); }},
    {"flops", false, [](const Report& r) { return exactly(r.after.flops, Kind::Count); }},
    {"matches", false, [](const Report& r) { return exactly(r.matches.size(), Kind::Count); }},
    {"near_misses", false,
     [](const Report& r) { return exactly(r.nearMisses.size(), Kind::Count); }},
    {"refusals", false, refusals},
    {"splits", false, [](const Report& r) { return exactly(cutNodes(r), Kind::Count); }},
    {"kernel_text", false, kernelText},
    {"registers", true, [](const Report& r) { return mostOf(r, &KernelFacts::registers); }},
    {"shared_bytes", true, [](const Report& r) { return mostOf(r, &KernelFacts::sharedBytes); }},
    {"spilled_bytes", true, [](const Report& r) { return mostOf(r, &KernelFacts::spilledBytes); }},
    {"max_rel", true, worstAgreement},
    {"predicted_us", false, [](const Report& r) { return predicted(r.after); }},
    {"predicted_unfused_us", false, [](const Report& r) { return predicted(r.before); }},
    {"e2e_us", true, [](const Report& r) { return timed(r.after.measured); }},
    {"unfused_us", true, [](const Report& r) { return timed(r.before.measured); }},
    {"speed_up", true, speedUp},
    {"slower_matches", true, slowerMatches},
    {"fallbacks", true, fallbacks},
};

constexpr std::string_view ofRule[] = {"matches.", "near_misses."};

const Row* rowOf(const std::string& name) {
    for (const Row& row : rows)
        if (name == row.name)
            return &row;
    return nullptr;
}

} // namespace

bool isMetric(const std::string& name) {
    return rowOf(name) != nullptr ||
           std::any_of(std::begin(ofRule), std::end(ofRule), [&](std::string_view prefix) {
               return name.starts_with(prefix) && name.size() > prefix.size();
           });
}

bool isMeasured(const std::string& name) {
    const Row* row = rowOf(name);
    return row != nullptr && row->measured;
}

bool isHash(const std::string& name) {
    return name == "kernel_text";
}

bool isTimed(const std::string& name) {
    const bool isTime = name.ends_with("_us") && !name.starts_with("predicted");
    return isTime || name == "speed_up" || name == "slower_matches";
}

std::vector<std::string> metricNames() {
    std::vector<std::string> out;
    for (const Row& row : rows)
        out.emplace_back(row.name);
    for (std::string_view prefix : ofRule)
        out.push_back(std::string(prefix) + "RULE");
    return out;
}

std::optional<MetricValue> metricOf(const Report& report, const std::string& name) {
    if (const Row* row = rowOf(name))
        return row->read(report);
    const std::string rule = name.substr(std::min(name.find('.'), name.size() - 1) + 1);
    if (name.starts_with(ofRule[0])) {
        // Rewrites leave no fused node; the table of rules counts both.
        for (const app::RuleReport& row : report.rules)
            if (row.rule == rule)
                return exactly(row.fused, Kind::Count);
        return exactly(0, Kind::Count);
    }
    if (name.starts_with(ofRule[1]))
        return exactly(std::count_if(report.nearMisses.begin(), report.nearMisses.end(),
                                     [&](const auto& miss) { return miss.rule == rule; }),
                       Kind::Count);
    return {};
}

std::optional<double> asNamed(const MetricValue& value, const std::string& name) {
    if (value.kind == Kind::Hash || !std::isfinite(value.value))
        return {};
    return inNamedUnit(value.value, name);
}

std::string whyMissing(const Report& report, const std::string& name) {
    if (!isUnjudged(report, name))
        return "not measured here";
    return app::hasTooFewRuns(report) ? tooFewRuns : "no fused node could be judged";
}

bool isUnjudged(const Report& report, const std::string& name) {
    const bool timed = app::hasTooFewRuns(report) || report.after.measured;
    return name == "slower_matches" && timed && !report.slowerMatchCount() &&
           !report.matches.empty();
}

std::string changedKernels(const Report& base, const Report& now) {
    std::map<std::string, std::vector<std::string>> before, after;
    for (const KernelReport& kernel : base.after.kernels)
        before[kernel.name].push_back(kernel.textHash);
    for (const KernelReport& kernel : now.after.kernels)
        after[kernel.name].push_back(kernel.textHash);
    std::vector<std::string> changes;
    for (const auto& [name, hashes] : after)
        if (auto other = before.find(name); other == before.end())
            changes.push_back(fmt::format("`{}` is new", name));
        else if (other->second != hashes)
            changes.push_back(fmt::format("`{}` has another text", name));
    for (const auto& [name, hashes] : before)
        if (!after.contains(name))
            changes.push_back(fmt::format("`{}` is gone", name));
    if (changes.empty())
        return "the same kernels in another order";
    constexpr size_t most = 3;
    const size_t shown = std::min(changes.size(), most);
    std::string out = fmt::format(
        "{}", fmt::join(changes.begin(), changes.begin() + static_cast<ptrdiff_t>(shown), ", "));
    return shown == changes.size() ? out : fmt::format("{}, {} more", out, changes.size() - shown);
}

std::string text(const MetricValue& value) {
    if (value.hasTooFewRuns())
        return fmt::format("{} ({} run{})",
                           value.kind == Kind::Time ? app::secondsText(value.value)
                                                    : fmt::format("{:.3g}", value.value),
                           value.runs, value.runs == 1 ? "" : "s");
    if (std::isnan(value.value))
        return "nan";
    switch (value.kind) {
    case Kind::Count:
        return app::countText(static_cast<int64_t>(value.value));
    case Kind::Bytes:
        return app::countText(static_cast<int64_t>(value.value)) + " B";
    case Kind::Hash:
        return fmt::format("{:013x}", static_cast<uint64_t>(value.value));
    case Kind::Number:
        break;
    case Kind::Time:
        if (value.low == value.high)
            return app::secondsText(value.value);
        return fmt::format("{} ({} .. {})", app::secondsText(value.value),
                           app::secondsText(value.low), app::secondsText(value.high));
    }
    return value.low == value.high
               ? fmt::format("{:.3g}", value.value)
               : fmt::format("{:.3g} ({:.3g} .. {:.3g})", value.value, value.low, value.high);
}

} // namespace fuselage::batch
