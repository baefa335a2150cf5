// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/matcher.h"

#include "core/rewrite/matcher_anchors.h"
#include "core/rewrite/matcher_internal.h"
#include "core/rewrite/rewriter.h"

#include <algorithm>

namespace fuselage {

GraphFacts::GraphFacts(const Graph& graph)
    : order(topologicalOrder(graph)), ranks(graph.nodeBound(), 0), isOutput(graph.valueBound(), 0),
      operands(graph.nodeBound(), 0), beyond(graph.nodeBound(), 0) {
    for (uint32_t i = 0; i < order.size(); ++i) {
        uint32_t node = order[i].index();
        ranks[node] = i;
        for (ValueId input : graph.node(order[i]).inputs)
            if (NodeId maker = graph.producer(input); maker.valid()) {
                operands[node] |= maskOf(graph.node(maker).op);
                beyond[node] |= operands[maker.index()];
            }
    }
    for (auto it = order.rbegin(); it != order.rend(); ++it)
        byOp[static_cast<size_t>(graph.node(*it).op)].push_back(*it);
    for (ValueId output : graph.outputs())
        if (output.valid())
            isOutput[output.index()] = 1;
}

Matcher::Matcher(const Graph& graph, const GraphFacts& facts, const Convexity& convexity,
                 MatcherOptions options)
    : m_graph(graph), m_facts(facts), m_convexity(convexity), m_options(std::move(options)),
      m_scratch(graph.nodeBound()) {}

void Matcher::find(const PreparedRule& rule, MatchResult& result) {
    search(rule, AnchorTable({&rule}).find(m_graph, m_facts, m_options.explain)[0], result);
}

void Matcher::findEach(const std::vector<const PreparedRule*>& rules,
                       FunctionRef<bool(const PreparedRule&, MatchResult&)> take) {
    std::vector<std::vector<NodeId>> anchors =
        AnchorTable(rules).find(m_graph, m_facts, m_options.explain);
    for (size_t i = 0; i < rules.size(); ++i) {
        MatchResult result;
        search(*rules[i], anchors[i], result);
        if (!take(*rules[i], result))
            return;
    }
}

void Matcher::search(const PreparedRule& rule, const std::vector<NodeId>& anchors,
                     MatchResult& result) {
    if (anchors.empty())
        return;
    if (rule.regionRoot)
        std::fill(m_scratch.claimed.begin(), m_scratch.claimed.end(), 0);
    Search search(m_graph, m_facts, m_convexity, rule, m_options, m_scratch, result);
    size_t firstMiss = result.nearMisses.size();
    // Later anchors first: regions grow from their last node.
    for (NodeId node : anchors)
        search.run(node);
    m_searched += anchors.size();

    auto begin = result.nearMisses.begin() + static_cast<std::ptrdiff_t>(firstMiss);
    std::stable_sort(begin, result.nearMisses.end(),
                     [](const NearMiss& a, const NearMiss& b) { return a.step > b.step; });
    if (result.nearMisses.size() > firstMiss + m_options.maxNearMisses)
        result.nearMisses.resize(firstMiss + m_options.maxNearMisses);
}

Search::Search(const Graph& graph, const GraphFacts& facts, const Convexity& convexity,
               const PreparedRule& rule, const MatcherOptions& options, MatchScratch& scratch,
               MatchResult& result)
    : m_graph(graph), m_facts(facts), m_convexity(convexity), m_prepared(rule), m_rule(rule.rule),
      m_options(options), m_scratch(scratch), m_used(scratch.used), m_claimed(scratch.claimed),
      m_result(result), m_slots(rule.rule.slots.size()), m_dims(rule.rule.dims.size()) {}

namespace {

/// Values that a node reads, directly or through at most `depth` - 1 other nodes; nearest first.
std::vector<ValueId> valuesBefore(const Graph& graph, NodeId node, uint32_t depth) {
    std::vector<ValueId> out;
    std::vector<NodeId> level = {node};
    for (uint32_t i = 0; i < depth && !level.empty(); ++i) {
        std::vector<NodeId> next;
        for (NodeId reader : level)
            for (ValueId input : graph.node(reader).inputs) {
                if (!input.valid() || std::find(out.begin(), out.end(), input) != out.end())
                    continue;
                out.push_back(input);
                if (NodeId maker = graph.producer(input); maker.valid())
                    next.push_back(maker);
            }
        level = std::move(next);
    }
    return out;
}

} // namespace

void Search::run(NodeId anchor) {
    m_anchor = anchor;
    m_spent = 0;
    m_successes = 0;
    m_hasMiss = false;
    m_firstMatch = m_result.matches.size();
    m_firstRefused = m_result.refused.size();
    const BlockPlan& plan = m_prepared.plan;
    Mark start = mark();
    auto end = [&] { return finish(); };
    auto startAt = [&](ValueId value) {
        auto others = [&] { return matchRoots(plan, 1, end); };
        matchRootAt(plan.block->definitions[plan.roots[0]], value, others);
        undo(start);
    };
    if (plan.roots.empty()) {
        if (m_triedValues.insert(ValueId()).second)
            matchRest(plan, end);
        undo(start);
    } else if (plan.anchoredByUsers) {
        for (ValueId value : valuesBefore(m_graph, anchor, m_prepared.reach))
            if ((m_options.explain ||
                 m_graph.value(value).uses.size() >= m_prepared.leastReaders) &&
                m_triedValues.insert(value).second)
                startAt(value);
    } else {
        const std::vector<ValueId>& outputs = m_graph.node(anchor).outputs;
        auto first = std::find_if(outputs.begin(), outputs.end(),
                                  [](ValueId value) { return value.valid(); });
        if (first != outputs.end())
            startAt(*first);
    }
    if (m_spent > m_options.budget) {
        Match match = currentMatch();
        Reason reason{code::budget,
                      "the search was cut off after " + std::to_string(m_options.budget) + " steps",
                      "raise the budget, or write fewer alternatives and commutative operators",
                      {{"budget", std::to_string(m_options.budget)}}};
        m_result.refused.push_back({std::move(match), std::move(reason), {}});
    }
    bool quiet = m_result.matches.size() > m_firstMatch || !m_hasMiss ||
                 m_result.refused.size() > m_firstRefused;
    if (!quiet) {
        m_nearest.bound = namesOf(m_graph, m_nearestNodes);
        m_result.nearMisses.push_back(m_nearest);
    }
}

Search::Mark Search::mark() const {
    return {m_slotChanges.size(), m_dimChanges.size(), m_nodes.size(), m_labels.size(),
            m_regions.size()};
}

void Search::undo(const Mark& mark) {
    while (m_slotChanges.size() > mark.slots) {
        m_slots[m_slotChanges.back().slot] = std::move(m_slotChanges.back().before);
        m_slotChanges.pop_back();
    }
    while (m_dimChanges.size() > mark.dims) {
        m_dims[m_dimChanges.back().dim] = std::move(m_dimChanges.back().before);
        m_dimChanges.pop_back();
    }
    while (m_nodes.size() > mark.nodes) {
        --m_used[m_nodes.back().index()];
        m_nodes.pop_back();
    }
    m_labels.resize(mark.labels);
    m_regions.resize(mark.regions);
}

void Search::take(NodeId node) {
    ++m_used[node.index()];
    m_nodes.push_back(node);
}

bool Search::spend() {
    return ++m_spent <= m_options.budget;
}

/// Unbound slots take anything; a bound one must stand for the same.
bool Search::bindSlot(SlotIndex slot, Binding binding) {
    Binding& current = m_slots[slot];
    if (current.bound() && binding.bound())
        return current.kind == binding.kind && current.value == binding.value &&
               current.kind != Binding::Kind::List;
    m_slotChanges.push_back({slot, std::move(current)});
    current = std::move(binding);
    return true;
}

bool Search::bindValue(SlotIndex slot, ValueId value, const Term& term) {
    if (bindSlot(slot, value.valid() ? Binding::of(value) : Binding::none()))
        return true;
    return miss(code::otherValue, &term, {}, value, [&] {
        const Binding& bound = m_slots[slot];
        auto name = [&](ValueId id) {
            return id.valid() ? "`" + m_graph.value(id).name + "`" : std::string("none");
        };
        return std::pair(name(value),
                         name(bound.value) + ", as `" + m_rule.slots[slot].name + "` before");
    });
}

void Search::bindDim(uint32_t dim, DimBinding binding) {
    m_dimChanges.push_back({dim, std::move(m_dims[dim])});
    m_dims[dim] = std::move(binding);
}

EvaluateContext Search::context() const {
    return {m_graph, m_rule, m_slots, m_dims, &m_regions, &m_options.roots};
}

bool Search::miss(const char* code, const Term* term, NodeId node, ValueId value,
                  FunctionRef<std::pair<std::string, std::string>()> explain) {
    m_noted = false;
    if (!m_options.explain || m_quiet > 0)
        return false;
    auto step = static_cast<uint32_t>(m_nodes.size());
    if (m_hasMiss && m_nearest.step >= step)
        return false;
    m_hasMiss = true;
    auto [found, expected] = explain();
    std::string place = node.valid()    ? m_graph.node(node).name
                        : value.valid() ? m_graph.value(value).name
                                        : m_graph.node(m_anchor).name;
    std::string message = "`" + place + "`: found " + found + ", the rule wants " + expected;
    if (term && !term->text.empty())
        message += " (`" + term->text + "`)";
    m_nearestNodes = m_nodes;
    m_nearest = {m_rule.name,
                 m_graph.node(m_anchor).name,
                 std::move(place),
                 step,
                 std::max(m_prepared.steps, step + 1),
                 {code, std::move(message), {}, {{"found", found}, {"expected", expected}}},
                 {},
                 term ? term->span : Span()};
    m_noted = true;
    suggestFor(code, term, node, value);
    return false;
}

bool Search::refuse(Reason reason, std::optional<RuleEdit> edit) {
    if (m_quiet == 0 && m_result.refused.size() < m_firstRefused + m_options.matchesAtOnce)
        m_result.refused.push_back({currentMatch(), std::move(reason), std::move(edit)});
    return false;
}

Match Search::currentMatch() const {
    Match match;
    match.rule = &m_rule;
    match.anchor = m_anchor;
    match.nodes = m_nodes;
    std::sort(match.nodes.begin(), match.nodes.end(),
              [&](NodeId a, NodeId b) { return m_facts.rank(a) < m_facts.rank(b); });
    match.slots = m_slots;
    for (Binding& slot : match.slots)
        if (!slot.bound())
            slot = Binding::none();
    match.dims = m_dims;
    match.regions = m_regions;
    match.labels = m_labels;
    return match;
}

} // namespace fuselage
