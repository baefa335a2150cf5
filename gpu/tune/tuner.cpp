// SPDX-License-Identifier: Apache-2.0
#include "gpu/tune/tuner.h"

#include "core/plan/statistics.h"
#include "gpu/tune/ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace fuselage::gpu {

namespace {

double median(const std::vector<double>& times) {
    return quantileOf(times, 0.5);
}

double spread(const std::vector<double>& times) {
    return quantileOf(times, 0.9) - quantileOf(times, 0.1);
}

/// One candidate while it is measured; times are microseconds of one run.
struct Contestant {
    size_t index = 0;
    uint32_t runs = 1; ///< in a batch
    std::vector<double> clean, unsteady;
    bool eliminated = false;
    std::string failed, why;

    bool running() const { return !eliminated && failed.empty(); }
};

class Contest {
public:
    Contest(const std::vector<TuneCandidate>& candidates, const std::vector<size_t>& which,
            Measurer& measurer, const MeasureRules& rules, Progress& progress)
        : m_candidates(candidates), m_measurer(measurer), m_rules(rules), m_progress(progress),
          m_contestants(which.size()) {
        for (size_t i = 0; i < which.size(); ++i)
            m_contestants[i].index = which[i];
    }

    Result<TimingEntry> run();

    /// The record of the candidate with which the device went.
    std::optional<CandidateRecord> culprit() const {
        return m_culprit ? std::optional(record(*m_culprit)) : std::nullopt;
    }

private:
    Result<std::optional<BatchTiming>> batch(Contestant& contestant);
    Result<void> chooseRuns(Contestant& contestant);
    Result<bool> round(size_t number);
    void eliminate();
    bool settled() const;
    const Contestant* leader() const;
    CandidateRecord record(const Contestant& contestant) const;

    const std::vector<TuneCandidate>& m_candidates;
    Measurer& m_measurer;
    const MeasureRules& m_rules;
    Progress& m_progress;
    std::vector<Contestant> m_contestants;
    const Contestant* m_culprit = nullptr;
    uint32_t m_clean = 0, m_dropped = 0;
};

/// None: the candidate failed and is out.
Result<std::optional<BatchTiming>> Contest::batch(Contestant& contestant) {
    if (m_progress.cancelled())
        return cancelledFailure("tuning");
    auto timed =
        m_measurer.measure(contestant.index, contestant.runs,
                           deadlineOf(m_candidates[contestant.index], contestant.runs, m_rules));
    if (!timed && timed.error().code == "cancelled")
        return failure(timed.error());
    if (timed && std::isfinite(timed->seconds) && timed->seconds > 0)
        return std::optional(*timed);
    contestant.failed = timed ? "measure" : timed.error().code;
    contestant.why = timed ? "its time was not positive" : timed.error().text();
    if (!timed && endsDevice(timed.error())) {
        m_culprit = &contestant;
        return failure(timed.error());
    }
    return std::optional<BatchTiming>();
}

/// Enough runs that a batch is long against the resolution of the clock; the first ones warm up.
Result<void> Contest::chooseRuns(Contestant& contestant) {
    while (true) {
        auto timed = batch(contestant);
        if (!timed)
            return failure(timed.error());
        if (!*timed || (*timed)->seconds >= m_rules.batchSeconds ||
            contestant.runs >= m_rules.mostRuns)
            return {};
        // A tenth more than needed, so that the last step rarely needs another one.
        const double wanted = 1.1 * contestant.runs * m_rules.batchSeconds / (*timed)->seconds;
        contestant.runs = static_cast<uint32_t>(
            std::clamp(wanted, contestant.runs + 1.0, static_cast<double>(m_rules.mostRuns)));
    }
}

/// True: the round counts. All of its batches are kept apart when one of them was disturbed.
Result<bool> Contest::round(size_t number) {
    bool steady = true;
    std::vector<std::pair<Contestant*, double>> timed;
    for (size_t i = 0; i < m_contestants.size(); ++i) {
        Contestant& at = m_contestants[(i + number) % m_contestants.size()];
        if (!at.running())
            continue;
        auto took = batch(at);
        if (!took)
            return failure(took.error());
        if (!*took)
            continue;
        steady &= !(*took)->clockChanged && !(*took)->throttled;
        timed.emplace_back(&at, (*took)->seconds / at.runs * 1e6);
    }
    for (auto& [contestant, microseconds] : timed)
        (steady ? contestant->clean : contestant->unsteady).push_back(microseconds);
    return steady;
}

const Contestant* Contest::leader() const {
    const Contestant* best = nullptr;
    for (const Contestant& at : m_contestants)
        if (at.running() && !at.clean.empty() && (!best || median(at.clean) < median(best->clean)))
            best = &at;
    return best;
}

void Contest::eliminate() {
    const Contestant* best = leader();
    if (!best || m_clean < 2)
        return;
    const double slowest = *std::max_element(best->clean.begin(), best->clean.end());
    const double limit = slowest * (m_clean == 2 ? m_rules.hopelessEarly : m_rules.hopelessLater);
    for (Contestant& at : m_contestants)
        if (&at != best && at.running() && !at.clean.empty())
            at.eliminated = *std::min_element(at.clean.begin(), at.clean.end()) >
                            std::max(limit, slowest + tieBand(slowest));
}

/// Enough rounds, and the leader's spread is no larger than what counts as a tie.
bool Contest::settled() const {
    if (m_clean < m_rules.rounds)
        return false;
    const Contestant* best = leader();
    if (!best || m_clean >= m_rules.mostRounds)
        return true;
    return spread(best->clean) <= tieBand(median(best->clean));
}

CandidateRecord Contest::record(const Contestant& contestant) const {
    CandidateRecord out = recordOf(m_candidates[contestant.index]);
    auto note = [&](const std::string& text) {
        out.notes += (out.notes.empty() ? "" : "; ") + text;
    };
    if (!contestant.failed.empty()) {
        out.refused = contestant.failed;
        out.why = contestant.why;
        return out;
    }
    std::vector<double> times = contestant.clean;
    // A device that never holds its clock must not stop the plan; the figures say so.
    if (m_clean < m_rules.rounds) {
        times.insert(times.end(), contestant.unsteady.begin(), contestant.unsteady.end());
        note(fmt::format("unsteady clock in {} of {} rounds", m_dropped, m_clean + m_dropped));
    }
    out.median = median(times);
    out.spread = spread(times);
    out.rounds = static_cast<uint32_t>(times.size());
    out.eliminated = contestant.eliminated;
    if (out.spills != 0)
        note(fmt::format("spills {} bytes a thread", out.spills));
    return out;
}

Result<TimingEntry> Contest::run() {
    for (Contestant& contestant : m_contestants)
        if (auto chosen = chooseRuns(contestant); !chosen)
            return failure(chosen.error());
    for (size_t number = 0; !settled() && m_dropped < m_rules.mostDropped; ++number) {
        if (std::none_of(m_contestants.begin(), m_contestants.end(),
                         [](const Contestant& at) { return at.running(); }))
            break;
        auto steady = round(number);
        if (!steady)
            return failure(steady.error());
        (*steady ? m_clean : m_dropped) += 1;
        if (*steady)
            eliminate();
    }
    TimingEntry out;
    for (const Contestant& contestant : m_contestants)
        out.push_back(record(contestant));
    return out;
}

} // namespace

std::optional<Reason> whyIllegal(const TacticFacts& facts, NumericClass allowed,
                                 int64_t workspaceLimit) {
    if (facts.numeric > allowed)
        return Reason{
            "numeric-class",
            fmt::format("computes {}, allowed is {}", nameOf(facts.numeric), nameOf(allowed)),
            "",
            {}};
    const int64_t asked = facts.workspaceBytes - facts.valueBytes;
    if (asked > workspaceLimit)
        return Reason{
            "workspace",
            fmt::format("needs {} bytes of workspace, the limit is {}", asked, workspaceLimit),
            "raise --workspace",
            {}};
    return std::nullopt;
}

Legality legalCandidates(std::vector<TuneCandidate> candidates, NumericClass allowed,
                         int64_t workspaceLimit) {
    Legality out;
    for (TuneCandidate& candidate : candidates) {
        const auto reason = whyIllegal(candidate.facts, allowed, workspaceLimit);
        if (!reason) {
            out.legal.push_back(std::move(candidate));
            continue;
        }
        CandidateRecord record = recordOf(candidate);
        record.refused = reason->code;
        record.why = reason->message;
        out.refused.push_back(std::move(record));
    }
    return out;
}

double deadlineOf(const TuneCandidate& candidate, uint32_t runs, const MeasureRules& rules) {
    return rules.deadlineSeconds + rules.deadlineTimes * candidate.predictedSeconds * runs;
}

CandidateRecord recordOf(const TuneCandidate& candidate) {
    CandidateRecord out;
    out.name = candidate.name;
    out.fallback = candidate.facts.fallback;
    out.deterministic = candidate.facts.deterministic;
    out.workspace = candidate.facts.workspaceBytes;
    out.registers = candidate.facts.registers;
    out.spills = candidate.facts.localBytes;
    out.numeric = candidate.facts.numeric;
    out.notes = candidate.facts.notes;
    return out;
}

bool endsDevice(const Error& error) {
    return error.code == "device.lost" || error.code == "device.hung";
}

Result<TuneOutcome> measureCandidates(const std::vector<TuneCandidate>& candidates,
                                      const std::vector<size_t>& which, Measurer& measurer,
                                      const MeasureRules& rules, Progress& progress) {
    Contest contest(candidates, which, measurer, rules, progress);
    auto entry = contest.run();
    if (entry)
        return TuneOutcome{std::move(*entry), {}};
    auto culprit = contest.culprit();
    if (!culprit)
        return failure(entry.error());
    return TuneOutcome{{std::move(*culprit)}, entry.error()};
}

} // namespace fuselage::gpu
