// SPDX-License-Identifier: Apache-2.0
// The window as a person meets it: opens files, shows the numbers, remembers, and every control has
// a name for screen readers.
#include "app/studio/graph_view/canvas_pair.h"
#include "app/studio/graph_view/edge_tip.h"
#include "app/studio/panels/inspector/inspector_text.h"
#include "app/studio/panels/table_panel.h"
#include "app/studio/session/match_keys.h"
#include "app/studio/shell/appearance.h"
#include "app/studio/shell/main_window.h"
#include "app/studio/shell/panel_table.h"
#include "tests/studio/sample.h"

#include <QAccessible>
#include <QContextMenuEvent>
#include <QDockWidget>
#include <QMenu>

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

    void theStartPageShowsAPictureOfWhatWasOpen() {
        QFile::remove(Thumbnails::fileOf(m_model));
        QSettings settings(m_folder.filePath("thumbnail.ini"), QSettings::IniFormat);
        {
            MainWindow window(settings);
            window.show();
            window.openFiles({m_model});
            QTRY_VERIFY(window.canvases().canvas(fuselage::scene::Before).drawing());
            QVERIFY(settled(window.session()));
            window.close();
        }
        const QImage picture(Thumbnails::fileOf(m_model));
        QCOMPARE(picture.size(), QSize(Thumbnails::width, Thumbnails::height) * 2);
        QSet<QRgb> colours;
        for (int y = 0; y < picture.height(); ++y)
            for (int x = 0; x < picture.width(); ++x)
                colours.insert(picture.pixel(x, y));
        QVERIFY(colours.size() > 2);
        settings.remove("open");
        MainWindow window(settings);
        window.show();
        const QTreeWidget& recent = window.startPage().recent();
        QCOMPARE(recent.topLevelItemCount(), 1);
        QCOMPARE(recent.topLevelItem(0)->text(0), QFileInfo(m_model).fileName());
        QVERIFY(recent.columnWidth(1) >=
                recent.fontMetrics().horizontalAdvance(recent.topLevelItem(0)->text(1)));
    }

    void aKernelsRowSelectsItsNodesAndFollowsASelection() {
        QSettings settings(m_folder.filePath("c.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.openFiles({m_model});
        QVERIFY(settled(window.session()));
        auto* dock = window.findChild<QDockWidget*>("kernels");
        auto* panel = qobject_cast<TablePanel*>(dock->widget());
        // Nobody sees the table: an edit does not fill it.
        QCOMPARE(panel->table().model()->rowCount(), 0);
        window.show();
        window.commands().find("panel.kernels")->trigger();
        QTRY_COMPARE(panel->table().model()->rowCount(),
                     static_cast<int>(window.session().report()->after.kernels.size()));
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
            window.findChild<QDockWidget*>("outline")->hide();
            window.close();
        }
        MainWindow window(settings);
        window.show();
        QVERIFY(window.findChild<QDockWidget*>("outline")->isHidden());
        window.commands().find("view.layout")->trigger();
        QVERIFY(!window.findChild<QDockWidget*>("outline")->isHidden());
    }

    void theGraphHasTheHeightAtFirstAndPanelsComeWhenTheyAreWanted() {
        QSettings settings(m_folder.filePath("f.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.show();
        QVERIFY(window.findChild<QDockWidget*>("kernels")->isHidden());
        window.commands().find("panel.kernels")->trigger();
        QVERIFY(window.findChild<QDockWidget*>("kernels")->isVisible());
    }

    void theFirstViewIsOnTheFirstNodeAtReadingSize() {
        QSettings settings(m_folder.filePath("g.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.resize(1200, 800);
        window.canvases().setDot({}, false);
        window.show();
        window.openFiles({m_model});
        QVERIFY(settled(window.session()));
        QTRY_VERIFY(!window.canvases().drawing());
        const Canvas& canvas = window.canvases().canvas(fuselage::scene::Before);
        const uint32_t first = canvas.drawing()->boxOf(
            fuselage::scene::Before,
            QString::fromStdString(window.session().report()->before.graph.nodes[0].name));
        QVERIFY(first != fuselage::scene::none);
        const auto& box = canvas.drawing()->scene().boxes[first].rect;
        QVERIFY(canvas.visibleArea().contains(QRectF(box.x, box.y, box.w, box.h)));
        QVERIFY(canvas.viewport().zoom >= 0.6); // all texts are drawn from here on
    }

    void columnsAreAsWideAsWhatIsInThem() {
        QSettings settings(m_folder.filePath("h.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.show();
        window.openFiles({m_model});
        QVERIFY(settled(window.session()));
        window.commands().find("panel.kernels")->trigger();
        auto* panel =
            qobject_cast<TablePanel*>(window.findChild<QDockWidget*>("kernels")->widget());
        QTableView& table = panel->table();
        const int time = 1;
        QVERIFY(table.columnWidth(time) >= table.fontMetrics().horizontalAdvance(
                                               table.model()->index(0, time).data().toString()));
    }

    void aFilterThatFitsNothingSaysSoAndNamesItsKeys() {
        QSettings settings(m_folder.filePath("i.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.show();
        window.openFiles({m_model});
        QVERIFY(settled(window.session()));
        auto* panel =
            qobject_cast<TablePanel*>(window.findChild<QDockWidget*>("outline")->widget());
        auto* words = panel->findChild<QLabel*>("tableWords");
        const int all = panel->visibleRows().rowCount();
        panel->filter().setText("rule:none");
        const int unfused = panel->visibleRows().rowCount();
        QVERIFY(unfused < all);
        panel->filter().setText("-rule:none");
        QCOMPARE(panel->visibleRows().rowCount(), all - unfused);
        panel->filter().setText("us>0.0001");
        QVERIFY(panel->visibleRows().rowCount() > 0);
        panel->filter().setText("bytes>1M");
        QVERIFY(panel->visibleRows().rowCount() > 0);
        QVERIFY(words->isHidden());
        panel->filter().setText("colour:red");
        QVERIFY2(words->text().contains("colour"), qPrintable(words->text()));
        panel->filter().setText("zzz");
        QVERIFY2(words->text().contains("none of"), qPrintable(words->text()));
    }

    void aScreenReaderThatWasThereFirstGetsTheBoxes() {
        QSettings settings(m_folder.filePath("m.ini"), QSettings::IniFormat);
        QAccessible::setActive(true); // interfaces are made and kept from the first name on
        MainWindow window(settings);
        window.show();
        window.openFiles({m_model});
        QVERIFY(settled(window.session()));
        QTRY_VERIFY(!window.canvases().drawing());
        QAccessibleInterface* access = QAccessible::queryAccessibleInterface(
            &window.canvases().canvas(fuselage::scene::Before));
        QVERIFY(access);
        QVERIFY2(access->childCount() > 10, qPrintable(QString::number(access->childCount())));
        QAccessible::setActive(false);
    }

    void aMenuOfTheGraphHasWhatCanBeDone() {
        QSettings settings(m_folder.filePath("j.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.show();
        window.openFiles({m_model});
        QVERIFY(settled(window.session()));
        QTRY_VERIFY(!window.canvases().drawing());
        Canvas& canvas = window.canvases().canvas(fuselage::scene::Before);
        QContextMenuEvent event(QContextMenuEvent::Keyboard, {50, 50},
                                canvas.mapToGlobal(QPoint(50, 50)));
        QApplication::sendEvent(&canvas, &event);
        auto* menu = window.findChild<QMenu*>("canvasMenu");
        QVERIFY(menu);
        QVERIFY(menu->actions().contains(window.commands().find("match.disable")));
        menu->close();
    }

    void rulesKeepTheirLettersAndColoursWhileTheyAreEdited() {
        QSettings settings(m_folder.filePath("k.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.show();
        window.openFiles({m_model});
        QVERIFY(settled(window.session()));
        QTRY_VERIFY(!window.canvases().drawing());
        auto rows = [&] {
            std::map<std::string, std::string> out;
            const auto& canvas = window.canvases().canvas(fuselage::scene::Before);
            for (const auto& row : canvas.drawing()->scene().legend)
                out[row.rule] = row.letter + row.token;
            return out;
        };
        const auto before = rows();
        QVERIFY(before.size() > 1);
        SessionOptions options = window.session().options();
        const app::MatchReport& first = window.session().report()->matches.front();
        for (const app::MatchReport& match : window.session().report()->matches)
            if (match.rule == first.rule) // the rule that comes first takes nothing any more
                options.fuse.disabled.push_back(keyOf(match));
        window.session().setOptions(options);
        QVERIFY(settled(window.session()));
        QTRY_VERIFY(!window.canvases().drawing());
        for (const auto& [rule, look] : rows())
            if (before.contains(rule))
                QCOMPARE(look, before.at(rule));
    }

    void pairsAreBadgesOrBoxes() {
        QSettings settings(m_folder.filePath("l.ini"), QSettings::IniFormat);
        QString path = m_folder.filePath("pairs.onnx");
        auto graph = fuselage::model_io::loadText(
            "g (float[1,64] x) => (float[1,64] y)<float s = {0.25}, int8 z = {0}> {"
            "  a = Abs(x) q = QuantizeLinear(a, s, z) d = DequantizeLinear(q, s, z)"
            "  b = Neg(d) y = Relu(b) }");
        QVERIFY(graph && fuselage::model_io::save(*graph, path.toStdString()));
        MainWindow window(settings);
        window.show();
        window.openFiles({path});
        QVERIFY(settled(window.session()));
        QTRY_VERIFY(!window.canvases().drawing());
        auto stored = [&] {
            size_t out = 0;
            for (const auto& edge :
                 window.canvases().canvas(fuselage::scene::Before).drawing()->scene().edges)
                out += (edge.sides & fuselage::scene::Before) && !edge.stored.empty();
            return out;
        };
        QCOMPARE(stored(), size_t(1));
        const DrawingPtr drawing = window.canvases().canvas(fuselage::scene::Before).drawing();
        for (const auto& edge : drawing->scene().edges)
            if (!edge.stored.empty() && (edge.sides & fuselage::scene::Before)) {
                const auto& end = edge.points.back();
                const QString tip =
                    edgeTip(*drawing, fuselage::scene::Before, {end.x + 2, end.y - 1}, 4);
                QVERIFY2(tip.contains("stored as int8") && tip.contains("float[1,64]"),
                         qPrintable(tip));
                QVERIFY(
                    edgeTip(*drawing, fuselage::scene::Before, {end.x + 500, end.y}, 4).isEmpty());
            }
        window.commands().find("view.pairs")->trigger();
        QTRY_COMPARE(stored(), size_t(0));
        window.undo().undo();
        QTRY_COMPARE(stored(), size_t(1));
    }

private:
    QTemporaryDir m_folder;
    QString m_model;
};

QTEST_MAIN(WindowTest)
#include "window_test.moc"
