// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/measure.h"

#include <chrono>

namespace fuselage::app {

namespace {

constexpr uint32_t stepRounds = 5;
constexpr uint32_t isolatedRounds = 7;

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

Result<void> timeOnce(Executable& executable, std::span<const Tensor> inputs, MeasuredSide& side,
                      Progress& progress) {
    double device = 0;
    RunOptions options;
    options.deviceSeconds = &device;
    auto start = Clock::now();
    auto outputs = executable.run(inputs, options, progress);
    if (!outputs)
        return failure(outputs.error());
    side.totals.push_back(device > 0 ? device : since(start));
    return {};
}

Result<void> timeSteps(Executable& executable, std::span<const Tensor> inputs, MeasuredSide& side,
                       Progress& progress) {
    for (uint32_t round = 0; round < stepRounds; ++round) {
        std::vector<double> seconds;
        RunOptions options;
        options.stepSeconds = &seconds;
        options.stepTimingNote = &side.stepNote;
        auto outputs = executable.run(inputs, options, progress);
        if (!outputs)
            return failure(outputs.error());
        side.stepSeconds.resize(seconds.size());
        for (size_t i = 0; i < seconds.size(); ++i)
            side.stepSeconds[i].push_back(seconds[i]);
    }
    return {};
}

/// Steps by themselves, where the backend can; a step that cannot be timed has none.
Result<void> timeIsolated(Executable& executable, MeasuredSide& side, Progress& progress) {
    side.isolated.resize(side.stepSeconds.size());
    for (size_t step = 0; step < side.isolated.size(); ++step) {
        if (progress.cancelled())
            return cancelledFailure("measure");
        auto times = executable.timeIsolated(step, isolatedRounds);
        if (times)
            side.isolated[step] = std::move(*times);
        else if (times.error().code != "run.isolated")
            return failure(times.error());
    }
    return {};
}

} // namespace

Result<Measured> measure(Executable& before, Executable& after, std::span<const Tensor> inputs,
                         const MeasureOptions& options, Progress& progress) {
    Measured out;
    MeasuredSide warmUp;
    for (Executable* executable : {&before, &after})
        if (auto ran = timeOnce(*executable, inputs, warmUp, progress); !ran)
            return failure(ran.error());
    auto start = Clock::now();
    for (uint32_t round = 0; round < options.maxRounds; ++round) {
        if (round >= options.minRounds && since(start) > options.seconds)
            break;
        progress.report("measure", round, options.maxRounds);
        if (auto ran = timeOnce(before, inputs, out.before, progress); !ran)
            return failure(ran.error());
        if (auto ran = timeOnce(after, inputs, out.after, progress); !ran)
            return failure(ran.error());
    }
    if (auto ran = timeSteps(before, inputs, out.before, progress); !ran)
        return failure(ran.error());
    if (auto ran = timeSteps(after, inputs, out.after, progress); !ran)
        return failure(ran.error());
    if (auto ran = timeIsolated(after, out.after, progress); !ran)
        return failure(ran.error());
    return out;
}

} // namespace fuselage::app
