// SPDX-License-Identifier: Apache-2.0
#include "app/studio/session/measurements.h"

#include "app/pipeline/machine.h"
#include "app/report/measured.h"

#include <cstdlib>

namespace fuselage::studio {

namespace {

constexpr double disturbing = 0.5; ///< load for each core from which times are in doubt

Problem problemWith(const QString& code, const QString& message, const QString& fix) {
    Problem out;
    out.code = code;
    out.message = message;
    out.fix = fix;
    return out;
}

} // namespace

QString loadText() {
    double load = 0;
    if (getloadavg(&load, 1) != 1)
        return {};
    int cores = std::max(1, app::inspectMachine().cores);
    QString text = QObject::tr("load %1 on %2 cores").arg(load, 0, 'f', 1).arg(cores);
    return load > disturbing * cores ? text + QObject::tr(": other work disturbs times") : text;
}

Measurements::Measurements(Session& session, QObject* parent)
    : QObject(parent), m_session(session) {
    connect(&m_process, &Measurement::runningChanged, this, &Measurements::runningChanged);
    connect(&m_process, &Measurement::progressed, this, &Measurements::progressed);
    connect(&m_process, &Measurement::finished, this, &Measurements::take);
    connect(&m_process, &Measurement::failed, &m_session, &Session::addProblem);
}

void Measurements::start() {
    m_session.removeProblems(QStringLiteral("measure."));
    if (!m_session.snapshot() || m_session.busy() || m_session.pending() || m_session.stale())
        return m_session.addProblem(problemWith(
            "measure.stale", tr("there is nothing to measure before the rules are matched"),
            tr("wait, or mend the rules")));
    if (!m_session.options().fuse.disabled.empty())
        return m_session.addProblem(problemWith(
            "measure.disabled", tr("single matches are switched off, which no command can say"),
            tr("switch them on again, or narrow the rule, and measure then")));
    QString program = m_program.isEmpty() ? findFuselage() : m_program;
    if (program.isEmpty())
        return m_session.addProblem(problemWith("measure.start",
                                                tr("the program `fuselage` was not found"),
                                                tr("put it beside fuselage-studio or into PATH")));
    auto folder = std::make_unique<QTemporaryDir>();
    SessionOptions options = m_session.options();
    auto rules = rulesOnDisk(options.rules, folder->path());
    if (!rules)
        return m_session.addProblem(problemOf(rules.error(), {}));
    options.rules = *rules;
    m_next = Run{0,
                 QDateTime::currentDateTime(),
                 m_session.modelPath(),
                 command(),
                 loadText(),
                 m_session.snapshot(),
                 nullptr};
    m_process.start(program, benchArguments(m_next.model, options, m_settings), std::move(folder));
}

QString Measurements::command() const {
    QStringList words{QStringLiteral("fuselage")};
    return shellText(words +
                     benchArguments(m_session.modelPath(), m_session.options(), m_settings));
}

void Measurements::take(const QByteArray& json) {
    auto report = std::make_shared<app::Report>(m_next.snapshot->report());
    if (auto added = app::addMeasurements(*report, json.toStdString()); !added)
        return m_session.addProblem(problemOf(added.error(), {}));
    Run run = std::exchange(m_next, {});
    run.number = ++m_count;
    run.report = report;
    m_runs.push_back(run);
    if (m_baseline == 0)
        m_baseline = run.number;
    m_session.setMeasured(run.snapshot, report);
    Q_EMIT runsChanged();
}

const Run* Measurements::baseline() const {
    for (const Run& run : m_runs)
        if (m_comparing && run.number == m_baseline)
            return &run;
    return nullptr;
}

void Measurements::setBaseline(int number) {
    m_baseline = number;
    m_comparing = number != 0;
    Q_EMIT runsChanged();
}

void Measurements::setComparing(bool on) {
    m_comparing = on;
    Q_EMIT runsChanged();
}

std::optional<Verdict> Measurements::verdict(const Run& run) const {
    const Run* base = baseline();
    if (!base || base->number == run.number || base->model != run.model)
        return std::nullopt;
    return verdictOf(*base->report->after.measured, *run.report->after.measured);
}

void Measurements::remove(int number) {
    std::erase_if(m_runs, [number](const Run& run) { return run.number == number; });
    if (m_baseline == number)
        m_baseline = 0;
    Q_EMIT runsChanged();
}

} // namespace fuselage::studio
