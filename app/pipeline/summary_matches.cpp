// SPDX-License-Identifier: Apache-2.0
// What the rewriter did, joined with what it cost before and costs now.
#include "app/pipeline/match_verdicts.h"
#include "app/pipeline/summary.h"

#include <string_view>
#include <unordered_map>

namespace fuselage::app {

namespace {

/// Sums of kernels, as predicted.
struct Cost {
    int64_t bytes = 0, launches = 0, flops = 0;
    double seconds = 0;

    void add(const KernelReport& kernel) { add(kernel, 0, 1); }

    /// The part of one of `count` matches that the kernel computes: the same for each, and the
    /// launch is the first one's, so that they add up to the kernel.
    void add(const KernelReport& kernel, size_t place, size_t count) {
        const auto part = [&](int64_t whole) {
            const auto each = whole / static_cast<int64_t>(count);
            return place == 0 ? whole - each * static_cast<int64_t>(count - 1) : each;
        };
        bytes += part(kernel.traffic.logical());
        launches += place == 0 && kernel.hidden.launches > 0 ? 1 : 0;
        flops += part(kernel.flops);
        seconds += kernel.predictedSeconds / static_cast<double>(count);
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

/// Sets bytes, launches and predicted times of the matches from the kernels of the report.
void costMatches(Report& report) {
    const std::vector<KernelsOfMatch> kernels = kernelsOfMatches(report);
    std::unordered_map<size_t, size_t> sharers, seen; // by kernel: matches that it computes
    for (const KernelsOfMatch& match : kernels)
        for (size_t kernel : match.after)
            ++sharers[kernel];
    for (size_t i = 0; i < kernels.size(); ++i) {
        Cost unfused, fused;
        for (const KernelsOfMatch::Before& one : kernels[i].before)
            unfused.add(report.before.kernels[one.kernel]);
        for (size_t kernel : kernels[i].after)
            fused.add(report.after.kernels[kernel], seen[kernel]++, sharers[kernel]);
        MatchReport& match = report.matches[i];
        match.bytesBefore = unfused.bytes;
        match.bytesAfter = fused.bytes;
        match.launchesBefore = unfused.launches;
        match.launchesAfter = fused.launches;
        match.flops = fused.flops;
        match.secondsBefore = unfused.seconds;
        match.secondsAfter = fused.seconds;
    }
}

} // namespace

void addSteps(const RuleSet& rules, const Trace& trace, Report& report) {
    std::unordered_map<std::string, const Rule*> byName;
    for (const Rule& rule : rules.rules)
        byName.emplace(rule.name, &rule);
    report.steps.reserve(trace.events.size());
    report.nearMisses.reserve(trace.nearMisses.size());
    for (const TraceEvent& event : trace.events)
        report.steps.push_back(stepOf(event));
    for (const NearMiss& miss : trace.nearMisses) {
        const auto rule = byName.find(miss.rule);
        const bool known = rule != byName.end();
        report.nearMisses.push_back({miss.rule, miss.anchor, miss.node, miss.step, miss.steps,
                                     miss.reason, known ? rule->second->file : std::string(),
                                     known ? rule->second->line : 0, miss.bound});
    }
}

void addMatches(const Trace& trace, Report& report) {
    std::unordered_map<std::string_view, const TraceEvent*> madeBy;
    for (const TraceEvent& event : trace.events)
        if (event.kind == TraceEvent::Kind::Fused && !event.made.empty())
            madeBy[event.made.front()] = &event;
    const auto addMatch = [&](const GraphNodeReport& node, const std::string& body, Report& to) {
        if (!node.fused)
            return;
        MatchReport match;
        match.fusedNode = node.name;
        match.body = body;
        match.rule = node.rule;
        match.file = node.file;
        match.line = node.line;
        match.nodes = node.sources;
        match.origins = node.origins;
        if (auto event = madeBy.find(node.name); event != madeBy.end()) {
            match.labels = event->second->labels;
            match.gain = event->second->gain * 1e-6;
            for (const TraceBinding& binding : event->second->bindings)
                match.bindings.push_back({binding.name, binding.values});
        }
        to.matches.push_back(std::move(match));
    };
    // A graph's nodes are listed with those inside of its bodies: each counts where it runs.
    const auto bodyOf = [&](const GraphNodeReport& node) {
        std::string_view longest;
        for (const BodyReport& body : report.after.bodies)
            if (node.name.starts_with(body.path) && body.path.size() > longest.size())
                longest = body.path;
        return longest;
    };
    for (const GraphNodeReport& node : report.after.graph.nodes)
        if (bodyOf(node).empty())
            addMatch(node, "", report);
    costMatches(report);
    for (const BodyReport& body : report.after.bodies) {
        Report inside; // of this body alone
        inside.after.graph = body.graph;
        inside.after.kernels = body.kernels;
        for (const BodyReport& before : report.before.bodies)
            if (before.path == body.path) {
                inside.before.graph = before.graph;
                inside.before.kernels = before.kernels;
            }
        for (const GraphNodeReport& node : body.graph.nodes)
            if (bodyOf(node) == body.path)
                addMatch(node, body.path, inside);
        costMatches(inside);
        std::move(inside.matches.begin(), inside.matches.end(), std::back_inserter(report.matches));
    }
}

} // namespace fuselage::app
