// SPDX-License-Identifier: Apache-2.0
#include "gpu/tune/tune_steps.h"

#include "core/support/parallel.h"
#include "gpu/tune/candidate_check.h"
#include "gpu/tune/left_out.h"
#include "gpu/tune/ranking.h"
#include "gpu/tune/timing_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace fuselage::gpu {

namespace {

/// A tactic with the outcome of its build.
struct Candidate {
    std::unique_ptr<Tactic> tactic;
    std::string name;
    bool tried = false;
    std::optional<Error> failed;
    bool given = false; ///< back, with its memory on the device: another one was faster
};

/// A task on its way to one tactic.
struct Work {
    TuneTask task;
    std::vector<Candidate> candidates; ///< sorted by name
    std::set<std::string> leftOut;     ///< names that are not even built
    std::vector<Reason> reasons;
    bool measuredNow = false;
    bool unmeasurable = false; ///< its operands do not fit on the device today

    Candidate* named(const std::string& name) {
        for (Candidate& candidate : candidates)
            if (candidate.name == name)
                return &candidate;
        return nullptr;
    }
};

Work workOf(TuneTask task, const std::vector<std::string>& without,
            const std::set<std::string, std::less<>>& condemned) {
    Work out;
    out.task = std::move(task);
    out.reasons = std::move(out.task.tactics.refused);
    for (std::unique_ptr<Tactic>& tactic : out.task.tactics.candidates) {
        std::string name = tactic->name();
        if (auto why = whyLeftOut(name, tactic->kernels() != nullptr, without, condemned)) {
            out.reasons.push_back(std::move(*why));
            out.leftOut.insert(std::move(name));
            continue;
        }
        out.candidates.push_back({std::move(tactic), std::move(name), false, {}});
    }
    out.task.tactics = {};
    std::sort(out.candidates.begin(), out.candidates.end(),
              [](const Candidate& a, const Candidate& b) { return a.name < b.name; });
    return out;
}

Reason reasonOf(const CandidateRecord& record) {
    const char* flip = record.refused == "workspace" ? "raise --workspace" : "";
    return {record.refused, record.name + ": " + record.why, flip, {{"tactic", record.name}}};
}

bool build(Candidate& candidate, Progress& progress) {
    if (candidate.tried)
        return !candidate.failed;
    candidate.tried = true;
    if (auto built = candidate.tactic->build(progress); !built)
        candidate.failed = built.error();
    return !candidate.failed;
}

CandidateRecord failedBuild(const Candidate& candidate) {
    CandidateRecord out;
    out.name = candidate.name;
    out.refused = candidate.failed->code;
    out.why = candidate.failed->text();
    return out;
}

/// The error of a device that a candidate took with it.
Error gone(const Work& work, const TuneOutcome& outcome) {
    Error out = *outcome.deviceGone;
    out.where = fmt::format("{}, candidate `{}`", work.task.step, outcome.entry.front().name);
    return out;
}

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
            m_works.push_back(workOf(std::move(task), context.options.without, condemned));
    }

    Result<std::vector<TunedStep>> run();

private:
    std::vector<size_t> unknown() const;
    bool knows(const Work& work) const;
    bool measuredOnce(const Work& work) const;
    Failure frozen(const std::vector<size_t>& tasks) const;
    void buildAll(const std::vector<size_t>& tasks);
    double predictedSeconds(const Work& work, const std::string& tactic) const;
    TimingEntry knownCondemned(const Work& work) const;
    Result<TuneOutcome> checkAndMeasure(Work& work, const std::vector<TuneCandidate>& legal,
                                        Measurer& measurer);
    void keep(Work& work, const TimingEntry& records);
    void giveBackOthers(Work& work);
    Result<void> measure(Work& work);
    TimingEntry predicted(const Work& work) const;
    std::optional<Reason> whyNot(const CandidateRecord& record, Work& work);
    std::vector<CandidateRecord> unmeasured(const TimingEntry& entry, const Work& work) const;
    Candidate* take(const CandidateRecord& record, Work& work);
    Result<TunedStep> choose(Work& work);
    Failure nothing(const Work& work) const;

    const TuneContext& m_context;
    TimingCache& m_cache;
    Progress& m_progress;
    ThreadPool m_threads;
    std::vector<Work> m_works;
    std::set<std::string, std::less<>> m_ranHere; ///< beginnings of names that were measured here
};

/// Every candidate that is offered has a record: a cache made without some library is completed.
bool Tuning::knows(const Work& work) const {
    const TimingEntry* entry = m_cache.find(work.task.key);
    return entry && std::all_of(work.candidates.begin(), work.candidates.end(),
                                [&](const Candidate& candidate) {
                                    return std::any_of(entry->begin(), entry->end(),
                                                       [&](const CandidateRecord& record) {
                                                           return record.name == candidate.name;
                                                       });
                                });
}

/// The key has more than candidates that must not run.
bool Tuning::measuredOnce(const Work& work) const {
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

/// Builds all candidates of the tasks, as many at a time as there are threads.
void Tuning::buildAll(const std::vector<size_t>& tasks) {
    std::vector<Candidate*> all;
    for (size_t task : tasks)
        for (Candidate& candidate : m_works[task].candidates)
            all.push_back(&candidate);
    std::atomic<size_t> done = 0;
    m_threads.forRange(all.size(), 1, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end && !m_progress.cancelled(); ++i) {
            build(*all[i], m_progress);
            m_progress.report("build tactics", ++done, all.size());
        }
    });
}

double Tuning::predictedSeconds(const Work& work, const std::string& tactic) const {
    return predictSeconds(work.task.predicted, tacticEfficiency(tactic), 1, m_context.overlap);
}

/// What is not run again, whoever found out.
TimingEntry Tuning::knownCondemned(const Work& work) const {
    TimingEntry out;
    if (const TimingEntry* entry = m_cache.find(work.task.key))
        std::copy_if(entry->begin(), entry->end(), std::back_inserter(out), isCondemned);
    return out;
}

/// Every candidate is compared before any is measured.
Result<TuneOutcome> Tuning::checkAndMeasure(Work& work, const std::vector<TuneCandidate>& legal,
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
void Tuning::keep(Work& work, const TimingEntry& records) {
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
void Tuning::giveBackOthers(Work& work) {
    const TimingEntry* entry = m_cache.find(work.task.key);
    const std::vector<size_t> order = entry ? ranking(*entry) : std::vector<size_t>{};
    for (Candidate& candidate : work.candidates)
        if (!order.empty() && candidate.name != (*entry)[order.front()].name && !candidate.failed &&
            !candidate.tactic->facts().fallback) {
            candidate.tactic.reset();
            candidate.given = true;
        }
}

Result<void> Tuning::measure(Work& work) {
    std::vector<TuneCandidate> built;
    TimingEntry records = knownCondemned(work);
    for (const Candidate& candidate : work.candidates) {
        if (std::any_of(records.begin(), records.end(), [&](const CandidateRecord& record) {
                return isCondemned(record) && record.name == candidate.name;
            }))
            continue;
        if (candidate.failed)
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
            work.unmeasurable = true;
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

/// Records as a cache would hold them, with predicted times; only ever used for an order. Nobody
/// checks what is only predicted, so what never ran on this device stands behind what did.
TimingEntry Tuning::predicted(const Work& work) const {
    TimingEntry out;
    for (const Candidate& candidate : work.candidates) {
        CandidateRecord record;
        record.name = candidate.name;
        record.rounds = 1;
        record.median = predictedSeconds(work, candidate.name) * 1e6;
        record.eliminated = !m_ranHere.empty() && !m_ranHere.contains(familyOf(candidate.name));
        out.push_back(normalised(std::move(record)));
    }
    return out;
}

Failure Tuning::nothing(const Work& work) const {
    std::string message = "no tactic can compute this step";
    for (const Reason& reason : work.reasons)
        message += "; " + reason.text();
    return failure("tune.none", message, work.task.step,
                   "raise --workspace or allow a wider numeric class");
}

/// None when the recorded tactic is offered here, builds and is legal.
std::optional<Reason> Tuning::whyNot(const CandidateRecord& record, Work& work) {
    Candidate* candidate = work.named(record.name);
    if (!candidate || candidate->given)
        return Reason{"not-offered",
                      record.name + ": is in the timing cache, but not offered here",
                      "",
                      {{"tactic", record.name}}};
    if (!build(*candidate, m_progress))
        return reasonOf(failedBuild(*candidate));
    Legality legality = legalCandidates({{candidate->name, candidate->tactic->facts()}},
                                        work.task.allowed, m_context.options.workspaceLimit);
    if (legality.legal.empty())
        return reasonOf(legality.refused.front());
    return std::nullopt;
}

/// Offered, but never measured: what the record leaves out and last resorts. Taken when all that
/// was measured is lost.
std::vector<CandidateRecord> Tuning::unmeasured(const TimingEntry& entry, const Work& work) const {
    std::vector<CandidateRecord> out;
    for (const CandidateRecord& record : predicted(work)) {
        auto known = std::find_if(entry.begin(), entry.end(), [&](const CandidateRecord& other) {
            return other.name == record.name;
        });
        if (known == entry.end() || known->refused == "last-resort")
            out.push_back(record);
    }
    std::stable_sort(
        out.begin(), out.end(),
        [](const CandidateRecord& a, const CandidateRecord& b) { return a.median < b.median; });
    return out;
}

/// The tactic that the record names, or null with a reason for why it cannot be taken.
Candidate* Tuning::take(const CandidateRecord& record, Work& work) {
    std::optional<Reason> lost = whyNot(record, work);
    if (!lost)
        return work.named(record.name);
    work.reasons.push_back(std::move(*lost));
    return nullptr;
}

/// Walks down the ranking to the first tactic that is offered, builds and is legal, then on to what
/// was never measured.
Result<TunedStep> Tuning::choose(Work& work) {
    TunedStep out;
    out.step = work.task.step;
    const TimingEntry* known = m_cache.find(work.task.key);
    if (!known && m_context.device && !work.unmeasurable)
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
        Candidate* candidate = take(order[i], work);
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
        buildAll(missing);
        for (size_t i = 0; i < missing.size(); ++i) {
            if (m_progress.cancelled())
                return cancelledFailure("tuning");
            m_progress.report("tune", i, missing.size());
            if (auto measured = measure(m_works[missing[i]]); !measured)
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
