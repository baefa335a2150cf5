// SPDX-License-Identifier: Apache-2.0
#include "app/studio/session/session.h"

#include "app/pipeline/compiled.h"
#include "app/studio/session/dispose.h"

#include <QFileInfo>
#include <algorithm>

namespace fuselage::studio {

namespace {

/// Quiet time after the last key before rules are matched again.
constexpr int pauseMilliseconds = 120;

/// What can be read of the rules: with `leaveOut`, a file or folder that cannot is a problem and
/// the others are taken.
std::optional<app::RuleLibrary> loadRules(app::RuleOptions options, bool leaveOut,
                                          QList<Problem>& problems) {
    for (;;) {
        auto library = app::loadRuleLibrary(options);
        if (library)
            return std::move(*library);
        const Error& error = library.error();
        problems.append(problemOf(error, {}));
        auto given = std::find(options.paths.begin(), options.paths.end(), error.where);
        if (!leaveOut || error.code != "rules.read" || given == options.paths.end())
            return std::nullopt;
        problems.back().message += QObject::tr("; its rules are left out");
        options.paths.erase(given);
    }
}

} // namespace

SnapshotPtr shared(std::unique_ptr<Snapshot> snapshot) {
    return {snapshot.release(), disposeLater<const Snapshot>};
}

struct Session::Outcome {
    std::shared_ptr<const app::LoadedModel> model;
    SnapshotPtr snapshot;
    QList<Problem> problems;
};

Session::Session(QObject* parent) : QObject(parent) {
    m_pause.setSingleShot(true);
    m_pause.setInterval(pauseMilliseconds);
    connect(&m_pause, &QTimer::timeout, this, &Session::analyse);
    connect(&m_lane, &JobLane::progressed, this, &Session::progressed);
    connect(&m_lane, &JobLane::busyChanged, this, &Session::busyChanged);
    connect(&m_watcher, &QFileSystemWatcher::fileChanged, this, [this](const QString& path) {
        if (QFileInfo::exists(path)) // a file that was replaced is not watched any more
            m_watcher.addPath(path);
        Q_EMIT changedOnDisk(path);
    });
}

void Session::open(const QString& path) {
    m_pause.stop();
    SessionOptions options = m_options;
    m_lane.start([this, path, options](Progress& progress) -> JobLane::Delivery {
        auto loaded = app::loadModel(path.toStdString(), options.fuse.dims, progress);
        if (!loaded) {
            Outcome outcome{nullptr, nullptr, {problemOf(loaded.error(), path)}};
            return [this, outcome] { take(outcome); };
        }
        std::shared_ptr<const app::LoadedModel> model(new app::LoadedModel(std::move(*loaded)),
                                                      disposeLater<const app::LoadedModel>);
        std::shared_ptr<app::AnalysisCache> known(new app::AnalysisCache,
                                                  disposeLater<app::AnalysisCache>);
        return [this, path, model, known] {
            if (!m_path.isEmpty())
                m_watcher.removePath(m_path);
            m_path = path;
            m_watcher.addPath(path);
            m_model = model;
            m_known = known;
            m_notes.clear();
            for (const std::string& note : model->notes)
                m_notes.append(problemOfNote(note));
            collectProblems();
            m_everMeasured = false;
            Q_EMIT modelOpened(path);
            analyse();
        };
    });
}

void Session::reload() {
    if (!m_path.isEmpty())
        open(m_path);
}

QString Session::openFiles(const QStringList& paths) {
    SessionOptions options = m_options;
    QString model;
    for (const QString& path : paths)
        if (path.endsWith(".fuse", Qt::CaseInsensitive) || QFileInfo(path).isDir())
            options.rules.paths.push_back(path.toStdString());
        else
            model = path;
    if (options.rules.paths != m_options.rules.paths)
        setOptions(options);
    if (!model.isEmpty())
        open(model);
    return model;
}

void Session::setOptions(const SessionOptions& options) {
    bool otherModel = options.fuse.dims != m_options.fuse.dims;
    m_options = options;
    if (!m_model)
        return;
    setStale(true);
    otherModel ? reload() : analyse();
}

void Session::setUnsaved(const QString& file, const std::optional<QString>& text) {
    auto& unsaved = m_options.rules.unsaved;
    if (text)
        unsaved[file.toStdString()] = text->toStdString();
    else if (!unsaved.erase(file.toStdString()))
        return;
    analyseLater();
}

void Session::analyseLater() {
    if (!m_model)
        return;
    setStale(true);
    m_pause.start();
}

void Session::analyse() {
    m_pause.stop();
    if (!m_model)
        return;
    m_lane.start([this, model = m_model, known = m_known, options = m_options,
                  previous = m_snapshot](Progress& progress) -> JobLane::Delivery {
        Outcome outcome = run(model, *known, options, previous, progress);
        return [this, outcome] { take(outcome); };
    });
}

Session::Outcome Session::run(const std::shared_ptr<const app::LoadedModel>& model,
                              app::AnalysisCache& known, const SessionOptions& options,
                              const SnapshotPtr& previous, Progress& progress) {
    Outcome out{model, nullptr, {}};
    // Rules with errors are left out: better than nothing, worse than the last good result.
    bool isFirst = !previous || previous->model != model;
    auto library = loadRules(options.rules, isFirst, out.problems);
    if (!library)
        return out;
    out.problems += problemsOf(library->loaded.diagnostics, *library->sources);
    if (library->loaded.diagnostics.hasErrors() && !isFirst)
        return out;
    auto profile = deviceProfile(options.device.toStdString());
    if (!profile) {
        out.problems.append(problemOf(profile.error(), {}));
        return out;
    }
    auto backend = makeBackend(CompileOptions{});
    app::AnalysisOptions analysing{options.fuse, *profile, backend ? backend->get() : nullptr};
    analysing.fuse.explain = true;
    auto analysis = app::analyse(*model, *library, analysing, known, progress);
    if (!analysis) {
        if (analysis.error().code != "cancelled")
            out.problems.append(problemOf(analysis.error(), {}));
        return out;
    }
    auto snapshot = std::make_unique<Snapshot>();
    snapshot->model = model;
    snapshot->rules = std::make_shared<const app::RuleLibrary>(std::move(*library));
    snapshot->analysis = std::move(*analysis);
    snapshot->provenance = ProvenanceMap(snapshot->before(), snapshot->after());
    snapshot->device = options.device;
    snapshot->dims = options.fuse.dims;
    snapshot->precision = options.fuse.precision;
    snapshot->strict = options.fuse.strict;
    out.snapshot = shared(std::move(snapshot));
    return out;
}

void Session::take(Outcome outcome) {
    m_analysisProblems = std::move(outcome.problems);
    collectProblems();
    if (!outcome.snapshot)
        return;
    SnapshotPtr previous = m_snapshot;
    m_snapshot = outcome.snapshot;
    m_measured.reset();
    setStale(false);
    bool sameModel = previous && previous->model == m_snapshot->model;
    Q_EMIT snapshotChanged(m_snapshot, sameModel ? previous : nullptr);
    Q_EMIT reportChanged();
}

void Session::setMeasured(const SnapshotPtr& of, std::shared_ptr<const app::Report> report) {
    m_everMeasured = true;
    if (of == m_snapshot)
        m_measured = std::move(report);
    Q_EMIT reportChanged();
}

void Session::addProblem(const Problem& problem) {
    m_otherProblems.append(problem);
    collectProblems();
}

void Session::removeProblems(const QString& code) {
    auto gone = std::remove_if(m_otherProblems.begin(), m_otherProblems.end(),
                               [&](const Problem& each) { return each.code.startsWith(code); });
    if (gone == m_otherProblems.end())
        return;
    m_otherProblems.erase(gone, m_otherProblems.end());
    collectProblems();
}

void Session::collectProblems() {
    m_problems = m_analysisProblems + m_otherProblems;
    Q_EMIT problemsChanged(m_problems);
}

void Session::setStale(bool stale) {
    if (stale == m_stale)
        return;
    m_stale = stale;
    Q_EMIT staleChanged(stale);
}

QList<Problem> problemsOf(const Diagnostics& diagnostics, const SourceSet& sources) {
    QList<Problem> out;
    for (const Diagnostic& diagnostic : diagnostics.all()) {
        const Source& source = sources[diagnostic.span.source];
        LineColumn place = source.position(diagnostic.span.begin);
        out.append({diagnostic.severity, QString::fromStdString(diagnostic.code),
                    QString::fromStdString(diagnostic.message),
                    QString::fromStdString(diagnostic.fix), QString::fromStdString(source.name()),
                    static_cast<int>(place.line), static_cast<int>(place.column),
                    static_cast<int>(diagnostic.span.begin),
                    static_cast<int>(diagnostic.span.end)});
    }
    return out;
}

Problem problemOf(const Error& error, const QString& file) {
    Problem out;
    out.code = QString::fromStdString(error.code);
    out.message = QString::fromStdString(error.message);
    out.fix = QString::fromStdString(error.fix);
    out.file = error.where.empty() ? file : QString::fromStdString(error.where);
    return out;
}

Problem problemOfNote(const std::string& note) {
    Problem out;
    out.severity = Severity::Note;
    out.code = QStringLiteral("load.note");
    out.message = QString::fromStdString(note);
    const qsizetype advice = out.message.lastIndexOf(QStringLiteral("; "));
    if (advice >= 0 && out.message.indexOf(QStringLiteral("--dim "), advice) >= 0) {
        out.message.truncate(advice);
        out.fix = QObject::tr("give other sizes: Run > Options ... > Dimensions");
    }
    return out;
}

} // namespace fuselage::studio
