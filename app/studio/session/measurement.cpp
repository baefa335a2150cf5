// SPDX-License-Identifier: Apache-2.0
#include "app/studio/session/measurement.h"

#include "core/support/file.h"

namespace fuselage::studio {

namespace {

constexpr int defaultLimit = 20 * 60 * 1000; ///< milliseconds
constexpr int keptLines = 12;
constexpr int verificationFailed = 4; ///< exit code of `fuselage`: measured, but outputs disagree

} // namespace

Measurement::Measurement(QObject* parent) : QObject(parent) {
    m_limit.setSingleShot(true);
    m_limit.setInterval(defaultLimit);
    connect(&m_limit, &QTimer::timeout, this, [this] {
        fail("measure.time",
             tr("the measurement did not end within %1 s and was stopped")
                 .arg(m_limit.interval() / 1000.0),
             tr("measure for fewer seconds, or bind smaller dimensions"));
    });
}

Measurement::~Measurement() {
    release();
}

void Measurement::start(const QString& program, const QStringList& arguments,
                        std::unique_ptr<QTemporaryDir> folder) {
    cancel();
    m_folder = std::move(folder);
    m_errors.clear();
    m_line.clear();
    m_process = new QProcess(this);
    m_process->setStandardInputFile(QProcess::nullDevice());
    m_process->setStandardOutputFile(QProcess::nullDevice());
    connect(m_process, &QProcess::readyReadStandardError, this, &Measurement::readErrors);
    connect(m_process, &QProcess::finished, this, &Measurement::ended);
    connect(m_process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart)
            fail("measure.start", tr("the measuring program cannot be started"),
                 tr("`fuselage` must stand beside fuselage-studio or in PATH"));
    });
    m_limit.start();
    Q_EMIT runningChanged(true);
    m_process->start(program, arguments + QStringList{"--report", m_folder->filePath("run.json")});
}

void Measurement::cancel() {
    if (!running())
        return;
    release();
    Q_EMIT runningChanged(false);
}

void Measurement::release() {
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
    std::shared_ptr<QTemporaryDir> folder = std::move(m_folder);
    connect(process, &QProcess::finished, process, [process, folder] { process->deleteLater(); });
    process->kill();
}

void Measurement::readErrors() {
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

void Measurement::ended(int code, QProcess::ExitStatus status) {
    readErrors();
    QString said = m_errors.filter(QStringLiteral("fuselage: ")).join(' ').mid(10);
    if (status == QProcess::CrashExit)
        return fail(
            "measure.crash",
            tr("the measurement crashed (signal %1); this window is not affected").arg(code),
            tr("choose another backend in the options, or measure without the last rules"));
    if (code != 0 && code != verificationFailed)
        return fail("measure.failed",
                    said.isEmpty() ? tr("the measurement ended with code %1").arg(code) : said,
                    m_errors.filter(QStringLiteral("fix: ")).join(' ').section("fix: ", 1));
    auto json = readFile(m_folder->filePath("run.json").toStdString());
    if (!json)
        return fail("measure.json", tr("the measurement wrote no results"), tr("measure again"));
    release();
    Q_EMIT runningChanged(false);
    Q_EMIT finished(QByteArray::fromStdString(*json));
}

void Measurement::fail(const QString& code, const QString& message, const QString& fix) {
    Problem problem;
    problem.code = code;
    problem.message = message;
    problem.fix = fix;
    release();
    Q_EMIT runningChanged(false);
    Q_EMIT failed(problem);
}

} // namespace fuselage::studio
