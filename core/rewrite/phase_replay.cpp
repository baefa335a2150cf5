// SPDX-License-Identifier: Apache-2.0
// A phase that applies given matches instead of those that it would select.
#include "core/graph/bodies.h"
#include "core/graph/text.h"
#include "core/rewrite/body_trace_internal.h"
#include "core/rewrite/phase_internal.h"
#include "core/rewrite/replay.h"
#include "core/support/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage {

namespace {

std::vector<std::string> sorted(std::vector<std::string> names) {
    std::sort(names.begin(), names.end());
    return names;
}

/// The first few in backticks.
std::string quotedNames(std::vector<std::string> names) {
    constexpr size_t most = 3;
    size_t left = names.size() > most ? names.size() - most : 0;
    names.resize(names.size() - left);
    std::string out = joined(names, [](const std::string& name) { return "`" + name + "`"; });
    return left == 0 ? out : out + fmt::format(" and {} more", left);
}

Failure cannotReplay(const char* code, const PlannedMatch& match, std::string why) {
    return failure(code,
                   fmt::format("`{}` cannot be applied to {} again: {}", match.rule,
                               quotedNames(match.nodes), why),
                   "", "write the plan again with --plan-out, or run without it");
}

} // namespace

/// Matches of the rules that a stretch of one priority names, by rule and names of nodes.
Phase::Replayable Phase::findReplayable(PlannedSpan plan) {
    refreshFacts();
    MatcherOptions quick = m_options.matcher;
    quick.explain = false;
    Matcher matcher(graph(), *m_facts, *m_convexity, quick);
    Replayable out;
    std::unordered_set<const IndexedRule*> done;
    for (const PlannedMatch& planned : plan) {
        const IndexedRule* rule = ruleNamed(planned.rule);
        if (!done.insert(rule).second)
            continue;
        MatchResult found;
        matcher.find(rule->prepared(), found);
        std::erase_if(found.matches, [&](const Match& match) { return isDisabled(match); });
        for (Match& match : found.matches)
            out.emplace(std::pair(planned.rule, sorted(namesOf(graph(), match.nodes))),
                        std::move(match));
    }
    return out;
}

const IndexedRule* Phase::ruleNamed(const std::string& name) const {
    for (const auto& [priority, rules] : m_levels)
        for (const IndexedRule* rule : rules)
            if (rule->rule().name == name)
                return rule;
    return nullptr;
}

/// How many matches from the beginning of the stretch could be applied.
Result<size_t> Phase::replayStretch(PlannedSpan plan) {
    Replayable matches = findReplayable(plan);
    Forwarding forwarding;
    size_t done = 0;
    for (const PlannedMatch& planned : plan) {
        auto found = matches.find(std::pair(planned.rule, sorted(planned.nodes)));
        if (found == matches.end())
            break;
        Candidate candidate{std::move(found->second), 0, 0};
        matches.erase(found);
        if (!applyOne(candidate, forwarding))
            break;
        m_facts.reset();
        ++m_trace.count(planned.rule, m_step.phase).matched;
        const std::vector<std::string>& made = m_trace.events.back().made;
        if (made != planned.made)
            return cannotReplay("plan.made", planned,
                                "it makes " + quotedNames(made) + ", the plan says " +
                                    quotedNames(planned.made));
        ++done;
    }
    return done;
}

/// The reason why the nodes are no match: a node that is gone, or the nearest miss there.
Failure Phase::whyNotReplayed(const PlannedMatch& planned) {
    for (const std::string& name : planned.nodes)
        if (!graph().findNode(name).valid())
            return cannotReplay("plan.node", planned, "the graph has no node `" + name + "`");
    refreshFacts();
    MatcherOptions careful = m_options.matcher;
    careful.explain = true;
    Matcher matcher(graph(), *m_facts, *m_convexity, careful);
    MatchResult found;
    matcher.find(ruleNamed(planned.rule)->prepared(), found);
    std::vector<std::string> names = sorted(planned.nodes);
    auto isOne = [&](const std::string& name) {
        return std::binary_search(names.begin(), names.end(), name);
    };
    for (const RefusedMatch& refused : found.refused)
        if (sorted(namesOf(graph(), refused.match.nodes)) == names)
            return cannotReplay("plan.match", planned, refused.reason.text());
    for (const NearMiss& miss : found.nearMisses)
        if (isOne(miss.anchor))
            return cannotReplay("plan.match", planned, miss.reason.text());
    for (const Match& match : found.matches)
        if (sorted(namesOf(graph(), match.nodes)) == names && isDisabled(match))
            return cannotReplay("plan.match", planned, "this match is switched off");
    for (const Match& match : found.matches)
        if (isOne(graph().node(match.anchor).name))
            return cannotReplay("plan.match", planned,
                                "it now matches " + quotedNames(namesOf(graph(), match.nodes)));
    return cannotReplay("plan.match", planned, "it does not match there");
}

Result<void> Phase::replay(PlannedSpan plan) {
    for (const PlannedMatch& planned : plan)
        if (ruleNamed(planned.rule) == nullptr)
            return cannotReplay(
                "plan.rule", planned,
                fmt::format("no rule `{}` is in phase `{}`", planned.rule, m_step.phase));
    while (!plan.empty()) {
        if (m_progress.cancelled())
            return cancelledFailure("replaying");
        int64_t priority = ruleNamed(plan.front().rule)->rule().priority;
        size_t length = 1;
        while (length < plan.size() && ruleNamed(plan[length].rule)->rule().priority == priority)
            ++length;
        Result<size_t> done = replayStretch(plan.first(length));
        if (!done)
            return failure(done.error());
        if (*done == 0)
            return whyNotReplayed(plan.front());
        plan = plan.subspan(*done);
    }
    return {};
}

std::vector<PlannedMatch> plannedMatches(const Trace& trace) {
    std::vector<PlannedMatch> out;
    for (const TraceEvent& event : trace.events)
        if (event.applied())
            out.push_back({event.phase, event.rule, event.nodes, event.made});
    return out;
}

namespace {

/// The path of the body that the match is in; empty: of none.
std::string pathOf(const Graph& graph, const PlannedMatch& match) {
    return match.nodes.empty() ? std::string() : findByPath(graph, match.nodes.front()).path;
}

/// Without the path in front of its names.
PlannedMatch inside(PlannedMatch match, const std::string& path) {
    for (std::vector<std::string>* names : {&match.nodes, &match.made})
        for (std::string& name : *names)
            if (name.starts_with(path))
                name.erase(0, path.size());
    return match;
}

} // namespace

Result<Rewritten> replay(Graph graph, const RuleSet& rules, const std::vector<PlannedMatch>& plan,
                         const EngineOptions& options, Progress& progress) {
    RuleIndex index(rules);
    RewriteMemo none = RewriteMemo::none();
    const GraphTotals totals = totalsOf(graph);
    const EngineOptions known = withRoots(options, totals);
    Rewritten out{std::move(graph), {}};
    takeCapturedConstants(out.graph);
    for (size_t begin = 0; begin < plan.size();) {
        const std::string path = pathOf(out.graph, plan[begin]);
        std::vector<PlannedMatch> stretch;
        size_t end = begin;
        for (; end < plan.size() && plan[end].phase == plan[begin].phase; ++end) {
            if (end > begin && path != pathOf(out.graph, plan[end]))
                break;
            stretch.push_back(inside(plan[end], path));
        }
        progress.report("replaying " + plan[begin].phase, begin, plan.size());
        PhaseStep step;
        step.phase = plan[begin].phase;
        auto apply = [&](Graph& where, const std::string& here, NodeId) -> Result<bool> {
            if (here != path)
                return false;
            const EngineOptions inHere = optionsInside(known, path);
            Trace trace;
            Phase phase(where, trace, index, step, inHere, none, 0, progress);
            if (auto done = phase.replay(stretch); !done) {
                Error error = done.error();
                if (!path.empty())
                    error.message =
                        fmt::format("in `{}`: {}", path.substr(0, path.size() - 1), error.message);
                return failure(std::move(error));
            }
            where.removeDead();
            append(out.trace, withPath(std::move(trace), path));
            return true;
        };
        auto done =
            path.empty() ? apply(out.graph, path, NodeId()) : changeBodies(out.graph, apply);
        if (!done)
            return failure(done.error());
        begin = end;
    }
    returnCapturedConstants(out.graph);
    return out;
}

} // namespace fuselage
