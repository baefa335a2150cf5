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

Result<void> StepTimer::timeGraph(const CapturedGraph& graph, Stream& stream,
                                  std::span<double> seconds) {
    if (!m_cupti)
        return failure("timing.records", m_note);
    if (auto done = stream.synchronize(); !done)
        return done;
    if (auto begun = m_cupti->start(); !begun)
        return failure("timing.records", begun.error().message + instead);
    auto ran = graph.launch(stream);
    if (ran)
        ran = stream.synchronize();
    auto records = m_cupti->stop();
    if (!ran)
        return ran;
    if (!records)
        return failure("timing.records", records.error().message + instead);
    auto summed = sumByStep(std::move(*records), graph.kernelsOfMarks(), seconds);
    return summed ? summed : failure("timing.records", summed.error().message + instead);
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
