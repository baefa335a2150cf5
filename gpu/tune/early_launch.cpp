// SPDX-License-Identifier: Apache-2.0
#include "gpu/tune/early_launch.h"

#include "core/plan/statistics.h"
#include "core/support/hash.h"
#include "gpu/tune/cache_edit.h"
#include "gpu/tune/left_out.h"
#include "gpu/tune/tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fuselage::gpu {

// In this order: of equals the smaller name is taken.
const char *const apartLaunch = "apart", *const earlyLaunch = "early_launch";

namespace {

constexpr int comparedRuns = 3; ///< early ones: what is wrong need not be so each time
constexpr double leastRounds = 3, mostRounds = 11, mostTimes = 50;
// Microseconds. Launches are no part that counts of a run that is longer than the last one.
constexpr double shortestBatch = 500, budget = 1e6, longestRun = 1e5;

const CandidateRecord* find(const TimingEntry* entry, const char* name) {
    if (entry != nullptr)
        for (const CandidateRecord& record : *entry)
            if (record.name == name)
                return &record;
    return nullptr;
}

CandidateRecord recordOf(const char* name, const std::vector<double>& times) {
    CandidateRecord out;
    out.name = name;
    out.median = quantileOf(times, 0.5);
    out.spread = quantileOf(times, 0.9) - quantileOf(times, 0.1);
    out.rounds = static_cast<uint32_t>(times.size());
    return out;
}

} // namespace

EarlyLaunch::EarlyLaunch(TimingCache& cache, TacticKey key, bool mayMeasure,
                         const std::vector<std::string>& without)
    : m_cache(cache), m_key(std::move(key)) {
    const TimingEntry* known = m_cache.find(m_key);
    const CandidateRecord* early = find(known, earlyLaunch);
    if (auto why = whyLeftOut(earlyLaunch, true, without, condemnedFamilies(m_cache, m_key))) {
        m_wanted = false;
        m_note = "kernels are not launched early: " + why->message;
    } else if (early != nullptr) {
        m_wanted = verdict();
    } else {
        m_wanted = mayMeasure;
    }
}

bool EarlyLaunch::verdict() {
    const TimingEntry* entry = m_cache.find(m_key);
    const CandidateRecord *apart = find(entry, apartLaunch), *early = find(entry, earlyLaunch);
    if (early == nullptr)
        return false;
    if (!early->refused.empty()) {
        m_note = "kernels are not launched early: " + early->why;
        return false;
    }
    const CandidateRecord* chosen = chosenOf(*entry);
    const bool taken = chosen == early && apart != nullptr;
    m_note = fmt::format("kernels are {}launched early: {:.1f} us {} {:.1f} us",
                         taken ? "" : "not ", apart ? apart->median : 0.0,
                         taken ? "->" : "without it, with it", early->median);
    return taken;
}

void EarlyLaunch::refuse(const std::string& why) {
    m_wanted = false;
    m_note = why.empty() ? "" : "kernels are not launched early: " + why;
}

void EarlyLaunch::condemn(const char* code, const std::string& why) {
    CandidateRecord record;
    record.name = earlyLaunch;
    record.refused = code;
    record.why = why;
    m_cache.add(m_key, {std::move(record)});
    m_learned = true;
}

Result<bool> EarlyLaunch::compare(const EarlyTrial& trial) {
    std::vector<std::byte> wanted;
    for (int run = 0; run < 2 + comparedRuns; ++run) {
        const bool early = run >= 2;
        auto ready = trial.reset();
        auto ran = ready ? trial.run(early, 1) : failure(ready.error());
        if (ran && *ran > longestRun) {
            refuse(fmt::format("a run takes {:.0f} ms, of which launches are little", *ran / 1e3));
            return false;
        }
        auto results = ran ? trial.results() : failure(ran.error());
        if (!results) {
            m_lost = early && endsDevice(results.error());
            if (m_lost || endsDevice(results.error()))
                return failure(results.error());
            if (early && results.error().code != "device.memory")
                condemn("first-call", "it failed: " + results.error().text());
            else
                refuse("the plan could not be tried: " + results.error().text());
            return false;
        }
        if (run == 0) {
            wanted = std::move(*results);
        } else if (*results != wanted && !early) {
            refuse("results differ from run to run without it, so they cannot be compared");
            return false;
        } else if (*results != wanted) {
            condemn("wrong-result", "its results are not those of kernels that run apart");
            return false;
        }
    }
    return true;
}

Result<void> EarlyLaunch::measure(const EarlyTrial& trial) {
    auto once = trial.run(false, 1);
    if (!once)
        return failure(once.error());
    const double run = std::max(*once, 1.0);
    const auto times = static_cast<uint32_t>(std::min(std::ceil(shortestBatch / run), mostTimes));
    const auto rounds =
        static_cast<uint32_t>(std::clamp(budget / (2 * times * run), leastRounds, mostRounds));
    std::vector<double> apart, early;
    for (uint32_t round = 0; round < rounds; ++round)
        for (const bool second : {false, true}) {
            const bool isEarly = second != (round % 2 == 1); // each goes first in turn
            auto ran = trial.run(isEarly, times);
            if (!ran) {
                m_lost = isEarly && endsDevice(ran.error());
                return failure(ran.error());
            }
            (isEarly ? early : apart).push_back(*ran);
        }
    m_cache.add(m_key, {recordOf(apartLaunch, apart), recordOf(earlyLaunch, early)});
    m_learned = true;
    return {};
}

Result<bool> EarlyLaunch::decide(const EarlyTrial& trial) {
    if (!m_wanted)
        return false;
    if (find(m_cache.find(m_key), earlyLaunch) != nullptr)
        return verdict();
    auto same = compare(trial);
    if (!same)
        return failure(same.error());
    if (*same) {
        if (auto measured = measure(trial); !measured) {
            if (m_lost || endsDevice(measured.error()))
                return failure(measured.error());
            refuse("it could not be measured: " + measured.error().text());
            return false;
        }
    }
    return m_wanted && verdict();
}

TacticKey earlyLaunchKey(const std::vector<PlannedTactic>& steps) {
    TacticKey out;
    size_t count = 0;
    Hasher hasher;
    hasher.text("early launch");
    for (const PlannedTactic& step : steps) {
        hasher.text(step.key.hash).text(step.name);
        if (step.key.hash.empty())
            continue;
        ++count;
        out.device = step.key.device;
        out.software = step.key.software;
    }
    out.step = fmt::format("Plan of {} steps, its kernels launched early or apart", count);
    out.hash = hasher.text(out.step).text(out.device).text(out.software).hex();
    return out;
}

} // namespace fuselage::gpu
