// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <limits>

namespace fuselage::cpu {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();
// A way predicted to take this much longer than another is not measured, nor taken.
constexpr double clearlySlower = 1.5;
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

/// Times all that are close, round by round, in memory that goes with this call.
MeasuredWays measure(std::span<const Way* const> ways, const PrepareContext& context) {
    Threads threads(1);
    Threads::Alone alone(context.threads);
    PrepareContext trial{context.inputs, context.outputs, context.table,
                         threads,        context.allowed, context.inPlace};
    MeasuredWays out;
    std::vector<std::pair<double*, std::unique_ptr<Kernel>>> kernels;
    for (const Way* way : ways) {
        double& best = out.emplace(way->name, never).first->second;
        if (KernelResult kernel = way->prepare(trial))
            kernels.emplace_back(&best, std::move(*kernel));
    }
    Operands operands = trialOperands(context, threads.pages());
    for (auto& [best, kernel] : kernels)
        timeOnce(*kernel, operands, threads);
    double start = processorSeconds();
    for (int round = 0; round < mostRounds; ++round) {
        if (round >= fewestRounds && processorSeconds() - start > secondsToSpend)
            break;
        for (auto& [best, kernel] : kernels)
            *best = std::min(*best, timeOnce(*kernel, operands, threads));
    }
    return out;
}

/// The first of those that none other beats clearly.
const Way* fastestOf(std::span<const Way* const> ways, const MeasuredWays& measured) {
    const Way* best = nullptr;
    double least = never;
    for (const Way* way : ways) {
        const double seconds = measured.find(way->name)->second;
        if (best == nullptr || seconds < clearlyFaster * least) {
            best = way;
            least = seconds;
        }
    }
    return best;
}

bool isComplete(std::span<const Way* const> ways, const MeasuredWays& measured) {
    return std::all_of(ways.begin(), ways.end(),
                       [&](const Way* way) { return measured.contains(way->name); });
}

const MeasuredWays* measurementsOf(const std::string& key, std::span<const Way* const> ways,
                                   const PrepareContext& context) {
    if (!context.choices)
        return nullptr;
    const MeasuredWays* known = context.choices->find(key);
    if (known && isComplete(ways, *known))
        return known;
    if (!context.choices->measures())
        return nullptr;
    context.choices->add(key, measure(ways, context));
    return context.choices->find(key);
}

/// Why `way` was not taken.
Reason notTaken(const Way& way, const Way& taken, const MeasuredWays* measured) {
    const auto seconds = measured ? measured->find(way.name) : MeasuredWays::const_iterator();
    if (measured && seconds != measured->end())
        return {"measured", std::string("not clearly faster here: ") + way.name, {}, {}};
    return {"predicted",
            fmt::format("{}: predicted to take {:.2f} times what {} takes", way.name,
                        way.predicted / taken.predicted, taken.name),
            {},
            {}};
}

} // namespace

std::string Choices::plain(std::string key) {
    for (char& c : key)
        if (static_cast<unsigned char>(c) <= 0x20)
            c = ' ';
    return key;
}

const MeasuredWays* Choices::find(const std::string& key) const {
    auto found = m_ways.find(plain(key));
    return found == m_ways.end() ? nullptr : &found->second;
}

void Choices::add(const std::string& key, const MeasuredWays& ways) {
    MeasuredWays& known = m_ways[plain(key)];
    const size_t before = known.size();
    known.insert(ways.begin(), ways.end());
    m_changed = m_changed || known.size() != before;
}

KernelResult prepareFastest(const std::string& key, std::span<const Way> ways,
                            const PrepareContext& context) {
    const auto isFaster = [](const Way& a, const Way& b) { return a.predicted < b.predicted; };
    const Way* taken = &*std::min_element(ways.begin(), ways.end(), isFaster);
    std::vector<const Way*> close;
    for (const Way& way : ways)
        if (way.predicted <= clearlySlower * taken->predicted)
            close.push_back(&way);
    const MeasuredWays* measured = nullptr;
    if (close.size() > 1)
        measured = measurementsOf(key, close, context);
    if (measured)
        taken = fastestOf(close, *measured);
    KernelResult kernel = taken->prepare(context);
    for (const Way& way : ways) { // in the order of trust: the first one computes anything
        if (kernel)
            break;
        kernel = way.prepare(context);
        taken = &way;
    }
    if (!kernel)
        return ways.front().prepare(context);
    for (const Way& way : ways)
        if (&way != taken)
            (*kernel)->fallbacks.push_back(notTaken(way, *taken, measured));
    return kernel;
}

} // namespace fuselage::cpu
