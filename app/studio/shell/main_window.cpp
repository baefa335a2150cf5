// SPDX-License-Identifier: Apache-2.0
#include "app/studio/shell/main_window.h"

#include "app/studio/panels/table_panel.h"
#include "app/studio/shell/appearance.h"
#include "app/studio/shell/dimensions_dialog.h"
#include "app/studio/shell/finders.h"
#include "app/studio/shell/options_dialog.h"
#include "app/studio/shell/panel_counts.h"
#include "app/studio/shell/perspectives.h"
#include "app/studio/shell/window_state.h"
#include "app/studio/workbench/file_dialogs.h"
#include "app/studio/workbench/match_commands.h"

#include <QClipboard>
#include <QCloseEvent>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QGuiApplication>
#include <QMenuBar>
#include <QMimeData>
#include <QScreen>
#include <QStandardPaths>
#include <QStatusBar>
#include <QToolBar>
#include <QVBoxLayout>

namespace fuselage::studio {

namespace {

constexpr int layoutVersion = 1;  ///< of saved dock layouts
constexpr int savePause = 1500;   ///< milliseconds after the last change
constexpr int openingPause = 150; ///< milliseconds: sooner opened models need no skeleton

} // namespace

MainWindow::MainWindow(QSettings& settings, QWidget* parent)
    : QMainWindow(parent),
      m_settings(settings), m_workbench{m_session, m_selection, m_commands,
                                        m_marks,   m_undo,      m_measurements} {
    setObjectName("fuselage-studio");
    setAcceptDrops(true);
    QSize size(1500, 950);
    if (const QScreen* screen = QGuiApplication::primaryScreen())
        size = size.boundedTo(screen->availableGeometry().size() * 0.94);
    resize(size);
    addCommands();
    m_canvases = new CanvasPair(m_workbench, this);
    m_exporter = new Exporter(m_workbench, *m_canvases, *this);
    addCentre();
    addPanels();
    addCommandStates();
    m_canvases->adoptCommands();
    addMenus();
    addTools();
    addStatusLine();
    connect(&m_measurements, &Measurements::errorsKnown, this,
            [this] { m_canvases->setOverlay(QStringLiteral("error")); });
    connect(&m_session, &Session::snapshotChanged, this, [this](const SnapshotPtr& now) {
        m_selection.setSnapshot(now, m_session.followsPreview());
    });
    connect(&m_session, &Session::modelOpened, this, &MainWindow::remember);
    connect(&m_session, &Session::modelOpened, this, [this] {
        m_opening.stop();
        m_undo.clear(); // steps of another model mean nothing in this one
        m_marks.setStep(std::nullopt);
        m_marks.setHits({});
    });
    connect(&m_session, &Session::modelOpened, this, &MainWindow::showTitle);
    // What ends the program must not end what was open.
    connect(&m_session, &Session::modelOpened, this,
            [this] { saveOpen(m_settings, m_workbench, *m_canvases); });
    connect(&m_session, &Session::modelOpened, this,
            [this] { m_session.removeProblems("model."); });
    connect(&m_session, &Session::changedOnDisk, this, [this](const QString& path) {
        m_session.removeProblems("model.");
        const QString name = QFileInfo(path).fileName();
        if (QFileInfo::exists(path))
            warn("model.changed",
                 tr("`%1` was changed on disk; what is shown is what it was before").arg(name),
                 tr("Ctrl+R loads it again"));
        else
            warn("model.gone",
                 tr("`%1` is gone from the disk; what is shown is what it was before").arg(name),
                 tr("put it back, then Ctrl+R loads it again"));
    });
    keepPanelCounts(m_workbench, *this);
    connect(&m_session, &Session::problemsChanged, this, &MainWindow::offerDimensions);
    connect(&m_session, &Session::reportChanged, this, &MainWindow::markSketch);
    connect(&m_session, &Session::staleChanged, this, &MainWindow::showNumbers);
    connect(&m_session, &Session::reportChanged, this, &MainWindow::showNumbers);
    showTitle();
    showNumbers();
    // The graph has the height at first; what is wanted below it comes by tool bar, menu or key.
    if (auto* rules = findChild<QDockWidget*>("editor"))
        resizeDocks({rules}, {height() / 3}, Qt::Vertical);
    for (QDockWidget* dock : findChildren<QDockWidget*>())
        if (dockWidgetArea(dock) == Qt::BottomDockWidgetArea)
            dock->hide();
    m_defaultLayout = saveState(layoutVersion);
    restoreDimensions(m_settings, m_session);
    restoreColumns(m_settings, *this);
    restore();
    connect(&m_measurements, &Measurements::measured, this,
            [this](const Run& run, const QByteArray& json) {
                if (!runStore().keep(run, json))
                    warn("runs.keep", tr("this run cannot be kept for the next start"),
                         tr("make room, or make the data folder writable"));
            });
    // A window that is killed comes back as it was.
    m_saving.setSingleShot(true);
    m_saving.setInterval(savePause);
    connect(&m_saving, &QTimer::timeout, this, &MainWindow::saveAll);
    auto later = [this] { m_saving.start(); };
    connect(&m_session, &Session::snapshotChanged, this, later);
    connect(&m_canvases->canvas(scene::Before), &Canvas::viewportChanged, this, later);
    for (QDockWidget* dock : findChildren<QDockWidget*>()) {
        connect(dock, &QDockWidget::visibilityChanged, this, later);
        connect(dock, &QDockWidget::dockLocationChanged, this, later);
        for (TablePanel* panel : dock->findChildren<TablePanel*>())
            connect(panel, &TablePanel::columnsChosen, this, later);
    }
}

void MainWindow::saveAll() {
    if (!m_session.busy() ||
        !m_session.modelPath().isEmpty()) // else what comes back is not here yet
        saveOpen(m_settings, m_workbench, *m_canvases);
    if (auto* editor = findChild<EditorPanel*>())
        saveTabs(m_settings, *editor);
    // While a model opens, the drawing may be of the one before.
    if (!m_session.busy() && !m_canvases->drawing())
        m_thumbnails.keep(m_session.modelPath(), m_canvases->canvas(scene::Before).drawing(),
                          palette());
    m_settings.setValue("open/models", m_models->models());
    saveColumns(m_settings, *this);
    m_settings.setValue("geometry", saveGeometry());
    m_settings.setValue("layout", saveState(layoutVersion));
    m_settings.sync();
}

MainWindow::~MainWindow() {
    // Docks hide when they go, which is after the members.
    for (QDockWidget* dock : findChildren<QDockWidget*>())
        dock->disconnect(this);
    m_canvases->canvas(scene::Before).disconnect(this);
}

void MainWindow::addCentre() {
    m_start = new StartPage(this);
    m_centre = new QStackedWidget(this);
    m_centre->addWidget(m_start);
    m_centre->addWidget(m_canvases);
    // What is wrong with a text that is being typed stands beside its line.
    m_notice = new NoticeBar(
        m_workbench,
        [this](const Problem& problem) {
            const auto* editor = findChild<EditorPanel*>();
            return problem.line > 0 && editor && editor->openFiles().contains(problem.file);
        },
        this);
    auto* centre = new QWidget(this);
    auto* column = new QVBoxLayout(centre);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    m_models = new ModelTabs(m_workbench, *m_canvases, this);
    column->addWidget(m_models);
    column->addWidget(m_notice);
    column->addWidget(m_centre, 1);
    setCentralWidget(centre);
    m_start->setRecent(recentFiles());
    connect(m_start, &StartPage::openWanted, this, &MainWindow::openDialog);
    connect(m_start, &StartPage::tourWanted, this,
            [this] { m_commands.find("help.tour")->trigger(); });
    connect(m_start, &StartPage::filesWanted, this, &MainWindow::openFiles);
    connect(&m_session, &Session::modelOpened, this,
            [this] { m_centre->setCurrentWidget(m_canvases); });
    // A first model that takes its time has a place at once; what cannot be opened leaves it.
    m_opening.setSingleShot(true);
    m_opening.setInterval(openingPause);
    connect(&m_opening, &QTimer::timeout, this, [this] { m_centre->setCurrentWidget(m_canvases); });
    connect(&m_session, &Session::busyChanged, this, [this](bool busy) {
        const bool first = m_session.modelPath().isEmpty();
        markOpening(m_settings, busy && first);
        if (busy && first)
            return m_opening.start();
        m_opening.stop();
        if (first)
            m_centre->setCurrentWidget(m_start);
    });
}

/// What is done most: pictures that say at the pointer what they do, panels in words besides.
void MainWindow::addTools() {
    auto* tools = new QToolBar(tr("Tools"), this);
    tools->setObjectName("tools");
    const int side = std::max(16, fontMetrics().height());
    tools->setIconSize({side, side});
    for (const char* id : {"file.open",
                           "file.reload",
                           "",
                           "edit.undo",
                           "edit.redo",
                           "",
                           "find.node",
                           "view.fit",
                           "view.zoomIn",
                           "view.zoomOut",
                           "",
                           "run.dimensions",
                           "run.measure",
                           "run.options",
                           "",
                           "panel.editor",
                           "panel.matches",
                           "panel.kernels",
                           "panel.why_not",
                           "panel.problems",
                           "",
                           "file.exportPicture",
                           "file.export"}) {
        QAction* action = m_commands.find(id);
        if (!action) {
            tools->addSeparator();
            continue;
        }
        tools->addAction(action);
        auto* button = qobject_cast<QToolButton*>(tools->widgetForAction(action));
        button->setAccessibleName(action->text());
        button->setToolButtonStyle(QLatin1String(id).startsWith(QLatin1String("panel."))
                                       ? Qt::ToolButtonTextBesideIcon
                                       : Qt::ToolButtonIconOnly);
    }
    addToolBar(tools);
    addAction(tools->toggleViewAction());
}

/// Where measured runs are kept.
RunStore MainWindow::runStore() {
    return RunStore(QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) +
                    QStringLiteral("/runs"));
}

void MainWindow::restoreRuns() {
    m_runLane.start([this](Progress&) -> JobLane::Delivery {
        WorkFolder::sweep();
        std::vector<Run> runs = runStore().all();
        return [this, runs] { m_measurements.addEarlier(runs); };
    });
}

void MainWindow::restoreOpenFiles() {
    if (endedWhileOpening(m_settings))
        warn("start.ended",
             tr("the program ended while it opened `%1`")
                 .arg(m_settings.value("open/model").toString()),
             tr("it is not opened by itself; Ctrl+1 tries it again"));
    if (restoreOpen(m_settings, m_workbench, *m_canvases))
        m_models->addModels(m_settings.value("open/models").toStringList());
    if (auto* editor = findChild<EditorPanel*>())
        restoreTabs(m_settings, *editor);
}

void MainWindow::openFiles(const QStringList& paths) {
    if (const QStringList models = modelsAmong(paths); models.size() > 1)
        m_models->addModels(models);
    m_session.openFiles(paths);
    for (const QString& path : paths)
        if (path.endsWith(".fuse", Qt::CaseInsensitive))
            Q_EMIT m_session.placeWanted(path, 0);
}

QStringList MainWindow::recentFiles() const {
    return m_settings.value("recent").toStringList();
}

void MainWindow::remember(const QString& path) {
    QStringList files = recentFiles();
    QString absolute = QFileInfo(path).absoluteFilePath();
    files.removeAll(absolute);
    files.prepend(absolute);
    m_settings.setValue("recent", files.mid(0, recentFileCount));
    m_start->setRecent(recentFiles());
}

void MainWindow::changeEvent(QEvent* event) {
    QMainWindow::changeEvent(event);
    if (event->type() == QEvent::PaletteChange && m_numbers) // it has colours of the theme
        showNumbers();
}

void MainWindow::warn(const QString& code, const QString& message, const QString& fix) {
    Problem problem;
    problem.severity = Severity::Warning;
    problem.code = code;
    problem.message = message;
    problem.fix = fix;
    m_session.addProblem(problem);
    statusBar()->showMessage(message, 8000);
}

void MainWindow::optionsDialog() {
    DimensionValues taken;
    if (const SnapshotPtr& snapshot = m_session.snapshot())
        taken = snapshot->analysis.dims;
    auto* dialog = new OptionsDialog(m_session.options(), m_measurements.settings(), taken, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QDialog::accepted, this, [this, dialog] {
        m_measurements.setSettings(dialog->measureSettings());
        m_session.setOptions(dialog->sessionOptions());
    });
    dialog->open();
}

void MainWindow::dimensionsDialog() {
    const QList<OpenDimension> open = m_session.openDimensions();
    if (open.isEmpty())
        return statusBar()->showMessage(m_session.modelPath().isEmpty()
                                            ? tr("open a model first: Ctrl+O")
                                            : tr("this model leaves no dimension open"),
                                        8000);
    auto* dialog = new DimensionsDialog(open, QFileInfo(m_session.modelPath()).fileName(), this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QDialog::accepted, this, [this, dialog] {
        SessionOptions options = m_session.options();
        options.fuse.dims = dialog->values();
        m_session.setOptions(options);
    });
    dialog->open();
}

/// Once for a model for which no sizes were found.
void MainWindow::offerDimensions() {
    for (const Problem& problem : m_session.problems())
        if (problem.code == "dim.open" && m_askedFor != m_session.modelPath()) {
            m_askedFor = m_session.modelPath();
            dimensionsDialog();
            return;
        }
}

void MainWindow::openDialog() {
    askOpenFiles(this, tr("Open a model or rules"),
                 tr("models and rules (*.onnx *.fuse);;all files (*)"),
                 [this](const QStringList& paths) { openFiles(paths); });
}

void MainWindow::resetLayout() {
    restoreState(m_defaultLayout, layoutVersion);
}

void MainWindow::restore() {
    restoreGeometry(m_settings.value("geometry").toByteArray());
    restoreState(m_settings.value("layout").toByteArray(), layoutVersion);
    // It was left on a larger screen.
    const QRect room = screen()->availableGeometry();
    if (!room.contains(geometry())) {
        resize(size().boundedTo(room.size()));
        move(room.topLeft());
    }
}

void MainWindow::closeEvent(QCloseEvent* event) {
    m_saving.stop();
    saveAll();
    markOpening(m_settings, false);
    auto* editor = findChild<EditorPanel*>();
    if (editor && !m_leaving && !editor->texts().keepsUnsaved()) {
        event->ignore();
        return editor->askBeforeLeaving([this] {
            m_leaving = true;
            close();
        });
    }
    QMainWindow::closeEvent(event);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    if (event->mimeData()->hasUrls())
        event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
    QStringList paths;
    for (const QUrl& url : event->mimeData()->urls())
        if (url.isLocalFile())
            paths.append(url.toLocalFile());
    openFiles(paths);
    event->acceptProposedAction();
}

} // namespace fuselage::studio
