// SPDX-License-Identifier: Apache-2.0
#include "app/studio/shell/main_window.h"

#include "app/studio/panels/table_panel.h"
#include "app/studio/shell/appearance.h"
#include "app/studio/shell/finders.h"
#include "app/studio/shell/options_dialog.h"
#include "app/studio/shell/panel_table.h"
#include "app/studio/shell/perspectives.h"
#include "app/studio/shell/status_text.h"
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
#include <QStatusBar>

namespace fuselage::studio {

namespace {

constexpr int layoutVersion = 1; ///< of saved dock layouts
constexpr int recentCount = 9;
constexpr int sideWidth = 320; ///< of the panels left and right at first

/// The first widget inside that takes the focus, else the widget itself.
void focusInside(QWidget* widget) {
    if (widget->focusPolicy() & Qt::TabFocus)
        return widget->setFocus();
    for (QWidget* each : widget->findChildren<QWidget*>())
        if ((each->focusPolicy() & Qt::TabFocus) && each->isVisible())
            return each->setFocus();
    widget->setFocus();
}

/// Marks the first letter that is still free, and takes it.
QString withMnemonic(const QString& title, QString& taken) {
    for (qsizetype i = 0; i < title.size(); ++i)
        if (title[i].isLetter() && !taken.contains(title[i], Qt::CaseInsensitive)) {
            taken += title[i];
            return title.left(i) + '&' + title.mid(i);
        }
    return title;
}

} // namespace

MainWindow::MainWindow(QSettings& settings, QWidget* parent)
    : QMainWindow(parent),
      m_settings(settings), m_workbench{m_session, m_selection, m_commands,
                                        m_marks,   m_undo,      m_measurements} {
    setObjectName("fuselage-studio");
    setAcceptDrops(true);
    resize(1500, 950);
    addCommands();
    m_canvases = new CanvasPair(m_workbench, this);
    m_exporter = new Exporter(m_workbench, *m_canvases, *this);
    addCentre();
    addPanels();
    m_canvases->adoptCommands();
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
    connect(&m_session, &Session::modelOpened, this,
            [this] { m_session.removeProblems("model.changed"); });
    connect(&m_session, &Session::changedOnDisk, this, [this](const QString& path) {
        m_session.removeProblems("model.changed");
        warn("model.changed",
             QFileInfo::exists(path) ? tr("`%1` was changed on disk; what is shown is of before")
                                           .arg(QFileInfo(path).fileName())
                                     : tr("`%1` is gone from the disk; what is shown is of before")
                                           .arg(QFileInfo(path).fileName()),
             tr("Ctrl+R loads it again"));
    });
    connect(&m_session, &Session::staleChanged, this, &MainWindow::showNumbers);
    connect(&m_session, &Session::reportChanged, this, &MainWindow::showNumbers);
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
    m_commands.add({"file.export", "File", tr("Export ..."), {QKeySequence("Ctrl+E")}},
                   [this] { m_exporter->ask(); });
    m_commands.add(
        {"file.copyCommand", "File", tr("Copy command line"), {QKeySequence("Ctrl+Shift+E")}},
        [this] { QGuiApplication::clipboard()->setText(m_measurements.command()); });
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
    for (const Appearance& each : appearances())
        m_commands.add(
            {QStringLiteral("view.appearance.%1").arg(each.id), "View", tr(each.title), {}},
            [this, &each] { chooseAppearance(m_settings, each.id); });
    addMatchCommands(m_workbench);
    addRunCommands();
    addFindCommands();
}

void MainWindow::addRunCommands() {
    m_commands.add({"run.measure", "Run", tr("Measure"), {QKeySequence("F5")}},
                   [this] { measure(); });
    m_commands.add({"work.cancel", "Run", tr("Cancel"), {QKeySequence("Shift+F5")}}, [this] {
        m_measurements.cancel();
        m_session.cancel();
    });
    m_commands.add({"run.baseline",
                    "Run",
                    tr("Compare with the baseline"),
                    {QKeySequence("B")},
                    KeyScope::Canvas},
                   [this] { m_measurements.setComparing(!m_measurements.comparing()); });
    m_commands.add({"run.options", "Run", tr("Options ..."), {QKeySequence("Ctrl+,")}},
                   [this] { optionsDialog(); });
}

void MainWindow::addFindCommands() {
    m_commands.add({"find.command",
                    "Find",
                    tr("Commands ..."),
                    {QKeySequence("Ctrl+Shift+P"), QKeySequence("F1")}},
                   [this] { openPalette(m_commands, this); });
    m_commands.add({"find.node", "Find", tr("Find nodes ..."), {QKeySequence("Ctrl+K")}},
                   [this] { openNodeFinder(m_workbench, this); });
    m_commands.add(
        {"find.filter", "Find", tr("Filter the focused table"), {QKeySequence("Ctrl+Alt+F")}},
        [this] {
            for (QWidget* each = focusWidget(); each; each = each->parentWidget())
                if (auto* panel = qobject_cast<TablePanel*>(each))
                    return panel->filter().setFocus();
            openNodeFinder(m_workbench, this);
        });
    m_commands.add({"help.keys", "Help", tr("Keys"), {QKeySequence("?")}, KeyScope::Canvas},
                   [this] { openCheatSheet(m_commands, this); });
    for (const Perspective& each : perspectives())
        m_commands.add({QStringLiteral("perspective.%1").arg(each.id),
                        "View",
                        tr("Perspective: %1").arg(tr(each.title)),
                        {QKeySequence(each.key)}},
                       [this, &each] { apply(each, *this); });
    for (int number = 1; number <= recentCount; ++number)
        m_commands.add({QStringLiteral("file.recent%1").arg(number),
                        {},
                        tr("Open recent file %1").arg(number),
                        {QKeySequence(QStringLiteral("Ctrl+%1").arg(number))}},
                       [this, number] {
                           if (QStringList files = recentFiles(); files.size() >= number)
                               openFiles({files[number - 1]});
                       });
    m_commands.add({"panel.next", "View", tr("Next panel"), {QKeySequence("F6")}},
                   [this] { cyclePanels(1); });
    m_commands.add({"panel.previous", "View", tr("Previous panel"), {QKeySequence("Shift+F6")}},
                   [this] { cyclePanels(-1); });
}

/// From the centre through the panels that are in view, and around.
void MainWindow::cyclePanels(int direction) {
    bool opened = m_centre->currentWidget() == m_canvases;
    QList<QWidget*> stops{opened ? static_cast<QWidget*>(&m_canvases->canvas(scene::Before))
                                 : m_start};
    for (QDockWidget* dock : findChildren<QDockWidget*>())
        if (dock->isVisible() && !dock->visibleRegion().isEmpty())
            stops << dock->widget();
    qsizetype at = direction > 0 ? -1 : 0;
    for (qsizetype i = 0; i < stops.size(); ++i)
        if (focusWidget() && (stops[i] == focusWidget() || stops[i]->isAncestorOf(focusWidget())))
            at = i;
    focusInside(stops[(at + direction + stops.size()) % stops.size()]);
}

void MainWindow::addCentre() {
    m_start = new StartPage(this);
    m_centre = new QStackedWidget(this);
    m_centre->addWidget(m_start);
    m_centre->addWidget(m_canvases);
    setCentralWidget(m_centre);
    m_start->setRecent(recentFiles());
    connect(m_start, &StartPage::openWanted, this, &MainWindow::openDialog);
    connect(m_start, &StartPage::filesWanted, this, &MainWindow::openFiles);
    connect(&m_session, &Session::modelOpened, this,
            [this] { m_centre->setCurrentWidget(m_canvases); });
    connect(&m_session, &Session::busyChanged, this, [this](bool busy) {
        markOpening(m_settings, busy && m_session.modelPath().isEmpty());
    });
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
    QString letters; // Alt with one of them opens a menu
    for (const CommandTable::Entry& entry : m_commands.all()) {
        addAction(entry.action); // keys work without the menu, too
        if (entry.row.menu.isEmpty())
            continue;
        QMenu*& menu = menus[entry.row.menu];
        if (!menu)
            menu = menuBar()->addMenu(withMnemonic(tr(qPrintable(entry.row.menu)), letters));
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
    auto showBusy = [this] {
        bool busy = m_session.busy() || m_measurements.running();
        m_progress->setVisible(busy);
        m_cancel->setVisible(busy);
        m_progress->setRange(0, 0);
        if (!m_measurements.running())
            statusBar()->clearMessage();
    };
    connect(&m_session, &Session::busyChanged, this, showBusy);
    connect(&m_measurements, &Measurements::runningChanged, this, showBusy);
    connect(&m_measurements, &Measurements::progressed, m_progress, &QProgressBar::setFormat);
    connect(&m_session, &Session::progressed, this,
            [this](const QString& stage, qulonglong done, qulonglong total) {
                m_progress->setFormat(stage);
                m_progress->setRange(0, total ? 1000 : 0);
                m_progress->setValue(total ? static_cast<int>(1000 * done / total) : 0);
            });
}

void MainWindow::restoreOpenFiles() {
    if (endedWhileOpening(m_settings))
        warn("start.ended",
             tr("the program ended while it opened `%1`")
                 .arg(m_settings.value("open/model").toString()),
             tr("it is not opened by itself; Ctrl+1 tries it again"));
    restoreOpen(m_settings, m_workbench, *m_canvases);
    if (auto* editor = findChild<EditorPanel*>())
        restoreTabs(m_settings, *editor);
}

void MainWindow::openFiles(const QStringList& paths) {
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
    m_settings.setValue("recent", files.mid(0, recentCount));
    m_start->setRecent(recentFiles());
}

void MainWindow::showTitle() {
    QString model = QFileInfo(m_session.modelPath()).fileName();
    setWindowTitle(model.isEmpty() ? tr("Fuselage Studio") : tr("%1 - Fuselage Studio").arg(model));
}

void MainWindow::showNumbers() {
    const app::Report* report = m_session.report();
    m_numbers->setText(report ? statusText(*report, m_session.stale(), m_session.measurementStale())
                              : tr("open a model: Ctrl+O, or drop a file here"));
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

void MainWindow::measure() {
    m_measurements.start();
    if (m_measurements.running())
        statusBar()->showMessage(
            tr("measuring with backend %1; %2").arg(m_measurements.settings().backend, loadText()));
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
}

void MainWindow::closeEvent(QCloseEvent* event) {
    saveOpen(m_settings, m_workbench, *m_canvases);
    if (auto* editor = findChild<EditorPanel*>())
        saveTabs(m_settings, *editor);
    markOpening(m_settings, false);
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
