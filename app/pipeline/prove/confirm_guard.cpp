// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/prove/confirm_guard.h"

#include "app/pipeline/prove/judge.h"
#include "core/algebra/exact_proof.h"

#include <algorithm>
#include <limits>
#include <random>

namespace fuselage::app {

namespace {

constexpr int mostGuards = 16;      ///< that are looked at, one refuted after the other
constexpr uint64_t mostDrawn = 600; ///< samples to confirm one guard
constexpr uint64_t mostTries = 12;  ///< graphs for one of them
constexpr uint64_t fewestDrawn = 8; ///< of a guard that the exact level says nothing of
constexpr uint64_t drawnOfProved = 24;
constexpr int mostChanged = 4000; ///< samples to look around one guard
/// Nodes of such samples for a guard that too few are left to confirm, which is dropped anyway: it
/// is looked around only to learn what another one must say.
constexpr int64_t fewNodes = 6000, allNodes = std::numeric_limits<int64_t>::max();
constexpr uint32_t mostChanges = 4; ///< of the choices of one

/// So many that a failing one would be among them, but for one time in a hundred, if the guard did
/// nothing.
/// Two claims part samples by accident more often.
uint64_t enough(const Judged& judged, const Guard& guard) {
    const size_t all = judged.passing.size() + judged.failing.size();
    const uint64_t pairs = guard.claims.size() > 1 ? 4 : 1;
    return std::min<uint64_t>(pairs * (5 * all / judged.failing.size() + 8), mostDrawn);
}

/// A few decisions are others, gone or new.
std::vector<uint32_t> changed(std::vector<uint32_t> choices, std::mt19937_64& random) {
    constexpr uint32_t highest = 4;
    for (uint64_t changes = 1 + random() % mostChanges; changes > 0 && !choices.empty();
         --changes) {
        const auto at = choices.begin() + static_cast<std::ptrdiff_t>(random() % choices.size());
        const auto answer = static_cast<uint32_t>(random() % highest);
        switch (random() % 4) {
        case 0:
            choices.erase(at);
            break;
        case 1:
            choices.insert(at, answer);
            break;
        default:
            *at = answer;
        }
    }
    return choices;
}

/// Looks for a way around a guard: what is like the samples at hand, is in the guard and differs.
/// It is among the failing ones of `judged` then.
bool isRefutedNearby(const PreparedRule& rule, const Guard& guard, uint64_t seed, int64_t nodes,
                     Judged& judged, Progress& progress) {
    const Judge judge(rule.rule);
    const std::vector<GuardTerm> terms = guardTerms(rule.rule);
    std::mt19937_64 random(seed);
    for (int tried = 0; tried < mostChanged && nodes > 0 && !progress.cancelled(); ++tried) {
        const bool isFromFailing = judged.agreed.empty() || random() % 2 == 0;
        const auto& from = isFromFailing ? judged.differed : judged.agreed;
        Choices choices(changed(from[random() % from.size()], random));
        auto sample = generateSample(rule, choices, progress, terms);
        nodes -= sample ? static_cast<int64_t>(sample->graph.nodes().size()) : 1;
        if (!sample || !guard.admits(sample->facts))
            continue;
        const Verdict verdict = judge.of(*sample, progress);
        if (verdict.kind == Verdict::Kind::Unfit)
            continue;
        const bool isRefuted = verdict.kind == Verdict::Kind::Differs;
        (isRefuted ? judged.failing : judged.passing).push_back(std::move(sample->facts));
        if (isRefuted)
            return true;
    }
    return false;
}

} // namespace

Guard confirmedGuard(const PreparedRule& rule, Judged judged, uint64_t seed, Progress& progress) {
    uint64_t attempt = 0;
    std::set<std::string> refused;
    // What is wrong only where the reals say nothing is not mended by what they say.
    std::optional<ExactProof::Level> without; // the guard; asked for when it matters
    const auto isRealAnyway = [&] {
        if (!without)
            without = proveExactly(rule.rule, progress).level;
        return *without == ExactProof::Level::Reals;
    };
    for (int round = 0; round < mostGuards && !progress.cancelled(); ++round) {
        Guard guard = separatingGuard(judged.passing, judged.failing, refused);
        const std::optional<Rule> mended = guard ? guarded(rule.rule, guard) : std::nullopt;
        if (!mended)
            return {};
        const auto prepared = prepareRule(*mended);
        const std::vector<GuardTerm> terms = guardTerms(*mended);
        const Judge judge(*mended);
        const ExactProof::Level level = proveExactly(*mended, progress).level;
        const bool isProved = level == ExactProof::Level::Bits ||
                              (level == ExactProof::Level::Reals && !isRealAnyway());
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
        const bool isConfirmed = held >= (isProved ? 1 : fewestDrawn);
        if (isRefuted ||
            (!isProved && isRefutedNearby(rule, guard, seed + attempt,
                                          isConfirmed ? allNodes : fewNodes, judged, progress)))
            continue;
        guard.agreeing += held;
        guard.isProved = isProved;
        return isConfirmed ? guard : Guard();
    }
    return {};
}

} // namespace fuselage::app
