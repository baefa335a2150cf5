// SPDX-License-Identifier: Apache-2.0
// The window: menus from the command table, docks from the panel table, the status line with the
// numbers before -> after, progress with cancel. Holds no facts about models of its own.
#pragma once

#include "app/studio/exports/exporter.h"
#include "app/studio/session/run_store.h"
#include "app/studio/shell/model_tabs.h"
#include "app/studio/shell/notice_bar.h"
#include "app/studio/shell/start_page.h"
#include "app/studio/shell/thumbnails.h"
#include "app/studio/workbench/said_label.h"
#include "app/studio/workbench/workbench.h"

#include <QElapsedTimer>
#include <QHash>
#include <QMainWindow>
#include <QProgressBar>
#include <QSettings>
#include <QStackedWidget>
#include <QTimer>
#include <QToolButton>

namespace fuselage::studio {

constexpr int recentFileCount = 9;

class MainWindow : public QMainWindow {
    Q_OBJECT

public:
    /// `settings` outlives the window; tests give a file of their own.
    explicit MainWindow(QSettings& settings, QWidget* parent = nullptr);
    ~MainWindow() override;

    Session& session() { return m_session; }

    SelectionHub& selection() { return m_selection; }

    CommandTable& commands() { return m_commands; }

    MarkBoard& marks() { return m_marks; }

    QUndoStack& undo() { return m_undo; }

    Measurements& measurements() { return m_measurements; }

    Exporter& exporter() { return *m_exporter; }

    CanvasPair& canvases() { return *m_canvases; }

    /// Models and .fuse files in any mix, as from the command line or a drop.
    void openFiles(const QStringList& paths);

    /// What was open when the window was shut last; the start page when there is nothing.
    void restoreOpenFiles();

    /// Runs that earlier windows measured, soon.
    void restoreRuns();

    StartPage& startPage() { return *m_start; }

    ModelTabs& models() { return *m_models; }

    NoticeBar& notice() { return *m_notice; }

    QStringList recentFiles() const;

protected:
    void changeEvent(QEvent* event) override;
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    bool focusNextPrevChild(bool next) override; ///< never to what cannot be seen

private:
    void addCommands();
    void addRunCommands();
    void addFindCommands();
    void addCommandStates();
    void cyclePanels(int direction);
    static void focusInside(QWidget* panel);
    void addCentre();
    void addMenus();
    void addTools();
    void addPanels();
    void addStatusLine();
    void restore();
    void saveAll();
    static RunStore runStore();
    void remember(const QString& path);
    void showTitle();
    void showNumbers();
    void openDialog();
    void warn(const QString& code, const QString& message, const QString& fix);
    void optionsDialog();
    void dimensionsDialog();
    void offerDimensions();
    void markSketch();
    void measure();
    void showMeasuring();
    void resetLayout();

    QSettings& m_settings;
    Session m_session;
    Measurements m_measurements{m_session};
    SelectionHub m_selection;
    CommandTable m_commands;
    MarkBoard m_marks;
    QUndoStack m_undo;
    Workbench m_workbench;
    QStackedWidget* m_centre = nullptr;
    StartPage* m_start = nullptr;
    NoticeBar* m_notice = nullptr;
    ModelTabs* m_models = nullptr;
    CanvasPair* m_canvases = nullptr;
    Exporter* m_exporter = nullptr;
    SaidLabel* m_numbers = nullptr;
    QProgressBar* m_progress = nullptr;
    QToolButton* m_cancel = nullptr;
    JobLane m_runLane;
    Thumbnails m_thumbnails;
    QTimer m_clock;                ///< while a measurement runs
    QElapsedTimer m_since;         ///< it began
    QHash<QString, qint64> m_took; ///< the last measurement of a model, milliseconds
    QString m_stage;               ///< of the measurement
    QTimer m_saving, m_opening;    ///< after what changed
    bool m_leaving = false;        ///< whatever is unsaved was answered for
    QByteArray m_defaultLayout;
    QString m_askedFor; ///< model whose open dimensions were asked for
};

} // namespace fuselage::studio
