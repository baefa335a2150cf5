// SPDX-License-Identifier: Apache-2.0
// What panels with tables share and say: sentences where there is nothing, counts on tabs, columns
// that are chosen, changes that are tried, rules that are switched off.
#include "app/report/chart/chart.h"
#include "app/studio/graph_view/edge_tip.h"
#include "app/studio/graph_view/overlay.h"
#include "app/studio/item_models/near_miss_table.h"
#include "app/studio/item_models/node_table.h"
#include "app/studio/item_models/rule_table.h"
#include "app/studio/panels/inspector/inspector_text.h"
#include "app/studio/panels/outline/profile_command.h"
#include "app/studio/panels/table_panel.h"
#include "app/studio/session/change_trial.h"
#include "app/studio/session/pair_facts.h"
#include "app/studio/shell/main_window.h"
#include "app/studio/shell/options_dialog.h"
#include "tests/studio/sample.h"

#include <QDockWidget>
#include <QGroupBox>
#include <QHeaderView>
#include <QMenu>
#include <QPushButton>
#include <QTextBrowser>
#include <QTextDocument>
#include <algorithm>

namespace app = fuselage::app;
using namespace fuselage::studio;
using namespace fuselage::studio::testing;

namespace {

TablePanel* panelOf(MainWindow& window, const char* name) {
    return window.findChild<QDockWidget*>(name)->findChild<TablePanel*>();
}

QString wordsOf(const TablePanel& panel) {
    return panel.findChild<QLabel*>("tableWords")->text();
}

int columnOf(const QAbstractItemModel& model, const QString& title) {
    for (int column = 0; column < model.columnCount(); ++column)
        if (model.headerData(column, Qt::Horizontal).toString() == title)
            return column;
    return -1;
}

void show(MainWindow& window, const char* panel) {
    window.commands().find(QStringLiteral("panel.") + panel)->trigger();
}

QAction* columnAction(TablePanel& panel, const QString& title) {
    auto* menu = panel.findChild<QMenu*>("columns");
    Q_EMIT menu->aboutToShow();
    for (QAction* action : menu->actions())
        if (action->text() == title)
            return action;
    return nullptr;
}

} // namespace

class PanelsTest : public QObject {
    Q_OBJECT

private Q_SLOTS:

    void initTestCase() {
        m_model = writeZooModel(m_folder, "resnet18");
        m_pairs = m_folder.filePath("pairs.onnx");
        auto graph = fuselage::model_io::loadText(
            "g (float[1,64] x) => (float[1,64] y)<float s = {0.25}, int8 z = {0}> {"
            "  a = Abs(x) q = QuantizeLinear(a, s, z) d = DequantizeLinear(q, s, z)"
            "  b = Neg(d) y = Relu(b) }");
        QVERIFY(graph && fuselage::model_io::save(*graph, m_pairs.toStdString()));
    }

    void anEmptyTableSaysWhy() {
        QSettings settings(m_folder.filePath("a.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.show();
        show(window, "matches");
        QVERIFY2(wordsOf(*panelOf(window, "matches")).contains("open a model"),
                 qPrintable(wordsOf(*panelOf(window, "matches"))));
        show(window, "runs");
        QVERIFY2(wordsOf(*panelOf(window, "runs")).contains("F5"),
                 qPrintable(wordsOf(*panelOf(window, "runs"))));
        show(window, "problems");
        QCOMPARE(wordsOf(*panelOf(window, "problems")), QString("nothing is wrong"));
        SessionOptions options = window.session().options();
        options.rules.builtin = false;
        window.session().setOptions(options);
        window.openFiles({m_model});
        QVERIFY(settled(window.session()));
        show(window, "matches");
        QVERIFY2(wordsOf(*panelOf(window, "matches")).contains("no rule fused"),
                 qPrintable(wordsOf(*panelOf(window, "matches"))));
        show(window, "why_not");
        QVERIFY2(wordsOf(*panelOf(window, "why_not")).contains("no near misses"),
                 qPrintable(wordsOf(*panelOf(window, "why_not"))));
        show(window, "kernels");
        QVERIFY(wordsOf(*panelOf(window, "kernels")).isEmpty());
    }

    void tabsCountWhatIsInThem() {
        QSettings settings(m_folder.filePath("b.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.openFiles({m_model});
        QVERIFY(settled(window.session()));
        const app::Report& report = *window.session().report();
        auto title = [&](const char* name) {
            return window.findChild<QDockWidget*>(name)->windowTitle();
        };
        QCOMPARE(title("matches"), QString("Matches (%1)").arg(report.matches.size()));
        QCOMPARE(title("kernels"), QString("Kernels (%1)").arg(report.after.kernels.size()));
        const size_t misses = report.nearMisses.size() + refusedMatches(report).size();
        QVERIFY(misses > report.nearMisses.size());
        QCOMPARE(title("why_not"), QString("Why not (%1)").arg(misses));
    }

    void columnsArePutAwayAndStayAway() {
        QSettings settings(m_folder.filePath("c.ini"), QSettings::IniFormat);
        {
            MainWindow window(settings);
            window.show();
            window.openFiles({m_model});
            QVERIFY(settled(window.session()));
            show(window, "matches");
            TablePanel* panel = panelOf(window, "matches");
            const int launches = columnOf(*panel->table().model(), "launches saved");
            QVERIFY(!panel->table().isColumnHidden(launches));
            QAction* action = columnAction(*panel, "launches saved");
            QVERIFY(action && action->isChecked());
            action->trigger();
            QVERIFY(panel->table().isColumnHidden(launches));
            // What has nothing to say is not offered at all.
            QVERIFY(!columnAction(*panelOf(window, "kernels"), "DRAM"));
            window.close();
        }
        MainWindow window(settings);
        TablePanel* panel = panelOf(window, "matches");
        const int launches = columnOf(*panel->table().model(), "launches saved");
        QVERIFY(panel->table().isColumnHidden(launches));
        columnAction(*panel, "launches saved")->trigger();
        QVERIFY(!panel->table().isColumnHidden(launches));
    }

    void theLastColumnCannotBePutAway() {
        QSettings settings(m_folder.filePath("d.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        TablePanel* panel = panelOf(window, "problems");
        const int columns = panel->table().model()->columnCount();
        for (int column = 0; column < columns; ++column) {
            const QString title =
                panel->table().model()->headerData(column, Qt::Horizontal).toString();
            columnAction(*panel, title)->trigger();
        }
        int shown = 0;
        for (int column = 0; column < columns; ++column)
            shown += panel->table().isColumnHidden(column) ? 0 : 1;
        QCOMPARE(shown, 1);
    }

    void whyTakesTheRoomThatIsLeft() {
        QSettings settings(m_folder.filePath("e.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.resize(1900, 1000);
        window.show();
        window.openFiles({m_model});
        QVERIFY(settled(window.session()));
        show(window, "why_not");
        TablePanel* panel = panelOf(window, "why_not");
        QVERIFY(panel->visibleRows().rowCount() > 0);
        QTableView& table = panel->table();
        int all = 0;
        for (int column = 0; column < table.model()->columnCount(); ++column)
            all += table.columnWidth(column);
        QVERIFY2(all >= table.viewport()->width(), qPrintable(QString::number(all)));
        const QModelIndex why = table.model()->index(0, whyColumn);
        QCOMPARE(table.model()->headerData(whyColumn, Qt::Horizontal).toString(), QString("why"));
        QVERIFY(table.columnWidth(whyColumn) > 0 && !why.data().toString().isEmpty());
        QVERIFY(!table.horizontalHeader()->stretchLastSection());
    }

    void aSuggestedChangeIsTriedAndItsGainIsShown() {
        QSettings settings(m_folder.filePath("f.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        SessionOptions options = window.session().options();
        options.rules.builtin = false;
        options.rules.texts = {
            {"mine.fuse", "fuse 1;\nrule Mine {\n  match {\n    y = BatchNormalization -> Relu;"
                          "\n    where y.rank == 3;\n  }\n}\n"}};
        window.session().setOptions(options);
        window.show();
        window.openFiles({m_model});
        QVERIFY(settled(window.session()));
        show(window, "why_not");
        ChangeTrial* trial = window.findChild<ChangeTrial*>();
        TablePanel* panel = panelOf(window, "why_not");
        QAction* tryIt = window.commands().find("miss.try");
        QVERIFY(!tryIt->isEnabled());
        QVERIFY2(panel->visibleRows().rowCount() > 0, "no near miss to try");
        int row = 0;
        auto possible = [&] {
            panel->table().selectRow(row);
            return tryIt->isEnabled();
        };
        while (!possible() && ++row < panel->visibleRows().rowCount()) {
        }
        QVERIFY2(tryIt->isEnabled(), "no near miss suggests a change");
        QSignalSpy found(trial, &ChangeTrial::found);
        tryIt->trigger();
        QVERIFY(trial->running());
        QVERIFY(!tryIt->isEnabled());
        QTRY_COMPARE_WITH_TIMEOUT(found.size(), 1, 60'000);
        const QString said = window.findChild<QLabel*>("triedText")->text();
        QVERIFY2(said.startsWith("tried: the rule is applied"), qPrintable(said));
        const QAbstractItemModel& rows = panel->visibleRows();
        const int gain = columnOf(rows, "gain");
        int tried = 0;
        for (int each = 0; each < rows.rowCount(); ++each)
            tried += rows.index(each, gain).data().toString().endsWith("tried");
        QCOMPARE(tried, 1);
        QTRY_VERIFY(!trial->running());
        // A trial that is stopped tells nothing.
        tryIt->trigger();
        trial->cancel();
        QTRY_VERIFY(!trial->running());
        QCOMPARE(found.size(), 1);
    }

    void aRuleIsSwitchedOffAndTheCommandSaysSo() {
        QSettings settings(m_folder.filePath("g.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.show();
        window.openFiles({m_model});
        QVERIFY(settled(window.session()));
        show(window, "rule_list");
        TablePanel* panel = panelOf(window, "rule_list");
        QAbstractItemModel& rows = *panel->table().model();
        QVERIFY(panel->visibleRows().rowCount() > 0);
        panel->filter().setText("matches>0");
        QVERIFY(rows.rowCount() > 0);
        const QString name = rows.index(0, 0).data().toString();
        const size_t launches = window.session().report()->after.launches;
        QVERIFY(rows.setData(rows.index(0, 0), Qt::Unchecked, Qt::CheckStateRole));
        QVERIFY(settled(window.session()));
        for (const app::MatchReport& match : window.session().report()->matches)
            QVERIFY(QString::fromStdString(match.rule) != name);
        QVERIFY(window.measurements().command().contains("--without-rule " + name));
        panel->filter().setText("state:off");
        QCOMPARE(panel->visibleRows().rowCount(), 1);
        QCOMPARE(rows.index(0, 0).data().toString(), name);
        QCOMPARE(rows.index(0, 0).data(Qt::CheckStateRole).toInt(), int(Qt::Unchecked));
        window.undo().undo();
        QVERIFY(settled(window.session()));
        QCOMPARE(window.session().report()->after.launches, launches);
        QVERIFY(!window.measurements().command().contains("--without-rule"));
    }

    void pairsSayWhatTheyOpenAndNodesAreNamedOnce() {
        QSettings settings(m_folder.filePath("h.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.show();
        window.openFiles({m_pairs});
        QVERIFY(settled(window.session()));
        auto* inspector = window.findChild<QDockWidget*>("inspector")->findChild<QTextBrowser*>();
        const app::GraphReport& graph = window.session().report()->before.graph;
        QString load, plain;
        for (const app::GraphNodeReport& node : graph.nodes) {
            if (node.op == "DequantizeLinear")
                load = QString::fromStdString(node.name);
            if (node.op == "Abs")
                plain = QString::fromStdString(node.name);
        }
        QVERIFY(touchesPairs(graph, {load}));
        QVERIFY(!touchesPairs(graph, {plain}));
        window.selection().selectBefore({load});
        QTRY_VERIFY2_WITH_TIMEOUT(inspector->toPlainText().contains("Quantised pair"),
                                  qPrintable(inspector->toPlainText()), 30'000);
        QVERIFY2(inspector->toPlainText().contains("opens"), qPrintable(inspector->toPlainText()));
        window.selection().selectBefore({plain});
        QVERIFY(!inspector->toPlainText().contains("Quantised pair"));
    }

    void selectedNodesOfAMatchAreNamedOnce() {
        app::Report report;
        for (const char* name : {"first", "second", "third"}) {
            app::GraphNodeReport node;
            node.name = name;
            report.before.graph.nodes.push_back(node);
        }
        app::MatchReport match;
        match.rule = "R";
        match.fusedNode = "f";
        match.nodes = {"first", "second"};
        report.matches = {match};
        const QString html = inspectorHtml(report, {{"first", "second", "third"}, {"f"}, {}});
        for (const char* name : {"first", "second", "third"})
            QCOMPARE(html.count(QString(">%1</a>").arg(name)), qsizetype(1));
    }

    /// What the operator calls its operands, and what attributes mean that the file leaves out.
    void operandsHaveTheirPlacesAndDefaultsAreSaid() {
        app::Report report;
        app::GraphNodeReport node;
        node.name = "c";
        node.op = "Conv";
        node.attributes = {{"strides", "[2, 2]"}};
        for (const char* name : {"picture", "filter"}) {
            node.inputs.push_back(static_cast<uint32_t>(report.before.graph.values.size()));
            report.before.graph.values.push_back({name});
        }
        report.before.graph.nodes = {node};
        node.op = "com.acme.Conv";
        node.name = "other";
        report.before.graph.nodes.push_back(node);
        QTextDocument shown;
        shown.setHtml(inspectorHtml(report, {{"c"}, {}, {}}));
        const QString text = shown.toPlainText();
        for (const char* part : {"X picture", "W filter", "group = 1"})
            QVERIFY2(text.contains(part), qPrintable(text));
        shown.setHtml(inspectorHtml(report, {{"other"}, {}, {}}));
        QVERIFY2(!shown.toPlainText().contains("by default"), qPrintable(shown.toPlainText()));
    }

    void anEdgeNamesAllWhoReadIt() {
        const QString path = m_folder.filePath("fan.onnx");
        auto graph = fuselage::model_io::loadText(
            "g (float[1,64] x) => (float[1,64] p, float[1,64] q, float[1,64] r) {"
            "  a = Abs(x) p = Sin(a) q = Cos(a) r = Exp(a) }");
        QVERIFY(graph && fuselage::model_io::save(*graph, path.toStdString()));
        QSettings settings(m_folder.filePath("i.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        SessionOptions options = window.session().options();
        options.rules.builtin = false;
        window.session().setOptions(options);
        window.show();
        window.openFiles({path});
        QVERIFY(settled(window.session()));
        QTRY_VERIFY(!window.canvases().drawing());
        const DrawingPtr drawing = window.canvases().canvas(fuselage::scene::Before).drawing();
        const auto& scene = drawing->scene();
        bool seen = false;
        for (const auto& edge : scene.edges) {
            if (!(edge.sides & fuselage::scene::Before) || edge.value != "a")
                continue;
            const auto& end = edge.points.back();
            const QString tip = edgeTip(*drawing, fuselage::scene::Before, {end.x, end.y}, 4);
            int readers = 0;
            for (const auto& each : scene.edges)
                if ((each.sides & fuselage::scene::Before) && each.value == "a")
                    readers += tip.contains(
                        QString::fromStdString(scene.boxes[each.to].name).toHtmlEscaped());
            QVERIFY2(readers == 3, qPrintable(tip));
            seen = true;
        }
        QVERIFY(seen);
    }

    void timesOfOnnxRuntimeAreAColumnAndAnOverlay() {
        QSettings settings(m_folder.filePath("j.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.show();
        window.openFiles({m_model});
        QVERIFY(settled(window.session()));
        const std::string node = window.session().report()->before.graph.nodes[0].name;
        TablePanel* outline = panelOf(window, "outline");
        QVERIFY(outline->table().isColumnHidden(elsewhereColumn));
        const QByteArray event = "{\"cat\": \"Node\", \"name\": \"%_kernel_time\", \"dur\": #}";
        QByteArray text = "[";
        for (const char* duration : {"7", "900", "8"}) // the median counts
            text += QByteArray(event).replace("%", node.c_str()).replace("#", duration) + ",";
        text += QByteArray(event).replace("%", "Nobody").replace("#", "5") + "]";
        Workbench bench{window.session(), window.selection(), window.commands(),
                        window.marks(),   window.undo(),      window.measurements()};
        JobLane lane;
        openProfile(bench, lane, writeText(m_folder, "profile.json", text));
        QTRY_COMPARE(window.marks().times().size(), 2);
        QVERIFY(!outline->table().isColumnHidden(elsewhereColumn));
        const QAbstractItemModel& rows = outline->visibleRows();
        QStringList shown;
        for (int row = 0; row < rows.rowCount(); ++row)
            if (const QString time = rows.index(row, elsewhereColumn).data().toString();
                !time.isEmpty())
                shown << time;
        QCOMPARE(shown, QStringList{"8.0 us"});
        QTRY_VERIFY(!window.canvases().drawing());
        const DrawingPtr drawing = window.canvases().canvas(fuselage::scene::Before).drawing();
        const OverlayColours overlay = byTimes(*drawing, fuselage::scene::Before,
                                               Colours(window.palette()), window.marks().times());
        QCOMPARE(std::count_if(overlay.fill.begin(), overlay.fill.end(),
                               [](const QColor& colour) { return colour.isValid(); }),
                 1);
        const QList<Problem> said = window.session().problems();
        QVERIFY(std::any_of(said.begin(), said.end(), [](const Problem& problem) {
            return problem.code == "profile.nodes" && problem.message.contains("1 of them");
        }));
        openProfile(bench, lane, writeText(m_folder, "no.json", "{}"));
        QTRY_VERIFY(window.session().problems().last().code == "profile.json");
    }

    void scopesAreAsWideAsTheirNodesTake() {
        app::Report report;
        auto add = [&](const char* name, double seconds) {
            app::GraphNodeReport node;
            node.name = name;
            node.op = "Relu";
            report.before.graph.nodes.push_back(node);
            app::KernelReport kernel;
            kernel.node = name;
            kernel.sources = {name};
            kernel.predictedSeconds = seconds;
            report.before.kernels.push_back(kernel);
        };
        add("/a/first/Relu", 1e-3);
        add("/a/second/Relu", 2e-3);
        add("/b/Relu", 1e-3);
        const fuselage::chart::Chart chart = fuselage::chart::scopesByTime(report);
        auto bar = [&](const char* path) {
            for (const auto& each : chart.primitives)
                if (each.title.starts_with(std::string(path) + ": "))
                    return QRectF(each.x, each.y, each.w, each.h);
            return QRectF();
        };
        const QRectF all = bar("model"), a = bar("a"), second = bar("a/second"), b = bar("b");
        QVERIFY(all.isValid() && a.isValid() && second.isValid() && b.isValid());
        QVERIFY(qAbs(a.width() - 0.75 * all.width()) < 3);
        QVERIFY(qAbs(b.width() - 0.25 * all.width()) < 3);
        QVERIFY(second.top() > a.top() && a.top() > all.top());
        QVERIFY(bar("a/first").left() > second.left()); // the widest stands first
        QVERIFY(b.left() > a.left());
    }

    void optionsAreGroupedAndGoBackToDefaults() {
        SessionOptions options;
        options.fuse.strict = true;
        options.fuse.dims = {{"N", 4}};
        MeasureSettings measuring;
        measuring.seconds = 7;
        measuring.backend = "cpu";
        OptionsDialog dialog(options, measuring, {}, nullptr);
        QVERIFY(dialog.findChildren<QGroupBox*>().size() >= 3);
        QCOMPARE(dialog.measureSettings().seconds, 7.0);
        QVERIFY(dialog.sessionOptions().fuse.strict);
        dialog.findChild<QDialogButtonBox*>()->button(QDialogButtonBox::RestoreDefaults)->click();
        QVERIFY(!dialog.sessionOptions().fuse.strict);
        QCOMPARE(dialog.measureSettings().seconds, MeasureSettings().seconds);
        QCOMPARE(dialog.measureSettings().backend, MeasureSettings().backend);
        QCOMPARE(dialog.sessionOptions().fuse.dims.at("N"), int64_t(4)); // of the model
    }

private:
    QTemporaryDir m_folder;
    QString m_model, m_pairs;
};

QTEST_MAIN(PanelsTest)
#include "panels_test.moc"
