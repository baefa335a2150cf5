// SPDX-License-Identifier: Apache-2.0
#include "gpu/tune/candidate_check.h"

#include "core/support/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::gpu {

namespace {

constexpr const char* wrongResult = "wrong-result";

/// A candidate, and how it differs from the judge.
struct Difference {
    size_t candidate = 0;
    std::string how;
};

struct Verdict {
    std::vector<size_t> agree;
    std::vector<Difference> differ;
};

class Check {
public:
    Check(const CheckRequest& request, Measurer& measurer, TrialJournal& journal,
          Progress& progress)
        : m_request(request), m_measurer(measurer), m_journal(journal), m_progress(progress),
          m_refused(request.candidates.size()) {
        m_out.notes.resize(request.candidates.size());
    }

    Result<CheckedCandidates> run();

private:
    const std::string& name(size_t candidate) const { return m_request.candidates[candidate].name; }

    bool ended() const { return m_out.deviceGone.has_value(); }

    template <typename Run> auto tried(size_t candidate, Run run);
    Result<bool> judgeBy(size_t candidate);
    Result<Verdict> compareAll(const std::vector<size_t>& candidates);
    Result<void> settle(size_t judge, Verdict verdict);
    Result<void> settleAlone(size_t judge, Verdict verdict);
    void refuse(size_t candidate, const Error& error);
    void refuse(const std::vector<Difference>& all, size_t judge);
    std::vector<size_t> judges() const;

    const CheckRequest& m_request;
    Measurer& m_measurer;
    TrialJournal& m_journal;
    Progress& m_progress;
    std::vector<std::optional<CandidateRecord>> m_refused; ///< parallel to the candidates
    CheckedCandidates m_out;
};

void Check::refuse(size_t candidate, const Error& error) {
    CandidateRecord record = recordOf(m_request.candidates[candidate]);
    record.refused = error.code;
    record.why = error.text();
    m_refused[candidate] = std::move(record);
}

void Check::refuse(const std::vector<Difference>& all, size_t judge) {
    for (const Difference& one : all)
        refuse(one.candidate,
               {wrongResult,
                fmt::format("its result differs from `{}`: {}", name(judge), one.how),
                {},
                {}});
}

/// The plain one, the host where it is quick, then the rest in their order.
std::vector<size_t> Check::judges() const {
    std::vector<size_t> out;
    auto add = [&](auto wanted) {
        for (size_t i = 0; i < m_request.candidates.size(); ++i)
            if (wanted(m_request.candidates[i].facts))
                out.push_back(i);
    };
    add([](const TacticFacts& facts) { return facts.plain; });
    if (m_request.hostMayJudge)
        add([](const TacticFacts& facts) { return facts.fallback; });
    add([](const TacticFacts& facts) { return !facts.plain && !facts.fallback; });
    return out;
}

/// One run under the journal; a failure other than cancelling refuses the candidate.
template <typename Run> auto Check::tried(size_t candidate, Run run) {
    m_journal.begin(m_request.key, recordOf(m_request.candidates[candidate]));
    auto result = run(candidate, deadlineOf(m_request.candidates[candidate], 1, m_request.rules));
    m_journal.end();
    if (!result && result.error().code != "cancelled") {
        refuse(candidate, result.error());
        if (endsDevice(result.error())) {
            m_out.deviceGone = result.error();
            m_out.culprit = m_refused[candidate];
        }
    }
    return result;
}

/// False: it cannot judge.
Result<bool> Check::judgeBy(size_t candidate) {
    if (m_progress.cancelled())
        return cancelledFailure("tuning");
    auto judged =
        tried(candidate, [&](size_t i, double deadline) { return m_measurer.judge(i, deadline); });
    if (!judged && judged.error().code == "cancelled")
        return failure(judged.error());
    return static_cast<bool>(judged);
}

/// Each of them against the last judge.
Result<Verdict> Check::compareAll(const std::vector<size_t>& candidates) {
    Verdict out;
    for (size_t i : candidates) {
        if (m_progress.cancelled())
            return cancelledFailure("tuning");
        if (m_refused[i])
            continue;
        auto how =
            tried(i, [&](size_t at, double deadline) { return m_measurer.compare(at, deadline); });
        if (ended())
            return out;
        if (!how && how.error().code == "cancelled")
            return failure(how.error());
        if (how && how->empty())
            out.agree.push_back(i);
        else if (how)
            out.differ.push_back({i, std::move(*how)});
    }
    return out;
}

/// Nobody agrees with the judge, a candidate like the others: do they agree among themselves?
Result<void> Check::settleAlone(size_t judge, Verdict verdict) {
    const bool trusted = m_request.candidates[judge].facts.plain;
    if (verdict.differ.size() == 1 && !trusted) {
        const Difference& other = verdict.differ.front();
        m_out.notes[judge] = fmt::format("differs from `{}`: {}; no third one can tell which is "
                                         "right",
                                         name(other.candidate), other.how);
        m_out.notes[other.candidate] = fmt::format("differs from `{}`: {}; no third one can tell "
                                                   "which is right",
                                                   name(judge), other.how);
        return {};
    }
    std::vector<size_t> rest;
    for (const Difference& one : verdict.differ)
        rest.push_back(one.candidate);
    const size_t second = rest.front();
    rest.erase(rest.begin());
    auto ready = rest.empty() ? Result<bool>(false) : judgeBy(second);
    if (!ready)
        return failure(ready.error());
    Verdict again;
    if (*ready) {
        auto compared = compareAll(rest);
        if (!compared)
            return failure(compared.error());
        again = std::move(*compared);
    }
    if (ended())
        return {};
    if (again.agree.empty()) {
        refuse(verdict.differ, judge);
        return {};
    }
    again.agree.push_back(second);
    refuse(judge, {wrongResult,
                   fmt::format("its result differs from `{}`: {}; {} others agree against it",
                               name(second), verdict.differ.front().how, again.agree.size()),
                   {},
                   {}});
    for (size_t i : again.agree)
        m_out.notes[i] = fmt::format("`{}` gives something else, {} candidates agree against it",
                                     name(judge), again.agree.size());
    refuse(again.differ, second);
    return {};
}

Result<void> Check::settle(size_t judge, Verdict verdict) {
    if (verdict.differ.empty())
        return {};
    const bool host = m_request.candidates[judge].facts.fallback;
    if (host || !verdict.agree.empty()) {
        refuse(verdict.differ, judge);
        return {};
    }
    return settleAlone(judge, std::move(verdict));
}

Result<CheckedCandidates> Check::run() {
    const std::vector<TuneCandidate>& all = m_request.candidates;
    for (size_t judge : judges()) {
        auto ready = judgeBy(judge);
        if (!ready)
            return failure(ready.error());
        if (ended())
            break;
        if (!*ready)
            continue;
        std::vector<size_t> others;
        for (size_t i = 0; i < all.size(); ++i)
            if (i != judge && !all[i].facts.fallback)
                others.push_back(i);
        auto verdict = compareAll(others);
        if (!verdict)
            return failure(verdict.error());
        if (!ended())
            if (auto settled = settle(judge, std::move(*verdict)); !settled)
                return failure(settled.error());
        break;
    }
    for (size_t i = 0; i < all.size(); ++i) {
        if (m_refused[i] && !all[i].facts.fallback)
            m_out.refused.push_back(*m_refused[i]);
        else
            m_out.sound.push_back(i);
    }
    return std::move(m_out);
}

} // namespace

Result<CheckedCandidates> checkCandidates(const CheckRequest& request, Measurer& measurer,
                                          TrialJournal& journal, Progress& progress) {
    return Check(request, measurer, journal, progress).run();
}

} // namespace fuselage::gpu
