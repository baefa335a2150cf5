// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/select.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace fuselage {

namespace {

// Among equal gains, covering more nodes wins; far below any gain that matters.
constexpr double coverWeight = 1e-9;

/// The matches of one selection with what comparing them needs.
class Contest {
public:
    Contest(const GraphFacts& facts, const std::vector<Candidate>& candidates,
            const SelectOptions& options)
        : m_candidates(candidates), m_options(options), m_ranks(candidates.size()),
          m_rivals(candidates.size()), m_winner(candidates.size(), none) {
        for (size_t i = 0; i < candidates.size(); ++i) {
            for (NodeId node : candidates[i].match.nodes)
                m_ranks[i].push_back(facts.rank(node));
            std::sort(m_ranks[i].rbegin(), m_ranks[i].rend());
        }
        findRivals();
    }

    Selection run() {
        std::vector<size_t> order(m_candidates.size());
        std::iota(order.begin(), order.end(), size_t{0});
        std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return isBetter(a, b); });
        for (size_t begin = 0; begin < order.size();) {
            size_t end = begin;
            while (end < order.size() && priority(order[end]) == priority(order[begin]))
                ++end;
            chooseLevel({order.begin() + static_cast<std::ptrdiff_t>(begin),
                         order.begin() + static_cast<std::ptrdiff_t>(end)});
            begin = end;
        }
        for (size_t i : order)
            if (m_winner[i] != i)
                m_selection.losers.push_back({i, reasonOf(i)});
        std::sort(m_selection.chosen.begin(), m_selection.chosen.end(),
                  [&](size_t a, size_t b) { return m_ranks[a].back() < m_ranks[b].back(); });
        return std::move(m_selection);
    }

private:
    static constexpr size_t none = static_cast<size_t>(-1);

    int64_t priority(size_t i) const { return m_candidates[i].match.rule->priority; }

    double weight(size_t i) const {
        double size = static_cast<double>(m_candidates[i].match.nodes.size());
        return std::max(m_candidates[i].gain, 0.0) + coverWeight * size;
    }

    bool isBetter(size_t a, size_t b) const {
        const Candidate& left = m_candidates[a];
        const Candidate& right = m_candidates[b];
        if (priority(a) != priority(b))
            return priority(a) > priority(b);
        if (m_options.by == PhaseStep::Selection::Order && left.ruleOrder != right.ruleOrder)
            return left.ruleOrder < right.ruleOrder;
        if (m_options.by != PhaseStep::Selection::Order && left.gain != right.gain)
            return left.gain > right.gain;
        if (m_ranks[a].size() != m_ranks[b].size())
            return m_ranks[a].size() > m_ranks[b].size();
        if (m_ranks[a] != m_ranks[b])
            return m_ranks[a] > m_ranks[b];
        if (left.ruleOrder != right.ruleOrder)
            return left.ruleOrder < right.ruleOrder;
        return a < b;
    }

    static bool keeps(const Match& match, NodeId node) {
        return std::find(match.kept.begin(), match.kept.end(), node) != match.kept.end();
    }

    void findRivals() {
        std::unordered_map<NodeId, std::vector<size_t>> owners;
        for (size_t i = 0; i < m_candidates.size(); ++i)
            for (NodeId node : m_candidates[i].match.nodes)
                owners[node].push_back(i);
        for (const auto& [node, list] : owners)
            for (size_t a : list)
                for (size_t b : list)
                    // A node that both recompute is there for both.
                    if (a != b &&
                        !(keeps(m_candidates[a].match, node) && keeps(m_candidates[b].match, node)))
                        m_rivals[a].push_back(b);
        for (std::vector<size_t>& rivals : m_rivals) {
            std::sort(rivals.begin(), rivals.end());
            rivals.erase(std::unique(rivals.begin(), rivals.end()), rivals.end());
        }
    }

    /// The candidates of one priority, best first.
    void chooseLevel(const std::vector<size_t>& level) {
        std::vector<size_t> open;
        for (size_t i : level)
            if (m_winner[i] == none)
                open.push_back(i);
        if (m_options.by != PhaseStep::Selection::Exact) {
            for (size_t i : open)
                if (m_winner[i] == none)
                    choose(i);
            return;
        }
        for (const std::vector<size_t>& component : components(open))
            for (size_t i : bestOf(component))
                choose(i);
    }

    void choose(size_t i) {
        m_winner[i] = i;
        m_selection.chosen.push_back(i);
        for (size_t rival : m_rivals[i])
            if (m_winner[rival] == none)
                m_winner[rival] = i;
    }

    /// Groups of candidates that overlap directly or through others, each best first.
    std::vector<std::vector<size_t>> components(const std::vector<size_t>& open) const {
        std::vector<uint8_t> wanted(m_candidates.size(), 0);
        for (size_t i : open)
            wanted[i] = 1;
        std::vector<std::vector<size_t>> out;
        for (size_t seed : open) {
            if (wanted[seed] != 1)
                continue;
            std::vector<size_t> component{seed};
            wanted[seed] = 2;
            for (size_t at = 0; at < component.size(); ++at)
                for (size_t rival : m_rivals[component[at]])
                    if (wanted[rival] == 1) {
                        wanted[rival] = 2;
                        component.push_back(rival);
                    }
            std::sort(component.begin(), component.end(),
                      [&](size_t a, size_t b) { return isBetter(a, b); });
            out.push_back(std::move(component));
        }
        return out;
    }

    struct Bound {
        std::vector<size_t> best;
        double bestWeight = -1;
        uint64_t steps = 0;
    };

    /// Branch and bound; the first leaf is the greedy answer, so ties keep it.
    std::vector<size_t> bestOf(const std::vector<size_t>& component) {
        constexpr size_t maxDepth = 4000; // of the recursion
        Bound bound;
        std::vector<size_t> taken;
        std::vector<uint32_t> blocked(m_candidates.size(), 0);
        double rest = 0;
        for (size_t i : component)
            rest += weight(i);
        uint64_t limit = component.size() > maxDepth ? 0 : m_options.maxSteps;
        if (limit > 0)
            branch(component, 0, 0, rest, taken, blocked, bound);
        if (bound.steps >= limit)
            ++m_selection.cutComponents;
        if (bound.best.empty())
            for (size_t i : component)
                if (blocked[i] == 0) {
                    bound.best.push_back(i);
                    for (size_t rival : m_rivals[i])
                        ++blocked[rival];
                }
        return bound.best;
    }

    void branch(const std::vector<size_t>& component, size_t index, double sum, double rest,
                std::vector<size_t>& taken, std::vector<uint32_t>& blocked, Bound& bound) {
        while (index < component.size() && blocked[component[index]] != 0)
            rest -= weight(component[index++]);
        if (index == component.size()) {
            if (sum > bound.bestWeight * (1 + 1e-12)) {
                bound.bestWeight = sum;
                bound.best = taken;
            }
            return;
        }
        if (sum + rest <= bound.bestWeight || ++bound.steps >= m_options.maxSteps)
            return;
        size_t i = component[index];
        rest -= weight(i);
        taken.push_back(i);
        for (size_t rival : m_rivals[i])
            ++blocked[rival];
        branch(component, index + 1, sum + weight(i), rest, taken, blocked, bound);
        taken.pop_back();
        for (size_t rival : m_rivals[i])
            --blocked[rival];
        // Without rivals it costs nothing to take it.
        if (!m_rivals[i].empty())
            branch(component, index + 1, sum, rest, taken, blocked, bound);
    }

    Reason reasonOf(size_t i) const {
        size_t by = m_winner[i];
        // The exact search leaves some without any chosen rival only when they gain nothing.
        if (by == none)
            return {code::notSelected, "another selection gains more in total", {}, {}};
        const Rule& winner = *m_candidates[by].match.rule;
        std::string place = fmt::format("`{}` ({}:{})", winner.name, winner.file, winner.line);
        if (priority(by) > priority(i))
            return {
                code::shadowed,
                fmt::format("{}, priority {}, takes nodes of this match", place, winner.priority),
                fmt::format("raise the priority above {}", winner.priority),
                {{"rule", winner.name}, {"line", std::to_string(winner.line)}}};
        return {code::notSelected,
                fmt::format("it gains {:.6g}, {} takes nodes of it and gains {:.6g}",
                            m_candidates[i].gain, place, m_candidates[by].gain),
                "give the rule a higher priority",
                {{"gain", fmt::format("{:.6g}", m_candidates[i].gain)},
                 {"winner", winner.name},
                 {"winner gain", fmt::format("{:.6g}", m_candidates[by].gain)}}};
    }

    const std::vector<Candidate>& m_candidates;
    const SelectOptions& m_options;
    std::vector<std::vector<uint32_t>> m_ranks; ///< per candidate, descending
    std::vector<std::vector<size_t>> m_rivals;  ///< candidates that share a node
    std::vector<size_t> m_winner;               ///< itself when chosen, or who excluded it
    Selection m_selection;
};

} // namespace

Selection select(const GraphFacts& facts, const std::vector<Candidate>& candidates,
                 const SelectOptions& options) {
    return Contest(facts, candidates, options).run();
}

double nodesSaved(const Match& match) {
    double removed = static_cast<double>(match.nodes.size() - match.kept.size());
    if (!match.rule->isRewrite)
        return removed - 1;
    return removed - static_cast<double>(match.rule->rewrite.size());
}

} // namespace fuselage
