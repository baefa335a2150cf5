// SPDX-License-Identifier: Apache-2.0
#include "app/quantize/calibrate.h"

#include "app/quantize/insert.h"
#include "core/cpu/observe_bodies.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace fuselage::quantize {

namespace {

using InnerValue = std::pair<std::string, ValueId>; ///< of a body, by its path
using InnerHistograms = std::map<InnerValue, Histogram>;

class InnerWatch final : public RunObserver {
public:
    explicit InnerWatch(const std::set<InnerValue>& wanted) : m_wanted(wanted) {}

    void computed(const std::string& path, const Graph& graph, ValueId id,
                  const ReferenceValue& value) override {
        if (path.empty() || !m_wanted.contains({path, id}))
            return;
        const Tensor stored = value.toTensor();
        const auto numbers = stored.as<float>();
        const auto bad = std::ranges::find_if(numbers, [](float x) { return !std::isfinite(x); });
        if (bad != numbers.end() && wrong.empty())
            wrong = fmt::format("`{}` holds {}", path + graph.value(id).name, *bad);
        else if (bad == numbers.end())
            seen[{path, id}].add(numbers);
    }

    InnerHistograms seen;
    std::string wrong; ///< the first that no range holds

private:
    const std::set<InnerValue>& m_wanted;
};

Result<InnerHistograms> observeInside(const Graph& graph, const std::set<InnerValue>& wanted,
                                      const ObserveRequest& request, Progress& progress) {
    InnerWatch watch(wanted);
    ThreadPool threads(request.run.threads);
    for (size_t set = 0; set < request.sets->size(); ++set) {
        progress.report("calibrating bodies", set, request.sets->size());
        auto inputs = request.sets->read(graph, request.dims, set);
        if (!inputs)
            return failure(inputs.error());
        std::vector<ReferenceValue> values;
        for (const Tensor& input : *inputs)
            values.push_back(ReferenceValue::from(input));
        auto ran = interpretObserved(graph, std::move(values), threads, progress, watch);
        if (!ran)
            return failure(ran.error());
        if (!watch.wrong.empty())
            return failure("quantize.number",
                           fmt::format("{} in set {} of {}: no range holds it", watch.wrong,
                                       set + 1, request.sets->text()),
                           "",
                           "give other data, or leave out the nodes that read it with "
                           "--keep-float");
    }
    return std::move(watch.seen);
}

} // namespace

Result<Calibrated> calibratePlan(const Graph& graph, PairPlan& plan, const RangeChoice& choice,
                                 const ObserveRequest& request, Progress& progress) {
    std::vector<std::pair<Pair*, ReadPlace>> open;
    std::set<ValueId> values;
    std::set<InnerValue> inner;
    for (Pair& pair : plan.pairs) {
        auto read = readOf(graph, pair);
        if (!read)
            return failure(read.error());
        if (pair.range || read->graph->isConstant(read->value()))
            continue;
        if (read->body.empty())
            values.insert(read->value());
        else
            inner.insert({read->body, read->value()});
        open.emplace_back(&pair, std::move(*read));
    }
    Calibrated out;
    out.any = !open.empty();
    if (!values.empty()) {
        auto seen = observe(graph, {values.begin(), values.end()}, request, progress);
        if (!seen)
            return failure(seen.error());
        out.histograms = std::move(*seen);
    }
    InnerHistograms inside;
    if (!inner.empty()) {
        auto seen = observeInside(graph, inner, request, progress);
        if (!seen)
            return failure(seen.error());
        inside = std::move(*seen);
    }
    for (const auto& [pair, read] : open) {
        const auto found = inside.find({read.body, read.value()});
        if (!read.body.empty() && found == inside.end()) {
            out.lost.emplace(pair->node, "no set of inputs enters the body that it is in");
            continue;
        }
        const Histogram& histogram =
            read.body.empty() ? out.histograms.at(read.value()) : found->second;
        RangeChoice asked = choice;
        asked.method = pair->method;
        pair->range = histogram.range(asked, pair->type);
        pair->calibrated = true;
        // An input that is always 0 is wrong data, which is an error further on.
        const ValueId value = read.value();
        if (*pair->range == Range{} && pair->line == 0 && read.graph->producer(value).valid())
            out.lost.emplace(pair->node, fmt::format("`{}` is 0 in all data: no scale fits",
                                                     read.graph->value(value).name));
    }
    std::erase_if(plan.pairs, [&](const Pair& pair) { return out.lost.contains(pair.node); });
    return out;
}

} // namespace fuselage::quantize
