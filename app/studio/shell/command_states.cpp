// SPDX-License-Identifier: Apache-2.0
// When the window's own commands are on, and why they are not possible: check marks, greyed rows,
// and words in the status line when a key is refused.
#include "app/studio/shell/appearance.h"
#include "app/studio/shell/main_window.h"

#include <QStatusBar>

namespace fuselage::studio {

void MainWindow::addCommandStates() {
    const auto needsModel = [this] {
        return m_session.report() ? QString() : tr("open a model first: Ctrl+O");
    };
    const auto needsAnalysis = [this, needsModel] {
        return m_session.snapshot()     ? QString()
               : m_session.previewing() ? tr("the model is not analysed yet")
               : m_session.sketch()     ? tr("this model is not analysed: see the notice above it")
                                        : needsModel();
    };
    const auto needsSelection = [this] {
        return m_selection.selection().empty() ? tr("nothing is selected") : QString();
    };
    m_commands.setReason("file.reload", [this, needsModel] {
        return m_session.modelPath().isEmpty() ? needsModel() : QString();
    });
    m_commands.setReason("file.copyCommand", [this] {
        return m_session.modelPath().isEmpty() ? tr("open a model first: Ctrl+O") : QString();
    });
    for (const char* id : {"file.export", "file.exportPicture"})
        m_commands.setReason(id, needsAnalysis);
    for (const char* id : {"file.nextModel", "file.previousModel", "file.closeModel"})
        m_commands.setReason(id, [this] {
            return m_models->count() > 1 ? QString() : tr("no other model is open");
        });
    m_commands.setReason(
        "edit.undo", [this] { return m_undo.canUndo() ? QString() : tr("nothing to take back"); });
    m_commands.setReason("edit.redo", [this] {
        return m_undo.canRedo() ? QString() : tr("nothing was taken back");
    });
    m_commands.setReason("edit.copyNames", needsSelection);
    m_commands.setReason("select.none", needsSelection);
    m_commands.setReason("select.back", [this] {
        return m_selection.canGoBack() ? QString() : tr("nothing was selected before");
    });
    m_commands.setReason("select.forward", [this] {
        return m_selection.canGoForward() ? QString() : tr("this is the last selection");
    });
    m_commands.setReason("find.node", needsModel);
    m_commands.setReason("find.clear", [this] {
        return m_marks.hits().isEmpty() ? tr("nothing is marked as found") : QString();
    });
    for (const char* id : {"run.measure", "run.errors"})
        m_commands.setReason(id, [this, needsModel] {
            return m_measurements.running() ? tr("a measurement is running: Shift+F5 ends it")
                                            : needsModel();
        });
    m_commands.setReason("run.dimensions", [this] {
        return m_session.modelPath().isEmpty()        ? tr("open a model first: Ctrl+O")
               : m_session.openDimensions().isEmpty() ? tr("this model leaves no dimension open")
                                                      : QString();
    });
    m_commands.setReason("work.cancel", [this] {
        return m_session.busy() || m_measurements.running() ? QString() : tr("nothing is running");
    });
    m_commands.showState("run.baseline", [this] { return m_measurements.comparing(); });
    for (const Appearance& each : appearances())
        m_commands.showState(
            QStringLiteral("view.appearance.%1").arg(each.id),
            [this, id = QString(each.id)] { return chosenAppearance(m_settings) == id; });
    const auto refresh = [this] { m_commands.refresh(); };
    connect(&m_session, &Session::modelOpened, this, refresh);
    connect(&m_session, &Session::snapshotChanged, this, refresh);
    connect(&m_session, &Session::reportChanged, this, refresh);
    connect(&m_session, &Session::busyChanged, this, refresh);
    connect(&m_session, &Session::problemsChanged, this, refresh);
    connect(&m_selection, &SelectionHub::changed, this, refresh);
    connect(&m_marks, &MarkBoard::changed, this, refresh);
    connect(&m_measurements, &Measurements::runningChanged, this, refresh);
    connect(m_models, &ModelTabs::countChanged, this, refresh);
    connect(&m_commands, &CommandTable::refused, this,
            [this](const QString& title, const QString& reason) {
                statusBar()->showMessage(tr("%1: %2").arg(title, reason), 8000);
            });
    refresh();
}

} // namespace fuselage::studio
