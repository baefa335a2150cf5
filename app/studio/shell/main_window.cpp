// SPDX-License-Identifier: Apache-2.0
#include "app/studio/shell/main_window.h"

#include "app/studio/graph_view/canvas_pair.h"
#include "app/studio/shell/match_commands.h"
#include "app/studio/shell/panel_table.h"
#include "app/studio/shell/status_text.h"

#include <QCloseEvent>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenuBar>
#include <QMimeData>
#include <QStatusBar>

namespace fuselage::studio {

namespace {

constexpr int layoutVersion = 1; ///< of saved dock layouts
constexpr int recentCount = 9;
constexpr int sideWidth = 320; ///< of the panels left and right at first

} // namespace

MainWindow::MainWindow(QSettings& settings, QWidget* parent)
    : QMainWindow(parent),
      m_settings(settings), m_workbench{m_session, m_selection, m_commands, m_marks, m_undo} {
    setObjectName("fuselage-studio");
    setAcceptDrops(true);
    resize(1500, 950);
    addCommands();
    auto* canvases = new CanvasPair(m_workbench, this);
    setCentralWidget(canvases);
    addPanels();
    canvases->adoptCommands();
    addMenus();
    addStatusLine();
    connect(&m_session, &Session::snapshotChanged, this,
            [this](const SnapshotPtr& now) { m_selection.setSnapshot(now); });
    connect(&m_session, &Session::modelOpened, this, &MainWindow::remember);
    connect(&m_session, &Session::modelOpened, this, [this] {
        m_undo.clear(); // steps of another model mean nothing in this one
        m_marks.setStep(std::nullopt);
    });
    connect(&m_session, &Session::modelOpened, this, &MainWindow::showTitle);
    connect(&m_session, &Session::staleChanged, this, &MainWindow::showNumbers);
    connect(&m_session, &Session::snapshotChanged, this, &MainWindow::showNumbers);
    showTitle();
    showNumbers();
    if (auto* rules = findChild<QDockWidget*>("editor"))
        resizeDocks({rules}, {height() / 3}, Qt::Vertical);
    m_defaultLayout = saveState(layoutVersion);
    restore();
}

MainWindow::~MainWindow() = default;

void MainWindow::addCommands() {
    m_commands.add({"file.open", "File", tr("Open ..."), {QKeySequence::Open}},
                   [this] { openDialog(); });
    m_commands.add({"file.reload", "File", tr("Reload model"), {QKeySequence("Ctrl+R")}},
                   [this] { m_session.reload(); });
    m_commands.add({"file.quit", "File", tr("Quit"), {QKeySequence::Quit}}, [this] { close(); });
    QAction* undo = m_commands.add({"edit.undo", "Edit", tr("Undo"), {QKeySequence("Ctrl+Z")}},
                                   [this] { m_undo.undo(); });
    QAction* redo =
        m_commands.add({"edit.redo", "Edit", tr("Redo"), {QKeySequence("Ctrl+Shift+Z")}},
                       [this] { m_undo.redo(); });
    auto name = [](QAction* action, const QString& verb, const QString& step, bool possible) {
        action->setEnabled(possible);
        action->setText(step.isEmpty() ? verb : verb + QStringLiteral(": ") + step);
    };
    auto update = [=, this] {
        name(undo, tr("Undo"), m_undo.undoText(), m_undo.canUndo());
        name(redo, tr("Redo"), m_undo.redoText(), m_undo.canRedo());
    };
    connect(&m_undo, &QUndoStack::indexChanged, this, update);
    update();
    m_commands.add({"select.back", "Select", tr("Previous selection"), {QKeySequence("Alt+Left")}},
                   [this] { m_selection.goBack(); });
    m_commands.add({"select.forward", "Select", tr("Next selection"), {QKeySequence("Alt+Right")}},
                   [this] { m_selection.goForward(); });
    m_commands.add({"select.none", "Select", tr("Select nothing"), {QKeySequence("Ctrl+Shift+A")}},
                   [this] { m_selection.clear(); });
    m_commands.add({"view.layout", "View", tr("Reset panel layout"), {}},
                   [this] { resetLayout(); });
    addMatchCommands(m_workbench);
    m_commands.add({"work.cancel", "Run", tr("Cancel"), {QKeySequence("Shift+F5")}},
                   [this] { m_session.cancel(); });
}

void MainWindow::addPanels() {
    setDockNestingEnabled(true);
    QHash<int, QDockWidget*> first, last;
    for (const PanelRow& row : panelTable()) {
        auto* dock = new QDockWidget(tr(row.title), this);
        dock->setObjectName(row.id);
        dock->setWidget(row.make(m_workbench, dock));
        dock->setToolTip(tr(row.summary));
        addDockWidget(row.area, dock);
        if (QDockWidget* before = last.value(row.area))
            tabifyDockWidget(before, dock);
        last[row.area] = dock;
        if (!first.contains(row.area))
            first[row.area] = dock;
        auto id = QStringLiteral("panel.%1").arg(row.id);
        m_commands.add({id, "View", tr("Show %1").arg(tr(row.title)), {}}, [dock] {
            dock->show();
            dock->raise();
            dock->widget()->setFocus();
        });
    }
    for (QDockWidget* dock : first)
        dock->raise();
    resizeDocks(first.values(), QList<int>(first.size(), sideWidth), Qt::Horizontal);
}

void MainWindow::addMenus() {
    QHash<QString, QMenu*> menus;
    for (const CommandTable::Entry& entry : m_commands.all()) {
        addAction(entry.action); // keys work without the menu, too
        if (entry.row.menu.isEmpty())
            continue;
        QMenu*& menu = menus[entry.row.menu];
        if (!menu)
            menu = menuBar()->addMenu(tr(qPrintable(entry.row.menu)));
        menu->addAction(entry.action);
        if (entry.row.id == "file.open")
            m_recent = menu->addMenu(tr("Open recent"));
    }
    connect(m_recent, &QMenu::aboutToShow, this, [this] {
        m_recent->clear();
        int number = 0;
        for (const QString& path : recentFiles())
            m_recent->addAction(QStringLiteral("&%1  %2").arg(++number).arg(path),
                                [this, path] { openFiles({path}); });
    });
}

void MainWindow::addStatusLine() {
    m_numbers = new QLabel(this);
    m_numbers->setObjectName("numbers");
    m_numbers->setAccessibleName(tr("numbers before and after fusion"));
    m_progress = new QProgressBar(this);
    m_progress->setAccessibleName(tr("progress"));
    m_progress->setMaximumWidth(220);
    m_cancel = new QToolButton(this);
    m_cancel->setDefaultAction(m_commands.find("work.cancel"));
    statusBar()->addWidget(m_numbers, 1);
    statusBar()->addPermanentWidget(m_progress);
    statusBar()->addPermanentWidget(m_cancel);
    m_progress->hide();
    m_cancel->hide();
    connect(&m_session, &Session::busyChanged, this, [this](bool busy) {
        m_progress->setVisible(busy);
        m_cancel->setVisible(busy);
        m_progress->setRange(0, 0);
    });
    connect(&m_session, &Session::progressed, this,
            [this](const QString& stage, qulonglong done, qulonglong total) {
                m_progress->setFormat(stage);
                m_progress->setRange(0, total ? 1000 : 0);
                m_progress->setValue(total ? static_cast<int>(1000 * done / total) : 0);
            });
}

void MainWindow::openFiles(const QStringList& paths) {
    SessionOptions options = m_session.options();
    QString model;
    for (const QString& path : paths)
        if (path.endsWith(".fuse", Qt::CaseInsensitive) || QFileInfo(path).isDir())
            options.rules.paths.push_back(path.toStdString());
        else
            model = path;
    if (options.rules.paths != m_session.options().rules.paths)
        m_session.setOptions(options);
    if (!model.isEmpty())
        m_session.open(model);
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
    m_settings.setValue("recent", files.mid(0, recentCount));
}

void MainWindow::showTitle() {
    QString model = QFileInfo(m_session.modelPath()).fileName();
    setWindowTitle(model.isEmpty() ? tr("Fuselage Studio") : tr("%1 - Fuselage Studio").arg(model));
}

void MainWindow::showNumbers() {
    const SnapshotPtr& snapshot = m_session.snapshot();
    m_numbers->setText(snapshot ? statusText(snapshot->report(), m_session.stale())
                                : tr("open a model: Ctrl+O, or drop a file here"));
}

void MainWindow::openDialog() {
    openFiles(QFileDialog::getOpenFileNames(this, tr("Open a model or rules"), {},
                                            tr("models and rules (*.onnx *.fuse);;all files (*)")));
}

void MainWindow::resetLayout() {
    restoreState(m_defaultLayout, layoutVersion);
}

void MainWindow::restore() {
    restoreGeometry(m_settings.value("geometry").toByteArray());
    restoreState(m_settings.value("layout").toByteArray(), layoutVersion);
}

void MainWindow::closeEvent(QCloseEvent* event) {
    m_settings.setValue("geometry", saveGeometry());
    m_settings.setValue("layout", saveState(layoutVersion));
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
