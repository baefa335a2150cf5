// SPDX-License-Identifier: Apache-2.0
// The window as a person meets it: opens files, shows the numbers, remembers, and every control has
// a name for screen readers.
#include "app/studio/graph_view/canvas_pair.h"
#include "app/studio/panels/inspector/inspector_text.h"
#include "app/studio/panels/table_panel.h"
#include "app/studio/shell/appearance.h"
#include "app/studio/shell/main_window.h"
#include "app/studio/shell/panel_table.h"
#include "tests/studio/sample.h"

#include <QAccessible>
#include <QDockWidget>

namespace app = fuselage::app;
using namespace fuselage::studio;
using namespace fuselage::studio::testing;

class WindowTest : public QObject {
    Q_OBJECT

private Q_SLOTS:

    void initTestCase() { m_model = writeZooModel(m_folder, "resnet18"); }

    void openingShowsNumbersTitleAndRecentFile() {
        QSettings settings(m_folder.filePath("a.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.openFiles({m_model});
        QVERIFY(settled(window.session()));
        auto* numbers = window.findChild<QLabel*>("numbers");
        QVERIFY2(numbers->text().contains("launches"), qPrintable(numbers->text()));
        QVERIFY(window.windowTitle().startsWith("resnet18.onnx"));
        QCOMPARE(window.recentFiles(), QStringList{m_model});
    }

    void darkIsChosenKeptAndTakenBack() {
        QSettings settings(m_folder.filePath("look.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        applyAppearance("system");
        const QColor before = QApplication::palette().color(QPalette::Base);
        window.commands().find("view.appearance.dark")->trigger();
        QVERIFY(QApplication::palette().color(QPalette::Base).lightness() < 128);
        QCOMPARE(chosenAppearance(settings), QString("dark"));
        window.commands().find("view.appearance.light")->trigger();
        QVERIFY(QApplication::palette().color(QPalette::Base).lightness() > 128);
        window.commands().find("view.appearance.system")->trigger();
        QCOMPARE(QApplication::palette().color(QPalette::Base), before);
    }

    void everyPanelHasADockAndACommand() {
        QSettings settings(m_folder.filePath("b.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        for (const PanelRow& row : panelTable()) {
            QVERIFY(window.findChild<QDockWidget*>(row.id));
            QVERIFY(window.commands().find(QString("panel.%1").arg(row.id)));
        }
    }

    void aKernelsRowSelectsItsNodesAndFollowsASelection() {
        QSettings settings(m_folder.filePath("c.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.openFiles({m_model});
        QVERIFY(settled(window.session()));
        auto* dock = window.findChild<QDockWidget*>("kernels");
        auto* panel = qobject_cast<TablePanel*>(dock->widget());
        panel->table().selectRow(3);
        QVERIFY(!window.selection().selection().before.isEmpty());
        QStringList third = window.selection().selection().before;
        window.selection().clear();
        QVERIFY(panel->table().selectionModel()->selectedRows().isEmpty());
        window.selection().selectBefore({third.first()});
        QCOMPARE(panel->table().selectionModel()->selectedRows().size(), 1);
        QCOMPARE(panel->table().selectionModel()->selectedRows().first().row(), 3);
    }

    void theInspectorShowsMatchAndHostileNamesAsText() {
        app::Report report;
        app::MatchReport match;
        match.rule = "R";
        match.fusedNode = "<img src=x>";
        match.nodes = {"n"};
        report.matches = {match};
        QString html = inspectorHtml(report, {{"n"}, {}, {}});
        QVERIFY2(html.contains("&lt;img"), qPrintable(html));
        QVERIFY(!html.contains("<img"));
        QVERIFY(html.contains("rule:R"));
    }

    void bothCanvasesShowTheSameViewportAndSelection() {
        QSettings settings(m_folder.filePath("e.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        auto* canvases = window.findChild<CanvasPair*>();
        window.resize(1400, 900);
        window.show();
        window.openFiles({m_model});
        QVERIFY(settled(window.session()));
        QVERIFY(QTest::qWaitFor([&] { return !canvases->drawing(); }));
        Canvas& before = canvases->canvas(fuselage::scene::Before);
        Canvas& after = canvases->canvas(fuselage::scene::After);
        before.zoomBy(0.7);
        QCOMPARE(after.viewport(), before.viewport());
        window.selection().selectRule("ConvBNAddReLU");
        auto count = [](const Canvas& canvas) {
            const auto& selected = canvas.style().selected;
            return std::count(selected.begin(), selected.end(), 1);
        };
        QCOMPARE(count(after), 8);
        QVERIFY(count(before) > 8);
        after.setFocus();
        window.selection().clear();
        QTest::keyClick(&after, Qt::Key_Down);
        QVERIFY(after.current() != fuselage::scene::none);
    }

    void theDockLayoutIsRemembered() {
        QSettings settings(m_folder.filePath("d.ini"), QSettings::IniFormat);
        {
            MainWindow window(settings);
            window.show();
            window.findChild<QDockWidget*>("kernels")->hide();
            window.close();
        }
        MainWindow window(settings);
        window.show();
        QVERIFY(window.findChild<QDockWidget*>("kernels")->isHidden());
        window.commands().find("view.layout")->trigger();
        QVERIFY(!window.findChild<QDockWidget*>("kernels")->isHidden());
    }

private:
    QTemporaryDir m_folder;
    QString m_model;
};

QTEST_MAIN(WindowTest)
#include "window_test.moc"
