// SPDX-License-Identifier: Apache-2.0
#include "gpu/tune/tune_steps.h"

#include "core/support/parallel.h"
#include "gpu/tune/candidate_check.h"
#include "gpu/tune/first_candidates.h"
#include "gpu/tune/left_out.h"
#include "gpu/tune/ranking.h"
#include "gpu/tune/timing_line.h"
#include "gpu/tune/tune_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

namespace fuselage::gpu {

namespace {

class Tuning {
public:
    Tuning(std::vector<TuneTask> tasks, const TuneContext& context, TimingCache& cache,
           Progress& progress)
        : m_context(context), m_cache(cache), m_progress(progress), m_threads(context.threads) {
        std::set<std::string, std::less<>> condemned;
        if (!tasks.empty()) { // all of one device and its software
            condemned = condemnedFamilies(cache, tasks.front().key);
            m_ranHere = measuredFamilies(cache, tasks.front().key);
        }
        for (TuneTask& task : tasks)
            m_works.push_back(tuneWorkOf(std::move(task), context.options.without, condemned));
    }

    Result<std::vector<TunedStep>> run();

private:
    std::vector<size_t> unknown() const;
    bool knows(const TuneWork& work) const;
    bool measuredOnce(const TuneWork& work) const;
    Failure frozen(const std::vector<size_t>& tasks) const;
    bool build(OfferedTactic& candidate);
    void buildAll(const std::vector<OfferedTactic*>& all);
    std::vector<OfferedTactic*> everyOf(const std::vector<size_t>& tasks);
    std::vector<OfferedTactic*> firstOf(const std::vector<size_t>& tasks);
    bool isLate() const;
    double predictedSeconds(const TuneWork& work, const std::string& tactic) const;
    TimingEntry knownCondemned(const TuneWork& work) const;
    Result<TuneOutcome> checkAndMeasure(TuneWork& work, const std::vector<TuneCandidate>& legal,
                                        Measurer& measurer);
    void keep(TuneWork& work, const TimingEntry& records);
    void giveBackOthers(TuneWork& work);
    Result<void> measure(TuneWork& work);
    Result<void> measureUntilUseful(TuneWork& work);
    bool buildNext(TuneWork& work);
    void putOff(TuneWork& work);
    TimingEntry predicted(const TuneWork& work) const;
    std::optional<Reason> whyNot(const CandidateRecord& record, TuneWork& work);
    std::vector<CandidateRecord> unmeasured(const TimingEntry& entry, const TuneWork& work) const;
    OfferedTactic* take(const CandidateRecord& record, TuneWork& work);
    Result<TunedStep> choose(TuneWork& work);
    Failure nothing(const TuneWork& work) const;

    const TuneContext& m_context;
    TimingCache& m_cache;
    Progress& m_progress;
    ThreadPool m_threads;
    std::vector<TuneWork> m_works;
    std::set<TacticKey> m_unmeasured; ///< for a reason of today: their choices are predicted
    std::chrono::steady_clock::time_point m_start = std::chrono::steady_clock::now();
    std::set<std::string, std::less<>> m_ranHere; ///< beginnings of names that were measured here
};

bool Tuning::build(OfferedTactic& candidate) {
    if (candidate.tried)
        return !candidate.failed;
    candidate.tried = true;
    if (m_context.built != nullptr)
        ++*m_context.built;
    if (auto built = candidate.tactic->build(m_progress); !built)
        candidate.failed = built.error();
    return !candidate.failed;
}

/// A first result is late: what is not measured by now is predicted.
bool Tuning::isLate() const {
    const double limit = m_context.options.firstSeconds;
    return !m_context.options.tune && limit > 0 &&
           std::chrono::duration<double>(std::chrono::steady_clock::now() - m_start).count() >
               limit;
}

/// Every candidate that is offered has a record: a cache made without some library is completed,
/// and with --tune so is one that a first result left.
bool Tuning::knows(const TuneWork& work) const {
    const TimingEntry* entry = m_cache.find(work.task.key);
    return entry &&
           std::all_of(work.candidates.begin(), work.candidates.end(),
                       [&](const OfferedTactic& candidate) {
                           return std::any_of(
                               entry->begin(), entry->end(), [&](const CandidateRecord& record) {
                                   return record.name == candidate.name &&
                                          !(m_context.options.tune && isPutOff(record));
                               });
                       });
}

/// The key has more than candidates that must not run.
bool Tuning::measuredOnce(const TuneWork& work) const {
    const TimingEntry* entry = m_cache.find(work.task.key);
    return entry && !std::all_of(entry->begin(), entry->end(), isCondemned);
}

/// The first task of every key that must be measured; with --frozen, of every key without records.
std::vector<size_t> Tuning::unknown() const {
    std::map<TacticKey, size_t> first;
    for (size_t i = 0; i < m_works.size(); ++i)
        if (m_context.options.frozen ? !measuredOnce(m_works[i]) : !knows(m_works[i]))
            first.emplace(m_works[i].task.key, i);
    std::vector<size_t> out;
    for (const auto& [key, index] : first)
        out.push_back(index);
    std::sort(out.begin(), out.end());
    return out;
}

Failure Tuning::frozen(const std::vector<size_t>& tasks) const {
    const TuneTask& task = m_works[tasks.front()].task;
    std::string message = "the timing cache does not know the key `" + task.key.text() + "`";
    if (tasks.size() > 1)
        message += fmt::format(", nor {} other keys", tasks.size() - 1);
    return failure("tune.frozen", message, task.step,
                   "run once without --frozen on this device with --timing-cache");
}

std::vector<OfferedTactic*> Tuning::everyOf(const std::vector<size_t>& tasks) {
    std::vector<OfferedTactic*> out;
    for (size_t task : tasks)
        for (OfferedTactic& candidate : m_works[task].candidates)
            out.push_back(&candidate);
    return out;
}

/// One of each task first, so that there is a result of predicted choices at any time.
std::vector<OfferedTactic*> Tuning::firstOf(const std::vector<size_t>& tasks) {
    std::vector<std::vector<OfferedCandidate>> offered;
    for (size_t task : tasks) {
        std::vector<OfferedCandidate>& of = offered.emplace_back();
        for (const OfferedTactic& candidate : m_works[task].candidates)
            of.push_back(
                {candidate.name, predictedSeconds(m_works[task], candidate.name), candidate.plain});
    }
    std::vector<OfferedTactic*> out;
    for (const FirstCandidate& first : firstCandidates(offered, m_context.options.firstCandidates))
        out.push_back(&m_works[tasks[first.key]].candidates[first.candidate]);
    return out;
}

/// As many at a time as there are threads.
void Tuning::buildAll(const std::vector<OfferedTactic*>& all) {
    std::atomic<size_t> done = 0;
    m_threads.forRange(all.size(), 1, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end && !m_progress.cancelled() && !isLate(); ++i) {
            build(*all[i]);
            m_progress.report("build tactics", ++done, all.size());
        }
    });
}

double Tuning::predictedSeconds(const TuneWork& work, const std::string& tactic) const {
    const auto known = work.task.seconds.find(tactic);
    return known != work.task.seconds.end()
               ? known->second
               : predictSeconds(work.task.predicted, tacticEfficiency(tactic), 1,
                                m_context.overlap);
}

/// What is not run again, whoever found out.
TimingEntry Tuning::knownCondemned(const TuneWork& work) const {
    TimingEntry out;
    if (const TimingEntry* entry = m_cache.find(work.task.key))
        std::copy_if(entry->begin(), entry->end(), std::back_inserter(out), isCondemned);
    return out;
}

/// Every candidate is compared before any is measured.
Result<TuneOutcome> Tuning::checkAndMeasure(TuneWork& work, const std::vector<TuneCandidate>& legal,
                                            Measurer& measurer) {
    TrialJournal unwritten;
    TrialJournal& journal = m_context.journal ? *m_context.journal : unwritten;
    auto checked = checkCandidates({work.task.key, legal, work.task.hostMayJudge, m_context.rules},
                                   measurer, journal, m_progress);
    if (!checked)
        return failure(checked.error());
    if (checked->deviceGone)
        return TuneOutcome{{*checked->culprit}, checked->deviceGone};
    auto measured = measureCandidates(legal, checked->sound, measurer, m_context.rules, m_progress);
    if (!measured || measured->deviceGone)
        return measured;
    for (size_t i = 0; i < checked->sound.size(); ++i) {
        const std::string& note = checked->notes[checked->sound[i]];
        std::string& notes = measured->entry[i].notes;
        notes += (notes.empty() || note.empty() ? "" : "; ") + note;
    }
    measured->entry.insert(measured->entry.end(), checked->refused.begin(), checked->refused.end());
    return measured;
}

/// Memory that is in use today says nothing of tomorrow. What the driver refuses for another reason
/// it refuses again, and the key would stay unknown; a changed kernel or driver is another key.
void Tuning::keep(TuneWork& work, const TimingEntry& records) {
    TimingEntry lasting;
    for (const CandidateRecord& record : records) {
        if (record.refused == "device.memory")
            work.reasons.push_back(reasonOf(record));
        else
            lasting.push_back(record);
    }
    if (!lasting.empty())
        m_cache.add(work.task.key, lasting);
}

/// Packed weights of all candidates of all keys would add up on the device.
void Tuning::giveBackOthers(TuneWork& work) {
    const TimingEntry* entry = m_cache.find(work.task.key);
    const std::vector<size_t> order = entry ? ranking(*entry) : std::vector<size_t>{};
    for (OfferedTactic& candidate : work.candidates)
        if (!order.empty() && candidate.name != (*entry)[order.front()].name && candidate.tried &&
            !candidate.failed && !candidate.given && !candidate.tactic->facts().fallback) {
            candidate.tactic.reset();
            candidate.given = true;
        }
}

void Tuning::putOff(TuneWork& work) {
    m_unmeasured.insert(work.task.key);
    work.reasons.push_back({"put-off",
                            fmt::format("not measured: a first result waits for {:g} s",
                                        m_context.options.firstSeconds),
                            "measure all with --tune, or bench",
                            {}});
}

Result<void> Tuning::measure(TuneWork& work) {
    std::vector<TuneCandidate> built;
    TimingEntry records = knownCondemned(work);
    for (const OfferedTactic& candidate : work.candidates) {
        if (std::any_of(records.begin(), records.end(), [&](const CandidateRecord& record) {
                return isCondemned(record) && record.name == candidate.name;
            }))
            continue;
        if (candidate.given) // measured before
            continue;
        if (!candidate.tried)
            records.push_back(putOffRecord(candidate.name));
        else if (candidate.failed)
            records.push_back(failedBuild(candidate));
        else
            built.push_back({candidate.name, candidate.tactic->facts(),
                             predictedSeconds(work, candidate.name)});
    }
    Legality legality =
        legalCandidates(std::move(built), work.task.allowed, m_context.options.workspaceLimit);
    records.insert(records.end(), legality.refused.begin(), legality.refused.end());
    if (!legality.legal.empty()) {
        std::vector<Tactic*> tactics;
        for (const TuneCandidate& candidate : legality.legal)
            tactics.push_back(work.named(candidate.name)->tactic.get());
        auto measurer = m_context.device->open(work.task, tactics);
        if (!measurer && (endsDevice(measurer.error()) || measurer.error().code == "cancelled"))
            return failure(measurer.error());
        if (!measurer) { // costs this key its measurement and no other one anything
            const Error& error = measurer.error();
            work.reasons.push_back({error.code, "not measured: " + error.text(), error.fix, {}});
            m_unmeasured.insert(work.task.key);
            return {};
        }
        auto measured = checkAndMeasure(work, legality.legal, **measurer);
        if (!measured)
            return failure(measured.error());
        if (measured->deviceGone) {
            keep(work, measured->entry);
            // A person who ends the program does not want it started again.
            if (m_context.deviceGone && !m_progress.cancelled())
                m_context.deviceGone(gone(work, *measured));
            return failure(gone(work, *measured));
        }
        records.insert(records.end(), measured->entry.begin(), measured->entry.end());
    }
    keep(work, records);
    work.measuredNow = true;
    giveBackOthers(work);
    if (m_context.learned)
        m_context.learned();
    return {};
}

/// Where all that a first result waited for is refused but the judge, the next ones are built.
Result<void> Tuning::measureUntilUseful(TuneWork& work) {
    do
        if (auto measured = measure(work); !measured)
            return measured;
    while (buildNext(work));
    return {};
}

/// The fastest of what was put off, as predicted; false where something that was measured is more
/// than the judge of others, or nothing is left.
bool Tuning::buildNext(TuneWork& work) {
    const TimingEntry* entry = m_cache.find(work.task.key);
    OfferedTactic* next = nullptr;
    for (OfferedTactic& candidate : work.candidates) {
        const bool measured =
            entry != nullptr &&
            std::any_of(entry->begin(), entry->end(), [&](const CandidateRecord& record) {
                return record.name == candidate.name && record.rounds > 0 && !record.fallback;
            });
        if (measured && !candidate.plain)
            return false;
        if (!candidate.tried && (next == nullptr || predictedSeconds(work, candidate.name) <
                                                        predictedSeconds(work, next->name)))
            next = &candidate;
    }
    if (next == nullptr || m_unmeasured.contains(work.task.key) || m_progress.cancelled() ||
        isLate())
        return false;
    build(*next);
    return true;
}

/// Records as a cache would hold them, with predicted times; only ever used for an order. Nobody
/// checks what is only predicted, so what never ran on this device stands behind what did.
TimingEntry Tuning::predicted(const TuneWork& work) const {
    TimingEntry out;
    for (const OfferedTactic& candidate : work.candidates) {
        CandidateRecord record;
        record.name = candidate.name;
        record.rounds = 1;
        record.median = predictedSeconds(work, candidate.name) * 1e6;
        if (candidate.plain) // no tie: of what is about as fast it comes last
            record.median += 2 * tieBand(record.median);
        record.eliminated = !m_ranHere.empty() && !isAmong(candidate.name, m_ranHere);
        out.push_back(normalised(std::move(record)));
    }
    return out;
}

Failure Tuning::nothing(const TuneWork& work) const {
    std::string message = "no tactic can compute this step";
    for (const Reason& reason : work.reasons)
        message += "; " + reason.text();
    return failure("tune.none", message, work.task.step,
                   "raise --workspace or allow a wider numeric class");
}

/// None when the recorded tactic is offered here, builds and is legal.
std::optional<Reason> Tuning::whyNot(const CandidateRecord& record, TuneWork& work) {
    OfferedTactic* candidate = work.named(record.name);
    if (!candidate || candidate->given)
        return Reason{"not-offered",
                      record.name + ": is in the timing cache, but not offered here",
                      "",
                      {{"tactic", record.name}}};
    if (!build(*candidate))
        return reasonOf(failedBuild(*candidate));
    Legality legality = legalCandidates({{candidate->name, candidate->tactic->facts()}},
                                        work.task.allowed, m_context.options.workspaceLimit);
    if (legality.legal.empty())
        return reasonOf(legality.refused.front());
    return std::nullopt;
}

/// Offered, but never measured: what the record leaves out, what was put off, last resorts. Taken
/// when all that was measured is lost.
std::vector<CandidateRecord> Tuning::unmeasured(const TimingEntry& entry,
                                                const TuneWork& work) const {
    std::vector<CandidateRecord> out;
    for (const CandidateRecord& record : predicted(work)) {
        auto known = std::find_if(entry.begin(), entry.end(), [&](const CandidateRecord& other) {
            return other.name == record.name;
        });
        if (known == entry.end() || known->refused == "last-resort" || isPutOff(*known))
            out.push_back(record);
    }
    std::stable_sort(
        out.begin(), out.end(),
        [](const CandidateRecord& a, const CandidateRecord& b) { return a.median < b.median; });
    return out;
}

/// The tactic that the record names, or null with a reason for why it cannot be taken.
OfferedTactic* Tuning::take(const CandidateRecord& record, TuneWork& work) {
    std::optional<Reason> lost = whyNot(record, work);
    if (!lost)
        return work.named(record.name);
    work.reasons.push_back(std::move(*lost));
    return nullptr;
}

/// Walks down the ranking to the first tactic that is offered, builds and is legal, then on to what
/// was never measured.
Result<TunedStep> Tuning::choose(TuneWork& work) {
    TunedStep out;
    out.step = work.task.step;
    const TimingEntry* known = m_cache.find(work.task.key);
    if (!known && m_context.device && !m_unmeasured.contains(work.task.key))
        return nothing(work);
    const TimingEntry entry = known ? *known : predicted(work);
    out.basis = !known             ? ChoiceBasis::Predicted
                : work.measuredNow ? ChoiceBasis::Measured
                                   : ChoiceBasis::Cached;
    for (const CandidateRecord& record : entry)
        if (!record.refused.empty())
            work.reasons.push_back(reasonOf(record));
    std::vector<CandidateRecord> order;
    for (size_t index : ranking(entry))
        if (!work.leftOut.contains(entry[index].name))
            order.push_back(entry[index]);
    const size_t measured = order.size();
    if (known)
        for (CandidateRecord& record : unmeasured(entry, work))
            order.push_back(std::move(record));
    std::optional<Reason> stepDown;
    for (size_t i = 0; i < order.size(); ++i) {
        OfferedTactic* candidate = take(order[i], work);
        if (m_progress.cancelled())
            return cancelledFailure("tuning");
        if (!candidate) {
            if (known && !stepDown)
                stepDown = work.reasons.back();
            continue;
        }
        if (!stepDown && candidate->tactic->facts().fallback)
            stepDown = Reason{"fallback", candidate->name + " is a last resort", "", {}};
        if (stepDown && !m_context.options.fallback)
            return failure("tune.fallback",
                           "falls back to " + candidate->name + ": " + stepDown->text(),
                           work.task.step, "run without --no-fallback to accept it");
        if (i >= measured)
            out.basis = ChoiceBasis::Predicted;
        out.tactic = std::move(candidate->tactic);
        out.microseconds = order[i].median;
        out.candidates = entry;
        out.reasons = std::move(work.reasons);
        return out;
    }
    return nothing(work);
}

Result<std::vector<TunedStep>> Tuning::run() {
    const std::vector<size_t> missing = unknown();
    if (m_context.options.frozen && !missing.empty())
        return frozen(missing);
    if (!m_context.options.frozen && m_context.device) {
        buildAll(m_context.options.tune ? everyOf(missing) : firstOf(missing));
        for (size_t i = 0; i < missing.size(); ++i) {
            if (m_progress.cancelled())
                return cancelledFailure("tuning");
            if (isLate()) {
                putOff(m_works[missing[i]]);
                continue;
            }
            m_progress.report("tune", i, missing.size());
            if (auto measured = measureUntilUseful(m_works[missing[i]]); !measured)
                return failure(measured.error());
        }
    }
    std::vector<std::optional<Result<TunedStep>>> chosen(m_works.size());
    m_threads.forRange(m_works.size(), 1, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i)
            chosen[i] = choose(m_works[i]);
    });
    std::vector<TunedStep> out;
    for (std::optional<Result<TunedStep>>& step : chosen) {
        if (!*step)
            return failure(step->error());
        out.push_back(std::move(**step));
    }
    return out;
}

} // namespace

Result<std::vector<TunedStep>> tuneSteps(std::vector<TuneTask> tasks, const TuneContext& context,
                                         TimingCache& cache, Progress& progress) {
    return Tuning(std::move(tasks), context, cache, progress).run();
}

std::string describe(const std::vector<TunedStep>& steps) {
    std::string out;
    for (const TunedStep& step : steps)
        out +=
            fmt::format("{}: {} {:.3f} us {}\n", step.step, step.tactic->name(), step.microseconds,
                        step.basis == ChoiceBasis::Predicted ? "predicted" : "measured");
    return out;
}

} // namespace fuselage::gpu
