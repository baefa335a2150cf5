// SPDX-License-Identifier: Apache-2.0
#include "app/studio/session/engine_process.h"

namespace fuselage::studio {

namespace {

constexpr int defaultLimit = 20 * 60 * 1000; ///< milliseconds
constexpr int keptLines = 12;
constexpr int verificationFailed = 4; ///< exit code of `fuselage`: measured, but outputs disagree

} // namespace

EngineProcess::EngineProcess(QObject* parent) : QObject(parent) {
    m_limit.setSingleShot(true);
    m_limit.setInterval(defaultLimit);
    connect(&m_limit, &QTimer::timeout, this, [this] {
        fail("measure.time",
             tr("`%1` did not end within %2 s and was stopped")
                 .arg(m_job)
                 .arg(m_limit.interval() / 1000.0),
             tr("bind smaller dimensions, or measure for fewer seconds"));
    });
}

EngineProcess::~EngineProcess() {
    release();
}

void EngineProcess::start(const QString& program, const QStringList& arguments,
                          std::unique_ptr<WorkFolder> folder) {
    cancel();
    m_folder = std::move(folder);
    m_job = QStringLiteral("fuselage ") + arguments.value(0);
    m_errors.clear();
    m_line.clear();
    m_process = new QProcess(this);
    m_process->setStandardInputFile(QProcess::nullDevice());
    m_process->setStandardOutputFile(QProcess::nullDevice());
    connect(m_process, &QProcess::readyReadStandardError, this, &EngineProcess::readErrors);
    connect(m_process, &QProcess::finished, this, &EngineProcess::ended);
    connect(m_process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart)
            fail("measure.start", tr("`fuselage` cannot be started"),
                 tr("it must stand beside fuselage-studio or in PATH"));
    });
    m_limit.start();
    Q_EMIT runningChanged(true);
    m_process->start(program, arguments);
}

void EngineProcess::cancel() {
    if (!running())
        return;
    release();
    Q_EMIT runningChanged(false);
}

void EngineProcess::release() {
    m_limit.stop();
    if (!m_process)
        return;
    QProcess* process = std::exchange(m_process, nullptr);
    process->disconnect(this);
    process->setParent(nullptr);
    if (process->state() == QProcess::NotRunning) {
        process->deleteLater();
        return;
    }
    // It is collected when it has died; nobody waits for that, and its files live as long.
    std::shared_ptr<WorkFolder> folder = std::move(m_folder);
    connect(process, &QProcess::finished, process, [process, folder] { process->deleteLater(); });
    process->kill();
}

void EngineProcess::readErrors() {
    m_line += m_process->readAllStandardError();
    qsizetype end = 0;
    while ((end = m_line.indexOf('\n')) >= 0) {
        QString line = QString::fromUtf8(m_line.left(end)).trimmed();
        m_line.remove(0, end + 1);
        m_errors.append(line);
        if (m_errors.size() > keptLines)
            m_errors.removeFirst();
        if (line.endsWith(QStringLiteral(" ...")))
            Q_EMIT progressed(line.chopped(4));
    }
}

void EngineProcess::ended(int code, QProcess::ExitStatus status) {
    readErrors();
    QString said = m_errors.filter(QStringLiteral("fuselage: ")).join(' ').mid(10);
    if (status == QProcess::CrashExit)
        return fail(
            "measure.crash",
            tr("`%1` crashed (signal %2); this window is not affected").arg(m_job).arg(code),
            tr("choose another backend in the options, or leave out the last rules"));
    if (code != 0 && code != verificationFailed)
        return fail("measure.failed",
                    said.isEmpty() ? tr("`%1` ended with code %2").arg(m_job).arg(code) : said,
                    m_errors.filter(QStringLiteral("fix: ")).join(' ').section("fix: ", 1));
    const std::unique_ptr<WorkFolder> folder = std::move(m_folder);
    release();
    Q_EMIT runningChanged(false);
    Q_EMIT finished(folder->path());
}

void EngineProcess::fail(const QString& code, const QString& message, const QString& fix) {
    Problem problem;
    problem.code = code;
    problem.message = message;
    problem.fix = fix;
    release();
    Q_EMIT runningChanged(false);
    Q_EMIT failed(problem);
}

} // namespace fuselage::studio
