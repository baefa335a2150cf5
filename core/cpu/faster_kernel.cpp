// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/faster_kernel.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <limits>

namespace fuselage::cpu {

namespace {

// Smaller differences are noise: equal machines are to choose equally.
constexpr double clearlyFaster = 0.92;
constexpr int fewestRounds = 3, mostRounds = 9;
constexpr double secondsToSpend = 0.03;

/// Of this thread: what else the machine does is not counted.
double processorSeconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Zeros in place of the run's tensors; the same memory where the plan shares it.
Operands trialOperands(const PrepareContext& context, Pages& pages) {
    Operands out;
    auto take = [&](const OperandLayout& layout) {
        size_t bytes = static_cast<size_t>(layout.span()) * sizeOf(layout.dtype);
        std::byte* memory = pages.take(bytes);
        std::memset(memory, 0, bytes);
        return memory;
    };
    for (const OperandLayout& output : context.outputs)
        out.outputs.push_back(take(output));
    bool shared = !context.inPlace;
    for (const OperandLayout& input : context.inputs) {
        const OperandLayout& output = context.outputs[0];
        bool same = input.dtype == output.dtype && input.extents == output.extents &&
                    input.strides == output.strides;
        if (input.constant)
            out.inputs.push_back(input.constant->bytes());
        else if (same && !shared)
            out.inputs.push_back(out.outputs[0]);
        else
            out.inputs.push_back(take(input));
        shared = shared || (same && !input.constant);
    }
    return out;
}

double timeOnce(Kernel& kernel, const Operands& operands, Threads& threads) {
    RunContext context{threads};
    double start = processorSeconds();
    kernel.run(operands, context);
    return processorSeconds() - start;
}

/// True when the second way is clearly faster. Both live in memory that goes with this call.
bool isSecondFaster(const Way& first, const Way& second, const PrepareContext& context) {
    Threads threads(1);
    Threads::Alone alone(context.threads);
    PrepareContext trial{context.inputs, context.outputs, context.table,
                         threads,        context.strict,  context.inPlace};
    KernelResult a = first.prepare(trial), b = second.prepare(trial);
    if (!a || !b)
        return !a && b;
    Operands operands = trialOperands(context, threads.pages());
    double bestA = std::numeric_limits<double>::infinity(), bestB = bestA;
    timeOnce(**a, operands, threads);
    timeOnce(**b, operands, threads);
    double start = processorSeconds();
    for (int round = 0; round < mostRounds; ++round) {
        if (round >= fewestRounds && processorSeconds() - start > secondsToSpend)
            break;
        bestA = std::min(bestA, timeOnce(**a, operands, threads));
        bestB = std::min(bestB, timeOnce(**b, operands, threads));
    }
    return bestB < clearlyFaster * bestA;
}

} // namespace

KernelResult prepareFaster(const std::string& key, const Way& first, const Way& second,
                           const PrepareContext& context) {
    bool useSecond = false;
    auto known =
        context.measured ? context.measured->find(key) : decltype(context.measured->end()){};
    if (context.measured && known != context.measured->end())
        useSecond = known->second;
    else
        useSecond = isSecondFaster(first, second, context);
    if (context.measured)
        (*context.measured)[key] = useSecond;
    KernelResult kernel = (useSecond ? second : first).prepare(context);
    if (kernel)
        (*kernel)->fallbacks.push_back(
            {"measured",
             std::string("not clearly faster here: ") + (useSecond ? first.name : second.name),
             {},
             {}});
    return kernel;
}

} // namespace fuselage::cpu
