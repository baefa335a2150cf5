// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/lone_steps.h"

#include "core/cpu/small_step.h"
#include "core/cpu/value_store.h"

#include <algorithm>

namespace fuselage::cpu {

namespace {

/// A longer step loses more on one thread than the scheduler's turns take.
constexpr double mostSeconds = 1e-3;
constexpr size_t mostBytesOfStep = size_t{4} << 20, mostBytesOfAll = size_t{16} << 20;

} // namespace

void LoneSteps::offer(size_t index, const Plan& plan, size_t bytes, Prepare prepare) {
    const Step& step = plan.steps[index];
    if (step.inPlace || secondsAlone(step.program) > mostSeconds || bytes > mostBytesOfStep ||
        bytes > mostBytesOfAll - m_bytes)
        return;
    m_bytes += bytes;
    Lone& lone = m_steps[index];
    lone.prepare = std::move(prepare);
    for (uint32_t output : step.outputs) {
        const OperandLayout layout = layoutOf(plan.values[output]);
        lone.outputBytes.push_back(static_cast<size_t>(layout.span()) * sizeOf(layout.dtype));
    }
}

bool LoneSteps::run(size_t index, Kernel& shared, const Operands& operands, RunContext& context) {
    Lone& lone = m_steps.at(index);
    if (!lone.isProved) {
        const bool isOpen = lone.prepare || lone.kernel;
        shared.run(operands, context);
        const Threads::Alone alone(context.threads);
        if (isOpen && !context.error)
            prove(lone, shared, operands);
        return !isOpen;
    }
    const Threads::Alone alone(context.threads);
    RunContext own{m_one, context.count, false, {}};
    lone.kernel->run(operands, own);
    context.counted = own.counted;
    context.error = std::move(own.error);
    return true;
}

void LoneSteps::prove(Lone& lone, const Kernel& shared, const Operands& operands) {
    if (lone.prepare) {
        KernelResult made = std::exchange(lone.prepare, nullptr)(m_one);
        if (!made || (*made)->tactic != shared.tactic)
            return;
        lone.kernel = std::move(*made);
    }
    std::vector<std::vector<std::byte>> expected;
    for (size_t i = 0; i < operands.outputs.size(); ++i)
        expected.emplace_back(operands.outputs[i], operands.outputs[i] + lone.outputBytes[i]);
    RunContext own{m_one, nullptr, false, {}};
    lone.kernel->run(operands, own);
    bool same = !own.error, says = false;
    for (size_t i = 0; i < expected.size(); ++i) {
        const std::vector<std::byte>& bytes = expected[i];
        same = same && std::equal(bytes.begin(), bytes.end(), operands.outputs[i]);
        says = says || std::any_of(bytes.begin(), bytes.end(),
                                   [](std::byte byte) { return byte != std::byte{0}; });
        std::copy(bytes.begin(), bytes.end(), operands.outputs[i]);
    }
    lone.isProved = same && says;
    if (!same || (!says && --lone.attempts == 0))
        lone.kernel.reset();
}

} // namespace fuselage::cpu
