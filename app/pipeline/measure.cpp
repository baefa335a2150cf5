// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/measure.h"

#include "app/pipeline/busy.h"
#include "app/pipeline/stopwatch.h"

namespace fuselage::app {

namespace {

constexpr uint32_t stepRounds = 5;
constexpr uint32_t isolatedRounds = 7;

Result<void> timeOnce(Executable& executable, std::span<const Tensor> inputs, MeasuredSide& side,
                      Progress& progress) {
    double device = 0;
    RunOptions options;
    options.deviceSeconds = &device;
    Stopwatch watch;
    auto outputs = executable.run(inputs, options, progress);
    if (!outputs)
        return failure(outputs.error());
    side.totals.push_back(device > 0 ? device : watch.seconds());
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
    Stopwatch watch;
    const BusyWatch busy;
    for (uint32_t round = 0; round < options.maxRounds; ++round) {
        if (round >= options.minRounds && watch.seconds() > options.seconds)
            break;
        progress.report("measure", round, options.maxRounds);
        if (auto ran = timeOnce(before, inputs, out.before, progress); !ran)
            return failure(ran.error());
        if (auto ran = timeOnce(after, inputs, out.after, progress); !ran)
            return failure(ran.error());
    }
    out.othersBusy = busy.othersBusy();
    auto timed = timeSteps(before, inputs, out.before, progress);
    if (timed)
        timed = timeSteps(after, inputs, out.after, progress);
    if (timed)
        timed = timeIsolated(after, out.after, progress);
    if (!timed && timed.error().code == "cancelled")
        return failure(timed.error());
    if (!timed) // what was measured as a whole is worth more than its parts
        out.after.stepNote = "not every step was timed: " + timed.error().text();
    return out;
}

} // namespace fuselage::app
