// SPDX-License-Identifier: Apache-2.0
// The window's own commands, and the menus, docks and tools that are made from the tables.
#include "app/studio/panels/table_panel.h"
#include "app/studio/session/counted.h"
#include "app/studio/shell/appearance.h"
#include "app/studio/shell/finders.h"
#include "app/studio/shell/hot_spot.h"
#include "app/studio/shell/main_window.h"
#include "app/studio/shell/menu_table.h"
#include "app/studio/shell/panel_table.h"
#include "app/studio/shell/perspectives.h"
#include "app/studio/workbench/drawn_icon.h"
#include "app/studio/workbench/match_commands.h"

#include <QApplication>
#include <QClipboard>
#include <QDockWidget>
#include <QFileInfo>
#include <QGuiApplication>
#include <QMenuBar>
#include <QMessageBox>
#include <QStatusBar>

namespace fuselage::studio {

namespace {

constexpr int sideLetters = 46; ///< width of the panels left and right at first

} // namespace

void MainWindow::addCommands() {
    m_commands.add({"file.open", "File", tr("Open ..."), {QKeySequence::Open}},
                   [this] { openDialog(); });
    m_commands.add({"file.reload", "File", tr("Reload model"), {QKeySequence("Ctrl+R")}},
                   [this] { m_session.reload(); });
    m_commands.add({"file.export", "File", tr("Export ..."), {QKeySequence("Ctrl+E")}},
                   [this] { m_exporter->ask(); });
    m_commands.add(
        {"file.exportPicture", "File", tr("Export picture ..."), {QKeySequence("Ctrl+Alt+E")}},
        [this] { m_exporter->askPicture(); });
    m_commands.add(
        {"file.copyCommand", "File", tr("Copy command line"), {QKeySequence("Ctrl+Shift+E")}},
        [this] { QGuiApplication::clipboard()->setText(m_measurements.command()); });
    m_commands.add({"file.nextModel", "File", tr("Next open model"), {QKeySequence("Ctrl+PgDown")}},
                   [this] { m_models->step(1); });
    m_commands.add(
        {"file.previousModel", "File", tr("Previous open model"), {QKeySequence("Ctrl+PgUp")}},
        [this] { m_models->step(-1); });
    m_commands.add({"file.closeModel", "File", tr("Close this model"), {QKeySequence("Ctrl+F4")}},
                   [this] { m_models->closeCurrent(); });
    m_commands.add({"file.quit", "File", tr("Quit"), {QKeySequence::Quit}}, [this] { close(); });
    QAction* undo = m_commands.add({"edit.undo", "Edit", tr("Undo"), {QKeySequence("Ctrl+Z")}},
                                   [this] { m_undo.undo(); });
    QAction* redo =
        m_commands.add({"edit.redo", "Edit", tr("Redo"), {QKeySequence("Ctrl+Shift+Z")}},
                       [this] { m_undo.redo(); });
    auto name = [](QAction* action, const QString& verb, const QString& step) {
        action->setText(step.isEmpty() ? verb : verb + QStringLiteral(": ") + step);
    };
    auto update = [=, this] {
        name(undo, tr("Undo"), m_undo.undoText());
        name(redo, tr("Redo"), m_undo.redoText());
        m_commands.refresh();
    };
    connect(&m_undo, &QUndoStack::indexChanged, this, update);
    m_commands.add(
        {"edit.copyNames",
         "Edit",
         tr("Copy the names of what is selected"),
         {QKeySequence("Ctrl+Shift+C")}},
        [this] {
            const Selection& selection = m_selection.selection();
            const QStringList names = !selection.before.isEmpty()  ? selection.before
                                      : !selection.after.isEmpty() ? selection.after
                                                                   : QStringList(selection.value);
            QGuiApplication::clipboard()->setText(names.join('\n'));
            statusBar()->showMessage(
                tr("%1 copied").arg(counted(names.size(), tr("name"), tr("names"))), 5000);
        });
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
    addHotSpotCommand(m_workbench,
                      [this](const QString& words) { statusBar()->showMessage(words, 10'000); });
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
    m_commands.add({"run.errors", "Run", tr("Error of every node"), {QKeySequence("Ctrl+F5")}},
                   [this] { m_measurements.startErrors(); });
    m_commands.add({"run.dimensions", "Run", tr("Dimensions ..."), {QKeySequence("Ctrl+Alt+D")}},
                   [this] { dimensionsDialog(); });
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
    m_commands.add({"find.clear",
                    "Find",
                    tr("Mark nothing that was found"),
                    {QKeySequence("Shift+Esc")},
                    KeyScope::Canvas},
                   [this] { m_marks.setHits({}); });
    const auto step = [this](qsizetype direction) {
        const QStringList& hits = m_marks.hits();
        if (hits.isEmpty())
            return openNodeFinder(m_workbench, this), void();
        const QStringList& selected = m_selection.selection().before;
        const qsizetype at = selected.isEmpty() ? -1 : hits.indexOf(selected.first());
        const qsizetype next = at < 0 ? (direction > 0 ? 0 : hits.size() - 1) : at + direction;
        m_selection.selectBefore({hits[(next + hits.size()) % hits.size()]});
        m_canvases->reveal();
        statusBar()->showMessage(
            tr("%1 of %2 found").arg((next + hits.size()) % hits.size() + 1).arg(hits.size()),
            5000);
    };
    m_commands.add({"find.next", "Find", tr("Next node found"), {QKeySequence("F3")}},
                   [step] { step(1); });
    m_commands.add({"find.previous", "Find", tr("Previous node found"), {QKeySequence("Shift+F3")}},
                   [step] { step(-1); });
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
    m_commands.add({"help.about", "Help", tr("About Fuselage Studio"), {}}, [this] {
        auto* about = new QMessageBox(
            QMessageBox::NoIcon, tr("About Fuselage Studio"),
            tr("<h3>Fuselage Studio %1</h3>See an ONNX model before and after operator fusion, and "
               "change the rules while looking.<p>Apache License 2.0")
                .arg(QApplication::applicationVersion().toHtmlEscaped()),
            QMessageBox::Ok, this);
        about->setIconPixmap(programIcon().pixmap(64, 64));
        about->setAttribute(Qt::WA_DeleteOnClose);
        about->open();
    });
    for (const Perspective& each : perspectives())
        m_commands.add({QStringLiteral("perspective.%1").arg(each.id),
                        "View",
                        tr("Perspective: %1").arg(tr(each.title)),
                        {QKeySequence(each.key)}},
                       [this, &each] { apply(each, *this); });
    for (int number = 1; number <= recentFileCount; ++number)
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
        m_commands
            .add({id, "View", tr("Show %1").arg(tr(row.title)), {}},
                 [dock] {
                     dock->show();
                     dock->raise();
                     focusInside(dock->widget());
                 })
            ->setIconText(tr(row.title));
    }
    for (QDockWidget* dock : first)
        dock->raise();
    const int side = std::min(sideLetters * fontMetrics().averageCharWidth(), width() / 4);
    resizeDocks(first.values(), QList<int>(first.size(), side), Qt::Horizontal);
}

void MainWindow::addMenus() {
    for (const CommandTable::Entry& entry : m_commands.all()) { // keys work without the menu, too
        addAction(entry.action);
        if (entry.refusal && entry.row.scope == KeyScope::Window)
            addAction(entry.refusal);
    }
    QMenu* recent = fillMenus(*menuBar(), m_commands);
    connect(recent, &QMenu::aboutToShow, this, [this, recent] {
        recent->clear();
        int number = 0;
        for (const QString& path : recentFiles())
            recent->addAction(QStringLiteral("&%1  %2").arg(++number).arg(path),
                              [this, path] { openFiles({path}); });
    });
}

void MainWindow::showTitle() {
    QString model = QFileInfo(m_session.modelPath()).fileName();
    setWindowTitle(model.isEmpty() ? tr("Fuselage Studio") : tr("%1 - Fuselage Studio").arg(model));
}

/// Where a model that can only be looked at contradicts itself.
void MainWindow::markSketch() {
    QList<NodeMark> marks;
    if (m_session.sketch() && !m_session.sketchPlace().isEmpty())
        marks.append(
            {NodeMark::Kind::Failed, false, m_session.sketchPlace(),
             m_session.problems().isEmpty() ? QString() : m_session.problems().first().message});
    m_marks.set(QStringLiteral("sketch"), marks);
}

} // namespace fuselage::studio
