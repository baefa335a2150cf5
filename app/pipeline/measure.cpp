// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/measure.h"

#include <chrono>

namespace fuselage::app {

namespace {

constexpr uint32_t stepRounds = 5;

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

Result<void> timeOnce(Executable& executable, std::span<const Tensor> inputs, MeasuredSide& side,
                      Progress& progress) {
    auto start = Clock::now();
    auto outputs = executable.run(inputs, {}, progress);
    if (!outputs)
        return failure(outputs.error());
    side.totals.push_back(since(start));
    return {};
}

Result<void> timeSteps(Executable& executable, std::span<const Tensor> inputs, MeasuredSide& side,
                       Progress& progress) {
    for (uint32_t round = 0; round < stepRounds; ++round) {
        std::vector<double> seconds;
        RunOptions options;
        options.stepSeconds = &seconds;
        auto outputs = executable.run(inputs, options, progress);
        if (!outputs)
            return failure(outputs.error());
        side.stepSeconds.resize(seconds.size());
        for (size_t i = 0; i < seconds.size(); ++i)
            side.stepSeconds[i].push_back(seconds[i]);
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
    return out;
}

} // namespace fuselage::app
