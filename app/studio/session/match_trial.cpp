// SPDX-License-Identifier: Apache-2.0
#include "app/studio/session/match_trial.h"

#include "app/report/format.h"
#include "app/studio/session/match_keys.h"

#include <algorithm>

namespace fuselage::studio {

namespace {

const Run* runNumbered(const std::vector<Run>& runs, int number) {
    auto found = std::find_if(runs.begin(), runs.end(),
                              [number](const Run& run) { return run.number == number; });
    return found == runs.end() ? nullptr : &*found;
}

QString timeText(const TimingSummary& timing) {
    return QStringLiteral("%1 (%2 .. %3)")
        .arg(QString::fromStdString(app::secondsText(timing.median)),
             QString::fromStdString(app::secondsText(timing.low)),
             QString::fromStdString(app::secondsText(timing.high)));
}

} // namespace

MatchTrial::MatchTrial(Session& session, Measurements& measurements, QObject* parent)
    : QObject(parent), m_session(session), m_measurements(measurements) {
    connect(&measurements, &Measurements::runsChanged, this, &MatchTrial::take);
    // A measurement that ends without a run was cancelled, or failed and said so.
    connect(
        &measurements, &Measurements::runningChanged, this,
        [this](bool busy) {
            if (!busy && running() && !m_measurements.running() &&
                m_measurements.runs().size() == m_runs)
                end();
        },
        Qt::QueuedConnection);
}

void MatchTrial::start(const std::vector<MatchKey>& keys) {
    if (running() || keys.empty())
        return;
    m_session.removeProblems(QStringLiteral("measure.trial"));
    m_keys = keys;
    m_earlier = m_session.options().fuse.disabled;
    m_runs = m_measurements.runs().size();
    const auto shown = m_session.sharedReport();
    for (const Run& run : m_measurements.runs())
        if (run.report == shown && !m_session.stale()) {
            m_with = run.number;
            return measureWithout();
        }
    m_step = Step::With;
    m_measurements.start();
    if (!m_measurements.running())
        end();
}

void MatchTrial::take() {
    if (!running() || m_measurements.runs().size() <= m_runs)
        return;
    m_runs = m_measurements.runs().size();
    const Run run = m_measurements.runs().back();
    if (m_step == Step::With) {
        m_with = run.number;
        return measureWithout();
    }
    if (const Run* with = runNumbered(m_measurements.runs(), m_with))
        say(*with, run);
    end();
}

void MatchTrial::measureWithout() {
    m_step = Step::Without;
    std::vector<MatchKey> off = m_earlier;
    for (const MatchKey& key : m_keys)
        if (std::find(off.begin(), off.end(), key) == off.end())
            off.push_back(key);
    setDisabled(m_session, off);
    m_measurements.start(); // once the rules are matched without it
}

void MatchTrial::end() {
    m_step = Step::Idle;
    setDisabled(m_session, m_earlier);
}

void MatchTrial::say(const Run& with, const Run& without) {
    const TimingSummary& on = *with.report->after.measured;
    const TimingSummary& off = *without.report->after.measured;
    Problem out;
    out.severity = Severity::Note;
    out.code = QStringLiteral("measure.trial");
    const QString what =
        m_keys.size() == 1 ? textOf(m_keys[0]) : tr("%1 fusions").arg(m_keys.size());
    out.message =
        tr("%1: with it the model takes %2, without it %3").arg(what, timeText(on), timeText(off));
    switch (verdictOf(on, off)) {
    case Verdict::Faster:
        out.severity = Severity::Warning;
        out.fix = tr("it loses here: switch it off (Ctrl+Shift+D), or give its rule a gate");
        break;
    case Verdict::Slower:
        out.fix = tr("it pays off: keep it");
        break;
    case Verdict::Same:
        out.fix = tr("it makes no difference here");
        break;
    case Verdict::Ambiguous:
        out.fix = tr("the intervals overlap: measure for longer (Options), on an idle machine");
        break;
    }
    m_session.addProblem(out);
}

} // namespace fuselage::studio
