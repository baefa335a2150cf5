// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/sampled_plans.h"

#include "app/pipeline/scatter.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <random>

namespace fuselage::bench {

namespace {

/// Both plans run in turns: the fastest run of each, since what shares the machine only adds.
struct Pair {
    double chosen = std::numeric_limits<double>::infinity(), other = chosen;
};

Result<double> secondsOfRun(Executable& executable, std::span<const Tensor> inputs) {
    Progress progress;
    const auto start = std::chrono::steady_clock::now();
    if (auto ran = executable.outputs(inputs, progress); !ran)
        return failure(ran.error());
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    return took.count();
}

Result<Pair> race(Executable& chosen, Executable& other, std::span<const Tensor> inputs,
                  double seconds) {
    constexpr int leastRounds = 5;
    Pair out;
    double spent = 0;
    for (int round = 0; round <= leastRounds || spent < seconds; ++round) {
        auto first = secondsOfRun(chosen, inputs);
        if (!first)
            return failure(first.error());
        auto second = secondsOfRun(other, inputs);
        if (!second)
            return failure(second.error());
        if (round == 0) // memory is touched for the first time
            continue;
        out.chosen = std::min(out.chosen, *first);
        out.other = std::min(out.other, *second);
        spent += *first + *second;
    }
    return out;
}

std::vector<MatchKey> someOf(const std::vector<app::MatchReport>& matches, uint64_t seed) {
    // From nearly the chosen plan to a plan with half of it.
    constexpr std::array oneOf{16U, 8U, 4U, 2U};
    std::mt19937_64 random(seed);
    std::vector<MatchKey> out;
    for (const app::MatchReport& match : matches)
        if (random() % oneOf[seed % oneOf.size()] == 0) {
            MatchKey key{match.rule, match.nodes};
            std::sort(key.nodes.begin(), key.nodes.end());
            out.push_back(std::move(key));
        }
    return out;
}

} // namespace

Result<Regret> regretOf(const app::LoadedModel& model, const app::RuleLibrary& library,
                        const app::AnalysisOptions& options, const app::Analysis& chosen,
                        Backend& backend, std::span<const Tensor> inputs,
                        const RegretOptions& regret) {
    Progress progress;
    auto ours = backend.prepare(chosen.after.plan, progress);
    if (!ours)
        return failure(ours.error());
    Regret out;
    out.matches = chosen.report.matches.size();
    std::vector<app::ScatterPoint> plans; // measured in units of the chosen plan's time
    plans.push_back({"chosen", "plan", chosen.after.plan->totalPredicted().seconds, 1});
    double least = 1;
    std::unique_ptr<Executable> best;
    for (int i = 0; i < regret.plans; ++i) {
        app::AnalysisOptions sampled = options;
        sampled.fuse.disabled = someOf(chosen.report.matches, static_cast<uint64_t>(i));
        if (sampled.fuse.disabled.empty())
            continue;
        auto analysis = app::analyse(model, library, sampled, progress);
        if (!analysis)
            return failure(analysis.error());
        auto other = backend.prepare(analysis->after.plan, progress);
        if (!other)
            return failure(other.error());
        auto times = race(**ours, **other, inputs, regret.seconds);
        if (!times)
            return failure(times.error());
        ++out.plans;
        const double share = times->other / times->chosen;
        plans.push_back({"sampled", "plan", analysis->after.plan->totalPredicted().seconds, share});
        if (share < least) {
            least = share;
            best = std::move(*other);
            out.switchedOff = sampled.fuse.disabled.size();
        }
    }
    out.planTau = app::summarise(plans).tau;
    if (!best)
        return out;
    // The best of many is partly luck: what counts is another race.
    constexpr double longer = 3;
    auto again = race(**ours, *best, inputs, longer * regret.seconds);
    if (!again)
        return failure(again.error());
    out.regret = std::max(0.0, again->chosen / again->other - 1);
    return out;
}

} // namespace fuselage::bench
