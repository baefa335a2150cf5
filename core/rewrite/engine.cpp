// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

namespace fuselage {

namespace {

std::vector<std::string> namesOf(const Graph& graph, const std::vector<NodeId>& nodes) {
    std::vector<std::string> out;
    for (NodeId node : nodes)
        out.push_back(graph.node(node).name);
    return out;
}

/// Values that readers lost to others since the matches were found.
class Forwarding {
public:
    void add(const std::vector<std::pair<ValueId, ValueId>>& replaced) {
        for (const auto& [from, to] : replaced)
            m_to[from] = to;
    }

    ValueId resolve(ValueId value) const {
        for (auto found = m_to.find(value); found != m_to.end(); found = m_to.find(value))
            value = found->second;
        return value;
    }

    void resolve(Binding& binding) const {
        if (binding.kind == Binding::Kind::Value)
            binding.value = resolve(binding.value);
        for (Binding& item : binding.items)
            resolve(item);
    }

private:
    std::unordered_map<ValueId, ValueId> m_to;
};

bool allAlive(const Graph& graph, const Binding& binding) {
    if (binding.kind == Binding::Kind::Value && !graph.alive(binding.value))
        return false;
    return std::all_of(binding.items.begin(), binding.items.end(),
                       [&](const Binding& item) { return allAlive(graph, item); });
}

/// A match of the graph at the start of a phase; to say who took its nodes.
struct EarlyMatch {
    const Rule* rule;
    std::vector<std::string> nodes;
};

/// One phase of a pipeline on one graph.
class Phase {
public:
    Phase(Graph& graph, Trace& trace, const RuleIndex& index, const PhaseStep& step,
          const EngineOptions& options, Progress& progress)
        : m_graph(graph), m_trace(trace), m_step(step), m_options(options), m_progress(progress) {
        for (const auto& rule : index.rules())
            if (rule->rule.phase == step.phase)
                m_levels[-rule->rule.priority].push_back(rule.get());
    }

    Result<void> run() {
        if (m_options.matcher.explain)
            noteEarlyMatches();
        std::map<uint64_t, size_t> states; // hash -> events before it
        for (m_iteration = 1; m_iteration <= m_options.maxIterations; ++m_iteration) {
            if (m_step.repeat) {
                auto [entry, isNew] = states.emplace(stateHash(m_graph), m_trace.events.size());
                if (!isNew) {
                    stop(entry->second);
                    break;
                }
            }
            bool changed = false;
            for (const auto& [priority, rules] : m_levels) {
                Result<bool> level = runLevel(rules);
                if (!level)
                    return failure(level.error());
                changed = changed || *level;
            }
            if (!changed || !m_step.repeat)
                break;
            if (m_iteration == m_options.maxIterations)
                stop(m_trace.events.size());
        }
        noteShadowed();
        return {};
    }

private:
    using Rules = std::vector<const PreparedRule*>;

    Result<bool> runLevel(const Rules& rules) {
        bool changed = false;
        // What overlapped may match again differently (regions do): fuse rules only remove nodes.
        for (;;) {
            Result<std::vector<Candidate>> candidates = findAll(rules);
            if (!candidates)
                return failure(candidates.error());
            if (candidates->empty())
                return changed;
            SelectOptions how{m_options.selection.value_or(m_step.selection),
                              m_options.selectionSteps};
            Selection selection = select(*m_facts, *candidates, how);
            for (const Loser& loser : selection.losers)
                refuse(candidates->at(loser.candidate).match, loser.reason,
                       candidates->at(loser.candidate).gain);
            if (selection.cutComponents > 0)
                noteCut(selection.cutComponents);
            bool applied = applyAll(*candidates, selection.chosen);
            changed = changed || applied;
            bool onlyFuse = std::none_of(rules.begin(), rules.end(), [](const PreparedRule* rule) {
                return rule->rule.isRewrite;
            });
            if (!applied || selection.losers.empty() || !onlyFuse)
                return changed;
        }
    }

    void refreshFacts() {
        if (m_facts)
            return;
        m_facts = std::make_unique<GraphFacts>(m_graph);
        m_convexity = std::make_unique<Convexity>(m_graph);
    }

    Result<std::vector<Candidate>> findAll(const Rules& rules) {
        refreshFacts();
        Matcher matcher(m_graph, *m_facts, *m_convexity, m_options.matcher);
        std::vector<Candidate> candidates;
        for (const PreparedRule* rule : rules) {
            if (m_progress.cancelled())
                return cancelledFailure("matching");
            if (rule->rule.once && m_iteration > 1)
                continue;
            MatchResult found;
            matcher.find(*rule, found);
            RuleCount& count = m_trace.count(rule->rule.name, m_step.phase);
            count.matched += static_cast<uint32_t>(found.matches.size());
            for (RefusedMatch& refused : found.refused)
                refuse(refused.match, std::move(refused.reason), 0);
            if (m_iteration == 1 && !m_seenMisses.contains(rule)) {
                m_seenMisses.insert(rule);
                for (NearMiss& nearMiss : found.nearMisses)
                    m_trace.nearMisses.push_back(std::move(nearMiss));
            }
            for (Match& match : found.matches)
                if (std::optional<double> gain = admit(match))
                    candidates.push_back({std::move(match), *gain, rule->position});
        }
        return candidates;
    }

    /// The gain by which the match competes; none when its gate refuses.
    std::optional<double> admit(const Match& match) {
        const Gate& gate = match.rule->gate;
        if (m_options.decide == Decide::Rules)
            return m_options.gain ? m_options.gain(m_graph, match).us : nodesSaved(match);
        // A rewrite without a gate is a normalisation: its gain shows only in what follows.
        if (match.rule->isRewrite && gate.kind == Gate::Kind::Default)
            return nodesSaved(match);
        bool measure = gate.kind == Gate::Kind::Measured && m_options.measuredGain;
        Gain gain =
            measure ? m_options.measuredGain(m_graph, match) : m_options.gain(m_graph, match);
        if (gate.kind == Gate::Kind::Always)
            return gain.us;
        if (gate.kind == Gate::Kind::Condition)
            return holdsGate(match, gain) ? std::optional(gain.us) : std::nullopt;
        if (gain.us > 0 && gain.peakBytes >= 0)
            return gain.us;
        refuse(match,
               {code::gate,
                fmt::format("the match gains {:.4g} us and {:.4g} bytes of peak memory", gain.us,
                            gain.peakBytes),
                "write `gate always`, or decide by rules",
                {{"gain.us", fmt::format("{:.4g}", gain.us)},
                 {"gain.peak_bytes", fmt::format("{:.4g}", gain.peakBytes)}}},
               gain.us);
        return std::nullopt;
    }

    bool holdsGate(const Match& match, const Gain& gain) {
        RootFunction roots = [&](const std::string& root, const std::string& member) {
            if (root == "gain") {
                const std::pair<const char*, double> members[] = {{"us", gain.us},
                                                                  {"bytes", gain.bytes},
                                                                  {"launches", gain.launches},
                                                                  {"peak_bytes", gain.peakBytes},
                                                                  {"flops", gain.flops}};
                for (const auto& [name, value] : members)
                    if (member == name)
                        return Quantity::real(value);
            }
            if (m_options.matcher.roots)
                return m_options.matcher.roots(root, member);
            return Quantity::unknown("`" + root + "." + member + "`");
        };
        EvaluateContext context{m_graph,    *match.rule,    match.slots,
                                match.dims, &match.regions, &roots};
        Quantity holds = evaluate(context, *match.rule->gate.condition);
        if (holds.truth() == Truth::True)
            return true;
        bool isKnown = holds.truth() == Truth::False;
        refuse(match,
               {isKnown ? code::gate : code::unknown,
                fmt::format("the gate is {} (gain {:.4g} us, {:.4g} bytes)",
                            isKnown ? "false" : "not known", gain.us, gain.bytes),
                "loosen the gate, or decide by rules",
                {{"gain.us", fmt::format("{:.4g}", gain.us)},
                 {"gain.bytes", fmt::format("{:.4g}", gain.bytes)}}},
               gain.us);
        return false;
    }

    bool applyAll(std::vector<Candidate>& candidates, const std::vector<size_t>& chosen) {
        Forwarding forwarding;
        bool any = false;
        size_t done = 0;
        for (size_t i : chosen) {
            if (m_progress.cancelled())
                break; // the caller's next step reports it
            m_progress.report("rewriting", done++, chosen.size());
            any = applyOne(candidates[i], forwarding) || any;
        }
        if (any)
            m_facts.reset();
        return any;
    }

    bool applyOne(Candidate& candidate, Forwarding& forwarding) {
        Match& match = candidate.match;
        for (Binding& slot : match.slots)
            forwarding.resolve(slot);
        for (ValueId& output : match.outputs)
            output = forwarding.resolve(output);
        bool current = std::all_of(match.nodes.begin(), match.nodes.end(),
                                   [&](NodeId node) { return m_graph.alive(node); }) &&
                       std::all_of(match.slots.begin(), match.slots.end(),
                                   [&](const Binding& slot) { return allAlive(m_graph, slot); });
        if (!current) // found again, as it then is, by the next round
            return false;
        std::vector<NodeId> cycle = m_convexity->cycleOf(match.nodes, match.outputs);
        if (!cycle.empty()) {
            std::string path;
            for (NodeId node : cycle)
                path += (path.empty() ? "" : " -> ") + m_graph.node(node).name;
            refuse(match,
                   {code::cycle,
                    "after the fusions before it, a path leaves the match and comes "
                    "back: " +
                        path,
                    "include the nodes of the path in the match",
                    {{"path", path}}},
                   candidate.gain);
            return false;
        }
        TraceEvent event = eventOf(match, candidate.gain);
        ApplyResult result =
            applyMatch(m_graph, match, m_options.infer ? m_options.infer : inferShapes);
        if (auto* reason = std::get_if<Reason>(&result)) {
            event.kind = TraceEvent::Kind::Refused;
            event.reason = std::move(*reason);
            ++m_trace.count(match.rule->name, m_step.phase).refused;
            m_trace.events.push_back(std::move(event));
            return false;
        }
        const Applied& applied = std::get<Applied>(result);
        m_convexity->added(applied.made);
        forwarding.add(applied.replaced);
        event.kind = match.rule->isRewrite ? TraceEvent::Kind::Rewritten : TraceEvent::Kind::Fused;
        event.made = namesOf(m_graph, applied.made);
        ++m_trace.count(match.rule->name, m_step.phase).applied;
        m_trace.events.push_back(std::move(event));
        return true;
    }

    TraceEvent eventOf(const Match& match, double gain) const {
        TraceEvent event;
        event.phase = m_step.phase;
        event.iteration = m_iteration;
        event.rule = match.rule->name;
        event.file = match.rule->file;
        event.line = match.rule->line;
        event.nodes = namesOf(m_graph, match.nodes);
        event.labels = match.labels;
        event.gain = gain;
        return event;
    }

    void refuse(const Match& match, Reason reason, double gain) {
        ++m_trace.count(match.rule->name, m_step.phase).refused;
        TraceEvent event = eventOf(match, gain);
        event.kind = TraceEvent::Kind::Refused;
        // Rounds after the first find the same refusals again.
        std::string key = event.rule + "\n" + reason.text();
        for (const std::string& node : event.nodes)
            key += "\n" + node;
        if (!m_refusals.insert(std::move(key)).second)
            return;
        event.reason = std::move(reason);
        m_trace.events.push_back(std::move(event));
    }

    /// The phase came back to a graph that it had `from` events before: names the rules.
    void stop(size_t from) {
        std::string rules;
        std::unordered_set<std::string> seen;
        for (size_t i = from; i < m_trace.events.size(); ++i) {
            const TraceEvent& event = m_trace.events[i];
            bool applied =
                event.kind == TraceEvent::Kind::Rewritten || event.kind == TraceEvent::Kind::Fused;
            if (applied && seen.insert(event.rule).second)
                rules += (rules.empty() ? "`" : ", `") + event.rule + "`";
        }
        TraceEvent event;
        event.kind = TraceEvent::Kind::Stopped;
        event.phase = m_step.phase;
        event.iteration = m_iteration;
        bool cycle = m_iteration < m_options.maxIterations && !rules.empty();
        event.reason = {code::ruleCycle,
                        cycle ? "phase `" + m_step.phase + "*` undoes its own work: " + rules
                              : "phase `" + m_step.phase + "*` was stopped after " +
                                    std::to_string(m_iteration) + " rounds",
                        "mark one of the rules `once`",
                        {{"rules", rules}}};
        m_trace.events.push_back(std::move(event));
    }

    void noteCut(uint32_t components) {
        TraceEvent event;
        event.kind = TraceEvent::Kind::Stopped;
        event.phase = m_step.phase;
        event.iteration = m_iteration;
        event.reason = {"selection-bound",
                        fmt::format("the exact selection of {} groups of overlapping matches was "
                                    "cut off after {} steps; the best found so far is used",
                                    components, m_options.selectionSteps),
                        "raise the bound of the selection, or select by gain",
                        {{"steps", std::to_string(m_options.selectionSteps)}}};
        m_trace.events.push_back(std::move(event));
    }

    void noteEarlyMatches() {
        refreshFacts();
        MatcherOptions quick = m_options.matcher;
        quick.explain = false;
        Matcher matcher(m_graph, *m_facts, *m_convexity, quick);
        for (const auto& [priority, rules] : m_levels)
            for (const PreparedRule* rule : rules) {
                MatchResult found;
                matcher.find(*rule, found);
                for (const Match& match : found.matches)
                    m_early.push_back({&rule->rule, namesOf(m_graph, match.nodes)});
            }
        m_firstEvent = m_trace.events.size();
    }

    /// Matches of lower priority that others took nodes from were never found again: says so.
    void noteShadowed() {
        std::unordered_map<std::string, size_t> taken;
        for (size_t i = m_firstEvent; i < m_trace.events.size(); ++i)
            if (m_trace.events[i].kind == TraceEvent::Kind::Fused ||
                m_trace.events[i].kind == TraceEvent::Kind::Rewritten)
                for (const std::string& node : m_trace.events[i].nodes)
                    taken.emplace(node, i);
        std::unordered_map<std::string, int64_t> priorities;
        for (const auto& [priority, rules] : m_levels)
            for (const PreparedRule* rule : rules)
                priorities[rule->rule.name] = rule->rule.priority;
        for (const EarlyMatch& early : m_early) {
            auto winner = taken.end();
            for (const std::string& node : early.nodes)
                if (auto found = taken.find(node); found != taken.end())
                    winner = found;
            if (winner == taken.end())
                continue;
            const TraceEvent& by = m_trace.events[winner->second];
            int64_t priority = priorities[by.rule];
            if (priority <= early.rule->priority)
                continue;
            TraceEvent event;
            event.kind = TraceEvent::Kind::Refused;
            event.phase = m_step.phase;
            event.iteration = 1;
            event.rule = early.rule->name;
            event.file = early.rule->file;
            event.line = early.rule->line;
            event.nodes = early.nodes;
            event.reason = {code::shadowed,
                            fmt::format("`{}` ({}:{}), priority {}, takes nodes of this match",
                                        by.rule, by.file, by.line, priority),
                            fmt::format("raise the priority above {}", priority),
                            {{"rule", by.rule}, {"line", std::to_string(by.line)}}};
            m_trace.events.push_back(std::move(event));
        }
    }

    Graph& m_graph;
    Trace& m_trace;
    PhaseStep m_step;
    const EngineOptions& m_options;
    Progress& m_progress;
    std::map<int64_t, Rules> m_levels; ///< by falling priority
    uint32_t m_iteration = 1;
    std::unique_ptr<GraphFacts> m_facts; ///< null after a change
    std::unique_ptr<Convexity> m_convexity;
    std::unordered_set<const PreparedRule*> m_seenMisses;
    std::unordered_set<std::string> m_refusals;
    std::vector<EarlyMatch> m_early;
    size_t m_firstEvent = 0;
};

} // namespace

Result<Rewritten> rewrite(Graph graph, const RuleSet& rules, const Pipeline& pipeline,
                          const EngineOptions& options, Progress& progress) {
    if (options.decide == Decide::Cost && !options.gain)
        return failure("rewrite.gain", "deciding by cost needs a cost model", pipeline.name);
    RuleIndex index(rules);
    Rewritten out{std::move(graph), {}};
    for (size_t i = 0; i < pipeline.steps.size(); ++i) {
        progress.report("phase " + pipeline.steps[i].phase, i, pipeline.steps.size());
        Phase phase(out.graph, out.trace, index, pipeline.steps[i], options, progress);
        Result<void> done = phase.run();
        if (!done)
            return failure(done.error());
        if (progress.cancelled())
            return cancelledFailure("rewriting");
        out.graph.removeDead();
    }
    return out;
}

const Pipeline* findPipeline(const RuleSet& rules, std::string_view name) {
    for (const Pipeline& pipeline : rules.pipelines)
        if (pipeline.name == name)
            return &pipeline;
    return nullptr;
}

} // namespace fuselage
