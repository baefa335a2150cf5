// SPDX-License-Identifier: Apache-2.0
// Measuring what is open, and what was measured: settings, the running process, the list of runs
// and the one that others are compared with. No widgets.
#pragma once

#include "app/studio/session/command_line.h"
#include "app/studio/session/engine_process.h"
#include "app/studio/session/verdict.h"

#include <QDateTime>
#include <QMap>

namespace fuselage::studio {

struct Run {
    int number = 0; ///< from 1, never given twice
    QDateTime when;
    QString model;        ///< path
    QString command;      ///< for a shell
    QString load;         ///< of the machine when it began
    SnapshotPtr snapshot; ///< null: of an earlier start of the program
    std::shared_ptr<const app::Report> report;
};

/// One value of the model, computed on generated inputs.
struct ComputedValue {
    TensorPtr unfused;
    TensorPtr fused; ///< null: not asked for, or a fused node keeps it to itself
};

class Measurements : public QObject {
    Q_OBJECT

public:
    explicit Measurements(Session& session, QObject* parent = nullptr);

    const MeasureSettings& settings() const { return m_settings; }

    void setSettings(const MeasureSettings& settings) { m_settings = settings; }

    /// Another program than findFuselage(), for tests.
    void setProgram(const QString& program) { m_program = program; }

    /// Runs of earlier starts, before what is measured now.
    void addEarlier(std::vector<Run> runs);

    EngineProcess& process() { return m_process; }

    /// Measures the present snapshot; a Problem says why not. Edits that are still to be matched
    /// are waited for.
    void start();

    /// The error of every node against float (app/quantize/node_error.h), for the overlay: the same
    /// process, nothing is timed.
    void startErrors();

    /// Computes values of the model by name, unfused and, where the graph after still has them,
    /// fused: `fuselage run`, twice.
    void startValues(const QStringList& values);

    void cancel();

    /// Also while it waits for edits.
    bool running() const { return m_process.running() || m_waiting; }

    const std::vector<Run>& runs() const { return m_runs; }

    /// The run that others are compared with; null when there is none or it is switched off.
    const Run* baseline() const;
    /// By number; 0: none.
    void setBaseline(int number);
    void setComparing(bool on);

    bool comparing() const { return m_comparing; }

    /// What it is compared with was another model: no verdict.
    std::optional<Verdict> verdict(const Run& run) const;

    void remove(int number);

    /// The command of what is on the screen, as copied.
    QString command() const;

    /// One of another program or subcommand, with what it leaves out of what is on the screen.
    QString command(const QString& program, const QStringList& arguments) const;

Q_SIGNALS:
    void runningChanged(bool running);
    void progressed(const QString& stage);
    void runsChanged();                                           ///< the list or the baseline
    void measured(const Run& run, const QByteArray& json);        ///< a run was added to the list
    void valuesKnown(const QMap<QString, ComputedValue>& values); ///< by name
    void errorsKnown(); ///< of nodes: the session's report has them

private:
    enum class Job { Measure, Errors, Values, FusedValues };

    void begin(Job job);
    void beginWaiting();
    void read(const QString& folder); ///< what the process left there
    void take(const QByteArray& json);
    void takeErrors(const QByteArray& json);
    void takeValues(const QString& folder);
    QStringList valuesAfter() const;
    void saySlower(const app::Report& report);
    void findRunOf(const SnapshotPtr& now);
    void problem(const QString& code, const QString& message, const QString& fix);

    Session& m_session;
    EngineProcess m_process;
    MeasureSettings m_settings;
    QString m_program;
    std::vector<Run> m_runs;
    Run m_next; ///< of the process that runs
    Job m_job = Job::Measure;
    QStringList m_wanted; ///< values to compute
    QMap<QString, ComputedValue> m_values;
    bool m_waiting = false; ///< until the rules are matched
    int m_count = 0, m_baseline = 0;
    bool m_comparing = true;
};

/// "load 8.3 on 2 cores: other work disturbs times"; what a person should know before measuring.
QString loadText();

} // namespace fuselage::studio
