// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/matcher.h"

#include "core/graph/text.h"
#include "core/rewrite/matcher_anchors.h"
#include "core/rewrite/matcher_internal.h"

#include <algorithm>
#include <deque>
#include <span>

namespace fuselage {

GraphFacts::GraphFacts(const Graph& graph)
    : order(topologicalOrder(graph)), ranks(graph.nodeBound(), 0), isOutput(graph.valueBound(), 0),
      operands(graph.nodeBound(), 0), beyond(graph.nodeBound(), 0), ops(graph.nodeBound()),
      makers(graph.valueBound()) {
    for (uint32_t i = 0; i < order.size(); ++i) {
        const Node& node = graph.node(order[i]);
        uint32_t index = order[i].index();
        ranks[index] = i;
        ops[index] = node.op;
        present.set(static_cast<size_t>(node.op));
        for (uint32_t slot = 0; slot < node.outputs.size(); ++slot)
            if (node.outputs[slot].valid())
                makers[node.outputs[slot].index()] = {order[i], slot};
        for (ValueId input : node.inputs)
            if (NodeId maker = makerOf(input); maker.valid()) {
                operands[index] |= maskOf(opOf(maker));
                beyond[index] |= operands[maker.index()];
            }
    }
    for (auto it = order.rbegin(); it != order.rend(); ++it)
        byOp[static_cast<size_t>(opOf(*it))].push_back(*it);
    for (ValueId output : graph.outputs())
        if (output.valid())
            isOutput[output.index()] = 1;
}

Matcher::Matcher(const Graph& graph, const GraphFacts& facts, const Convexity& convexity,
                 MatcherOptions options)
    : m_graph(graph), m_facts(facts), m_convexity(convexity), m_options(std::move(options)),
      m_scratch(graph.nodeBound()) {}

namespace {

/// Nodes that all rules are tried on before the next ones: few enough to stay in a cache.
constexpr size_t nodesAtOnce = 256;

bool appliesTo(const Rule& rule, const Graph& graph) {
    auto opset = graph.opsetImports.find("");
    return opset == graph.opsetImports.end() ||
           (opset->second >= rule.minOpset &&
            (rule.maxOpset == 0 || opset->second < rule.maxOpset));
}

} // namespace

void Matcher::find(const PreparedRule& rule, MatchResult& result) {
    std::vector<MatchResult> results(1);
    search({&rule}, {true}, results, [] { return false; });
    result = std::move(results.front());
}

bool Matcher::findEach(const std::vector<const IndexedRule*>& rules, Take take,
                       FunctionRef<bool()> stop) {
    std::vector<const PreparedRule*> able;
    std::vector<bool> isAble, mayMatch; // the latter of those that are able
    for (const IndexedRule* rule : rules) {
        const bool may = rule->mayMatch(m_facts.present);
        isAble.push_back(m_options.explain || may);
        if (!isAble.back())
            continue;
        able.push_back(&rule->prepared());
        mayMatch.push_back(may);
    }
    std::vector<MatchResult> results(able.size());
    if (!search(able, mayMatch, results, stop))
        return false;
    auto next = results.begin();
    for (size_t i = 0; i < rules.size(); ++i) {
        MatchResult nothing;
        if (!take(*rules[i], isAble[i] ? *next++ : nothing))
            return false;
    }
    return true;
}

bool Matcher::search(const std::vector<const PreparedRule*>& rules,
                     const std::vector<bool>& mayMatch, std::vector<MatchResult>& results,
                     FunctionRef<bool()> stop) {
    std::deque<Search> searches; // they stay where they are
    for (size_t i = 0; i < rules.size(); ++i)
        searches.emplace_back(m_graph, m_facts, m_convexity, *rules[i], m_options, m_scratch,
                              results[i]);
    AnchorTable table(rules);
    // Later nodes first: regions grow from their last node.
    std::vector<NodeId> nodes(m_facts.order.rbegin(), m_facts.order.rend());
    std::vector<std::vector<NodeId>> anchors, places; // where near misses are looked for besides
    for (size_t from = 0; from < nodes.size(); from += nodesAtOnce) {
        if (stop())
            return false;
        auto some = std::span(nodes).subspan(from, std::min(nodesAtOnce, nodes.size() - from));
        table.find(m_graph, m_facts, some, !m_options.filters, anchors);
        if (m_options.explain)
            table.find(m_graph, m_facts, some, true, places);
        for (size_t i = 0; i < rules.size(); ++i) {
            if (!appliesTo(rules[i]->rule, m_graph))
                continue;
            if (!mayMatch[i])
                anchors[i].clear();
            const std::vector<NodeId>& all = m_options.explain ? places[i] : anchors[i];
            auto start = anchors[i].begin();
            for (NodeId node : all) {
                const bool isStart = start != anchors[i].end() && *start == node;
                start += isStart ? 1 : 0;
                searches[i].run(node, isStart);
            }
            m_searched += all.size();
            std::vector<NearMiss>& misses = results[i].nearMisses;
            if (misses.size() > 2 * m_options.maxNearMisses) {
                keepNearest(misses);
                searches[i].wantsNearerThan(misses.back().step);
            }
        }
    }
    for (MatchResult& result : results) {
        keepNearest(result.nearMisses);
        result.nearMisses.shrink_to_fit(); // a memo keeps those of every rule
    }
    return true;
}

/// Of equally near ones the first; so nothing is lost that a later call would keep.
void Matcher::keepNearest(std::vector<NearMiss>& misses) const {
    std::stable_sort(misses.begin(), misses.end(),
                     [](const NearMiss& a, const NearMiss& b) { return a.step > b.step; });
    if (misses.size() > m_options.maxNearMisses)
        misses.resize(m_options.maxNearMisses);
}

Search::Search(const Graph& graph, const GraphFacts& facts, const Convexity& convexity,
               const PreparedRule& rule, const MatcherOptions& options, MatchScratch& scratch,
               MatchResult& result)
    : m_graph(graph), m_facts(facts), m_convexity(convexity), m_prepared(rule), m_rule(rule.rule),
      m_options(options), m_scratch(scratch), m_used(scratch.used),
      m_claimed(rule.regionRoot ? graph.nodeBound() : 0, 0), m_result(result),
      m_slots(rule.rule.slots.size()), m_dims(rule.rule.dims.size()), m_filters(options.filters) {}

namespace {

/// Values that a node reads, directly or through at most `depth` - 1 other nodes; nearest first.
void findValuesBefore(const Graph& graph, NodeId node, uint32_t depth, MatchScratch& scratch,
                      std::vector<ValueId>& out) {
    const VectorPool<NodeId>::Loan levelLoan(scratch.nodes), nextLoan(scratch.nodes);
    std::vector<NodeId>&level = *levelLoan, &next = *nextLoan;
    level.push_back(node);
    for (uint32_t i = 0; i < depth && !level.empty(); ++i) {
        next.clear();
        for (NodeId reader : level)
            for (ValueId input : graph.node(reader).inputs) {
                if (!input.valid() || std::find(out.begin(), out.end(), input) != out.end())
                    continue;
                out.push_back(input);
                if (NodeId maker = graph.producer(input); maker.valid())
                    next.push_back(maker);
            }
        level.swap(next);
    }
}

} // namespace

void Search::run(NodeId anchor, bool isStart) {
    m_anchor = anchor;
    m_hasMiss = false;
    m_firstMatch = m_result.matches.size();
    m_firstRefused = m_result.refused.size();
    if (isStart && !m_isOver)
        searchFrom(anchor);
    const bool isQuiet =
        m_result.matches.size() > m_firstMatch || m_result.refused.size() > m_firstRefused;
    if (!m_options.explain || isQuiet)
        return;
    m_isExplaining = true;
    m_filters = false;
    if (m_spentExplaining < m_options.ruleBudget)
        searchFrom(anchor);
    m_isExplaining = false;
    m_filters = m_options.filters;
    if (m_hasMiss && m_nearest.step >= m_leastStep && m_result.refused.size() == m_firstRefused) {
        m_nearest.bound = namesOf(m_graph, m_nearestNodes);
        m_result.nearMisses.push_back(std::move(m_nearest));
    }
}

/// Either as every run of the rules does, or, where that found nothing, without filters and with
/// misses noted.
void Search::searchFrom(NodeId anchor) {
    uint64_t& spentInAll = m_isExplaining ? m_spentExplaining : m_spentInAll;
    const uint64_t left = m_options.ruleBudget - spentInAll;
    m_limit = static_cast<uint32_t>(std::min<uint64_t>(m_options.budget, left));
    m_spent = 0;
    m_successes = 0;
    const auto isUntried = [&](ValueId value) {
        return m_isExplaining ? m_explained.insert(value).second
                              : m_triedValues.insert(value, m_graph.valueBound());
    };
    const BlockPlan& plan = m_prepared.plan;
    Mark start = mark();
    auto end = [&] { return finish(); };
    // Where something was found nothing is to be explained, wherever the value is met again.
    auto settle = [&](ValueId value) {
        undo(start);
        if (m_options.explain &&
            (m_result.matches.size() > m_firstMatch || m_result.refused.size() > m_firstRefused))
            m_explained.insert(value);
    };
    auto startAt = [&](ValueId value) {
        auto others = [&] { return matchRoots(plan, 1, end); };
        matchRootAt(plan.block->definitions[plan.roots[0]], value, others);
        settle(value);
    };
    if (plan.roots.empty()) {
        if (isUntried(ValueId()))
            matchRest(plan, end);
        settle(ValueId());
    } else if (plan.anchoredByUsers) {
        const VectorPool<ValueId>::Loan loan(m_scratch.values);
        findValuesBefore(m_graph, anchor, m_prepared.reach, m_scratch, *loan);
        for (ValueId value : *loan)
            if ((!m_filters || m_graph.value(value).uses.size() >= m_prepared.leastReaders) &&
                isUntried(value))
                startAt(value);
    } else {
        const std::vector<ValueId>& outputs = m_graph.node(anchor).outputs;
        auto first = std::find_if(outputs.begin(), outputs.end(),
                                  [](ValueId value) { return value.valid(); });
        if (first != outputs.end())
            startAt(*first);
    }
    const bool isCut = m_spent > m_limit;
    spentInAll += std::min(m_spent, m_limit);
    if (m_isExplaining)
        // It is the filters that tell what matches.
        m_result.matches.erase(m_result.matches.begin() + static_cast<std::ptrdiff_t>(m_firstMatch),
                               m_result.matches.end());
    else if (isCut)
        m_result.refused.push_back({currentMatch(), cutReason(), {}});
}

/// Of the search from one node, or of all searches of the rule, which end here.
Reason Search::cutReason() {
    m_isOver = m_limit < m_options.budget;
    const std::string budget = std::to_string(m_isOver ? m_options.ruleBudget : m_options.budget);
    if (!m_isOver)
        return {code::budget,
                "the search was cut off after " + budget + " steps",
                "search longer (--search-steps), or write fewer alternatives and commutative "
                "operators",
                {{"budget", budget}, {"of", "node"}}};
    return {code::budget,
            "all searches of the rule were cut off after " + budget + " steps, at `" +
                m_graph.node(m_anchor).name + "`: nodes before it were not tried",
            "search longer (--rule-steps), or write fewer alternatives and commutative operators",
            {{"budget", budget}, {"of", "rule"}}};
}

void Search::takeBack() {
    Change change = m_trail.back();
    m_trail.pop_back();
    switch (change.kind) {
    case Change::Kind::BoundSlot:
        m_slots[change.index].kind = Binding::Kind::Unbound;
        m_slots[change.index].value = {};
        m_slots[change.index].items.clear();
        break;
    case Change::Kind::ChangedSlot:
        m_slots[change.index] = std::move(m_slotsBefore.back());
        m_slotsBefore.pop_back();
        break;
    case Change::Kind::BoundDim:
        m_dims[change.index] = {};
        break;
    case Change::Kind::ChangedDim:
        m_dims[change.index] = std::move(m_dimsBefore.back());
        m_dimsBefore.pop_back();
        break;
    case Change::Kind::Node:
        --m_used[m_nodes.back().index()];
        m_nodes.pop_back();
        m_takenBy.pop_back();
        break;
    case Change::Kind::Label:
        m_labels.pop_back();
        break;
    case Change::Kind::Region:
        m_regions.pop_back();
        break;
    case Change::Kind::PassedOver:
        m_passedOver.reset();
        break;
    }
}

void Search::take(NodeId node, TermId term) {
    ++m_used[node.index()];
    m_nodes.push_back(node);
    m_takenBy.push_back(term);
    m_trail.push_back({Change::Kind::Node});
}

void Search::addLabel(const std::string& label) {
    m_labels.push_back(&label);
    m_trail.push_back({Change::Kind::Label});
}

void Search::addRegion(RegionBinding region) {
    m_regions.push_back(std::move(region));
    m_trail.push_back({Change::Kind::Region});
}

/// Unbound slots take anything; a bound one must stand for the same.
bool Search::bindSlot(SlotIndex slot, Binding binding) {
    Binding& current = m_slots[slot];
    if (!current.bound()) {
        m_trail.push_back({Change::Kind::BoundSlot, slot});
    } else if (binding.bound()) {
        return current.kind == binding.kind && current.value == binding.value &&
               current.kind != Binding::Kind::List;
    } else {
        m_trail.push_back({Change::Kind::ChangedSlot, slot});
        m_slotsBefore.push_back(std::move(current));
    }
    current = std::move(binding);
    return true;
}

bool Search::bindValue(SlotIndex slot, ValueId value, const Term& term) {
    Binding& current = m_slots[slot];
    Binding::Kind kind = value.valid() ? Binding::Kind::Value : Binding::Kind::None;
    if (!current.bound()) {
        m_trail.push_back({Change::Kind::BoundSlot, slot});
        current.kind = kind;
        current.value = value;
        return true;
    }
    if (current.kind == kind && current.value == value)
        return true;
    miss(code::otherValue, &term, {}, value, [&] {
        const Binding& bound = m_slots[slot];
        auto name = [&](ValueId id) {
            return id.valid() ? "`" + m_graph.value(id).name + "`" : std::string("none");
        };
        return std::pair(name(value),
                         name(bound.value) + ", as `" + m_rule.slots[slot].name + "` before");
    });
    return passesBetween(value, m_slots[slot].value);
}

void Search::bindDim(uint32_t dim, DimBinding binding) {
    if (m_dims[dim].bound) {
        m_trail.push_back({Change::Kind::ChangedDim, dim});
        m_dimsBefore.push_back(std::move(m_dims[dim]));
    } else {
        m_trail.push_back({Change::Kind::BoundDim, dim});
    }
    m_dims[dim] = std::move(binding);
}

EvaluateContext Search::context() const {
    return {m_graph, m_rule, m_slots, m_dims, &m_regions, &m_options.roots};
}

void Search::sortByRank(std::vector<NodeId>& nodes) const {
    auto earlier = [&](NodeId a, NodeId b) { return m_facts.rank(a) < m_facts.rank(b); };
    if (nodes.size() > 1)
        std::sort(nodes.begin(), nodes.end(), earlier);
}

Match Search::currentMatch() const {
    std::vector<NodeId> nodes = m_nodes;
    sortByRank(nodes);
    return currentMatch(std::move(nodes));
}

Match Search::currentMatch(std::vector<NodeId> sorted) const {
    Match match;
    match.rule = &m_rule;
    match.anchor = m_anchor;
    match.nodes = std::move(sorted);
    match.slots = m_slots;
    for (Binding& slot : match.slots)
        if (!slot.bound())
            slot = Binding::none();
    match.dims = m_dims;
    match.regions = m_regions;
    for (const std::string* label : m_labels)
        match.labels.push_back(*label);
    return match;
}

} // namespace fuselage
