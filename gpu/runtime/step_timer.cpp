// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/step_timer.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace fuselage::gpu {

namespace {

const char* const instead = "; steps were timed by events outside of the graph, whose clock steps "
                            "in about 0.5 us";

} // namespace

StepTimer::StepTimer() {
    auto opened = Cupti::open();
    if (opened) {
        m_cupti = std::move(*opened);
        m_note = "steps timed in the captured graph by CUPTI " + m_cupti->version();
    } else {
        m_note = "no activity records: " + opened.error().message + instead;
    }
}

Result<void> sumByStep(std::vector<KernelRecord> records, std::span<const uint32_t> kernelsOfSteps,
                       std::span<double> seconds) {
    const uint64_t wanted =
        std::accumulate(kernelsOfSteps.begin(), kernelsOfSteps.end(), uint64_t{0});
    if (records.size() != wanted)
        return failure("timing.records", fmt::format("{} records for {} kernels of the graph",
                                                     records.size(), wanted));
    std::sort(records.begin(), records.end(),
              [](const KernelRecord& a, const KernelRecord& b) { return a.begin < b.begin; });
    size_t next = 0;
    for (size_t step = 0; step < kernelsOfSteps.size(); ++step) {
        seconds[step] = 0;
        for (uint32_t i = 0; i < kernelsOfSteps[step]; ++i, ++next) {
            const KernelRecord& record = records[next];
            if (record.graphNode == 0 || record.end <= record.begin)
                return failure("timing.records", "a record is not of a kernel of the graph");
            seconds[step] += static_cast<double>(record.end - record.begin) * 1e-9;
        }
    }
    return {};
}

Result<void> sumByNode(const std::vector<KernelRecord>& records,
                       const std::unordered_map<uint64_t, size_t>& stepOfNode,
                       std::span<double> seconds) {
    std::fill(seconds.begin(), seconds.end(), 0.0);
    std::unordered_map<uint64_t, size_t> open = stepOfNode;
    for (const KernelRecord& record : records) {
        auto node = open.find(record.graphNode);
        if (node == open.end() || record.end <= record.begin)
            return failure("timing.records", "a record is of no kernel of the graph");
        seconds[node->second] += static_cast<double>(record.end - record.begin) * 1e-9;
        open.erase(node);
    }
    if (!open.empty())
        return failure("timing.records", fmt::format("{} records for {} kernels of the graph",
                                                     records.size(), stepOfNode.size()));
    return {};
}

/// Made once for a graph: the copy is launched in its place.
Result<const StepTimer::Watched*> StepTimer::watched(const CapturedGraph& graph) {
    auto [found, fresh] = m_watched.try_emplace(graph.handle());
    Watched& out = found->second;
    if (!fresh)
        return &out;
    auto ids = m_cupti->nodeIdsWhile([&]() -> Result<void> {
        auto copy = graph.another();
        if (!copy)
            return failure(copy.error());
        out.graph = std::move(*copy);
        return {};
    });
    if (!ids && ids.error().code != "cupti.nodes")
        return failure(ids.error());
    if (!ids)
        out.unknown = ids.error().message;
    for (size_t step = 0; ids && step < graph.kernelsOfMarks().size(); ++step)
        for (GraphNodeHandle node : graph.kernelsOfMarks()[step]) {
            auto id = ids->find(node);
            if (id == ids->end() || !out.steps.emplace(id->second, step).second)
                out.unknown = "CUPTI did not tell the id of every node";
        }
    return &out;
}

Result<void> StepTimer::timeGraph(const CapturedGraph& graph, Stream& stream,
                                  std::span<double> seconds) {
    if (!m_cupti)
        return failure("timing.records", m_note);
    if (auto done = stream.synchronize(); !done)
        return done;
    const auto alone = cuptiForOneUse();
    if (auto begun = m_cupti->start(); !begun)
        return failure("timing.records", begun.error().message + instead);
    auto copy = watched(graph); // with records on: nodes are given their ids then
    if (!copy) {
        (void)m_cupti->stop();
        return failure(copy.error());
    }
    std::string unknown = (*copy)->unknown;
    auto ran = (unknown.empty() ? (*copy)->graph : graph).launch(stream);
    if (ran)
        ran = stream.synchronize();
    auto records = m_cupti->stop();
    if (!ran)
        return ran;
    if (!records)
        return failure("timing.records", records.error().message + instead);
    if (unknown.empty())
        if (auto summed = sumByNode(*records, (*copy)->steps, seconds); !summed)
            unknown = summed.error().message;
    if (!unknown.empty()) {
        std::vector<uint32_t> kernels;
        for (const auto& nodes : graph.kernelsOfMarks())
            kernels.push_back(static_cast<uint32_t>(nodes.size()));
        if (auto summed = sumByStep(std::move(*records), kernels, seconds); !summed)
            return failure("timing.records", summed.error().message + instead);
    }
    m_note = "steps timed in the captured graph by CUPTI " + m_cupti->version() +
             (unknown.empty() ? ", kernels matched by their nodes"
                              : ", kernels matched by the order of capture: " + unknown);
    return {};
}

Result<void> StepTimer::timeByEvents(const ContextPtr& context, Stream& stream,
                                     std::span<double> seconds,
                                     const std::function<Result<void>(size_t)>& enqueue) const {
    std::vector<Event> events;
    for (size_t i = 0; i <= seconds.size(); ++i) {
        auto event = Event::create(context);
        if (!event)
            return failure(event.error());
        events.push_back(std::move(*event));
    }
    if (auto recorded = stream.record(events[0]); !recorded)
        return recorded;
    for (size_t i = 0; i < seconds.size(); ++i) {
        if (auto added = enqueue(i); !added)
            return added;
        if (auto recorded = stream.record(events[i + 1]); !recorded)
            return recorded;
    }
    if (auto done = stream.synchronize(); !done)
        return done;
    for (size_t i = 0; i < seconds.size(); ++i) {
        auto between = Event::secondsBetween(events[i], events[i + 1]);
        if (!between)
            return failure(between.error());
        seconds[i] = *between;
    }
    return {};
}

} // namespace fuselage::gpu
