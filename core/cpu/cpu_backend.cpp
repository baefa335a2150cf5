// SPDX-License-Identifier: Apache-2.0
// The cpu backend: prepares a kernel for every step of a Plan and runs them in order. Steps without
// a kernel run through the reference functions, and say so.
#include "core/cpu/body_step.h"
#include "core/cpu/choice_file.h"
#include "core/cpu/constant_step.h"
#include "core/cpu/constant_values.h"
#include "core/cpu/contraction.h"
#include "core/cpu/dynamic_step.h"
#include "core/cpu/library.h"
#include "core/cpu/lone_steps.h"
#include "core/cpu/prepare_kernel.h"
#include "core/cpu/share_decision.h"
#include "core/cpu/small_step.h"
#include "core/cpu/stored_steps.h"
#include "core/cpu/sweep_run.h"
#include "core/cpu/value_store.h"
#include "core/plan/backend.h"
#include "core/plan/value_transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace fuselage {

namespace cpu {

namespace {

/// Whether this backend has kernels for such programs, and so the reference is no fair measure.
/// Operators that have no program of their own are nobody's to compute faster.
bool isOrdinary(const KernelProgram& program) {
    if (std::holds_alternative<Library>(program.code))
        return false;
    return std::none_of(program.outputs.begin(), program.outputs.end(),
                        [](const OperandType& type) { return sizeOf(type.dtype) == 0; });
}

class CpuExecutable final : public Executable {
public:
    CpuExecutable(std::shared_ptr<const Plan> plan, const CpuOptions& options)
        : m_plan(plan), m_options(options), m_threads(options.threads, options.shared),
          m_store(plan, m_threads.pages()), m_constants(plan, m_store) {}

    Result<void> prepare(Choices& choices, Progress& progress);
    Result<RunResult> run(std::span<const Tensor> inputs, const RunOptions& options,
                          Progress& progress) override;

    std::string tactic(size_t step) const override {
        if (const bool isNone = step >= m_plan->steps.size(); isNone || m_stored.has(step))
            return isNone ? "" : "in the products that read it";
        if (const Kernel* kernel = kernelOf(step))
            return m_isDone[step]    ? kernel->tactic + ", once while preparing"
                   : m_isAlone[step] ? kernel->tactic + ", one thread"
                                     : kernel->tactic;
        if (m_dynamic[step] && m_dynamic[step]->kernel())
            return m_dynamic[step]->kernel()->tactic + ", prepared for the last run's shapes";
        if (auto body = m_bodies.find(step);
            body != m_bodies.end() && !body->second.tactic().empty())
            return body->second.tactic();
        return std::string("reference ") + nameOf(kindOf(m_plan->steps[step].program)) +
               (m_isDone[step] ? ", once while preparing" : "");
    }

    std::vector<Reason> fallbacks(size_t step) const override {
        const Kernel* kernel = kernelOf(step);
        return kernel ? kernel->fallbacks : m_reasons[step];
    }

    bool isFallback(size_t step) const override {
        const Kernel* kernel = kernelOf(step);
        if (!kernel && m_isDone[step])
            return false;
        if (!kernel && m_dynamic[step]) // as the last run's sizes asked for
            return m_dynamic[step]->kernel() && m_dynamic[step]->kernel()->isFallback;
        return kernel ? kernel->isFallback : isOrdinary(m_plan->steps[step].program);
    }

    NumericClass numeric(size_t step) const override {
        const Kernel* kernel = kernelOf(step);
        return kernel ? kernel->numeric : NumericClass::Exact;
    }

    HiddenWork hiddenWork(size_t step) const override {
        if (const SweepRun* sweep = m_sweepOf[step])
            return sweep->hiddenWork(static_cast<uint32_t>(step));
        const Kernel* kernel = kernelOf(step);
        HiddenWork out = kernel ? kernel->hidden : HiddenWork{};
        out.launches = m_isDone[step] ? 0 : out.launches;
        return out;
    }

private:
    const Kernel* kernelOf(size_t step) const {
        const SweepRun* sweep = m_sweepOf[step];
        return sweep ? &sweep->kernel(static_cast<uint32_t>(step)) : m_kernels[step].get();
    }

    Threads& threadsOf(size_t step) { return m_isAlone[step] ? m_alone : m_threads; }

    void prepareSweeps(Choices& choices);
    NumericClass allowedIn(const Step& step) const;
    void prepareStep(const Step& step, Choices& choices);
    void computeOnce(size_t index);
    void makeFloats(const Step& reader);
    OperandLayout layoutNow(uint32_t value);
    size_t constantBytes(const Step& step);
    KernelResult kernelFor(const Step& step, Threads& threads, Choices* choices);
    std::vector<TensorPtr> constantsOf(const Step& step) const;
    std::optional<Result<void>> runNative(size_t index);
    template <typename Value> Result<void> storeAll(const Step& step, std::vector<Value>& made);
    Result<void> runStep(size_t index, RunContext& context, Progress& progress);
    Result<void> runReference(size_t index, Progress& progress);

    std::shared_ptr<const Plan> m_plan;
    CpuOptions m_options;
    Threads m_threads;
    Threads m_alone{1};                 ///< of steps too small to share
    std::unique_ptr<ThreadPool> m_pool; ///< of reference functions, made when first needed
    ValueStore m_store;
    std::vector<std::unique_ptr<Kernel>> m_kernels;      ///< null: reference
    std::vector<bool> m_isAlone;                         ///< per step: by m_alone
    std::vector<bool> m_isDone;                          ///< per step: computed while preparing
    ConstantValues m_constants;                          ///< that such steps made
    StoredSteps m_stored;                                ///< that are never computed
    std::vector<std::unique_ptr<DynamicStep>> m_dynamic; ///< of steps with operands on the host
    std::map<size_t, BodyStep> m_bodies;                 ///< by step
    std::vector<std::vector<Reason>> m_reasons;
    std::vector<std::unique_ptr<SweepRun>> m_sweeps;
    std::vector<SweepRun*> m_sweepOf; ///< per step; null: it runs by itself
    LoneSteps m_lone;                 ///< of shared steps
    ShareDecision m_decision;
    bool m_isProving = false; ///< this run prepared some of m_lone
};

Result<void> CpuExecutable::prepare(Choices& choices, Progress& progress) {
    m_threads.activate();
    m_reasons.resize(m_plan->steps.size());
    m_isDone.resize(m_plan->steps.size(), false);
    prepareSweeps(choices);
    for (const Step& step : m_plan->steps) {
        if (progress.cancelled())
            return cancelledFailure("prepare");
        progress.report("prepare", m_kernels.size(), m_plan->steps.size());
        m_kernels.emplace_back();
        m_dynamic.emplace_back();
        const size_t index = m_kernels.size() - 1;
        if (m_sweepOf[index])
            m_isAlone.push_back(false);
        else
            prepareStep(step, choices);
        if (!m_isDone[index] || m_stored.has(index))
            m_constants.keepFor(step);
    }
    m_constants.dropCopied();
    return {};
}

/// A sweep with a step that has no kernel for some images at a time is run step by step instead.
void CpuExecutable::prepareSweeps(Choices& choices) {
    m_sweepOf.assign(m_plan->steps.size(), nullptr);
    for (const Sweep& sweep : m_plan->sweeps) {
        auto run = SweepRun::prepare(*m_plan, sweep, m_threads, choices);
        if (!run) {
            m_store.widen(sweep);
            for (uint32_t i = sweep.first; i <= sweep.last; ++i)
                m_reasons[i].push_back({run.error().code, run.error().message, {}, {}});
            continue;
        }
        m_sweeps.push_back(std::move(*run));
        for (uint32_t i = sweep.first; i <= sweep.last; ++i) {
            m_sweepOf[i] = m_sweeps.back().get();
            m_constants.leaveFor(m_plan->steps[i]);
        }
    }
}

NumericClass CpuExecutable::allowedIn(const Step& step) const {
    return m_options.strict ? NumericClass::Exact : step.allowed;
}

/// The kernel of the step that was added last, or why it has none.
void CpuExecutable::prepareStep(const Step& step, Choices& choices) {
    const size_t index = m_kernels.size() - 1;
    m_isAlone.push_back(m_threads.count() > 1 && isTooSmallToShare(step.program));
    const Threads::Alone alone(m_threads, m_isAlone[index]);
    bool host = false;
    for (const std::vector<uint32_t>* values : {&step.inputs, &step.outputs})
        for (uint32_t value : *values)
            host = host || m_plan->values[value].residence == Residence::Host;
    if (allowedIn(step) != NumericClass::Exact && step.program.body &&
        BodyStep::fits(*step.program.body)) {
        m_bodies.try_emplace(index, m_plan, step, m_options);
        return;
    }
    if (host) {
        if (step.program.body)
            m_dynamic.back() = std::make_unique<DynamicStep>(step.program.body, constantsOf(step),
                                                             m_threads.count());
        m_reasons[index].push_back({"dynamic-dim", "shapes depend on data", {}, {}});
        return;
    }
    m_isDone[index] = !m_options.strict && m_stored.take(*m_plan, index, [this](size_t other) {
        return m_sweepOf[other] != nullptr;
    });
    if (m_isDone[index])
        return;
    KernelResult kernel = kernelFor(step, threadsOf(index), &choices);
    if (!kernel && m_stored.of(step)) {
        makeFloats(step);
        kernel = kernelFor(step, threadsOf(index), &choices);
    }
    if (!kernel) {
        m_reasons[index].push_back({kernel.error().code, kernel.error().message, {}, {}});
        if (step.program.body && m_constants.areAllThat(step))
            computeOnce(index);
        return;
    }
    m_kernels.back() = std::move(*kernel);
    if (m_constants.areAllThat(step))
        computeOnce(index);
    if (m_threads.count() > 1 && !m_isAlone[index] && !m_isDone[index])
        m_lone.offer(index, *m_plan, constantBytes(step),
                     [this, &step](Threads& one) { return kernelFor(step, one, nullptr); });
}

KernelResult CpuExecutable::kernelFor(const Step& step, Threads& threads, Choices* choices) {
    PrepareContext context{{}, {}, vectorTable(), threads, allowedIn(step), step.inPlace, choices};
    for (uint32_t input : step.inputs)
        context.inputs.push_back(layoutNow(input));
    for (uint32_t output : step.outputs)
        context.outputs.push_back(layoutOf(m_plan->values[output]));
    if (const StoredWeights* weights = m_stored.of(step))
        return prepareStored(std::get<Contraction>(step.program.code), context, *weights);
    return prepareKernel(step.program, context);
}

/// Of B, for a product that cannot multiply by what is stored.
void CpuExecutable::makeFloats(const Step& reader) {
    const size_t index = m_stored.release(reader);
    m_isDone[index] = false;
    const Step& step = m_plan->steps[index];
    if (auto kernel = kernelFor(step, threadsOf(index), nullptr))
        m_kernels[index] = std::move(*kernel);
    computeOnce(index);
}

size_t CpuExecutable::constantBytes(const Step& step) {
    const StoredWeights* weights = m_stored.of(step);
    size_t out = weights ? static_cast<size_t>(weights->bytes()) : 0;
    for (uint32_t input : step.inputs)
        if (const TensorPtr constant = layoutNow(input).constant)
            out += constant->byteCount();
    return out;
}

OperandLayout CpuExecutable::layoutNow(uint32_t value) {
    OperandLayout out = layoutOf(m_plan->values[value]);
    out.constant = m_constants.of(value);
    if (m_constants.isCopied(value))
        out.strides = rowMajorStrides(out.extents);
    return out;
}

/// Dequantised weights, mostly: the graph keeps them as the file has them, so that rules see them.
void CpuExecutable::computeOnce(size_t index) {
    const Step& step = m_plan->steps[index];
    std::vector<const std::byte*> inputs;
    for (uint32_t input : step.inputs)
        inputs.push_back(m_store.data(input));
    const std::vector<TensorPtr> made =
        m_kernels[index]
            ? computeConstants(*m_plan, step, *m_kernels[index], inputs, threadsOf(index))
            : computeConstants(step, m_constants.readBy(step), threadsOf(index));
    m_isDone[index] = !made.empty();
    if (made.empty())
        return;
    m_constants.add(step, made);
    m_constants.dropReadBy(index);
}

std::vector<TensorPtr> CpuExecutable::constantsOf(const Step& step) const {
    std::vector<TensorPtr> out;
    for (uint32_t input : step.inputs)
        out.push_back(m_plan->values[input].constant);
    return out;
}

/// By kernels for the shapes of this run; none where there are no such kernels.
std::optional<Result<void>> CpuExecutable::runNative(size_t index) {
    if (!m_dynamic[index])
        return std::nullopt;
    const Step& step = m_plan->steps[index];
    const auto inputs = m_store.lent(step.inputs);
    if (!inputs)
        return std::nullopt;
    auto made = m_dynamic[index]->run(*inputs, allowedIn(step));
    if (!made)
        return std::nullopt;
    return *made ? storeAll(step, **made) : Result<void>(failure(made->error()));
}

template <typename Value>
Result<void> CpuExecutable::storeAll(const Step& step, std::vector<Value>& made) {
    for (size_t i = 0; i < step.outputs.size(); ++i)
        if (auto stored = m_store.store(step.outputs[i], std::move(made[i])); !stored)
            return stored;
    return {};
}

Result<void> CpuExecutable::runReference(size_t index, Progress& progress) {
    const Step& step = m_plan->steps[index];
    if (!step.program.body)
        return failure("cpu.body", "step `" + step.name + "` has neither a kernel nor a body");
    if (!m_pool)
        m_pool = std::make_unique<ThreadPool>(m_threads.count());
    if (auto body = m_bodies.find(index); body != m_bodies.end())
        if (auto ran = body->second.run(m_store, *m_pool, progress))
            return *ran;
    if (auto ran = runNative(index))
        return *ran;
    std::vector<ReferenceValue> inputs;
    for (uint32_t input : step.inputs)
        inputs.push_back(m_store.reference(input));
    auto outputs = interpret(*step.program.body, std::move(inputs), *m_pool, progress);
    return outputs ? storeAll(step, *outputs) : failure(outputs.error());
}

Result<void> CpuExecutable::runStep(size_t index, RunContext& context, Progress& progress) {
    const Step& step = m_plan->steps[index];
    if (!m_kernels[index])
        return runReference(index, progress);
    Operands operands;
    for (uint32_t input : step.inputs)
        operands.inputs.push_back(m_store.data(input));
    for (uint32_t output : step.outputs)
        operands.outputs.push_back(m_store.data(output));
    if (m_decision.alone() && m_lone.has(index)) {
        m_isProving = !m_lone.run(index, *m_kernels[index], operands, context) || m_isProving;
    } else {
        const Threads::Alone alone(m_threads, m_isAlone[index]);
        m_kernels[index]->run(operands, context);
    }
    if (context.error) {
        context.error->where = step.name;
        return failure(*context.error);
    }
    return {};
}

Result<RunResult> CpuExecutable::run(std::span<const Tensor> inputs, const RunOptions& options,
                                     Progress& progress) {
    using Clock = std::chrono::steady_clock;
    m_threads.activate();
    if (auto begun = m_store.begin(inputs); !begun)
        return failure(begun.error());
    const size_t count = m_plan->steps.size();
    RunResult ran;
    if (options.shapes)
        for (uint32_t input : m_plan->inputs)
            m_store.show(input, ran.shapes);
    if (options.stepSeconds)
        ran.stepSeconds.assign(count, 0);
    if (options.stepBytes)
        ran.stepBytes.assign(count, std::nullopt);
    double shared = 0; // of steps that could run alone
    m_isProving = false;
    for (size_t i = 0; i < count; ++i) {
        if (progress.cancelled())
            return cancelledFailure("run");
        if (m_isDone[i])
            continue;
        if (SweepRun* sweep = m_sweepOf[i]) {
            if (i == 0 || sweep != m_sweepOf[i - 1])
                sweep->run(m_store, options.stepSeconds ? &ran.stepSeconds : nullptr, progress);
            if (progress.cancelled())
                return cancelledFailure("run");
            continue;
        }
        CountedBytes bytes;
        RunContext context{threadsOf(i), options.stepBytes ? &bytes : nullptr};
        const bool isTimed = options.stepSeconds || m_lone.has(i);
        auto start = isTimed ? Clock::now() : Clock::time_point();
        if (auto done = runStep(i, context, progress); !done)
            return failure(done.error());
        const double seconds =
            isTimed ? std::chrono::duration<double>(Clock::now() - start).count() : 0;
        shared += m_lone.has(i) ? seconds : 0;
        if (options.shapes)
            for (uint32_t output : m_plan->steps[i].outputs)
                m_store.show(output, ran.shapes);
        if (options.stepSeconds)
            ran.stepSeconds[i] = seconds;
        if (options.stepBytes && context.counted)
            ran.stepBytes[i] = bytes.read + bytes.written;
    }
    if (!m_lone.empty() && !m_isProving)
        m_decision.ran(shared);
    auto outputs = m_store.finish();
    if (!outputs)
        return failure(outputs.error());
    ran.outputs = std::move(*outputs);
    return ran;
}

int threadCount(const CpuOptions& options) {
    return options.threads > 0 ? options.threads : machineThreads();
}

class CpuBackend final : public Backend {
public:
    explicit CpuBackend(const CpuOptions& options) : m_options(options) {}

    std::string name() const override { return "cpu"; }

    std::string description() const override {
        const int threads = threadCount(m_options);
        return fmt::format("oneDNN and tile interpreter ({}), {} thread{}", vectorTable().name,
                           threads, threads == 1 ? "" : "s");
    }

    std::optional<Reason> supports(const KernelProgram& program) const override {
        if (std::holds_alternative<Library>(program.code))
            return std::nullopt;
        return unsupported(program);
    }

    /// Strict plans keep one order of sums, whatever is fused: none depends on a chosen layout.
    bool pricesLayouts(const Plan& plan) const override {
        return !m_options.strict && !plan.strict;
    }
    bool followsOrder(const KernelProgram& program) const override {
        return cpu::followsOrder(std::get<Library>(program.code), program);
    }

    std::map<uint32_t, int64_t> storedBytes(const Plan& plan) const override {
        return m_options.strict ? std::map<uint32_t, int64_t>() : StoredSteps::bytesOf(plan);
    }

    uint32_t sweepWorkers() const override {
        return m_options.strict ? 0 : static_cast<uint32_t>(threadCount(m_options));
    }

    Result<std::unique_ptr<Executable>> prepare(std::shared_ptr<const Plan> plan,
                                                Progress& progress) override {
        if (auto fits = checkMemory(*plan); !fits)
            return failure(fits.error());
        if (auto loaded = loadTimings(); !loaded)
            return failure(loaded.error());
        auto executable = std::make_unique<CpuExecutable>(std::move(plan), m_options);
        if (auto prepared = executable->prepare(m_choices, progress); !prepared)
            return failure(prepared.error());
        if (!m_options.timingCache.empty() && m_choices.takeChanged())
            if (auto saved = saveChoices(m_options.timingCache, machine(), m_choices); !saved)
                return failure(saved.error());
        return std::unique_ptr<Executable>(std::move(executable));
    }

    std::vector<std::string> notes() const override { return m_notes; }

    std::optional<DeviceProfile> profile() const override {
        return m_options.threads > 0
                   ? std::optional(withCores(*deviceProfile("cpu"), m_options.threads))
                   : std::nullopt;
    }

private:
    std::string machine() const { return choiceMachine(vectorTable(), threadCount(m_options)); }

    /// Once: what other processes measure later is theirs.
    Result<void> loadTimings() {
        if (m_options.timingCache.empty() || std::exchange(m_loaded, true))
            return {};
        auto damaged = loadChoices(m_options.timingCache, machine(), m_choices);
        if (!damaged)
            return failure(damaged.error());
        for (size_t line : *damaged)
            m_notes.push_back(
                fmt::format("{}: line {} is damaged, skipped", m_options.timingCache, line));
        m_choices.takeChanged();
        return {};
    }

    CpuOptions m_options;
    Choices m_choices{m_options.tune};
    bool m_loaded = false;
    std::vector<std::string> m_notes;
};

} // namespace

} // namespace cpu

std::unique_ptr<Backend> makeCpuBackend(const CpuOptions& options) {
    return std::make_unique<cpu::CpuBackend>(options);
}

} // namespace fuselage
