// SPDX-License-Identifier: Apache-2.0
// The open model and the rules it is matched with. Loads and analyses in the background; keeps the
// last good Snapshot while rules are broken or newer work runs, and says that it is stale. No
// widgets.
#pragma once

#include "app/pipeline/analysis.h"
#include "app/studio/session/job_lane.h"
#include "app/studio/session/snapshot.h"

#include <QFileSystemWatcher>
#include <QMap>
#include <QObject>
#include <QString>
#include <QTimer>

namespace fuselage::studio {

/// One row of the Problems panel: something a person can act on.
struct Problem {
    Severity severity = Severity::Error;
    QString code, message, fix;
    QString file;                   ///< rule file or model; empty: neither
    int line = 0, column = 0;       ///< one-based; 0: none
    int beginByte = 0, endByte = 0; ///< of the text in the file, when there is a line
};

/// What the analysis is made with; a change starts a new one.
struct SessionOptions {
    app::RuleOptions rules;
    app::FuseOptions fuse;
    QString device = QStringLiteral("cpu"); ///< profile for predictions
    /// The precision as it is given: `fuse` has what follows from both.
    Precision precision = Precision::Fp32;
    QStringList precisionOf; ///< "NODES=fp32", as `--precision-of` of the command line

    /// Sets all of it, `fuse` too. Errors: those of parsePrecisionChoice.
    Result<void> setPrecision(Precision all, const QStringList& of);
};

/// A size that a model leaves open.
struct OpenDimension {
    QString name;       ///< "N", or of an axis "x.2"
    QStringList axes;   ///< of inputs where it stands: "x.0", "mask.0"
    int64_t size = 0;   ///< that is used; 0: none was found
    bool given = false; ///< by a person
};

class Session : public QObject {
    Q_OBJECT

public:
    explicit Session(QObject* parent = nullptr);

    /// Loads and analyses a model file; the model that is open stays until the new one is loaded,
    /// or until it is known that its graph can be shown at least (see sketch()). Of a large one the
    /// graph is shown before the analysis (see previewing()). Sizes of
    /// dimensions, exceptions of precision and switched-off matches belong to a model: another one
    /// gets the sizes that were given to it before.
    void open(const QString& path);
    /// The open model, or what is being opened, from the beginning.
    void reload();

    /// Models, .fuse files and folders of them in any mix, as from a command line: adds the rules,
    /// opens the first model. Returns the model's path; empty when there is none.
    QString openFiles(const QStringList& paths);

    const SessionOptions& options() const { return m_options; }

    void setOptions(const SessionOptions& options);

    /// Opens a model with options of its own: the next one has those from before again.
    void openLent(const QString& path, const SessionOptions& options);

    /// The options from before openLent() for this model too.
    void takeBackOptions();

    bool areOptionsLent() const { return m_usual.has_value(); }

    /// What the next start of the program begins with.
    SessionOptions optionsToKeep() const;

    /// The editor's text of a rule file; matched after a pause in typing. Null text: as on disk.
    void setUnsaved(const QString& file, const std::optional<QString>& text);

    /// Ends loading and analysing; what is open stays.
    void cancel();

    bool busy() const { return m_lane.busy(); }

    /// An analysis starts as soon as typing pauses.
    bool pending() const { return m_pause.isActive(); }

    const QString& modelPath() const { return m_path; }

    /// The last analysis that succeeded; null before the first.
    const SnapshotPtr& snapshot() const { return m_snapshot; }

    /// What tables and charts show; null before the first analysis.
    const app::Report* report() const { return sharedReport().get(); }

    /// The same, for work that outlives the moment.
    std::shared_ptr<const app::Report> sharedReport() const {
        if (m_sketch)
            return m_sketch;
        return m_measured || !m_snapshot
                   ? m_measured
                   : std::shared_ptr<const app::Report>(m_snapshot, &m_snapshot->report());
    }

    /// The open model as far as it can be shown where it cannot be analysed: a graph without a side
    /// after. Then there is no snapshot. Also the first view of a large model, until it is
    /// analysed.
    const std::shared_ptr<const app::Report>& sketch() const { return m_sketch; }

    /// The sketch is the first view of a large model, and no verdict: its analysis runs, or was
    /// cancelled.
    bool previewing() const { return m_sketch && m_previewing; }

    /// The snapshot came after a first view of the same model.
    bool followsPreview() const { return m_followsPreview; }

    /// The node of the sketch that cannot be gone past; empty where none is known.
    const QString& sketchPlace() const { return m_sketchPlace; }

    /// The same for two reports of one model.
    std::shared_ptr<const void> modelId() const {
        return m_sketch ? std::shared_ptr<const void>(m_sketch) : m_model;
    }

    /// Dimensions that the model leaves open, by name, with what they are taken for.
    QList<OpenDimension> openDimensions() const;

    /// Sizes that were given to models, by path: to keep from one start to the next.
    const QMap<QString, DimensionValues>& givenDimensions() const { return m_dimsOf; }

    void setGivenDimensions(const QMap<QString, DimensionValues>& dims) { m_dimsOf = dims; }

    /// More figures of that snapshot (measured times, errors by node); shown if it is still the
    /// present one.
    void setMeasured(const SnapshotPtr& of, std::shared_ptr<const app::Report> report);

    /// report() holds measured times.
    bool measured() const { return m_measured && m_measured->after.measured; }

    /// What was measured last does not fit the present rules or options any more.
    bool measurementStale() const { return m_everMeasured && (m_stale || !measured()); }

    /// The snapshot does not show the present options or texts.
    bool stale() const { return m_stale; }

    /// What is wrong; empty when all is well.
    const QList<Problem>& problems() const { return m_problems; }

    /// What a person should know of the open model although nothing is wrong, e.g. the sizes that
    /// were taken. No problems: nothing counts them, and they are shown after what is wrong.
    const QList<Problem>& notes() const { return m_notes; }

    /// A problem that is not of the analysis: of a measurement, a layout, an export.
    void addProblem(const Problem& problem);
    /// Takes away those whose code starts so.
    void removeProblems(const QString& code);

Q_SIGNALS:
    void modelOpened(const QString& path); ///< loaded; the analysis follows
    void lentChanged(bool areLent);        ///< areOptionsLent()
    /// `previous` is of the same model, or null.
    void snapshotChanged(const SnapshotPtr& now, const SnapshotPtr& previous);
    /// report() is another one, or holds other figures.
    void reportChanged();
    void staleChanged(bool stale);
    /// A view asks that an editor shows this line of a rule file.
    void placeWanted(const QString& file, int line);
    void problemsChanged(const QList<Problem>& problems); ///< or the notes did
    void progressed(const QString& stage, qulonglong done, qulonglong total);
    void busyChanged(bool busy);
    void changedOnDisk(const QString& path);

private:
    struct Outcome;

    void analyseLater();
    void analyse();
    static Outcome run(const std::shared_ptr<const app::LoadedModel>& model,
                       app::AnalysisCache& known, const SessionOptions& options,
                       const SnapshotPtr& previous, Progress& progress);
    void take(Outcome outcome);
    void takeModel(const QString& path, const std::shared_ptr<const app::LoadedModel>& model,
                   const std::shared_ptr<const app::Report>& preview);
    void takeSketch(const QString& path, std::shared_ptr<const app::Report> sketch,
                    const Error& error);
    void startOn(const QString& path);
    void takeModelOptions(const SessionOptions& of);
    void setStale(bool stale);
    void collectProblems();

    JobLane m_lane;
    QTimer m_pause;
    QFileSystemWatcher m_watcher;
    QString m_path, m_opening; ///< of the open model; of the one that is being loaded
    SessionOptions m_options;
    std::optional<SessionOptions> m_usual; ///< while m_options are those of m_lentTo
    QString m_lentTo;
    std::shared_ptr<const app::LoadedModel> m_model;
    std::shared_ptr<app::AnalysisCache> m_known; ///< of m_model
    SnapshotPtr m_snapshot;
    std::shared_ptr<const app::Report> m_measured; ///< of m_snapshot
    std::shared_ptr<const app::Report> m_sketch;
    QString m_sketchPlace;
    QMap<QString, DimensionValues> m_dimsOf; ///< given sizes, by absolute path
    QMap<QString, QStringList> m_axes;       ///< of open dimensions of the model
    QList<Problem> m_problems, m_analysisProblems, m_otherProblems, m_notes;
    bool m_stale = false, m_everMeasured = false;
    bool m_previewing = false, m_followsPreview = false;
};

/// Those of the files that are no rules: neither .fuse nor folders.
QStringList modelsAmong(const QStringList& paths);

/// The diagnostics of rule texts as rows for people.
QList<Problem> problemsOf(const Diagnostics& diagnostics, const SourceSet& sources);
Problem problemOf(const Error& error, const QString& file);

/// A note of the loader as a row; advice to give --dim becomes a fix in words of Studio.
Problem problemOfNote(const std::string& note);

} // namespace fuselage::studio
