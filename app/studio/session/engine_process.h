// SPDX-License-Identifier: Apache-2.0
// `fuselage` in a process of its own, so that a crashing backend takes nothing with it. Starts,
// follows, ends that process; what it wrote lies in a folder that is kept until it was read.
#pragma once

#include "app/studio/session/session.h"
#include "app/studio/session/work_folder.h"

#include <QObject>
#include <QProcess>
#include <QTimer>
#include <memory>

namespace fuselage::studio {

class EngineProcess : public QObject {
    Q_OBJECT

public:
    explicit EngineProcess(QObject* parent = nullptr);
    ~EngineProcess() override; ///< ends the process

    /// Runs `program arguments`; `folder` holds what the process reads and writes, and is kept as
    /// long. Another one that runs is cancelled.
    void start(const QString& program, const QStringList& arguments,
               std::unique_ptr<WorkFolder> folder);

    /// Ends the process at once; nothing is delivered.
    void cancel();

    bool running() const { return m_process != nullptr; }

    /// A process that takes longer is ended and becomes a problem.
    void setLimit(int milliseconds) { m_limit.setInterval(milliseconds); }

Q_SIGNALS:
    void runningChanged(bool running);
    void progressed(const QString& stage); ///< a line of its standard error
    void finished(const QString& folder);  ///< gone after this
    void failed(const Problem& problem);

private:
    void readErrors();
    void ended(int code, QProcess::ExitStatus status);
    void fail(const QString& code, const QString& message, const QString& fix);
    void release();

    QProcess* m_process = nullptr;
    std::unique_ptr<WorkFolder> m_folder;
    QTimer m_limit;
    QByteArray m_line;
    QString m_job;        ///< "fuselage bench"
    QStringList m_errors; ///< last lines of its standard error
};

} // namespace fuselage::studio
