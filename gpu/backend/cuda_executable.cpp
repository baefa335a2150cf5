// SPDX-License-Identifier: Apache-2.0
#include "gpu/backend/cuda_executable.h"

#include "gpu/backend/plan_graphs.h"
#include "gpu/backend/plan_memory.h"
#include "gpu/backend/step_check.h"
#include "gpu/runtime/isolated_timer.h"
#include "gpu/runtime/range_counters.h"
#include "gpu/runtime/step_timer.h"
#include "gpu/tune/tuner.h"

#include <algorithm>
#include <chrono>
#include <optional>

namespace fuselage::gpu {

namespace {

using Clock = std::chrono::steady_clock;

/// Device addresses of a step's operands.
struct StepAddresses {
    std::vector<DevicePointer> inputs, outputs;
};

class CudaExecutable final : public SteppedExecutable {
public:
    CudaExecutable(std::shared_ptr<const Plan> plan, std::shared_ptr<Device> device,
                   std::vector<PreparedStep> steps, std::shared_ptr<ThreadPool> threads)
        : m_plan(std::move(plan)), m_device(std::move(device)), m_steps(std::move(steps)),
          m_threads(std::move(threads)) {}

    Result<void> prepare(double deadlineSeconds, EarlyLaunch& early);

    const std::optional<FailedCall>& failedCall() const { return m_failedCall; }

    Result<RunResult> run(std::span<const Tensor> inputs, const RunOptions& options,
                          Progress& progress) override;
    std::string tactic(size_t step) const override;

    std::vector<Reason> fallbacks(size_t step) const override { return m_steps[step].reasons; }

    bool isFallback(size_t step) const override { return !onDevice(step) && !m_isDone[step]; }

    HiddenWork hiddenWork(size_t step) const override {
        HiddenWork out;
        if (m_steps[step].tactic)
            out = hiddenWorkOf(m_steps[step].tactic->facts());
        out.launches = m_isDone[step] ? 0 : out.launches;
        return out;
    }

    std::optional<KernelFacts> kernelFacts(size_t step) const override;
    Result<IsolatedTimes> timeIsolated(size_t step, uint32_t rounds) override;
    Result<TrafficCounts> countTraffic(std::span<const Tensor> inputs, Progress& progress) override;

    const Plan& plan() const override { return *m_plan; }

    Result<void> beginSteps(std::span<const Tensor> inputs) override;
    Result<void> runStep(size_t step, Progress& progress) override;
    Result<ReferenceValue> valueNow(uint32_t value) override;

private:
    bool onDevice(size_t step) const {
        return m_steps[step].tactic && !m_steps[step].tactic->facts().fallback;
    }

    PlanGraphs::Steps graphSteps();
    Result<void> packConstants();
    Result<void> loadTactics();
    Result<void> computeConstants(double deadlineSeconds);
    Result<void> callOnce(size_t step, double deadlineSeconds);
    Result<void> callLibraries(double deadlineSeconds);
    Result<void> tryEarly(EarlyLaunch& early, double deadlineSeconds);
    Result<double> runTrial(bool early, uint32_t times, double deadlineSeconds);
    Result<void> enqueue(size_t step);
    Result<void> runOnHost(size_t step, Progress& progress);
    Result<void> startStep(size_t step);
    Result<void> startStep(size_t step, Progress& progress);
    Result<void> runSegments(bool early, Progress& progress);
    Result<void> runTimed(RunResult& ran, Progress& progress);
    Result<void> runMeasured(Progress& progress);
    Result<void> runMarked(std::span<const Tensor> inputs, const RangeMarks& marks,
                           Progress& progress);

    std::shared_ptr<const Plan> m_plan;
    std::shared_ptr<Device> m_device;
    std::vector<PreparedStep> m_steps;
    std::shared_ptr<ThreadPool> m_threads;
    std::unique_ptr<PlanMemory> m_memory;
    DeviceMemory m_workspace;
    Stream m_stream;
    Event m_begin, m_end;
    std::vector<StepAddresses> m_addresses;
    std::vector<bool> m_isDone; ///< per step: computed once while preparing
    PlanGraphs m_graphs;
    bool m_early = false;               ///< kernels are launched early
    std::unique_ptr<StepTimer> m_timer; ///< made when steps are first timed
    std::optional<FailedCall> m_failedCall;
};

Result<void> CudaExecutable::prepare(double deadlineSeconds, EarlyLaunch& early) {
    auto memory = PlanMemory::create(m_plan, *m_device);
    if (!memory)
        return failure(memory.error());
    m_memory = std::move(*memory);
    auto stream = m_device->stream();
    auto begin = Event::create(m_device->context());
    auto end = Event::create(m_device->context());
    if (!stream || !begin || !end)
        return failure(!stream ? stream.error() : !begin ? begin.error() : end.error());
    m_stream = std::move(*stream);
    m_begin = std::move(*begin);
    m_end = std::move(*end);
    if (auto packed = packConstants(); !packed)
        return packed;
    if (auto loaded = loadTactics(); !loaded)
        return loaded;
    if (auto computed = computeConstants(deadlineSeconds); !computed)
        return computed;
    if (auto called = callLibraries(deadlineSeconds); !called)
        return called;
    if (auto captured = m_graphs.capture(m_stream, graphSteps()); !captured)
        return captured;
    return early.wanted() ? tryEarly(early, deadlineSeconds) : Result<void>();
}

/// At one time: it is the host's work alone, and most of what a warm start takes.
Result<void> CudaExecutable::packConstants() {
    std::vector<Result<void>> packed(m_steps.size());
    m_threads->forRange(m_steps.size(), 1, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i)
            if (m_steps[i].tactic)
                packed[i] = m_steps[i].tactic->packConstants();
    });
    const auto failed =
        std::find_if(packed.begin(), packed.end(), [](const Result<void>& one) { return !one; });
    return failed == packed.end() ? Result<void>() : *failed;
}

/// Code, packed constants, the constants that are read as they are, the largest workspace.
Result<void> CudaExecutable::loadTactics() {
    std::vector<bool> wanted(m_plan->values.size(), false);
    int64_t workspace = 0;
    for (size_t i = 0; i < m_steps.size(); ++i) {
        if (!m_steps[i].tactic)
            continue;
        Tactic& tactic = *m_steps[i].tactic;
        if (auto loaded = tactic.load(*m_device); !loaded)
            return loaded;
        workspace = std::max(workspace, tactic.facts().workspaceBytes);
        const std::vector<uint32_t>& inputs = m_plan->steps[i].inputs;
        for (size_t operand = 0; operand < inputs.size(); ++operand)
            if (tactic.reads(operand)) // a constant may be read through a view of it
                wanted[rootOf(*m_plan, inputs[operand])] = true;
    }
    if (auto sent = m_memory->uploadConstants(wanted); !sent)
        return sent;
    auto memory = m_device->allocate(workspace);
    if (!memory)
        return failure(memory.error());
    m_workspace = std::move(*memory);
    for (const Step& step : m_plan->steps)
        for (uint32_t output : step.outputs)
            if (m_plan->isOnce(step))
                if (auto kept = m_memory->keep(output); !kept)
                    return kept;
    for (const Step& step : m_plan->steps) {
        StepAddresses& addresses = m_addresses.emplace_back();
        for (uint32_t input : step.inputs)
            addresses.inputs.push_back(m_memory->address(input));
        for (uint32_t output : step.outputs)
            addresses.outputs.push_back(m_memory->address(output));
    }
    return m_device->finishUploads();
}

Result<void> CudaExecutable::callOnce(size_t step, double deadlineSeconds) {
    auto called = enqueue(step);
    auto done = m_stream.record(m_end);
    if (done)
        done = m_end.synchronize(deadlineSeconds);
    if (called && done)
        return {};
    // A lost device counts more than the words of the library that met it.
    return failure(!done ? done.error() : called.error());
}

/// What the host makes of constants, and cannot, shows in a run. A graph's steps are none of it.
Result<void> CudaExecutable::computeConstants(double deadlineSeconds) {
    m_isDone.clear();
    for (const Step& step : m_plan->steps)
        m_isDone.push_back(m_plan->isOnce(step));
    for (size_t step = 0; step < m_steps.size(); ++step) {
        if (!m_isDone[step])
            continue;
        auto called = callOnce(step, deadlineSeconds);
        if (called)
            continue;
        if (!onDevice(step) && !endsDevice(called.error())) {
            m_isDone.assign(m_steps.size(), false);
            return {};
        }
        m_failedCall = FailedCall{m_steps[step].key, m_steps[step].tactic->name(), called.error()};
        return called;
    }
    return {};
}

/// In the order of the plan, on memory as it is: only whether the call works is asked.
Result<void> CudaExecutable::callLibraries(double deadlineSeconds) {
    for (size_t step = 0; step < m_steps.size(); ++step) {
        if (m_isDone[step] || !onDevice(step) || m_steps[step].tactic->kernels() != nullptr)
            continue;
        if (auto called = callOnce(step, deadlineSeconds); !called) {
            m_failedCall =
                FailedCall{m_steps[step].key, m_steps[step].tactic->name(), called.error()};
            return called;
        }
    }
    return {};
}

PlanGraphs::Steps CudaExecutable::graphSteps() {
    PlanGraphs::Steps out;
    for (size_t step = 0; step < m_steps.size(); ++step)
        out.places.push_back(m_isDone[step]   ? PlanGraphs::Place::Before
                             : onDevice(step) ? PlanGraphs::Place::Graph
                                              : PlanGraphs::Place::Between);
    out.add = [this](size_t step) { return enqueue(step); };
    out.hasOwnKernels = [this](size_t step) { return m_steps[step].tactic->kernels() != nullptr; };
    return out;
}

/// Only the end of the device is an error: else the graphs that are there are launched.
Result<void> CudaExecutable::tryEarly(EarlyLaunch& early, double deadlineSeconds) {
    auto captured = m_graphs.captureEarly(m_stream, graphSteps());
    if (!captured && endsDevice(captured.error()))
        return failure(captured.error());
    if (!captured || !*captured)
        return early.refuse(captured ? "" : captured.error().text()), Result<void>();
    auto decided = early.decide(
        {[&](bool isEarly, uint32_t times) { return runTrial(isEarly, times, deadlineSeconds); },
         [this] { return m_memory->fillForTrial(m_stream); },
         [this] { return m_memory->written(m_stream); }});
    if (!decided)
        return failure(decided.error());
    if (m_early = *decided; !m_early)
        m_graphs.dropEarly();
    return {};
}

Result<double> CudaExecutable::runTrial(bool early, uint32_t times, double deadlineSeconds) {
    Progress progress;
    auto done = m_stream.record(m_begin);
    for (uint32_t i = 0; i < times && done; ++i)
        done = runSegments(early, progress);
    if (done)
        done = m_stream.record(m_end);
    if (done)
        done = m_end.synchronize(deadlineSeconds);
    auto seconds = done ? Event::secondsBetween(m_begin, m_end) : failure(done.error());
    return seconds ? Result<double>(*seconds * 1e6 / times) : failure(seconds.error());
}

Result<void> CudaExecutable::enqueue(size_t step) {
    const StepAddresses& addresses = m_addresses[step];
    auto added = m_steps[step].tactic->enqueue(
        m_stream, {addresses.inputs, addresses.outputs, m_workspace.address()});
    if (added)
        return {};
    Error error = added.error();
    error.where = m_plan->steps[step].name;
    return failure(std::move(error));
}

/// A step with operands without a fixed size: their values live on the host.
Result<void> CudaExecutable::runOnHost(size_t index, Progress& progress) {
    const Step& step = m_plan->steps[index];
    if (!step.program.body)
        return failure("device.body", "step `" + step.name + "` has neither a kernel nor a body");
    std::vector<ReferenceValue> inputs;
    for (uint32_t input : step.inputs) {
        auto value = m_memory->read(input, m_stream);
        if (!value)
            return failure(value.error());
        inputs.push_back(std::move(*value));
    }
    auto outputs = interpret(*step.program.body, std::move(inputs), *m_threads, progress);
    if (!outputs)
        return failure(outputs.error());
    for (size_t i = 0; i < step.outputs.size(); ++i)
        if (auto written = m_memory->write(step.outputs[i], std::move((*outputs)[i]), m_stream);
            !written)
            return written;
    return {};
}

/// Of what is on the stream: nothing of a step that is done.
Result<void> CudaExecutable::startStep(size_t step) {
    return m_isDone[step] ? Result<void>() : enqueue(step);
}

Result<void> CudaExecutable::startStep(size_t step, Progress& progress) {
    return m_steps[step].tactic ? startStep(step) : runOnHost(step, progress);
}

Result<void> CudaExecutable::runSegments(bool early, Progress& progress) {
    for (const Segment& segment : m_graphs.segments()) {
        if (progress.cancelled())
            return cancelledFailure("run");
        auto ran = segment.graph ? PlanGraphs::launch(segment, m_stream, early)
                                 : startStep(segment.begin, progress);
        if (!ran)
            return ran;
    }
    return {};
}

/// In situ: each graph's kernels by their activity records, of the graph in which they do not
/// overlap. Where those cannot be had, events around each step outside of the graph.
Result<void> CudaExecutable::runTimed(RunResult& ran, Progress& progress) {
    if (!m_timer)
        m_timer = std::make_unique<StepTimer>();
    ran.stepSeconds.assign(m_steps.size(), 0);
    std::string byEventsNote;
    for (const Segment& segment : m_graphs.segments()) {
        if (progress.cancelled())
            return cancelledFailure("run");
        if (!segment.graph) {
            const auto start = Clock::now();
            if (auto done = startStep(segment.begin, progress); !done)
                return done;
            if (auto done = m_stream.synchronize(); !done)
                return done;
            ran.stepSeconds[segment.begin] =
                std::chrono::duration<double>(Clock::now() - start).count();
            continue;
        }
        const std::span<double> times(ran.stepSeconds.data() + segment.begin,
                                      segment.end - segment.begin);
        auto timed = m_timer->timeGraph(*segment.graph, m_stream, times);
        if (timed)
            continue;
        if (timed.error().code != "timing.records")
            return timed;
        byEventsNote = timed.error().message;
        auto byEvents =
            m_timer->timeByEvents(m_device->context(), m_stream, times,
                                  [&](size_t step) { return startStep(segment.begin + step); });
        if (!byEvents)
            return byEvents;
    }
    ran.stepTimingNote = byEventsNote.empty() ? m_timer->note() : byEventsNote;
    if (m_early)
        ran.stepTimingNote += std::string(ran.stepTimingNote.empty() ? "" : "; ") +
                              "steps were timed one after another, without early launches";
    return {};
}

/// Every segment, between two events.
Result<void> CudaExecutable::runMeasured(Progress& progress) {
    if (auto begun = m_stream.record(m_begin); !begun)
        return begun;
    if (auto ran = runSegments(m_early, progress); !ran)
        return ran;
    return m_stream.record(m_end);
}

Result<RunResult> CudaExecutable::run(std::span<const Tensor> inputs, const RunOptions& options,
                                      Progress& progress) {
    if (auto current = m_device->makeCurrent(); !current)
        return failure(current.error());
    if (auto copied = m_memory->copyInputs(inputs, m_stream); !copied)
        return failure(copied.error());
    RunResult ran;
    if (options.stepBytes)
        ran.stepBytes.assign(m_steps.size(), std::nullopt);
    auto done = options.stepSeconds ? runTimed(ran, progress) : runMeasured(progress);
    if (!done)
        return failure(done.error());
    auto outputs = m_memory->outputs(m_stream);
    if (!outputs)
        return failure(outputs.error());
    ran.outputs = std::move(*outputs);
    if (options.deviceSeconds && !options.stepSeconds) {
        auto seconds = Event::secondsBetween(m_begin, m_end);
        if (!seconds)
            return failure(seconds.error());
        ran.deviceSeconds = *seconds;
    }
    return ran;
}

std::string CudaExecutable::tactic(size_t step) const {
    return (m_steps[step].tactic ? m_steps[step].tactic->name() : "host") +
           (m_isDone[step] ? ", once while preparing" : "");
}

std::optional<KernelFacts> CudaExecutable::kernelFacts(size_t step) const {
    if (!m_steps[step].tactic)
        return std::nullopt;
    KernelFacts out = kernelFactsOf(m_steps[step].tactic->facts(), m_steps[step].choice);
    out.launches = m_isDone[step] ? 0 : out.launches;
    return out;
}

Result<IsolatedTimes> CudaExecutable::timeIsolated(size_t step, uint32_t rounds) {
    if (m_isDone[step] || !onDevice(step))
        return failure("run.isolated",
                       m_isDone[step] ? "this step was computed while preparing"
                                      : "the host computes this step",
                       m_plan->steps[step].name);
    if (auto current = m_device->makeCurrent(); !current)
        return failure(current.error());
    return gpu::timeIsolated(*m_device, m_stream, rounds, [&] { return enqueue(step); });
}

/// The whole plan from its inputs, step by step, so that every step finds the values and the caches
/// as in a run. A range is its step's number.
Result<void> CudaExecutable::runMarked(std::span<const Tensor> inputs, const RangeMarks& marks,
                                       Progress& progress) {
    if (auto copied = m_memory->copyInputs(inputs, m_stream); !copied)
        return copied;
    for (size_t step = 0; step < m_steps.size(); ++step) {
        if (progress.cancelled())
            return cancelledFailure("count");
        if (auto idle = m_stream.synchronize(); !idle)
            return idle;
        const bool counted = onDevice(step) && !m_isDone[step];
        if (auto begun = counted ? marks.begin(step) : Result<void>(); !begun)
            return begun;
        auto ran = startStep(step, progress);
        auto idle = m_stream.synchronize();
        // A range that was begun is ended in any case.
        auto ended = counted ? marks.end(step) : Result<void>();
        if (!ran || !idle || !ended)
            return !ran ? ran : !idle ? idle : ended;
    }
    return {};
}

Result<TrafficCounts> CudaExecutable::countTraffic(std::span<const Tensor> inputs,
                                                   Progress& progress) {
    if (auto current = m_device->makeCurrent(); !current)
        return failure(current.error());
    if (auto idle = m_stream.synchronize(); !idle)
        return failure(idle.error());
    auto counters = RangeCounters::open(*m_device);
    if (!counters)
        return failure(counters.error());
    TrafficCounts out;
    out.note = (*counters)->description();
    auto counted = (*counters)->count(m_steps.size(), [&](const RangeMarks& marks) {
        return runMarked(inputs, marks, progress);
    });
    if (!counted)
        return failure(counted.error());
    out.steps = std::move(*counted);
    return out;
}

Result<void> CudaExecutable::beginSteps(std::span<const Tensor> inputs) {
    if (auto current = m_device->makeCurrent(); !current)
        return current;
    return m_memory->copyInputs(inputs, m_stream);
}

Result<void> CudaExecutable::runStep(size_t step, Progress& progress) {
    if (auto started = startStep(step, progress); !started)
        return started;
    return m_stream.synchronize();
}

Result<ReferenceValue> CudaExecutable::valueNow(uint32_t value) {
    const PlanValue& known = m_plan->values[value];
    if (!known.constant && known.residence != Residence::Host && m_memory->address(value) == 0)
        return failure("step.unread", "only packed forms of it are on the device", known.name);
    return m_memory->read(value, m_stream);
}

} // namespace

Result<std::unique_ptr<Executable>> makeCudaExecutable(std::shared_ptr<const Plan> plan,
                                                       std::shared_ptr<Device> device,
                                                       std::vector<PreparedStep> steps,
                                                       std::shared_ptr<ThreadPool> threads,
                                                       double deadlineSeconds, EarlyLaunch& early,
                                                       std::optional<FailedCall>& failedCall) {
    auto out = std::make_unique<CudaExecutable>(std::move(plan), std::move(device),
                                                std::move(steps), std::move(threads));
    if (auto prepared = out->prepare(deadlineSeconds, early); !prepared) {
        failedCall = out->failedCall();
        return failure(prepared.error());
    }
    return std::unique_ptr<Executable>(std::move(out));
}

} // namespace fuselage::gpu
