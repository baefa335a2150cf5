// SPDX-License-Identifier: Apache-2.0
// What the rewriter did, joined with what it cost before and costs now.
#include "app/pipeline/summary.h"

#include <unordered_map>

namespace fuselage::app {

namespace {

/// Sums of kernels.
struct Cost {
    int64_t bytes = 0, launches = 0, flops = 0;
    double seconds = 0, measured = 0;
    bool isMeasured = true;

    void add(const KernelReport& kernel) {
        bytes += kernel.traffic.logical();
        launches += 1;
        flops += kernel.flops;
        seconds += kernel.predictedSeconds;
        measured += kernel.measuredSeconds.value_or(0);
        isMeasured = isMeasured && kernel.measuredSeconds.has_value();
    }

    Cost& operator+=(const Cost& other) {
        bytes += other.bytes;
        launches += other.launches;
        flops += other.flops;
        seconds += other.seconds;
        measured += other.measured;
        isMeasured = isMeasured && other.isMeasured;
        return *this;
    }

    std::optional<double> measuredSeconds() const {
        return isMeasured && launches > 0 ? std::optional(measured) : std::nullopt;
    }
};

StepReport stepOf(const TraceEvent& event) {
    StepReport step;
    switch (event.kind) {
    case TraceEvent::Kind::Fused:
        step.kind = StepReport::Kind::Fused;
        break;
    case TraceEvent::Kind::Rewritten:
        step.kind = StepReport::Kind::Rewritten;
        break;
    case TraceEvent::Kind::Refused:
        step.kind = StepReport::Kind::Refused;
        break;
    case TraceEvent::Kind::Stopped:
        step.kind = StepReport::Kind::Stopped;
        break;
    }
    step.phase = event.phase;
    step.iteration = event.iteration;
    step.rule = event.rule;
    step.file = event.file;
    step.line = event.line;
    step.nodes = event.nodes;
    step.made = event.made;
    step.reason = event.reason;
    return step;
}

/// A fused node that the planner split is found by its rule and first source.
std::string keyOf(const std::string& rule, const std::vector<std::string>& sources) {
    return sources.empty() ? std::string() : rule + "\n" + sources.front();
}

} // namespace

void costMatches(Report& report) {
    std::unordered_map<std::string, Cost> before, after;
    for (const KernelReport& kernel : report.kernelsBefore)
        for (const std::string& source : kernel.sources)
            before[source].add(kernel);
    for (const KernelReport& kernel : report.kernels)
        after[keyOf(kernel.rule, kernel.sources)].add(kernel);
    for (MatchReport& match : report.matches) {
        Cost unfused;
        for (const std::string& source : match.nodes)
            if (auto cost = before.find(source); cost != before.end())
                unfused += cost->second;
        const Cost& fused = after[keyOf(match.rule, match.nodes)];
        match.bytesBefore = unfused.bytes;
        match.bytesAfter = fused.bytes;
        match.launchesBefore = unfused.launches;
        match.launchesAfter = fused.launches;
        match.flops = fused.flops;
        match.secondsBefore = unfused.seconds;
        match.secondsAfter = fused.seconds;
        match.measuredBefore = unfused.measuredSeconds();
        match.measuredAfter = fused.measuredSeconds();
    }
}

void addMatches(const Trace& trace, Report& report) {
    std::unordered_map<std::string, const TraceEvent*> madeBy;
    for (const TraceEvent& event : trace.events) {
        report.steps.push_back(stepOf(event));
        if (event.kind == TraceEvent::Kind::Fused && !event.made.empty())
            madeBy[event.made.front()] = &event;
    }
    for (const NearMiss& miss : trace.nearMisses)
        report.nearMisses.push_back({miss.rule,
                                     miss.anchor,
                                     miss.node,
                                     miss.step,
                                     miss.steps,
                                     miss.reason,
                                     {},
                                     0,
                                     miss.bound});
    for (const GraphNodeReport& node : report.graphAfter.nodes) {
        if (!node.fused)
            continue;
        MatchReport match;
        match.fusedNode = node.name;
        match.rule = node.rule;
        match.file = node.file;
        match.line = node.line;
        match.nodes = node.sources;
        if (auto event = madeBy.find(node.name); event != madeBy.end()) {
            match.labels = event->second->labels;
            for (const TraceBinding& binding : event->second->bindings)
                match.bindings.push_back({binding.name, binding.values});
        }
        report.matches.push_back(std::move(match));
    }
    costMatches(report);
}

void locateNearMisses(const RuleSet& rules, Report& report) {
    std::unordered_map<std::string, const Rule*> byName;
    for (const Rule& rule : rules.rules)
        byName.emplace(rule.name, &rule);
    for (NearMissReport& miss : report.nearMisses)
        if (auto rule = byName.find(miss.rule); rule != byName.end()) {
            miss.file = rule->second->file;
            miss.line = rule->second->line;
        }
}

} // namespace fuselage::app
