// SPDX-License-Identifier: Apache-2.0
#include "app/quantize/mixed.h"

#include "core/graph/bodies.h"
#include "core/graph/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace fuselage::quantize {

int64_t constantBytes(const Graph& graph) {
    std::vector<const Graph*> graphs{&graph};
    for (const BodyPlace& body : bodiesOf(graph))
        graphs.push_back(body.graph);
    std::set<const Tensor*> counted; // of the graph, and again of the body that captures it
    int64_t sum = 0;
    for (const Graph* one : graphs)
        for (ValueId id : one->values())
            if (const TensorPtr& tensor = one->value(id).constant;
                tensor && isReadAnywhere(*one, id) && counted.insert(tensor.get()).second)
                sum += static_cast<int64_t>(tensor->byteCount());
    return sum;
}

namespace {

class Choice {
public:
    Choice(const Graph& model, const PairPlan& plan, const Histograms& histograms,
           const OutputJudge& judge, const MixedOptions& options, Progress& progress)
        : m_model(model), m_plan(plan), m_histograms(histograms), m_judge(judge),
          m_options(options), m_progress(progress) {}

    Result<MixedResult> run() {
        if (auto found = collect(); !found)
            return failure(found.error());
        for (size_t i = 0; i < m_out.units.size(); ++i) {
            m_progress.report("sensitivity", i, m_out.units.size());
            if (m_progress.cancelled())
                return cancelledFailure("measuring sensitivity");
            auto error = errorOf({m_out.units[i].pairs.begin(), m_out.units[i].pairs.end()});
            if (!error)
                return failure(error.error());
            m_out.units[i].errorAlone = error->first;
        }
        std::stable_sort(m_out.units.begin(), m_out.units.end(),
                         [](const MixedUnit& a, const MixedUnit& b) { return cost(a) > cost(b); });
        return choose();
    }

private:
    using Pairs = std::set<size_t>;

    static double cost(const MixedUnit& unit) {
        return unit.errorAlone * unit.errorAlone / std::max(unit.gain, 1e-6);
    }

    Result<void> collect() {
        double total = 0;
        for (const auto& [node, seconds] : m_options.nodeSeconds)
            total += seconds;
        std::map<std::string, size_t> byNode;
        for (size_t i = 0; i < m_plan.pairs.size(); ++i) {
            const Pair& pair = m_plan.pairs[i];
            auto read = readOf(m_model, pair);
            if (!read)
                return failure(read.error());
            const Node& node = read->graph->node(read->use.node);
            const std::string name = m_options.perPoint ? pairText(pair) : pair.node;
            auto [at, isNew] = byNode.try_emplace(name, m_out.units.size());
            if (isNew) {
                auto seconds = m_options.nodeSeconds.find(pair.node);
                m_out.units.push_back({name,
                                       opText(node),
                                       pair.rule.empty() ? "by hand" : pair.rule,
                                       {},
                                       std::numeric_limits<double>::infinity(),
                                       0,
                                       0,
                                       true});
                if (seconds != m_options.nodeSeconds.end() && total > 0)
                    m_out.units.back().gain = seconds->second / total;
            }
            MixedUnit& unit = m_out.units[at->second];
            unit.pairs.push_back(i);
            auto seen = read->body.empty() ? m_histograms.find(read->value()) : m_histograms.end();
            const auto scale = pair.range ? scaleOf(pair.type, *pair.range) : std::nullopt;
            if (seen != m_histograms.end() && scale)
                unit.decibels =
                    std::min(unit.decibels, seen->second.signalToNoise(*scale, pair.type));
        }
        return {};
    }

    /// The error with these pairs, and the graph that has it. A model that breaks is infinitely
    /// wrong.
    Result<std::pair<double, Graph>> errorOf(const Pairs& pairs) const {
        PairPlan some = m_plan;
        some.pairs.clear();
        for (size_t pair : pairs)
            some.pairs.push_back(m_plan.pairs[pair]);
        Graph graph = m_model.clone();
        if (auto done = insertPairs(graph, some, m_options.bias); !done)
            return failure(done.error());
        auto errors = m_judge.compare(graph, m_progress);
        if (!errors && errors.error().code != "quantize.number")
            return failure(errors.error());
        const double error = errors ? worst(*errors) : std::numeric_limits<double>::infinity();
        return std::pair(error, std::move(graph));
    }

    using Kept = std::set<size_t>; ///< units that are quantised

    /// All but the first `left`.
    Kept allBut(size_t left) const {
        Kept out;
        for (size_t i = left; i < m_out.units.size(); ++i)
            out.insert(out.end(), i);
        return out;
    }

    Pairs pairsOf(const Kept& kept) const {
        Pairs out;
        for (size_t i : kept)
            out.insert(m_out.units[i].pairs.begin(), m_out.units[i].pairs.end());
        return out;
    }

    /// Makes the row of these.
    Result<double> measure(const Kept& kept) {
        if (auto known = m_rows.find(kept); known != m_rows.end())
            return known->second.error;
        auto found = errorOf(pairsOf(kept));
        if (!found)
            return failure(found.error());
        MixedRow row{kept.size(), found->first, constantBytes(found->second), 0, 0, false};
        if (m_options.predict) {
            auto seconds = m_options.predict(found->second);
            if (!seconds)
                return failure(seconds.error());
            row.predictedSeconds = *seconds;
        }
        m_rows.emplace(kept, row);
        m_graphs.emplace(kept, std::move(found->second));
        return found->first;
    }

    /// How many of the first to leave out.
    Result<size_t> halve() {
        size_t low = 0, high = m_out.units.size(); // `high` left out: keeps to any limit
        for (size_t tried : {low, high})
            if (auto error = measure(allBut(tried)); !error)
                return failure(error.error());
        if (m_rows.at(allBut(0)).error <= m_options.maxError)
            return 0;
        while (high > low + 1) {
            m_progress.report("choosing", m_out.units.size() - (high - low), m_out.units.size());
            const size_t middle = low + (high - low) / 2;
            auto error = measure(allBut(middle));
            if (!error)
                return failure(error.error());
            (*error <= m_options.maxError ? high : low) = middle;
        }
        return high;
    }

    /// Of those left out, the least costly first, what the limit has room for after all.
    Result<Kept> regained(size_t left) {
        constexpr size_t mostTried = 16;
        Kept kept = allBut(left);
        for (size_t i = left, tried = 0; i-- > 0 && tried < mostTried; ++tried) {
            m_progress.report("choosing", tried, std::min(left, mostTried));
            if (m_progress.cancelled())
                return cancelledFailure("choosing");
            Kept more = kept;
            more.insert(i);
            auto found = errorOf(pairsOf(more));
            if (!found)
                return failure(found.error());
            if (found->first <= m_options.maxError)
                kept = std::move(more);
        }
        return kept;
    }

    Result<MixedResult> choose() {
        auto left = halve();
        if (!left)
            return failure(left.error());
        auto kept = regained(*left);
        if (!kept)
            return failure(kept.error());
        if (auto error = measure(*kept); !error)
            return failure(error.error());
        if (auto timed = timeRows(); !timed)
            return failure(timed.error());
        m_rows.at(*kept).chosen = true;
        for (size_t i = 0; i < m_out.units.size(); ++i)
            m_out.units[i].quantised = kept->contains(i);
        for (auto& [units, row] : m_rows)
            m_out.rows.push_back(row);
        std::stable_sort(
            m_out.rows.begin(), m_out.rows.end(), [](const MixedRow& a, const MixedRow& b) {
                return a.quantised != b.quantised ? a.quantised > b.quantised : a.error > b.error;
            });
        return std::move(m_out);
    }

    Result<void> timeRows() {
        if (!m_options.measure)
            return {};
        std::vector<Graph> graphs;
        for (auto& [units, graph] : m_graphs)
            graphs.push_back(std::move(graph));
        auto seconds = m_options.measure(graphs);
        if (!seconds)
            return failure(seconds.error());
        size_t i = 0;
        for (auto& [units, row] : m_rows)
            row.measuredSeconds = (*seconds)[i++];
        return {};
    }

    const Graph& m_model;
    const PairPlan& m_plan;
    const Histograms& m_histograms;
    const OutputJudge& m_judge;
    const MixedOptions& m_options;
    Progress& m_progress;
    MixedResult m_out;
    std::map<Kept, MixedRow> m_rows;
    std::map<Kept, Graph> m_graphs; ///< the same rows as models
};

} // namespace

Result<MixedResult> chooseMixed(const Graph& model, const PairPlan& plan,
                                const Histograms& histograms, const OutputJudge& judge,
                                const MixedOptions& options, Progress& progress) {
    return Choice(model, plan, histograms, judge, options, progress).run();
}

} // namespace fuselage::quantize
