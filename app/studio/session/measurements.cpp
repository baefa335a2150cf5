// SPDX-License-Identifier: Apache-2.0
#include "app/studio/session/measurements.h"

#include "app/pipeline/fuse_plan.h"
#include "app/pipeline/inner_values.h"
#include "app/pipeline/machine.h"
#include "app/report/measured.h"
#include "app/studio/session/counted.h"
#include "core/onnx/model_file.h"
#include "core/support/file.h"

#include <QDir>
#include <algorithm>
#include <cstdlib>

namespace fuselage::studio {

namespace {

app::FusePlan planOf(const Snapshot& snapshot) {
    return app::planOf(snapshot.model->graph, snapshot.analysis.trace, snapshot.precision);
}

/// What is left out and there: a name of a rule that is gone would be a mistake of the command.
std::set<std::string> namesLeftOut(const Snapshot& snapshot) {
    std::set<std::string> out;
    for (const Rule& rule : snapshot.rules->leftOut)
        out.insert(rule.name);
    return out;
}

const QString reportFile = QStringLiteral("run.json"), valuesFolder = QStringLiteral("values");
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
    connect(&m_process, &EngineProcess::runningChanged, this, &Measurements::runningChanged);
    connect(&m_process, &EngineProcess::progressed, this, &Measurements::progressed);
    connect(&m_process, &EngineProcess::finished, this, &Measurements::read);
    connect(&m_process, &EngineProcess::failed, &m_session, &Session::addProblem);
    connect(&m_session, &Session::snapshotChanged, this, &Measurements::findRunOf);
    connect(&m_session, &Session::busyChanged, this, &Measurements::beginWaiting,
            Qt::QueuedConnection);
}

/// What was measured before an edit that was taken back is measured still.
void Measurements::findRunOf(const SnapshotPtr& now) {
    if (!now || m_runs.empty())
        return;
    m_session.removeProblems(QStringLiteral("measure.slower")); // was said of other matches
    const std::string plan = app::planText(planOf(*now));
    for (auto run = m_runs.rbegin(); run != m_runs.rend(); ++run)
        if (run->snapshot && run->snapshot->model == now->model &&
            run->snapshot->device == now->device && run->snapshot->precision == now->precision &&
            run->snapshot->strict == now->strict && app::planText(planOf(*run->snapshot)) == plan) {
            m_session.setMeasured(now, run->report);
            return saySlower(*run->report);
        }
}

void Measurements::problem(const QString& code, const QString& message, const QString& fix) {
    m_session.addProblem(problemWith(code, message, fix));
}

void Measurements::start() {
    begin(Job::Measure);
}

void Measurements::startErrors() {
    begin(Job::Errors);
}

void Measurements::startValues(const QStringList& values) {
    m_wanted = values;
    m_values.clear();
    begin(Job::Values);
}

void Measurements::cancel() {
    if (std::exchange(m_waiting, false))
        Q_EMIT runningChanged(false);
    m_process.cancel();
}

/// What was asked for while rules were being matched.
void Measurements::beginWaiting() {
    if (!m_waiting || m_session.busy() || m_session.pending())
        return;
    m_waiting = false;
    Q_EMIT runningChanged(false);
    begin(m_job);
}

void Measurements::begin(Job job) {
    m_session.removeProblems(QStringLiteral("measure."));
    m_job = job;
    if (m_session.busy() || m_session.pending()) {
        if (!std::exchange(m_waiting, true))
            Q_EMIT runningChanged(true);
        Q_EMIT progressed(tr("waits for the rules"));
        return;
    }
    if (m_session.sketch())
        return problem("measure.sketch", tr("this model cannot be run as it is, only looked at"),
                       tr("mend what Problems says of it, and open it again"));
    if (!m_session.snapshot())
        return problem("measure.nothing", tr("there is no model to measure"),
                       tr("open one: Ctrl+O"));
    if (m_session.stale())
        return problem("measure.stale", tr("the rules have errors: what is shown is of before"),
                       tr("mend the rules (Problems lists them), then measure"));
    QString program = m_program.isEmpty() ? findFuselage() : m_program;
    if (program.isEmpty())
        return problem("measure.start", tr("the program `fuselage` was not found"),
                       tr("put it beside fuselage-studio or into PATH"));
    auto folder = std::make_unique<WorkFolder>();
    SessionOptions options = m_session.options();
    auto rules = rulesOnDisk(options.rules, folder->path());
    if (!rules)
        return m_session.addProblem(problemOf(rules.error(), {}));
    options.rules = *rules;
    options.rules.without = namesLeftOut(*m_session.snapshot());
    QStringList arguments;
    if (job == Job::Values || job == Job::FusedValues) {
        const bool fused = job == Job::FusedValues;
        arguments = runArguments(m_session.modelPath(), options, m_settings, fused,
                                 fused ? valuesAfter() : m_wanted, folder->filePath(valuesFolder));
    } else {
        arguments = benchArguments(m_session.modelPath(), options, m_settings);
        if (!options.fuse.disabled.empty()) { // the matches that are left are a plan
            const QString file = folder->filePath(QStringLiteral("matches.fuseplan"));
            const app::FusePlan plan = planOf(*m_session.snapshot());
            if (auto saved = writeFile(app::planText(plan), file.toStdString()); !saved)
                return m_session.addProblem(problemOf(saved.error(), {}));
            arguments << QStringLiteral("--plan") << file;
        }
        if (job == Job::Errors)
            arguments << QStringLiteral("--no-measure") << QStringLiteral("--no-verify")
                      << QStringLiteral("--errors");
        arguments << QStringLiteral("--report") << folder->filePath(reportFile);
    }
    m_next = Run{0,
                 QDateTime::currentDateTime(),
                 m_session.modelPath(),
                 command(),
                 loadText(),
                 m_session.snapshot(),
                 nullptr};
    m_process.start(program, arguments, std::move(folder));
}

void Measurements::read(const QString& folder) {
    if (m_job == Job::Values || m_job == Job::FusedValues)
        return takeValues(QDir(folder).filePath(valuesFolder));
    auto json = readFile(QDir(folder).filePath(reportFile).toStdString());
    if (!json)
        return problem("measure.json", tr("the measurement wrote no results"), tr("measure again"));
    const QByteArray bytes = QByteArray::fromStdString(*json);
    m_job == Job::Measure ? take(bytes) : takeErrors(bytes);
}

QString Measurements::command() const {
    return command("fuselage",
                   benchArguments(m_session.modelPath(), m_session.options(), m_settings));
}

QString Measurements::command(const QString& program, const QStringList& arguments) const {
    const QString out = shellText(QStringList(program) + arguments);
    // What no file holds is said, so that nobody takes the command for more than it is.
    const SessionOptions& options = m_session.options();
    QStringList beside;
    for (const auto& [file, text] : options.rules.unsaved)
        beside << tr("unsaved text of %1").arg(QString::fromStdString(file));
    if (!options.fuse.disabled.empty())
        beside << tr("%1 switched off: --plan FILE from File > Export")
                      .arg(counted(static_cast<qsizetype>(options.fuse.disabled.size()),
                                   tr("match"), tr("matches")));
    return beside.isEmpty() ? out
                            : out + QStringLiteral("  # ") +
                                  tr("but for: %1").arg(beside.join(QStringLiteral("; ")));
}

void Measurements::take(const QByteArray& json) {
    auto report = std::make_shared<app::Report>(m_next.snapshot->report());
    if (const auto shown = m_session.sharedReport();
        shown && m_next.snapshot == m_session.snapshot())
        report->nodeErrors = shown->nodeErrors;
    if (auto added = app::addMeasurements(*report, json.toStdString()); !added)
        return m_session.addProblem(problemOf(added.error(), {}));
    Run run = std::exchange(m_next, {});
    run.number = ++m_count;
    run.report = report;
    m_runs.push_back(run);
    if (m_baseline == 0)
        m_baseline = run.number;
    m_session.setMeasured(run.snapshot, report);
    saySlower(*report);
    Q_EMIT runsChanged();
    Q_EMIT measured(m_runs.back(), json);
}

void Measurements::addEarlier(std::vector<Run> runs) {
    for (Run& run : runs)
        run.number = ++m_count;
    m_runs.insert(m_runs.begin(), std::make_move_iterator(runs.begin()),
                  std::make_move_iterator(runs.end()));
    Q_EMIT runsChanged();
}

void Measurements::takeErrors(const QByteArray& json) {
    Run asked = std::exchange(m_next, {});
    const bool present = asked.snapshot == m_session.snapshot();
    auto report =
        std::make_shared<app::Report>(present ? *m_session.report() : asked.snapshot->report());
    if (auto added = app::addNodeErrors(*report, json.toStdString()); !added)
        return m_session.addProblem(problemOf(added.error(), {}));
    m_session.setMeasured(asked.snapshot, report);
    Q_EMIT errorsKnown();
}

/// Wanted values that the graph after has; none where single matches are switched off, which `run`
/// cannot be told.
QStringList Measurements::valuesAfter() const {
    QStringList out;
    const SnapshotPtr& now = m_session.snapshot();
    if (now && m_session.options().fuse.disabled.empty())
        for (const QString& name : m_wanted)
            if (app::makesValue(now->after(), name.toStdString()))
                out << name;
    return out;
}

void Measurements::takeValues(const QString& folder) {
    const QDir dir(folder);
    for (const QString& file : dir.entryList(QDir::Files)) {
        std::string name;
        auto tensor = model_io::loadTensor(dir.filePath(file).toStdString(), &name);
        if (!tensor)
            return m_session.addProblem(problemOf(tensor.error(), {}));
        if (!m_wanted.contains(QString::fromStdString(name)))
            continue; // an output that nobody asked for
        ComputedValue& at = m_values[QString::fromStdString(name)];
        (m_job == Job::Values ? at.unfused : at.fused) =
            std::make_shared<const Tensor>(std::move(*tensor));
    }
    Q_EMIT valuesKnown(m_values);
    if (m_job == Job::Values && m_next.snapshot == m_session.snapshot() && !valuesAfter().isEmpty())
        begin(Job::FusedValues);
}

void Measurements::saySlower(const app::Report& report) {
    std::vector<const app::MatchReport*> slower;
    for (const app::MatchReport& match : report.matches)
        if (match.slower())
            slower.push_back(&match);
    if (slower.empty())
        return;
    std::sort(slower.begin(), slower.end(), [](const auto* a, const auto* b) {
        return a->measuredRatio->ratio > b->measuredRatio->ratio;
    });
    Problem out = problemWith(
        "measure.slower",
        tr("%1 of %2 fusions are slower than their nodes unfused; the worst: %3 takes %4 times "
           "as long")
            .arg(slower.size())
            .arg(report.matches.size())
            .arg(QString::fromStdString(slower[0]->rule + " (" + slower[0]->fusedNode + ")"))
            .arg(slower[0]->measuredRatio->ratio, 0, 'f', 2),
        tr("look at them, switch one off (Ctrl+Shift+D) and measure again"));
    out.severity = Severity::Warning;
    m_session.addProblem(out);
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
