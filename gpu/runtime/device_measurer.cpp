// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/device_measurer.h"

#include "core/plan/value_transfer.h"
#include "gpu/runtime/random_fill.h"

#include <algorithm>
#include <optional>

namespace fuselage::gpu {

namespace {

/// Runs in one captured graph: enough to hide the launch of the graph itself.
constexpr uint32_t runsOfGraph = 32;

class DeviceMeasurer final : public Measurer {
public:
    DeviceMeasurer(const Plan& plan, const Step& step, Device& device, const Clocks& clocks,
                   std::vector<Tactic*> tactics)
        : m_plan(plan), m_step(step), m_device(device), m_clocks(clocks) {
        for (Tactic* tactic : tactics)
            m_entries.push_back({tactic, false, {}, {}});
    }

    Result<void> open();
    Result<BatchTiming> measure(size_t candidate, uint32_t runs) override;

private:
    struct Entry {
        Tactic* tactic;
        bool loaded;
        std::optional<CapturedGraph> graph;
        uint32_t runs = 0; ///< in the graph
    };

    Result<void> addOperand(uint32_t value, std::vector<DevicePointer>& to);
    Result<void> ready(Entry& entry, uint32_t runs);
    Result<void> enqueue(Entry& entry);
    Result<double> time(Entry& entry, uint32_t runs);

    const Plan& m_plan;
    const Step& m_step;
    Device& m_device;
    const Clocks& m_clocks;
    std::vector<Entry> m_entries;
    std::vector<DeviceMemory> m_memory;
    std::vector<DevicePointer> m_inputs, m_outputs;
    DeviceMemory m_workspace;
    Stream m_stream;
    Event m_begin, m_end;
};

Result<void> DeviceMeasurer::addOperand(uint32_t index, std::vector<DevicePointer>& to) {
    const PlanValue& value = m_plan.values[index];
    const int64_t bytes =
        spanOf(value.extents, value.strides) * static_cast<int64_t>(sizeOf(value.dtype));
    auto memory = m_device.allocate(bytes);
    if (!memory)
        return failure(memory.error());
    m_memory.push_back(std::move(*memory));
    to.push_back(m_memory.back().address());
    if (value.constant)
        return m_device.upload(to.back(), value.constant->bytes(), value.constant->byteCount());
    return fillRandom(m_stream, to.back(), value.dtype, bytes);
}

Result<void> DeviceMeasurer::open() {
    auto stream = m_device.stream();
    auto begin = Event::create(m_device.context());
    auto end = Event::create(m_device.context());
    if (!stream || !begin || !end)
        return failure(!stream ? stream.error() : !begin ? begin.error() : end.error());
    m_stream = std::move(*stream);
    m_begin = std::move(*begin);
    m_end = std::move(*end);
    for (uint32_t input : m_step.inputs)
        if (auto added = addOperand(input, m_inputs); !added)
            return added;
    for (uint32_t output : m_step.outputs)
        if (auto added = addOperand(output, m_outputs); !added)
            return added;
    int64_t workspace = 0;
    for (const Entry& entry : m_entries)
        workspace = std::max(workspace, entry.tactic->facts().workspaceBytes);
    auto memory = m_device.allocate(workspace);
    if (!memory)
        return failure(memory.error());
    m_workspace = std::move(*memory);
    return {};
}

Result<void> DeviceMeasurer::enqueue(Entry& entry) {
    return entry.tactic->enqueue(m_stream, {m_inputs, m_outputs, m_workspace.address()});
}

/// Loads the tactic and captures a batch; what cannot be captured runs call by call.
Result<void> DeviceMeasurer::ready(Entry& entry, uint32_t runs) {
    if (!entry.loaded) {
        if (auto loaded = entry.tactic->load(m_device); !loaded)
            return loaded;
        if (auto sent = m_device.finishUploads(); !sent)
            return sent;
        // Once outside of a capture: libraries set themselves up in their first call.
        if (auto first = enqueue(entry); !first)
            return first;
        if (auto done = m_stream.synchronize(); !done)
            return done;
        entry.loaded = true;
    }
    const uint32_t wanted = std::min(runs, runsOfGraph);
    if (entry.tactic->facts().fallback || entry.runs == wanted)
        return {};
    auto capture = StreamCapture::begin(m_stream);
    if (!capture)
        return failure(capture.error());
    for (uint32_t i = 0; i < wanted; ++i)
        if (auto added = enqueue(entry); !added)
            return added;
    auto graph = capture->finish();
    if (!graph)
        return failure(graph.error());
    entry.graph = std::move(*graph);
    entry.runs = wanted;
    return {};
}

Result<double> DeviceMeasurer::time(Entry& entry, uint32_t runs) {
    const uint32_t each = entry.graph ? entry.runs : 1;
    const uint32_t launches = (runs + each - 1) / each;
    if (auto begun = m_stream.record(m_begin); !begun)
        return failure(begun.error());
    for (uint32_t i = 0; i < launches; ++i)
        if (auto launched = entry.graph ? entry.graph->launch(m_stream) : enqueue(entry); !launched)
            return failure(launched.error());
    if (auto ended = m_stream.record(m_end); !ended)
        return failure(ended.error());
    if (auto done = m_stream.synchronize(); !done)
        return failure(done.error());
    auto seconds = Event::secondsBetween(m_begin, m_end);
    if (!seconds)
        return failure(seconds.error());
    return *seconds * runs / (double{1} * launches * each);
}

Result<BatchTiming> DeviceMeasurer::measure(size_t candidate, uint32_t runs) {
    Entry& entry = m_entries[candidate];
    const bool only = m_entries.size() == 1;
    if (entry.tactic->facts().fallback && !only)
        return failure("last-resort", "not measured, since there are other tactics");
    if (auto made = ready(entry, runs); !made)
        return failure(made.error());
    const ClockReading before = m_clocks.readRate();
    auto seconds = time(entry, runs);
    if (!seconds)
        return failure(seconds.error());
    const ClockReading after = m_clocks.readRate();
    BatchTiming out;
    out.seconds = *seconds;
    out.clockChanged = !after.sameRate(before);
    out.throttled = after.throttled();
    return out;
}

} // namespace

DeviceMeasurerSource::DeviceMeasurerSource(const Plan& plan, const std::vector<size_t>& steps,
                                           Device& device)
    : m_plan(plan), m_device(device), m_clocks(device.facts().pciBusId) {
    for (size_t step : steps)
        m_stepOfName.emplace(plan.steps[step].name, step);
}

Result<std::unique_ptr<Measurer>> DeviceMeasurerSource::open(const TuneTask& task,
                                                             const std::vector<Tactic*>& tactics) {
    const Step& step = m_plan.steps[m_stepOfName.at(task.step)];
    auto out = std::make_unique<DeviceMeasurer>(m_plan, step, m_device, m_clocks, tactics);
    if (auto opened = out->open(); !opened)
        return failure(opened.error());
    return std::unique_ptr<Measurer>(std::move(out));
}

} // namespace fuselage::gpu
