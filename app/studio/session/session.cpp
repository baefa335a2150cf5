// SPDX-License-Identifier: Apache-2.0
#include "app/studio/session/session.h"

#include "app/pipeline/compiled.h"
#include "app/pipeline/precision_rules.h"
#include "app/pipeline/sketch.h"
#include "app/studio/session/dispose.h"

#include <QFileInfo>
#include <algorithm>

namespace fuselage::studio {

namespace {

/// Quiet time after the last key before rules are matched again.
constexpr int pauseMilliseconds = 120;

/// Of the graph. A smaller model is analysed about as soon as it is drawn.
constexpr size_t nodesToPreview = 5000;

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
        problems.back().fix = QObject::tr("its rules are left out; %1").arg(problems.back().fix);
        options.paths.erase(given);
    }
}

} // namespace

Result<void> SessionOptions::setPrecision(Precision all, const QStringList& of) {
    std::vector<std::string> texts;
    for (const QString& text : of)
        texts.push_back(text.toStdString());
    auto choice = parsePrecisionChoice(all, texts);
    if (!choice)
        return failure(choice.error());
    precision = all;
    precisionOf = of;
    fuse.precision = choice->precision;
    fuse.precisionOf = std::move(choice->except);
    return {};
}

SnapshotPtr shared(std::unique_ptr<Snapshot> snapshot) {
    return {snapshot.release(), disposeLater<const Snapshot>};
}

struct Session::Outcome {
    std::shared_ptr<const app::LoadedModel> model;
    SnapshotPtr snapshot;
    QList<Problem> problems;
    std::shared_ptr<const app::Report> sketch =
        nullptr;      ///< where this model has no snapshot at all
    Error error = {}; ///< why
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
    if (m_usual && path != m_lentTo) {
        m_options = optionsToKeep();
        m_usual.reset();
        Q_EMIT lentChanged(false);
    }
    m_opening = path;
    SessionOptions options = m_options;
    const bool another = path != m_path;
    const bool first = another || !m_snapshot; // else what was known of it stays in view
    if (m_path.isEmpty() && !options.fuse.dims.empty()) {
        m_dimsOf[QFileInfo(path).absoluteFilePath()] = options.fuse.dims; // given beforehand
    } else if (another) {
        options.fuse.dims = m_dimsOf.value(QFileInfo(path).absoluteFilePath());
    }
    if (another && !m_path.isEmpty()) {
        options.fuse.disabled.clear();
        (void)options.setPrecision(options.precision, {});
    }
    m_lane.start([this, path, options, another, first](Progress& progress) -> JobLane::Delivery {
        app::ModelRequest request{path.toStdString(), options.fuse.dims};
        if (auto library = app::loadRuleLibrary(options.rules))
            app::readFor(*library, options.fuse.pipeline, request);
        auto loaded = app::loadModel(request, progress);
        if (!loaded) {
            const Error error = loaded.error();
            if (error.code == "cancelled")
                return {};
            auto sketch = app::sketchOfFile(path.toStdString());
            if (!sketch) {
                Outcome outcome{nullptr, nullptr, {problemOf(error, path)}};
                return [this, outcome] {
                    m_opening.clear();
                    take(outcome);
                    if (m_stale) // what changed meanwhile waited for this model
                        analyseLater();
                };
            }
            auto shown = std::make_shared<const app::Report>(std::move(*sketch));
            return [this, path, shown, error, options] {
                takeModelOptions(options);
                takeSketch(path, shown, error);
            };
        }
        std::shared_ptr<const app::LoadedModel> model(new app::LoadedModel(std::move(*loaded)),
                                                      disposeLater<const app::LoadedModel>);
        std::shared_ptr<const app::Report> preview;
        if (first && model->graph.nodeCount() >= nodesToPreview)
            preview = {new app::Report(app::sketchOf(*model)), disposeLater<const app::Report>};
        return [this, path, model, preview, options, another] {
            if (another)
                takeModelOptions(options);
            takeModel(path, model, preview);
        };
    });
}

/// What belongs to a model. The rest may have changed while it was loaded: a text was opened.
void Session::takeModelOptions(const SessionOptions& of) {
    m_options.fuse.dims = of.fuse.dims;
    m_options.fuse.disabled = of.fuse.disabled;
    (void)m_options.setPrecision(m_options.precision, of.precisionOf);
}

/// From here on `path` is the open model.
void Session::startOn(const QString& path) {
    if (!m_path.isEmpty())
        m_watcher.removePath(m_path);
    if (path != m_path)
        m_axes.clear();
    m_path = path;
    m_opening.clear();
    m_watcher.addPath(path);
    m_notes.clear();
    m_everMeasured = false;
    removeProblems(QStringLiteral("measure."));
}

void Session::takeModel(const QString& path, const std::shared_ptr<const app::LoadedModel>& model,
                        const std::shared_ptr<const app::Report>& preview) {
    startOn(path);
    m_model = model;
    m_known = std::shared_ptr<app::AnalysisCache>(
        new app::AnalysisCache(std::shared_ptr<const Graph>(model, &model->graph)),
        disposeLater<app::AnalysisCache>);
    for (const std::string& note : model->notes)
        m_notes.append(problemOfNote(note));
    const Graph& graph = model->graph;
    for (ValueId input : graph.inputs()) {
        const Type& type = graph.value(input).type;
        for (size_t axis = 0; type.shape && axis < type.shape->size(); ++axis) {
            for (const std::string& symbol : (*type.shape)[axis].symbols()) {
                QStringList& axes = m_axes[QString::fromStdString(symbol)];
                const QString name =
                    QString::fromStdString(axisName(graph.value(input).name, axis));
                if (!axes.contains(name))
                    axes.append(name);
            }
        }
    }
    if (preview) {
        m_analysisProblems.clear();
        m_snapshot.reset();
        m_measured.reset();
        m_sketch = preview;
        m_sketchPlace.clear();
        m_previewing = true;
        setStale(false);
    }
    collectProblems();
    Q_EMIT modelOpened(path);
    analyse();
    if (preview) {
        Q_EMIT snapshotChanged(nullptr, nullptr);
        Q_EMIT reportChanged();
    }
}

void Session::takeSketch(const QString& path, std::shared_ptr<const app::Report> sketch,
                         const Error& error) {
    startOn(path);
    m_model.reset();
    m_known.reset();
    m_snapshot.reset();
    m_measured.reset();
    m_sketchPlace = QString::fromStdString(app::placeOf(error, *sketch));
    m_sketch = std::move(sketch);
    m_previewing = false;
    m_analysisProblems = {problemOf(error, path)};
    collectProblems();
    setStale(false);
    Q_EMIT modelOpened(path);
    Q_EMIT snapshotChanged(nullptr, nullptr);
    Q_EMIT reportChanged();
}

QList<OpenDimension> Session::openDimensions() const {
    QMap<QString, OpenDimension> out;
    auto at = [&](const std::string& name) -> OpenDimension& {
        const QString key = QString::fromStdString(name);
        OpenDimension& dimension = out[key];
        dimension.name = key;
        dimension.axes = m_axes.value(key);
        return dimension;
    };
    for (auto it = m_axes.cbegin(); it != m_axes.cend(); ++it)
        at(it.key().toStdString());
    if (m_model)
        for (const auto& [name, size] : m_model->dims)
            at(name).size = size;
    for (const auto& [name, size] : m_options.fuse.dims) {
        OpenDimension& dimension = at(name);
        dimension.size = size;
        dimension.given = true;
    }
    return out.values();
}

void Session::cancel() {
    const bool opening = !std::exchange(m_opening, {}).isEmpty();
    m_lane.cancel();
    if (opening && m_stale) // what changed meanwhile waited for that model
        analyseLater();
}

void Session::reload() {
    if (const QString& path = m_opening.isEmpty() ? m_path : m_opening; !path.isEmpty())
        open(QString(path));
}

QString Session::openFiles(const QStringList& paths) {
    SessionOptions options = m_options;
    const QStringList models = modelsAmong(paths);
    for (const QString& path : paths)
        if (!models.contains(path))
            options.rules.paths.push_back(path.toStdString());
    if (options.rules.paths != m_options.rules.paths)
        setOptions(options);
    if (models.isEmpty())
        return {};
    open(models.first());
    return models.first();
}

void Session::setOptions(const SessionOptions& options) {
    bool otherModel = options.fuse.dims != m_options.fuse.dims;
    m_options = options;
    if (m_path.isEmpty())
        return;
    const QString key = QFileInfo(m_path).absoluteFilePath();
    if (options.fuse.dims.empty())
        m_dimsOf.remove(key);
    else
        m_dimsOf[key] = options.fuse.dims;
    if (!m_model)
        return reload();
    setStale(true);
    otherModel ? reload() : analyse();
}

void Session::openLent(const QString& path, const SessionOptions& options) {
    if (!m_usual)
        m_usual = m_options;
    m_lentTo = path;
    m_options = options;
    Q_EMIT lentChanged(true);
    open(path);
}

void Session::takeBackOptions() {
    if (!m_usual)
        return;
    const SessionOptions usual = optionsToKeep();
    m_usual.reset();
    Q_EMIT lentChanged(false);
    setOptions(usual);
}

SessionOptions Session::optionsToKeep() const {
    SessionOptions out = m_usual.value_or(m_options);
    out.fuse.dims = m_options.fuse.dims; // the model's
    out.fuse.disabled = m_options.fuse.disabled;
    out.rules.texts = m_options.rules.texts; // what is typed is the editor's
    out.rules.unsaved = m_options.rules.unsaved;
    return out;
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
    if (!m_model || !m_opening.isEmpty()) // a model that is being opened is analysed with all that
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
    // What a rule takes changes with the rules: nothing is known from before.
    app::AnalysisCache fresh;
    const bool byRule = app::namesRules(options.fuse.precisionOf);
    auto analysis = [&]() -> Result<app::Analysis> {
        if (auto found = app::lookUpRules(*model, *library, analysing.fuse, progress); !found)
            return failure(found.error());
        return app::analyse(*model, *library, analysing, byRule ? fresh : known, progress);
    }();
    if (!analysis) {
        if (analysis.error().code == "cancelled")
            return out;
        out.problems.append(problemOf(analysis.error(), {}));
        if (isFirst) {
            out.sketch = std::make_shared<const app::Report>(app::sketchOf(*model));
            out.error = analysis.error();
        }
        return out;
    }
    auto snapshot = std::make_unique<Snapshot>();
    snapshot->model = model;
    snapshot->rules = std::make_shared<const app::RuleLibrary>(std::move(*library));
    snapshot->analysis = std::move(*analysis);
    snapshot->provenance =
        ProvenanceMap(snapshot->report().before.graph, snapshot->report().after.graph);
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
    if (!outcome.snapshot && !outcome.sketch)
        return;
    SnapshotPtr previous = m_snapshot;
    m_snapshot = outcome.snapshot;
    m_measured.reset();
    m_followsPreview = previewing();
    m_sketch = outcome.sketch;
    m_previewing = false;
    m_sketchPlace =
        m_sketch ? QString::fromStdString(app::placeOf(outcome.error, *m_sketch)) : QString();
    if (m_sketch) {
        setStale(false);
        Q_EMIT snapshotChanged(nullptr, nullptr);
        Q_EMIT reportChanged();
        return;
    }
    setStale(false);
    bool sameModel = previous && previous->model == m_snapshot->model;
    Q_EMIT snapshotChanged(m_snapshot, sameModel ? previous : nullptr);
    Q_EMIT reportChanged();
}

void Session::setMeasured(const SnapshotPtr& of, std::shared_ptr<const app::Report> report) {
    m_everMeasured = m_everMeasured || report->after.measured;
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

QStringList modelsAmong(const QStringList& paths) {
    QStringList out;
    for (const QString& path : paths)
        if (!path.endsWith(".fuse", Qt::CaseInsensitive) &&
            (!QFileInfo(path).isDir() || path.endsWith(".onnx", Qt::CaseInsensitive)))
            out << path;
    return out;
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
        out.fix = QObject::tr("give other sizes: Run > Dimensions ...");
        out.code = QStringLiteral("load.sizes");
    }
    return out;
}

} // namespace fuselage::studio
