// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/prove/confirm_guard.h"

#include "app/pipeline/prove/judge.h"

#include <algorithm>

namespace fuselage::app {

namespace {

constexpr int mostGuards = 6;       ///< that are looked at, one refuted after the other
constexpr uint64_t mostDrawn = 600; ///< samples to confirm one guard
constexpr uint64_t mostTries = 12;  ///< graphs for one of them

/// So many that a failing one would be among them, but for one time in a hundred, if the guard did
/// nothing.
uint64_t enough(const Judged& judged) {
    const size_t all = judged.passing.size() + judged.failing.size();
    return std::min<uint64_t>(5 * all / judged.failing.size() + 8, mostDrawn);
}

} // namespace

Guard confirmedGuard(const PreparedRule& rule, Judged judged, uint64_t seed, Progress& progress) {
    Guard guard = separatingGuard(judged.passing, judged.failing);
    PairCoverage coverage;
    uint64_t attempt = 0;
    for (int round = 0; round < mostGuards && !guard.suggested.empty(); ++round) {
        const uint64_t wanted = judged.failing.empty() ? 0 : enough(judged);
        const uint64_t last = attempt + wanted * mostTries;
        uint64_t held = 0;
        bool isRefuted = false;
        while (held < wanted && !isRefuted && attempt < last && !progress.cancelled()) {
            Choices choices(sampleSeed(seed, ++attempt), coverage);
            auto sample = generateSample(rule, choices, progress);
            coverage.add(choices.structure());
            if (!sample || !guard.admits(sample->facts))
                continue;
            const Verdict verdict = judge(rule.rule, *sample, progress);
            if (verdict.kind == Verdict::Kind::Unfit)
                continue;
            isRefuted = verdict.kind == Verdict::Kind::Differs;
            (isRefuted ? judged.failing : judged.passing).push_back(std::move(sample->facts));
            ++held;
        }
        if (progress.cancelled())
            return {};
        if (!isRefuted) {
            guard.agreeing += held;
            return held > 0 ? guard : Guard();
        }
        guard = separatingGuard(judged.passing, judged.failing);
    }
    return {};
}

} // namespace fuselage::app
