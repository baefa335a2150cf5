// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/measure.h"

#include "app/pipeline/busy.h"
#include "app/pipeline/stopwatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuselage::app {

namespace {

constexpr uint32_t mostStepRounds = 15;
constexpr uint32_t isolatedRounds = 7;
/// Of what is left, where the backend times steps by themselves.
constexpr double isolatedShare = 0.2;

Result<void> timeOnce(Executable& executable, std::span<const Tensor> inputs, MeasuredSide& side,
                      Progress& progress) {
    auto ran = timeRun(executable, inputs, progress);
    if (!ran)
        return failure(ran.error());
    side.totals.push_back(ran->seconds);
    side.byDevice = ran->byDevice;
    return {};
}

Result<void> timeSteps(Executable& executable, std::span<const Tensor> inputs, MeasuredSide& side,
                       Progress& progress) {
    auto ran = executable.run(inputs, {.stepSeconds = true}, progress);
    if (!ran)
        return failure(ran.error());
    side.stepNote = std::move(ran->stepTimingNote);
    side.stepSeconds.resize(ran->stepSeconds.size());
    for (size_t i = 0; i < ran->stepSeconds.size(); ++i)
        side.stepSeconds[i].push_back(ran->stepSeconds[i]);
    return {};
}

/// Both executables against one budget.
class Measuring {
public:
    Measuring(Executable& before, Executable& after, std::span<const Tensor> inputs,
              const MeasureOptions& options, Progress& progress)
        : m_before(before), m_after(after), m_inputs(inputs), m_options(options),
          m_progress(progress) {}

    Result<Measured> run() {
        if (auto ran = warmUp(); !ran)
            return failure(ran.error());
        if (m_watch.seconds() + m_round > m_options.seconds) {
            m_out.before = m_warm.before;
            m_out.after = m_warm.after;
            m_out.notes.push_back(fmt::format(
                "{:g} s of --seconds had room for one run of each side only: there is no interval, "
                "and no step was timed",
                m_options.seconds));
            return std::move(m_out);
        }
        if (auto ran = wholeRounds(); !ran)
            return failure(ran.error());
        auto timed = stepRounds();
        if (timed)
            timed = isolated();
        if (!timed && timed.error().code == "cancelled")
            return failure(timed.error());
        if (!timed) // what was measured as a whole is worth more than its parts
            m_out.after.stepNote = "not every step was timed: " + timed.error().text();
        return std::move(m_out);
    }

private:
    static constexpr double roundsThatLeaveRoom = 8;
    static constexpr double alwaysTwice = 0.5; ///< seconds, for which no budget is too small

    double left() const { return m_options.seconds - m_watch.seconds(); }

    template <typename Once> Result<void> round(Measured& out, Once once) {
        Stopwatch watch;
        for (auto [executable, side] : {std::pair(&m_before, &out.before), {&m_after, &out.after}})
            if (auto ran = once(*executable, m_inputs, *side, m_progress); !ran)
                return ran;
        m_round = watch.seconds();
        return {};
    }

    /// Twice where there is room or a round is short: a second run may plan what the first one only
    /// saw, such as bodies of loops whose shapes grow.
    Result<void> warmUp() {
        auto ran = round(m_warm, timeOnce);
        m_isolates = m_warm.after.byDevice;
        const bool hasRoom = m_watch.seconds() + roundsThatLeaveRoom * m_round <= m_options.seconds;
        if (!ran || !(hasRoom || m_round < alwaysTwice))
            return ran;
        Measured again;
        if (ran = round(again, timeOnce); !ran)
            return ran;
        for (auto [first, second] :
             {std::pair(&m_warm.before, &again.before), {&m_warm.after, &again.after}})
            if (second->totals < first->totals)
                *first = std::move(*second);
        return ran;
    }

    /// What rounds of the whole leave to rounds of steps, and to steps by themselves.
    double reserved() const {
        const double fit = std::floor(left() / m_round);
        const double steps = std::min<double>(mostStepRounds, std::floor((fit + 1) / 3));
        return steps * m_round + (m_isolates ? isolatedShare * left() : 0);
    }

    Result<void> wholeRounds() {
        const double reserve = reserved();
        const BusyWatch busy;
        for (uint32_t i = 0; i < m_options.maxRounds; ++i) {
            if (i > 0 && left() < reserve + m_round)
                break;
            m_progress.report("measure", i, m_options.maxRounds);
            if (auto ran = round(m_out, timeOnce); !ran)
                return ran;
        }
        m_out.othersBusy = busy.othersBusy();
        return {};
    }

    Result<void> stepRounds() {
        const double reserve = m_isolates ? isolatedShare * left() : 0;
        uint32_t rounds = 0;
        while (rounds < mostStepRounds && left() >= reserve + m_round) {
            if (auto ran = round(m_out, timeSteps); !ran)
                return ran;
            ++rounds;
        }
        if (rounds == 0)
            m_out.notes.push_back(fmt::format(
                "{:g} s of --seconds had no room for timing steps one by one", m_options.seconds));
        return {};
    }

    /// Steps by themselves, where the backend can; a step that cannot be timed has none.
    Result<void> isolated() {
        auto& times = m_out.after.isolated;
        times.resize(m_out.after.stepSeconds.size());
        for (size_t step = 0; step < times.size() && m_isolates; ++step) {
            if (m_progress.cancelled())
                return cancelledFailure("measure");
            if (left() <= 0) {
                m_out.notes.push_back(
                    fmt::format("{:g} s of --seconds had room for timing {} of {} steps by "
                                "themselves",
                                m_options.seconds, step, times.size()));
                return {};
            }
            auto one = m_after.timeIsolated(step, isolatedRounds);
            if (one)
                times[step] = std::move(*one);
            else if (one.error().code != "run.isolated")
                return failure(one.error());
        }
        return {};
    }

    Executable &m_before, &m_after;
    std::span<const Tensor> m_inputs;
    const MeasureOptions& m_options;
    Progress& m_progress;
    Stopwatch m_watch;
    double m_round = 0;      ///< seconds that the last round took
    bool m_isolates = false; ///< a device's clock: its steps are timed by themselves, too
    Measured m_warm, m_out;
};

} // namespace

Result<RunSeconds> timeRun(Executable& executable, std::span<const Tensor> inputs,
                           Progress& progress) {
    Stopwatch watch;
    auto ran = executable.run(inputs, {.deviceSeconds = true}, progress);
    if (!ran)
        return failure(ran.error());
    const double seconds = watch.seconds();
    return RunSeconds{ran->deviceSeconds.value_or(seconds), ran->deviceSeconds.has_value()};
}

Result<Measured> measure(Executable& before, Executable& after, std::span<const Tensor> inputs,
                         const MeasureOptions& options, Progress& progress) {
    return Measuring(before, after, inputs, options, progress).run();
}

} // namespace fuselage::app
