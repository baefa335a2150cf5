// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/sweep_run.h"

#include "core/cpu/prepare_kernel.h"

#include <fmt/format.h>

#include <chrono>

namespace fuselage::cpu {

SweepRun::SweepRun(const Sweep& sweep) : m_sweep(sweep), m_team(static_cast<int>(sweep.workers)) {
    for (uint32_t i = 0; i < sweep.workers; ++i)
        m_workers.push_back(std::make_unique<Threads>(1));
}

Result<SweepRun::SweepStep> SweepRun::prepareStep(const Plan& plan, uint32_t index,
                                                  Choices& choices) {
    const Step& step = plan.steps[index];
    const ImageSlice& slice = m_sweep.slices[index - m_sweep.first];
    PrepareContext context{{},           {},           vectorTable(), *m_workers[0],
                           step.allowed, step.inPlace, &choices};
    SweepStep out;
    auto add = [&](uint32_t value, bool each, std::vector<Operand>& operands,
                   std::vector<OperandLayout>& layouts) {
        OperandLayout layout = layoutOf(plan.values[value]);
        Operand operand{value, plan.values[rootOf(plan, value)].inner, 0};
        if (each) {
            layout.extents[0] = m_sweep.images;
            layout.constant = nullptr; // another part in every pass
            if (!operand.inner)
                operand.step =
                    m_sweep.images * layout.strides[0] * static_cast<int64_t>(sizeOf(layout.dtype));
        }
        operands.push_back(operand);
        layouts.push_back(std::move(layout));
    };
    for (size_t i = 0; i < step.inputs.size(); ++i)
        add(step.inputs[i], slice.inputs[i], out.inputs, context.inputs);
    for (uint32_t output : step.outputs)
        add(output, true, out.outputs, context.outputs);
    KernelResult kernel = prepareKernel(slice.program, context);
    if (!kernel)
        return failure(kernel.error());
    out.kernel = std::move(*kernel);
    out.kernel->tactic += fmt::format(", {} of {} of the batch at a time", m_sweep.images,
                                      m_sweep.images * m_sweep.passes);
    out.kernel->fallbacks.push_back(m_sweep.reason);
    return out;
}

Result<std::unique_ptr<SweepRun>> SweepRun::prepare(const Plan& plan, const Sweep& sweep,
                                                    const Threads& threads, Choices& choices) {
    Threads::Alone alone(threads);
    std::unique_ptr<SweepRun> out(new SweepRun(sweep));
    for (uint32_t i = sweep.first; i <= sweep.last; ++i) {
        auto step = out->prepareStep(plan, i, choices);
        if (!step)
            return failure(step.error());
        out->m_steps.push_back(std::move(*step));
    }
    return out;
}

void SweepRun::runPass(const std::vector<Operands>& first, size_t worker, int64_t pass,
                       std::vector<double>* seconds) {
    using Clock = std::chrono::steady_clock;
    const int64_t own = m_sweep.offset + static_cast<int64_t>(worker) * m_sweep.workerBytes;
    RunContext context{*m_workers[worker]};
    auto start = seconds ? Clock::now() : Clock::time_point();
    for (size_t i = 0; i < m_steps.size(); ++i) {
        const SweepStep& step = m_steps[i];
        Operands operands = first[i];
        for (size_t k = 0; k < step.inputs.size(); ++k)
            operands.inputs[k] += step.inputs[k].inner ? own : pass * step.inputs[k].step;
        for (size_t k = 0; k < step.outputs.size(); ++k)
            operands.outputs[k] += step.outputs[k].inner ? own : pass * step.outputs[k].step;
        step.kernel->run(operands, context);
        if (!seconds)
            continue;
        const auto now = Clock::now();
        (*seconds)[i] += std::chrono::duration<double>(now - start).count();
        start = now;
    }
}

void SweepRun::run(ValueStore& values, std::vector<double>* seconds, const Progress& progress) {
    std::vector<Operands> first(m_steps.size());
    for (size_t i = 0; i < m_steps.size(); ++i) {
        for (const Operand& input : m_steps[i].inputs)
            first[i].inputs.push_back(values.data(input.value));
        for (const Operand& output : m_steps[i].outputs)
            first[i].outputs.push_back(values.data(output.value));
    }
    std::vector<std::vector<double>> own(m_workers.size());
    for (auto& ofWorker : own)
        ofWorker.assign(m_steps.size(), 0);
    const auto passes = static_cast<size_t>(m_sweep.passes);
    m_team.forRange(passes, 1, [&](size_t worker, size_t begin, size_t end) {
        for (size_t pass = begin; pass < end && !progress.cancelled(); ++pass)
            runPass(first, worker, static_cast<int64_t>(pass), seconds ? &own[worker] : nullptr);
    });
    if (!seconds)
        return;
    for (const auto& ofWorker : own)
        for (size_t i = 0; i < m_steps.size(); ++i)
            (*seconds)[m_sweep.first + i] += ofWorker[i] / static_cast<double>(m_workers.size());
}

} // namespace fuselage::cpu
