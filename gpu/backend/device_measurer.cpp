// SPDX-License-Identifier: Apache-2.0
#include "gpu/backend/device_measurer.h"

#include "core/plan/value_transfer.h"
#include "gpu/runtime/check_tolerance.h"
#include "gpu/runtime/random_fill.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace fuselage::gpu {

namespace {

/// Runs in one captured graph: enough to hide the launch of the graph itself.
constexpr uint32_t runsOfGraph = 32;

/// The same where the cache is filled before each run.
constexpr uint32_t coldRunsOfGraph = 8;

/// Weights of fewer bytes are not what a step waits for.
constexpr size_t fewWeightBytes = size_t{64} << 10;

/// Less than this share of what was timed is noise.
constexpr double leastShare = 0.02;

/// What a kernel that counts on zeros must not find in its scratch memory.
constexpr unsigned char usedWorkspace = 0xff;

class DeviceMeasurer final : public Measurer {
public:
    DeviceMeasurer(const Plan& plan, const Step& step, Device& device, const Clocks& clocks,
                   OutputCheck* check, std::vector<Tactic*> tactics)
        : m_plan(plan), m_step(step), m_device(device), m_clocks(clocks), m_check(check),
          m_cold(readsColdWeights(plan, step, device.facts().l2Bytes)) {
        for (Tactic* tactic : tactics)
            m_entries.push_back({tactic, false, false, {}, {}, 0});
    }

    Result<void> open();
    Result<void> judge(size_t candidate, double deadline) override;
    Result<std::string> compare(size_t candidate, double deadline) override;
    Result<BatchTiming> measure(size_t candidate, uint32_t runs, double deadline) override;

private:
    struct Entry {
        Tactic* tactic;
        bool loaded, ran;
        std::optional<CapturedGraph> graph, chilling; ///< chilling: without its runs
        uint32_t runs = 0;                            ///< in the graph
    };

    Result<void> addInput(uint32_t value);
    Result<void> addOutputs();
    Result<void> load(Entry& entry);
    Result<void> runOnce(Entry& entry, double deadline, PoisonSide side);
    Result<void> ready(Entry& entry, uint32_t runs, double deadline);
    Result<void> enqueue(Entry& entry);
    Result<void> openCold();
    Result<void> chill();
    Result<CapturedGraph> captured(Entry* entry, uint32_t runs, double deadline);
    Result<std::string> differenceOf(size_t output);
    Result<std::string> runInPlace(Entry& entry, double deadline);
    Result<void> finish(double deadline);
    Failure failed(const Error& error, double deadline);
    Result<double> timeLaunches(const std::function<Result<void>()>& launch, uint32_t launches,
                                double deadline);
    Result<BatchTiming> time(Entry& entry, uint32_t runs, double deadline);

    const Plan& m_plan;
    const Step& m_step;
    Device& m_device;
    const Clocks& m_clocks;
    OutputCheck* m_check; ///< null: nothing is compared
    std::vector<Entry> m_entries;
    std::vector<DeviceMemory> m_memory;
    std::vector<GuardedOutput> m_written, m_judged; ///< by the candidate that runs, by the judge
    std::vector<double> m_magnitudes;               ///< of what the judge wrote
    std::vector<DevicePointer> m_inputs, m_outputs;
    std::optional<size_t> m_shared; ///< the operand whose memory the plan gives output 0
    DeviceMemory m_workspace;
    const bool m_cold;                ///< weights are not in the cache when a run begins
    DeviceMemory m_filling, m_copies; ///< what lies in the cache in their place
    std::vector<std::pair<size_t, int64_t>> m_warm; ///< operands that do lie there, their bytes
    Stream m_stream;
    Event m_begin, m_end;
};

/// The operand that lies where output 0 does. An alias counts from what it is a view of.
std::optional<size_t> sharedOperand(const Plan& plan, const Step& step) {
    if (!step.inPlace)
        return std::nullopt;
    for (size_t i = 0; i < step.inputs.size(); ++i) {
        const PlanValue& value = plan.values[step.inputs[i]];
        if (value.residence == Residence::Arena && !value.isFixed &&
            value.offset == plan.values[step.outputs[0]].offset)
            return i;
    }
    return std::nullopt;
}

Result<void> DeviceMeasurer::addInput(uint32_t index) {
    const PlanValue& value = m_plan.values[index];
    const int64_t bytes =
        spanOf(value.extents, value.strides) * static_cast<int64_t>(sizeOf(value.dtype));
    auto memory = m_device.allocate(bytes);
    if (!memory)
        return failure(memory.error());
    m_memory.push_back(std::move(*memory));
    m_inputs.push_back(m_memory.back().address());
    if (value.constant)
        return m_device.upload(m_inputs.back(), value.constant->bytes(),
                               value.constant->byteCount());
    return fillRandom(m_stream, m_inputs.back(), value.dtype, bytes);
}

/// Twice, where candidates are compared.
Result<void> DeviceMeasurer::addOutputs() {
    for (uint32_t index : m_step.outputs) {
        const PlanValue& value = m_plan.values[index];
        for (auto* to : {&m_written, m_check ? &m_judged : nullptr}) {
            if (!to)
                continue;
            auto output = guardedOutput(m_device, {value.dtype, value.extents, value.strides, 16});
            if (!output)
                return failure(output.error());
            to->push_back(std::move(*output));
        }
        m_outputs.push_back(m_written.back().address());
    }
    return {};
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
        if (auto added = addInput(input); !added)
            return added;
    if (auto added = addOutputs(); !added)
        return added;
    int64_t workspace = 0;
    for (const Entry& entry : m_entries)
        workspace = std::max(workspace, entry.tactic->facts().workspaceBytes);
    auto memory = m_device.allocate(workspace);
    if (!memory)
        return failure(memory.error());
    m_workspace = std::move(*memory);
    m_shared = sharedOperand(m_plan, m_step);
    return m_cold ? openCold() : Result<void>();
}

Result<void> DeviceMeasurer::openCold() {
    const int64_t cache = m_device.facts().l2Bytes;
    int64_t largest = 0;
    for (size_t i = 0; i < m_step.inputs.size(); ++i) {
        const PlanValue& value = m_plan.values[m_step.inputs[i]];
        const int64_t bytes =
            spanOf(value.extents, value.strides) * static_cast<int64_t>(sizeOf(value.dtype));
        if (value.constant || bytes > cache / 4)
            continue;
        m_warm.emplace_back(i, bytes);
        largest = std::max(largest, bytes);
    }
    auto filling = m_device.allocate(cache);
    auto copies = m_device.allocate(largest);
    if (!filling || !copies)
        return failure(!filling ? filling.error() : copies.error());
    m_filling = std::move(*filling);
    m_copies = std::move(*copies);
    return {};
}

/// The cache as the step finds it: other weights, then what the step before has written.
Result<void> DeviceMeasurer::chill() {
    if (!m_cold)
        return {};
    if (auto filled =
            m_stream.fill(m_filling.address(), 0, static_cast<size_t>(m_device.facts().l2Bytes));
        !filled)
        return filled;
    for (const auto& [input, bytes] : m_warm)
        if (auto copied = m_stream.copyWithin(m_copies.address(), m_inputs[input],
                                              static_cast<size_t>(bytes));
            !copied)
            return copied;
    return {};
}

/// A batch; without an entry only what stands before each of its runs.
Result<CapturedGraph> DeviceMeasurer::captured(Entry* entry, uint32_t runs, double deadline) {
    auto capture = StreamCapture::begin(m_stream);
    if (!capture)
        return failure(capture.error());
    Result<void> added;
    for (uint32_t i = 0; i < runs && added; ++i) {
        added = chill();
        if (added && entry != nullptr)
            added = enqueue(*entry);
    }
    auto graph = capture->finish();
    if (!added || !graph)
        return failed(!added ? added.error() : graph.error(), deadline);
    return graph;
}

Result<void> DeviceMeasurer::enqueue(Entry& entry) {
    return entry.tactic->enqueue(m_stream, {m_inputs, m_outputs, m_workspace.address()});
}

/// Waits for what was enqueued. A kernel may never end.
Result<void> DeviceMeasurer::finish(double deadline) {
    if (auto ended = m_stream.record(m_end); !ended)
        return ended;
    return m_end.synchronize(deadline);
}

/// A library says in its own words that a call failed, also when the device is lost: the one that
/// ran then is the culprit, not the next, so the device is asked.
Failure DeviceMeasurer::failed(const Error& error, double deadline) {
    if (auto state = finish(deadline); !state && endsDevice(state.error()))
        return failure(state.error());
    return failure(error);
}

Result<void> DeviceMeasurer::load(Entry& entry) {
    if (entry.loaded)
        return {};
    if (auto loaded = entry.tactic->load(m_device); !loaded)
        return loaded;
    if (auto sent = m_device.finishUploads(); !sent)
        return sent;
    entry.loaded = true;
    return {};
}

/// On outputs and scratch memory that hold what no kernel may count on.
Result<void> DeviceMeasurer::runOnce(Entry& entry, double deadline, PoisonSide side) {
    if (auto loaded = load(entry); !loaded)
        return loaded;
    for (const GuardedOutput& output : m_written)
        if (auto filled = poison(m_stream, output, side); !filled)
            return filled;
    if (auto filled = m_stream.fill(m_workspace.address(), usedWorkspace,
                                    static_cast<size_t>(entry.tactic->facts().workspaceBytes));
        !filled)
        return filled;
    if (auto ran = enqueue(entry); !ran)
        return failed(ran.error(), deadline);
    if (auto done = finish(deadline); !done)
        return done;
    entry.ran = true;
    return {};
}

/// How output 0 differs from the judge's when it lies on the operand that the plan puts it on: a
/// kernel may read an element after another thread has written it. Empty: not at all.
Result<std::string> DeviceMeasurer::runInPlace(Entry& entry, double deadline) {
    if (!m_check || !m_shared || entry.tactic->facts().fallback)
        return std::string();
    const GuardedOutput& output = m_written[0];
    const size_t bytes = static_cast<size_t>(output.span()) * sizeOf(output.layout.dtype);
    if (auto filled = poison(m_stream, output, PoisonSide::Checked); !filled)
        return failure(filled.error());
    if (auto copied = m_stream.copyWithin(output.address(), m_inputs[*m_shared], bytes); !copied)
        return failure(copied.error());
    const DevicePointer apart = std::exchange(m_inputs[*m_shared], output.address());
    auto ran = enqueue(entry);
    m_inputs[*m_shared] = apart;
    if (!ran)
        return failed(ran.error(), deadline);
    if (auto done = finish(deadline); !done)
        return failure(done.error());
    auto how = differenceOf(0);
    if (!how || how->empty())
        return how;
    return "in place: " + *how;
}

Result<void> DeviceMeasurer::judge(size_t candidate, double deadline) {
    if (auto ran = runOnce(m_entries[candidate], deadline, PoisonSide::Judge); !ran || !m_check)
        return ran;
    m_magnitudes.clear();
    for (const GuardedOutput& output : m_written) {
        auto magnitude = m_check->magnitude(m_stream, output);
        if (!magnitude)
            return failure(magnitude.error());
        m_magnitudes.push_back(*magnitude);
    }
    std::swap(m_written, m_judged);
    for (size_t i = 0; i < m_outputs.size(); ++i)
        m_outputs[i] = m_written[i].address();
    auto how = runInPlace(m_entries[candidate], deadline);
    if (!how)
        return failure(how.error());
    return how->empty() ? Result<void>() : failure("wrong-result", "differs from itself " + *how);
}

Result<std::string> DeviceMeasurer::differenceOf(size_t output) {
    return m_check->difference(m_stream, m_written[output], m_judged[output], m_magnitudes[output],
                               outputTolerance(m_step, m_written[output].layout.dtype));
}

Result<std::string> DeviceMeasurer::compare(size_t candidate, double deadline) {
    if (auto ran = runOnce(m_entries[candidate], deadline, PoisonSide::Checked); !ran)
        return failure(ran.error());
    for (size_t i = 0; m_check && i < m_written.size(); ++i) {
        auto how = differenceOf(i);
        if (!how)
            return failure(how.error());
        if (how->empty())
            continue;
        return m_written.size() > 1 ? fmt::format("output {}: {}", i + 1, *how) : *how;
    }
    return runInPlace(m_entries[candidate], deadline);
}

/// Captures a batch; what cannot be captured runs call by call.
Result<void> DeviceMeasurer::ready(Entry& entry, uint32_t runs, double deadline) {
    // Once outside of a capture: libraries set themselves up in their first call.
    if (!entry.ran)
        if (auto ran = runOnce(entry, deadline, PoisonSide::Checked); !ran)
            return ran;
    const uint32_t wanted = std::min(runs, m_cold ? coldRunsOfGraph : runsOfGraph);
    if (entry.tactic->facts().fallback || entry.runs == wanted)
        return {};
    auto graph = captured(&entry, wanted, deadline);
    auto without =
        m_cold ? captured(nullptr, wanted, deadline) : Result<CapturedGraph>(CapturedGraph());
    if (!graph || !without)
        return failure(!graph ? graph.error() : without.error());
    entry.graph = std::move(*graph);
    entry.runs = wanted;
    if (m_cold)
        entry.chilling = std::move(*without);
    return {};
}

Result<double> DeviceMeasurer::timeLaunches(const std::function<Result<void>()>& launch,
                                            uint32_t launches, double deadline) {
    if (auto begun = m_stream.record(m_begin); !begun)
        return failure(begun.error());
    for (uint32_t i = 0; i < launches; ++i)
        if (auto launched = launch(); !launched)
            return failed(launched.error(), deadline);
    if (auto done = finish(deadline); !done)
        return failure(done.error());
    return Event::secondsBetween(m_begin, m_end);
}

Result<BatchTiming> DeviceMeasurer::time(Entry& entry, uint32_t runs, double deadline) {
    const uint32_t each = entry.graph ? entry.runs : 1;
    const uint32_t launches = (runs + each - 1) / each;
    auto launch = [&] { return entry.graph ? entry.graph->launch(m_stream) : enqueue(entry); };
    // A device that idled waits for the host's first launch: what is timed stands behind one.
    if (!entry.tactic->facts().fallback)
        if (auto launched = launch(); !launched)
            return failed(launched.error(), deadline);
    auto seconds = timeLaunches(launch, launches, deadline);
    BatchTiming out;
    if (seconds && entry.chilling) {
        auto without =
            timeLaunches([&] { return entry.chilling->launch(m_stream); }, launches, deadline);
        if (!without)
            return failure(without.error());
        out.clockChanged = *seconds - *without < leastShare * *seconds;
        seconds = std::max(*seconds - *without, leastShare * *seconds);
    }
    if (!seconds)
        return failure(seconds.error());
    out.seconds = *seconds * runs / (double{1} * launches * each);
    return out;
}

Result<BatchTiming> DeviceMeasurer::measure(size_t candidate, uint32_t runs, double deadline) {
    Entry& entry = m_entries[candidate];
    const bool only = m_entries.size() == 1;
    if (entry.tactic->facts().fallback && !only)
        return failure("last-resort", "not measured, since there are other tactics");
    if (auto made = ready(entry, runs, deadline); !made)
        return failure(made.error());
    const ClockReading before = m_clocks.readRate();
    auto timed = time(entry, runs, deadline);
    if (!timed)
        return timed;
    const ClockReading after = m_clocks.readRate();
    timed->clockChanged = timed->clockChanged || !after.sameRate(before);
    timed->throttled = after.throttled();
    return timed;
}

} // namespace

bool readsColdWeights(const Plan& plan, const Step& step, int64_t cacheBytes) {
    size_t bytes = 0;
    for (uint32_t input : step.inputs)
        if (const TensorPtr& constant = plan.values[input].constant)
            bytes += constant->byteCount();
    return cacheBytes > 0 && plan.constantBytes > cacheBytes && bytes >= fewWeightBytes;
}

DeviceMeasurerSource::DeviceMeasurerSource(const Plan& plan, const std::vector<size_t>& steps,
                                           Device& device,
                                           const std::shared_ptr<CubinCache>& compiler)
    : m_plan(plan), m_device(device), m_clocks(device.facts().pciBusId) {
    if (compiler)
        m_check.emplace(device, compiler);
    for (size_t step : steps)
        m_stepOfName.emplace(plan.steps[step].name, step);
}

Result<std::unique_ptr<Measurer>> DeviceMeasurerSource::open(const TuneTask& task,
                                                             const std::vector<Tactic*>& tactics) {
    const Step& step = m_plan.steps[m_stepOfName.at(task.step)];
    OutputCheck* check = m_check ? &*m_check : nullptr;
    for (uint32_t output : step.outputs)
        if (check)
            if (auto made = check->prepare(m_plan.values[output].dtype); !made)
                check = endsDevice(made.error()) ? check : nullptr;
    auto out = std::make_unique<DeviceMeasurer>(m_plan, step, m_device, m_clocks, check, tactics);
    if (auto opened = out->open(); !opened)
        return failure(opened.error());
    return std::unique_ptr<Measurer>(std::move(out));
}

} // namespace fuselage::gpu
