// SPDX-License-Identifier: Apache-2.0
// A measurement in a process of its own: `fuselage bench`, so that a crashing backend takes nothing
// with it. Starts, follows, ends that process; what it measured is text for addMeasurements().
#pragma once

#include "app/studio/session/session.h"

#include <QObject>
#include <QProcess>
#include <QTemporaryDir>
#include <QTimer>
#include <memory>

namespace fuselage::studio {

class Measurement : public QObject {
    Q_OBJECT

public:
    explicit Measurement(QObject* parent = nullptr);
    ~Measurement() override; ///< ends the process

    /// Runs `program arguments --report FILE`; `folder` holds FILE and what else the process reads,
    /// and is kept as long. Another one that runs is cancelled.
    void start(const QString& program, const QStringList& arguments,
               std::unique_ptr<QTemporaryDir> folder);

    /// Ends the process at once; nothing is delivered.
    void cancel();

    bool running() const { return m_process != nullptr; }

    /// A process that takes longer is ended and becomes a problem.
    void setLimit(int milliseconds) { m_limit.setInterval(milliseconds); }

Q_SIGNALS:
    void runningChanged(bool running);
    void progressed(const QString& stage); ///< a line of its standard error
    void finished(const QByteArray& json); ///< the JSON report
    void failed(const Problem& problem);

private:
    void readErrors();
    void ended(int code, QProcess::ExitStatus status);
    void fail(const QString& code, const QString& message, const QString& fix);
    void release();

    QProcess* m_process = nullptr;
    std::unique_ptr<QTemporaryDir> m_folder;
    QTimer m_limit;
    QByteArray m_line;
    QStringList m_errors; ///< last lines of its standard error
};

} // namespace fuselage::studio
