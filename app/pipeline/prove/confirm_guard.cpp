// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/prove/confirm_guard.h"

#include "app/pipeline/prove/judge.h"
#include "core/algebra/exact_proof.h"

#include <algorithm>

namespace fuselage::app {

namespace {

constexpr int mostGuards = 16;      ///< that are looked at, one refuted after the other
constexpr uint64_t mostDrawn = 600; ///< samples to confirm one guard
constexpr uint64_t mostTries = 12;  ///< graphs for one of them
constexpr uint64_t fewestDrawn = 8; ///< of a guard that the exact level says nothing of
constexpr uint64_t drawnOfProved = 24;

/// So many that a failing one would be among them, but for one time in a hundred, if the guard did
/// nothing.
/// Two claims part samples by accident more often.
uint64_t enough(const Judged& judged, const Guard& guard) {
    const size_t all = judged.passing.size() + judged.failing.size();
    const uint64_t pairs = guard.claims.size() > 1 ? 4 : 1;
    return std::min<uint64_t>(pairs * (5 * all / judged.failing.size() + 8), mostDrawn);
}

} // namespace

Guard confirmedGuard(const PreparedRule& rule, Judged judged, uint64_t seed, Progress& progress) {
    uint64_t attempt = 0;
    std::set<std::string> refused;
    for (int round = 0; round < mostGuards && !progress.cancelled(); ++round) {
        Guard guard = separatingGuard(judged.passing, judged.failing, refused);
        const std::optional<Rule> mended = guard ? guarded(rule.rule, guard) : std::nullopt;
        if (!mended)
            return {};
        const auto prepared = prepareRule(*mended);
        const std::vector<GuardTerm> terms = guardTerms(*mended);
        const Judge judge(*mended);
        const bool isProved = proveExactly(*mended, progress).level != ExactProof::Level::None;
        if (!isProved && guard.isDoubtful()) {
            refused.insert(guard.suggested);
            continue;
        }
        const uint64_t wanted = isProved ? drawnOfProved : enough(judged, guard);
        const uint64_t last = attempt + wanted * mostTries;
        PairCoverage coverage;
        uint64_t held = 0;
        bool isRefuted = false;
        while (held < wanted && !isRefuted && attempt < last && !progress.cancelled()) {
            Choices choices(sampleSeed(seed, ++attempt), coverage);
            auto sample = generateSample(*prepared, choices, progress, terms);
            coverage.add(choices.structure());
            if (!sample)
                continue;
            const Verdict verdict = judge.of(*sample, progress);
            if (verdict.kind == Verdict::Kind::Unfit)
                continue;
            isRefuted = verdict.kind == Verdict::Kind::Differs;
            (isRefuted ? judged.failing : judged.passing).push_back(std::move(sample->facts));
            ++held;
        }
        if (isRefuted)
            continue;
        guard.agreeing += held;
        guard.isProved = isProved;
        return held >= fewestDrawn || (isProved && held > 0) ? guard : Guard();
    }
    return {};
}

} // namespace fuselage::app
