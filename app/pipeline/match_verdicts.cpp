// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/match_verdicts.h"

#include "core/support/fewest_runs.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace fuselage::app {

namespace {

/// A fused node is found by its rule and sources, which its parts keep when the planner splits it.
class KernelsBySources {
public:
    void add(const KernelReport& kernel, size_t at) {
        m_byFirst[firstOf(kernel.sources)].push_back({&kernel, at});
    }

    std::vector<size_t> of(const MatchReport& match) const {
        std::vector<size_t> out;
        const auto some = m_byFirst.find(firstOf(match.nodes));
        if (some != m_byFirst.end())
            for (const auto& [kernel, at] : some->second)
                if (kernel->rule == match.rule && kernel->sources == match.nodes)
                    out.push_back(at);
        return out;
    }

private:
    static std::string_view firstOf(const std::vector<std::string>& names) {
        return names.empty() ? std::string_view() : std::string_view(names.front());
    }

    std::unordered_map<std::string_view, std::vector<std::pair<const KernelReport*, size_t>>>
        m_byFirst;
};

/// How many hold a node: matches, and kernels after fusion that compute it outside of any match.
std::unordered_map<std::string_view, size_t> holders(const Report& report) {
    std::unordered_map<std::string_view, size_t> out;
    for (const MatchReport& match : report.matches)
        for (const std::string& node : match.nodes)
            ++out[node];
    for (const KernelReport& kernel : report.after.kernels)
        if (kernel.rule.empty())
            for (const std::string& source : kernel.sources)
                ++out[source];
    return out;
}

/// How many nodes each node of the file became before anything was fused.
std::unordered_map<std::string_view, size_t> becameOf(const Report& report) {
    std::unordered_map<std::string_view, size_t> out;
    for (const GraphNodeReport& node : report.before.graph.nodes)
        for (const std::string& source : node.sources)
            ++out[source];
    return out;
}

/// By their first nodes.
using MatchesByFirst = std::unordered_map<std::string_view, std::vector<const MatchReport*>>;

MatchesByFirst byFirst(const Report& report) {
    MatchesByFirst out;
    for (const MatchReport& match : report.matches)
        if (!match.nodes.empty())
            out[match.nodes.front()].push_back(&match);
    return out;
}

/// One launch of several programs, or one program that fused nodes became together: no match's own.
bool isLaunchOfSeveral(const KernelReport& kernel, const MatchesByFirst& matches) {
    if (kernel.kind == "Group" || kernel.kind == "Chain")
        return true;
    size_t begun = 0;
    for (const std::string& source : kernel.sources)
        if (const auto some = matches.find(source); some != matches.end())
            for (const MatchReport* match : some->second) {
                if (match->rule == kernel.rule && match->nodes == kernel.sources)
                    return false;
                ++begun;
            }
    return begun > 1;
}

/// Seconds of each round of the steps that were timed, summed with their parts; empty when a step
/// was not timed.
class RoundSums {
public:
    void add(const MeasuredSide& side, size_t kernel, double part) {
        if (kernel >= side.stepSeconds.size()) {
            m_complete = false;
            return;
        }
        const std::vector<double>& rounds = side.stepSeconds[kernel];
        if (m_sums.empty())
            m_sums.assign(rounds.size(), 0);
        m_complete = m_complete && rounds.size() == m_sums.size();
        for (size_t i = 0; i < std::min(rounds.size(), m_sums.size()); ++i)
            m_sums[i] += part * rounds[i];
    }

    std::vector<double> sums() const { return m_complete ? m_sums : std::vector<double>(); }

private:
    std::vector<double> m_sums;
    bool m_complete = true;
};

void judge(const Measured& measured, const KernelsOfMatch& kernels, MatchReport& match) {
    match.measuredBefore = match.measuredAfter = std::nullopt;
    match.measuredRatio = std::nullopt;
    match.unjudged.clear();
    if (measured.before.stepSeconds.empty() || measured.after.stepSeconds.empty())
        return;
    RoundSums before, after;
    for (const KernelsOfMatch::Before& one : kernels.before)
        before.add(measured.before, one.kernel, one.part);
    for (const KernelsOfMatch::Before& one : kernels.absorbed)
        before.add(measured.before, one.kernel, one.part);
    for (size_t kernel : kernels.after)
        after.add(measured.after, kernel, 1);
    const std::vector<double> left = before.sums(), right = after.sums();
    if (!left.empty())
        match.measuredBefore = quantileOf(left, 0.5);
    if (!match.body.empty())
        match.unjudged = "kernels in a body are not timed one by one";
    else if (kernels.shared)
        match.unjudged = "it shares a launch with other nodes";
    else if (kernels.divided)
        match.unjudged = "a node of the file became several, which other fused nodes have too";
    else if (kernels.recomputes)
        match.unjudged = "its kernel does work again that other kernels do too";
    else if (kernels.after.empty())
        match.unjudged = "it has no kernel of its own";
    else if (!right.empty())
        match.measuredAfter = quantileOf(right, 0.5);
    if (match.measuredBefore && match.measuredAfter && *match.measuredBefore > 0) {
        if (std::min(left.size(), right.size()) < fewestRuns)
            match.unjudged = "too few runs to tell";
        else
            match.measuredRatio = compareTimings(left, right);
    } else if (match.unjudged.empty())
        match.unjudged = left.empty() ? "its nodes had no kernels" : "a step of it was not timed";
}

/// Nodes of the fused graph that had kernels of their own before and have none now, and whose
/// strides serve them: those that read them, through others of their kind too, else their maker.
class AbsorbedViews {
public:
    explicit AbsorbedViews(const Report& report) : m_nodes(report.after.graph.nodes) {
        std::unordered_set<std::string_view> runs;
        for (const KernelReport& kernel : report.after.kernels) {
            runs.insert(kernel.node);
            runs.insert(kernel.sources.begin(), kernel.sources.end());
        }
        for (const GraphNodeReport& node : m_nodes)
            m_isView.push_back(!node.fused && !runs.contains(node.name));
        if (std::find(m_isView.begin(), m_isView.end(), true) == m_isView.end())
            return; // nobody asks who reads what
        for (size_t i = 0; i < m_nodes.size(); ++i) {
            for (uint32_t value : m_nodes[i].inputs)
                m_readers[value].push_back(i);
            for (uint32_t value : m_nodes[i].outputs)
                m_maker[value] = i;
        }
    }

    size_t count() const { return m_nodes.size(); }

    bool isView(size_t node) const { return m_isView[node]; }

    const std::string& name(size_t node) const { return m_nodes[node].name; }

    std::vector<size_t> servedBy(size_t view) const {
        std::vector<size_t> out;
        addReaders(view, out);
        if (out.empty())
            for (uint32_t value : m_nodes[view].inputs)
                if (auto maker = m_maker.find(value); maker != m_maker.end())
                    out.push_back(maker->second);
        return out;
    }

private:
    void addReaders(size_t view, std::vector<size_t>& out) const {
        for (uint32_t value : m_nodes[view].outputs)
            if (auto readers = m_readers.find(value); readers != m_readers.end())
                for (size_t reader : readers->second) {
                    if (m_isView[reader])
                        addReaders(reader, out);
                    else if (std::find(out.begin(), out.end(), reader) == out.end())
                        out.push_back(reader);
                }
    }

    const std::vector<GraphNodeReport>& m_nodes;
    std::vector<bool> m_isView;
    std::unordered_map<uint32_t, std::vector<size_t>> m_readers;
    std::unordered_map<uint32_t, size_t> m_maker;
};

/// By name of a source: the kernels that compute it.
using KernelsOfSources = std::unordered_map<std::string_view, std::vector<size_t>>;

/// Each gets its part of the copies that nobody makes any more.
void addAbsorbed(const Report& report, const KernelsOfSources& before,
                 std::vector<KernelsOfMatch>& kernels) {
    std::unordered_map<std::string_view, size_t> matchOf;
    for (size_t i = 0; i < report.matches.size(); ++i)
        matchOf.emplace(report.matches[i].fusedNode, i);
    const AbsorbedViews views(report);
    for (size_t i = 0; i < views.count(); ++i) {
        const auto copies = before.find(views.name(i));
        if (!views.isView(i) || copies == before.end())
            continue;
        const std::vector<size_t> served = views.servedBy(i);
        for (size_t node : served)
            if (auto match = matchOf.find(views.name(node)); match != matchOf.end())
                for (size_t copy : copies->second)
                    kernels[match->second].absorbed.push_back(
                        {copy, 1 / static_cast<double>(served.size())});
    }
}

} // namespace

std::vector<KernelsOfMatch> kernelsOfMatches(const Report& report) {
    KernelsOfSources before, groups;
    KernelsBySources after;
    before.reserve(report.before.kernels.size());
    for (size_t i = 0; i < report.before.kernels.size(); ++i)
        for (const std::string& source : report.before.kernels[i].sources)
            before[source].push_back(i);
    const MatchesByFirst firsts = byFirst(report);
    for (size_t i = 0; i < report.after.kernels.size(); ++i) {
        const KernelReport& kernel = report.after.kernels[i];
        if (!isLaunchOfSeveral(kernel, firsts)) {
            after.add(kernel, i);
            continue;
        }
        for (const std::string& source : kernel.sources)
            groups[source].push_back(i);
    }
    const auto held = holders(report), became = becameOf(report);
    std::vector<KernelsOfMatch> out;
    out.reserve(report.matches.size());
    for (const MatchReport& match : report.matches) {
        KernelsOfMatch& kernels = out.emplace_back();
        for (const std::string& node : match.nodes) {
            const double part = 1 / static_cast<double>(held.at(node));
            const auto several = became.find(node);
            kernels.divided =
                kernels.divided || (part < 1 && several != became.end() && several->second > 1);
            const auto computes = before.find(node);
            if (computes == before.end())
                continue;
            for (size_t kernel : computes->second)
                if (std::none_of(kernels.before.begin(), kernels.before.end(),
                                 [&](const auto& known) { return known.kernel == kernel; }))
                    kernels.before.push_back({kernel, part});
        }
        kernels.after = after.of(match);
        for (size_t kernel : kernels.after)
            kernels.recomputes =
                kernels.recomputes || !report.after.kernels[kernel].recomputed.empty();
        if (!match.nodes.empty())
            if (auto group = groups.find(match.nodes.front()); group != groups.end()) {
                kernels.shared = true;
                kernels.after.insert(kernels.after.end(), group->second.begin(),
                                     group->second.end());
            }
    }
    addAbsorbed(report, before, out);
    return out;
}

void judgeMatches(const Measured& measured, Report& report) {
    const std::vector<KernelsOfMatch> kernels = kernelsOfMatches(report);
    for (size_t i = 0; i < kernels.size(); ++i)
        judge(measured, kernels[i], report.matches[i]);
}

} // namespace fuselage::app
