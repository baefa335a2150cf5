// SPDX-License-Identifier: Apache-2.0
#include "core/graph/text.h"
#include "core/rewrite/body_trace_internal.h"
#include "core/rewrite/phase_internal.h"
#include "core/rewrite/points.h"
#include "core/rewrite/state_hash.h"

#include <algorithm>
#include <utility>

namespace fuselage {

namespace {

bool allAlive(const Graph& graph, const Binding& binding) {
    if (binding.kind == Binding::Kind::Value && !graph.alive(binding.value))
        return false;
    return std::all_of(binding.items.begin(), binding.items.end(),
                       [&](const Binding& item) { return allAlive(graph, item); });
}

/// A `many` of the match holds as many instances as it may: there may be more of them.
bool isFull(const Match& match) {
    auto fills = [&](const Many& many) {
        return many.slots.empty() || match.slots[many.slots[0]].items.size() >= many.most;
    };
    const std::vector<Many>& manys = match.rule->match.manys;
    return std::any_of(manys.begin(), manys.end(), fills);
}

} // namespace

Phase::Phase(Graph& graph, Trace& trace, const RuleIndex& index, const PhaseStep& step,
             const EngineOptions& options, RewriteMemo& memo, RewriteMemo::State state,
             Progress& progress)
    : m_own(graph), m_trace(trace), m_step(step), m_options(options), m_memo(memo), m_state(state),
      m_progress(progress) {
    for (const auto& rule : index.rules())
        if (rule->rule().phase == step.phase)
            m_levels[-rule->rule().priority].push_back(rule.get());
}

Result<void> Phase::run() {
    if (m_options.matcher.explain)
        noteEarlyMatches();
    std::map<uint64_t, size_t> states; // hash -> events before it
    for (m_iteration = 1; m_iteration <= m_options.maxIterations; ++m_iteration) {
        if (m_step.repeat) {
            auto [entry, isNew] = states.emplace(stateHash(graph()), m_trace.events.size());
            if (!isNew) {
                stop(entry->second);
                break;
            }
        }
        bool changed = false;
        for (const auto& [priority, rules] : m_levels) {
            Result<bool> done = level(rules);
            if (!done)
                return failure(done.error());
            changed = changed || *done;
        }
        if (!changed || !m_step.repeat)
            break;
        if (m_iteration == m_options.maxIterations)
            stop(m_trace.events.size());
    }
    noteShadowed();
    return {};
}

/// What can be read of the graph after show().
const Graph& Phase::graph() const {
    return m_shown ? *m_shown : m_shared ? *m_shared : m_own;
}

/// Of the types of what is written.
InferenceFunction Phase::inference() const {
    return m_options.infer ? m_options.infer : inferShapes;
}

/// Makes graph() that of the state.
void Phase::show() {
    if (m_waiting.empty() || m_shown)
        return;
    m_shown = m_memo.graphOf(m_state);
    if (!m_shown)
        own();
}

/// The graph of the state, to be changed.
Graph& Phase::own() {
    const bool isMoved = m_shared || m_shown;
    if (auto shared = std::exchange(m_shared, nullptr))
        m_own = shared->clone();
    for (const Waiting& each : std::exchange(m_waiting, {})) {
        std::unordered_map<RewriteMemo::RuleNumber, const Rule*> rules;
        for (const IndexedRule* rule : each.rules)
            rules.emplace(m_memo.numberOf(rule->rule()), &rule->rule());
        for (const RewriteMemo::AppliedMatch& applied : each.level->applied) {
            Match match = applied.match;
            match.rule = rules.at(applied.rule);
            (void)applyMatch(m_own, match, inference());
        }
    }
    m_shown = nullptr;
    if (isMoved && m_facts)
        m_convexity = std::make_unique<Convexity>(m_own, m_facts->order);
    return m_own;
}

std::shared_ptr<const Graph> Phase::known() {
    if (m_waiting.empty())
        return m_shared;
    if (auto known = m_memo.graphOf(m_state))
        return known;
    own();
    return nullptr;
}

/// As runLevel; what the memo knows is not done again, and its changes wait until somebody asks for
/// the graph.
Result<bool> Phase::level(const Rules& rules) {
    if (m_step.repeat || !m_memo.remembers())
        return runLevel(rules);
    std::vector<const Rule*> asked;
    for (const IndexedRule* rule : rules)
        asked.push_back(&rule->rule());
    const std::string key = m_memo.keyOf(m_step, asked, m_options);
    if (auto known = m_memo.level(m_state, key, asked))
        return takeOver(known, rules);
    const RewriteMemo::State start = m_state;
    auto fresh = std::make_shared<RewriteMemo::Level>();
    Trace before = std::exchange(m_trace, {});
    m_level = fresh.get();
    Result<bool> changed = runLevel(rules);
    m_level = nullptr;
    Trace done = std::exchange(m_trace, std::move(before));
    if (changed && !m_progress.cancelled()) {
        fresh->state = m_state;
        fresh->trace = done;
        m_memo.keep(start, key, std::move(fresh));
    }
    append(m_trace, std::move(done));
    return changed;
}

bool Phase::takeOver(const RewriteMemo::LevelPtr& level, const Rules& rules) {
    append(m_trace, level->trace);
    m_state = level->state;
    if (level->applied.empty())
        return false;
    m_waiting.push_back({level, rules});
    m_shown = nullptr;
    m_facts.reset();
    return true;
}

Result<bool> Phase::runLevel(const Rules& rules) {
    bool changed = false;
    // What overlapped may match again differently (regions do), and what a full `many` left may
    // match too: fuse rules only remove nodes.
    for (;;) {
        Result<std::vector<Candidate>> candidates = findAll(rules);
        if (!candidates)
            return failure(candidates.error());
        if (candidates->empty())
            return changed;
        SelectOptions how{m_options.selection.value_or(m_step.selection), m_options.selectionSteps};
        Selection selection = select(*m_facts, *candidates, how);
        for (const Loser& loser : selection.losers)
            refuse(candidates->at(loser.candidate).match, loser.reason,
                   candidates->at(loser.candidate).gain);
        if (selection.cutComponents > 0)
            noteCut(selection.cutComponents);
        const bool leaves = !selection.losers.empty() ||
                            std::any_of(selection.chosen.begin(), selection.chosen.end(),
                                        [&](size_t i) { return isFull((*candidates)[i].match); });
        bool applied = applyAll(*candidates, selection.chosen);
        changed = changed || applied;
        bool onlyFuse = std::none_of(rules.begin(), rules.end(), [](const IndexedRule* rule) {
            return rule->rule().isRewrite;
        });
        if (!applied || !leaves || !onlyFuse)
            return changed;
    }
}

void Phase::refreshFacts() {
    show();
    if (m_facts)
        return;
    m_facts = std::make_unique<GraphFacts>(graph());
    m_convexity = std::make_unique<Convexity>(graph(), m_facts->order);
}

Result<std::vector<Candidate>> Phase::findAll(const Rules& rules) {
    refreshFacts();
    if (m_level)
        m_level->before.push_back(m_state);
    Rules active;
    for (const IndexedRule* rule : rules)
        if (!rule->rule().once || m_iteration == 1)
            active.push_back(rule);
    std::vector<Candidate> candidates;
    auto admitEach = [&](const IndexedRule& rule, MatchResult& found) {
        note(rule, found);
        for (Match& match : found.matches) {
            if (isDisabled(match))
                continue;
            if (std::optional<double> gain = admit(match))
                candidates.push_back({std::move(match), *gain, rule.position()});
        }
        return !m_progress.cancelled();
    };
    findEach(active, admitEach);
    if (m_progress.cancelled())
        return cancelledFailure("matching");
    return candidates;
}

/// As Matcher::findEach; rules that the memo knows on this state are not searched again.
void Phase::findEach(const Rules& rules, Matcher::Take take) {
    if (!m_memo.remembers()) {
        Matcher matcher(graph(), *m_facts, *m_convexity, m_options.matcher);
        matcher.findEach(rules, take, [&] { return m_progress.cancelled(); });
        return;
    }
    remember(rules);
    for (const IndexedRule* rule : rules) {
        RewriteMemo::FoundPtr found = m_memo.found(m_state, rule->rule());
        if (!found) // cancelled
            return;
        MatchResult result = found->result;
        for (Match& match : result.matches)
            match.rule = &rule->rule();
        for (RefusedMatch& refused : result.refused)
            refused.match.rule = &rule->rule();
        if (!take(*rule, result))
            return;
    }
}

/// Puts what the rules find on this state into the memo, unless it is there.
void Phase::remember(const Rules& rules) {
    Rules fresh;
    for (const IndexedRule* rule : rules)
        if (!m_memo.found(m_state, rule->rule()))
            fresh.push_back(rule);
    if (fresh.empty())
        return;
    refreshFacts();
    auto keep = [&](const IndexedRule& rule, MatchResult& found) {
        m_memo.keep(m_state, rule.rule(), graph(), std::move(found));
        return !m_progress.cancelled();
    };
    Matcher matcher(graph(), *m_facts, *m_convexity, m_options.matcher);
    matcher.findEach(fresh, keep, [&] { return m_progress.cancelled(); });
}

/// Writes into the Trace what a rule found and what it refused.
void Phase::note(const IndexedRule& rule, MatchResult& found) {
    m_trace.count(rule.rule().name, m_step.phase).matched +=
        static_cast<uint32_t>(found.matches.size());
    for (RefusedMatch& refused : found.refused)
        refuse(refused.match, std::move(refused.reason), 0, std::move(refused.edit));
    if (m_iteration == 1 && m_seenMisses.insert(&rule).second)
        for (NearMiss& nearMiss : found.nearMisses)
            m_trace.nearMisses.push_back(std::move(nearMiss));
}

/// Whether a person switched the match off; the Trace says so.
bool Phase::isDisabled(const Match& match) {
    if (m_options.disabled.empty())
        return false;
    MatchKey key{match.rule->name, sourcesOf(graph(), match.nodes)};
    std::sort(key.nodes.begin(), key.nodes.end());
    const auto& keys = m_options.disabled;
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
        return false;
    refuse(match, {code::disabled, "this match is switched off", "switch it on again", {}}, 0);
    return true;
}

bool Phase::applyAll(std::vector<Candidate>& candidates, const std::vector<size_t>& chosen) {
    Forwarding forwarding;
    bool any = false;
    size_t done = 0;
    if (!chosen.empty())
        own();
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

bool Phase::applyOne(Candidate& candidate, Forwarding& forwarding) {
    Match& match = candidate.match;
    for (Binding& slot : match.slots)
        forwarding.resolve(slot);
    for (ValueId& output : match.outputs)
        output = forwarding.resolve(output);
    bool current = std::all_of(match.nodes.begin(), match.nodes.end(),
                               [&](NodeId node) { return graph().alive(node); }) &&
                   std::all_of(match.slots.begin(), match.slots.end(),
                               [&](const Binding& slot) { return allAlive(graph(), slot); });
    if (!current) // found again, as it then is, by the next round
        return false;
    std::vector<NodeId> cycle = m_convexity->cycleOf(match.nodes, match.outputs);
    if (!cycle.empty()) {
        refuseCycle(match, cycle, candidate.gain);
        return false;
    }
    TraceEvent event = eventOf(match, candidate.gain);
    event.points = pointsOf(graph(), match);
    ApplyResult result = applyMatch(m_own, match, inference());
    if (auto* refused = std::get_if<NotApplied>(&result)) {
        event.kind = TraceEvent::Kind::Refused;
        event.reason = std::move(refused->reason);
        event.edit = std::move(refused->edit);
        ++m_trace.count(match.rule->name, m_step.phase).refused;
        m_trace.events.push_back(std::move(event));
        return false;
    }
    const Applied& applied = std::get<Applied>(result);
    m_convexity->added(applied.made);
    m_state = m_memo.after(m_state, match);
    forwarding.add(applied.replaced);
    event.kind = match.rule->isRewrite ? TraceEvent::Kind::Rewritten : TraceEvent::Kind::Fused;
    event.made = namesOf(graph(), applied.made);
    ++m_trace.count(match.rule->name, m_step.phase).applied;
    m_trace.events.push_back(std::move(event));
    if (m_level) {
        const RewriteMemo::RuleNumber rule = m_memo.numberOf(*match.rule);
        m_level->applied.push_back({std::move(match), rule});
        m_level->applied.back().match.rule = nullptr;
    }
    return true;
}

} // namespace fuselage
