// SPDX-License-Identifier: Apache-2.0
// Finding and looking inside: hits on the canvases, places that are alike, blocks opened around a
// node, breadcrumbs, bodies of If, values of constants.
#include "app/pipeline/tensor_facts.h"
#include "app/report/json.h"
#include "app/studio/graph_view/canvas_pair.h"
#include "app/studio/item_models/tensor_values.h"
#include "app/studio/panels/table_panel.h"
#include "app/studio/panels/values/values_panel.h"
#include "app/studio/session/run_store.h"
#include "app/studio/session/similar_places.h"
#include "app/studio/shell/finders.h"
#include "app/studio/shell/main_window.h"
#include "app/studio/shell/node_search.h"
#include "tests/studio/sample.h"

#include <QDockWidget>
#include <QElapsedTimer>
#include <QFile>
#include <cmath>
#include <cstring>

using namespace fuselage;
using namespace fuselage::studio;
using namespace fuselage::studio::testing;

namespace {

/// One If that holds everything, as decoders with a cache are exported.
/// No rule takes a whole branch, since CumSum fuses with nothing.
QString writeNested(const QTemporaryDir& folder) {
    auto graph = model_io::loadText(
        "g (bool c, float[2,8] x) => (float[2,8] y) {"
        " y = If (c) <then_branch = t () => (float[2,8] a) {"
        "               p = Relu(x) q = Exp(p) k = Constant<value_int = 0>() r = CumSum(q, k)"
        "               s = Abs(r) a = Sqrt(s) },"
        "             else_branch = e () => (float[2,8] b) {"
        "               u = Neg(x) v = Relu(u) w = Tanh(v) b = Exp(w) }> }");
    QString path = folder.filePath("nested.onnx");
    if (!graph || !model_io::save(*graph, path.toStdString()))
        qFatal("cannot write the model");
    return path;
}

bool drawn(MainWindow& window, const QString& model) {
    window.resize(1400, 900);
    window.show();
    window.openFiles({model});
    return settled(window.session()) &&
           QTest::qWaitFor([&] { return !window.canvases().drawing(); }) &&
           window.canvases().canvas(scene::Before).drawing() != nullptr;
}

long count(const std::vector<uint8_t>& flags) {
    return std::count(flags.begin(), flags.end(), 1);
}

} // namespace

class FindTest : public QObject {
    Q_OBJECT

private Q_SLOTS:

    void initTestCase() { m_model = writeZooModel(m_folder, "resnet18"); }

    void whatIsLookedForIsMarkedAndTheRestStepsBack() {
        QSettings settings(m_folder.filePath("a.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        QVERIFY(drawn(window, m_model));
        Canvas& before = window.canvases().canvas(scene::Before);
        Workbench bench{window.session(), window.selection(), window.commands(),
                        window.marks(),   window.undo(),      window.measurements()};
        Chooser* finder = openNodeFinder(bench, &window);
        finder->line().setText("op:MaxPool");
        QVERIFY(QTest::qWaitFor([&] { return !window.marks().hits().isEmpty(); }));
        QCOMPARE(window.marks().hits().size(), 1);
        QCOMPARE(count(before.style().hits), 1);
        QVERIFY(count(before.style().faded) > 10);
        QTest::keyClick(&finder->line(), Qt::Key_Escape);
        QVERIFY(window.marks().hits().isEmpty());
        QVERIFY(before.style().hits.empty());
    }

    void anUnknownKeyIsSaidAndCompleted() {
        QSettings settings(m_folder.filePath("keys.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        QVERIFY(drawn(window, m_model));
        Workbench bench{window.session(), window.selection(), window.commands(),
                        window.marks(),   window.undo(),      window.measurements()};
        Chooser* finder = openNodeFinder(bench, &window);
        finder->line().setText("rul:ConvBNReLU");
        QVERIFY2(finder->words().text().contains("no key `rul`"),
                 qPrintable(finder->words().text()));
        QCOMPARE(finder->list().item(0)->text(), QString("rule:"));
        // Takes the completion, stays open. Where no platform tells windows apart, the key itself
        // would be a shortcut of the main window.
        Q_EMIT finder->line().returnPressed();
        QVERIFY(finder->isVisible());
        QCOMPARE(finder->line().text(), QString("rule:ConvBNReLU"));
        QVERIFY(finder->list().count() > 0);
        QVERIFY(!finder->words().text().contains("no key"));
        QVERIFY(finder->windowFlags() & Qt::FramelessWindowHint);
        finder->close();
    }

    void aKeyIsAnsweredAtOnceInALargeModel() {
        app::Report report;
        constexpr int count = 50'000;
        for (int i = 0; i < count; ++i) {
            app::GraphNodeReport node;
            node.name = "/encoder/layers." + std::to_string(i / 50) + "/attention/self/MatMul_" +
                        std::to_string(i);
            node.op = i % 5 ? "MatMul" : "Conv";
            node.outputs = {static_cast<uint32_t>(i)};
            report.before.graph.values.push_back({"v", "float[1,128,768]", "float", {}, 0, false});
            report.before.graph.nodes.push_back(node);
        }
        NodeSearch search(report);
        for (const char* text :
             {"c", "conv", "layers.7 op:Conv", "-op:MatMul", "nothing like it"}) {
            qint64 best = 1'000'000;
            Found found;
            for (int turn = 0; turn < 5; ++turn) { // the machine may do something else meanwhile
                QElapsedTimer clock;
                clock.start();
                found = search.find(text);
                best = std::min(best, clock.elapsed());
            }
            // bench_studio holds the budget of 50 ms; here what a busy machine still keeps.
            QVERIFY2(best < 1000, qPrintable(QString("%1: %2 ms").arg(text).arg(best)));
            QVERIFY(found.rows.size() <= Chooser::mostRows);
            QCOMPARE(search.hits().size(), found.count);
        }
        const Found convs = search.find("op:Conv");
        QCOMPARE(convs.count, qsizetype(count / 5)); // rows end, what is marked does not
        QCOMPARE(convs.rows.size(), Chooser::mostRows);
        QCOMPARE(search.find("ENCODER").count, qsizetype(count)); // whatever the case
        QCOMPARE(search.find({}).count, qsizetype(count));
        QVERIFY(search.hits().isEmpty()); // nothing was looked for
    }

    void placesBuiltAlikeAreFoundAndShareNoNodes() {
        auto graph = zoo::build("resnet18");
        QVERIFY(graph);
        std::vector<std::string> nodes;
        for (NodeId id : topologicalOrder(*graph)) { // the first Add and the Relu that reads it
            const Node& node = graph->node(id);
            if (nodes.empty() && node.op == Op::Add)
                nodes.push_back(node.name);
            else if (nodes.size() == 1 && node.op == Op::Relu &&
                     graph->node(graph->producer(node.inputs[0])).name == nodes[0])
                nodes.push_back(node.name);
        }
        QCOMPARE(nodes.size(), size_t(2));
        const auto places = placesLike(*graph, nodes);
        QCOMPARE(places.size(), size_t(8)); // residual blocks of resnet18
        QCOMPARE(places[0], nodes);
        QSet<QString> seen;
        for (const auto& place : places)
            for (const std::string& node : place) {
                QVERIFY(!seen.contains(QString::fromStdString(node)));
                seen.insert(QString::fromStdString(node));
            }
        QVERIFY(placesLike(*graph, {"no such node"}).empty());
        QVERIFY(placesLike(*graph, {nodes[0], places[5][1]}).empty()); // not connected
    }

    void aNodeInAShutBlockIsShownByOpeningIt() {
        QSettings settings(m_folder.filePath("b.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        QVERIFY(drawn(window, m_model));
        const DrawingPtr drawing = window.canvases().canvas(scene::Before).drawing();
        QVERIFY(!drawing->scene().hidden.empty());
        QString node;
        for (const scene::Hidden& hidden : drawing->scene().hidden)
            if (hidden.sides & scene::Before)
                node = QString::fromStdString(hidden.name);
        window.selection().selectBefore({node});
        window.canvases().reveal();
        QVERIFY(QTest::qWaitFor([&] {
            const DrawingPtr now = window.canvases().canvas(scene::Before).drawing();
            const uint32_t box = now->boxOf(scene::Before, node);
            return box != scene::none && now->scene().boxes[box].kind == scene::Box::Kind::Node;
        }));
        window.undo().undo(); // what was opened can be shut again
        QVERIFY(QTest::qWaitFor([&] {
            const DrawingPtr now = window.canvases().canvas(scene::Before).drawing();
            return now->scene().boxes[now->boxOf(scene::Before, node)].kind ==
                   scene::Box::Kind::Collapsed;
        }));
    }

    void theBodiesOfAnIfAreOnTheCanvasInTheOutlineAndBelowBreadcrumbs() {
        QSettings settings(m_folder.filePath("c.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        QVERIFY(drawn(window, writeNested(m_folder)));
        Canvas& before = window.canvases().canvas(scene::Before);
        QVERIFY(before.drawing()->scene().boxes.size() >= 10);
        auto* outline =
            qobject_cast<TablePanel*>(window.findChild<QDockWidget*>("outline")->widget());
        QVERIFY(outline->table().model()->rowCount() >= 10);
        outline->filter().setText("op:Sqrt");
        QCOMPARE(outline->table().model()->rowCount(), 1);
        outline->table().selectRow(0);
        const QStringList selected = window.selection().selection().before;
        QCOMPARE(selected.size(), 1);
        QVERIFY2(selected[0].contains("/then_branch/"), qPrintable(selected[0]));
        QCOMPARE(count(before.style().selected), 1);
        window.canvases().reveal();
        auto* crumbs = window.findChild<Breadcrumbs*>();
        QVERIFY(QTest::qWaitFor([&] { return crumbs->path().join(' ').contains("then_branch"); }));
        const Viewport inside = before.viewport();
        crumbs->goOut();
        QVERIFY(before.viewport().zoom <= inside.zoom);
    }

    void panningStopsWhereTheDrawingIsStillSeen() {
        QSettings settings(m_folder.filePath("d.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        QVERIFY(drawn(window, m_model));
        Canvas& before = window.canvases().canvas(scene::Before);
        const scene::Rect& all = before.drawing()->scene().rect;
        for (const QPointF& far : {QPointF(1e7, 1e7), QPointF(-1e7, -1e7)}) {
            before.setViewport({far, 0.5});
            QVERIFY(before.visibleArea().intersects(QRectF(all.x, all.y, all.w, all.h)));
        }
    }

    void aTensorsFactsAreExact() {
        Tensor tensor = Tensor::ofFloats({2, 3}, {-1, 0, 0, 1, 3, INFINITY});
        const auto facts = app::factsOf(tensor, [] { return false; });
        QVERIFY(facts);
        QCOMPARE(facts->count, int64_t(6));
        QCOMPARE(facts->zeros, int64_t(2));
        QCOMPARE(facts->notFinite, int64_t(1));
        QCOMPARE(facts->least, -1.0);
        QCOMPARE(facts->most, 3.0);
        QCOMPARE(facts->mean, 0.6);
        int64_t counted = 0;
        for (int64_t bin : facts->histogram)
            counted += bin;
        QCOMPARE(counted, int64_t(5));
        QCOMPARE(facts->histogram.front(), int64_t(1));
        QCOMPARE(facts->histogram.back(), int64_t(1));
        QVERIFY(!app::factsOf(tensor, [] { return true; }));
        QVERIFY(app::factsOf(Tensor(DType::Float32, {0, 4}), [] { return false; }));
    }

    void theValuesOfASelectedNodeAreShownAndSaved() {
        QSettings settings(m_folder.filePath("e.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        QVERIFY(drawn(window, m_model));
        window.commands().find("panel.values")->trigger();
        auto* values =
            qobject_cast<ValuesPanel*>(window.findChild<QDockWidget*>("values")->widget());
        QCOMPARE(values->choice().count(), 0);
        for (const app::GraphNodeReport& node : window.session().report()->before.graph.nodes)
            if (node.op == "Conv") {
                window.selection().selectBefore({QString::fromStdString(node.name)});
                break;
            }
        QVERIFY(QTest::qWaitFor([&] { return values->choice().count() > 0 && !values->busy(); }));
        QVERIFY2(values->facts().contains("mean"), qPrintable(values->facts()));
        const QString path = m_folder.filePath("w.npy");
        QVERIFY(values->save(path));
        QVERIFY(QFile(path).size() > 64);
    }

    void whatANodeComputesIsShownBesideItsFusedForm() {
        QSettings settings(m_folder.filePath("g.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        QVERIFY(drawn(window, m_model));
        window.commands().find("panel.values")->trigger();
        auto* values =
            qobject_cast<ValuesPanel*>(window.findChild<QDockWidget*>("values")->widget());
        const auto rowOf = [&](const QString& name) { return values->choice().findText(name); };
        QVERIFY(!values->compute().isEnabled());
        // A block's end is kept by the fused graph, a convolution's own result is not.
        window.selection().selectBefore({"/layer1/0/Relu_1", "/layer1/0/conv1/Conv"});
        QVERIFY(QTest::qWaitFor([&] { return values->compute().isEnabled(); }));
        values->compute().click();
        const QString kept = "/layer1/0/Relu_output_0_1 (result)",
                      inside = "/layer1/0/conv1/Conv_output_0 (result)";
        QVERIFY(QTest::qWaitFor(
            [&] {
                return rowOf(kept) >= 0 && rowOf(inside) >= 0 && !window.measurements().running();
            },
            60'000));
        values->choice().setCurrentIndex(rowOf(kept));
        QTRY_VERIFY2(values->facts().contains("after fusion: at most"),
                     qPrintable(values->facts()));
        values->choice().setCurrentIndex(rowOf(inside));
        QTRY_VERIFY2(values->facts().contains("after fusion: not stored"),
                     qPrintable(values->facts()));
        QVERIFY(window.session().problems().isEmpty());
    }

    void whatABranchComputesIsShown() {
        QSettings settings(m_folder.filePath("h.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        QVERIFY(drawn(window, writeNested(m_folder)));
        window.commands().find("panel.values")->trigger();
        auto* values =
            qobject_cast<ValuesPanel*>(window.findChild<QDockWidget*>("values")->widget());
        window.selection().selectBefore({"If/then_branch/Abs", "If/else_branch/Tanh"});
        QVERIFY(QTest::qWaitFor([&] { return values->compute().isEnabled(); }));
        values->compute().click();
        const auto rowOf = [&](const QString& name) { return values->choice().findText(name); };
        QVERIFY(QTest::qWaitFor(
            [&] {
                return rowOf("s (result)") >= 0 && rowOf("w (result)") >= 0 &&
                       !window.measurements().running();
            },
            60'000));
        QStringList facts; // of two branches one runs
        for (const char* name : {"s (result)", "w (result)"}) {
            values->choice().setCurrentIndex(rowOf(name));
            QTRY_VERIFY(!values->busy());
            facts << values->facts().section('\n', 0, 0);
        }
        facts.sort();
        QCOMPARE(facts, (QStringList{"float[0]", "float[2,8]"}));
        QVERIFY(window.session().problems().isEmpty());
    }

    void severalModelsHaveTabsAndKeepTheirView() {
        QSettings settings(m_folder.filePath("f.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        QVERIFY(drawn(window, m_model));
        QVERIFY(window.models().isHidden()); // one needs none
        window.canvases().setDot({}, false);
        Canvas& before = window.canvases().canvas(scene::Before);
        before.zoomBy(0.8);
        const Viewport left = before.viewport();
        QVERIFY(drawn(window, writeNested(m_folder)));
        QCOMPARE(window.models().count(), 2);
        QVERIFY(!(before.viewport() == left));
        window.models().step(1);
        QVERIFY(settled(window.session()));
        QVERIFY(QTest::qWaitFor([&] { return before.viewport() == left; }));
        QCOMPARE(window.session().modelPath(), m_model);
        window.models().closeCurrent();
        QVERIFY(settled(window.session()));
        QVERIFY(window.session().modelPath().endsWith("nested.onnx"));
        QCOMPARE(window.models().count(), 1);
    }

    void modelsThatAreGivenTogetherAreAllOpen() {
        QSettings settings(m_folder.filePath("together.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.canvases().setDot({}, false);
        const QString nested = writeNested(m_folder);
        window.openFiles({m_model, nested});
        QVERIFY(settled(window.session()));
        QCOMPARE(window.session().modelPath(), m_model); // the first one
        QCOMPARE(window.models().models(), (QStringList{m_model, nested}));
        QCOMPARE(window.models().currentIndex(), 0);
        window.commands().find("file.nextModel")->trigger();
        QVERIFY(settled(window.session()));
        QCOMPARE(window.session().modelPath(), nested);
        QCOMPARE(window.models().count(), 2);
    }

    void runsComeBackFromDiskAndWhatIsNoRunIsLeftOut() {
        const QString folder = m_folder.filePath("runs");
        const RunStore store(folder);
        QVERIFY(store.all().empty());
        writeTextIn(folder, "a.run", "no run");
        QVERIFY(store.all().empty());
        app::Report report;
        report.before.measured = report.after.measured = TimingSummary{};
        report.after.measured->median = 0.25;
        Run run;
        run.when = QDateTime::currentDateTime();
        run.model = "m.onnx";
        QVERIFY(store.keep(run, QByteArray::fromStdString(app::renderJson(report))));
        const std::vector<Run> back = store.all();
        QCOMPARE(back.size(), size_t(1));
        QCOMPARE(back[0].model, run.model);
        QCOMPARE(back[0].report->after.measured->median, 0.25);
    }

private:
    static void writeTextIn(const QString& folder, const QString& name, const QByteArray& text) {
        QDir().mkpath(folder);
        QFile file(QDir(folder).filePath(name));
        QVERIFY(file.open(QFile::WriteOnly));
        file.write(text);
    }

    QTemporaryDir m_folder;
    QString m_model;
};

QTEST_MAIN(FindTest)
#include "find_test.moc"
