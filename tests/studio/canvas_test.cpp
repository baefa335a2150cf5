// SPDX-License-Identifier: Apache-2.0
// The two canvases over time: what stays where it is when a model comes again,
// fused nodes that are opened; and how they look: lines, faded letters, the
// overview.
#include "app/pipeline/opened.h"
#include "app/studio/session/match_keys.h"
#include "app/studio/shell/main_window.h"
#include "tests/studio/sample.h"

using namespace fuselage;
using namespace fuselage::studio;
using namespace fuselage::studio::testing;

namespace {

bool drawn(MainWindow& window) {
    return settled(window.session()) &&
           QTest::qWaitFor([&] { return !window.canvases().drawing(); }, 60'000);
}

bool opened(MainWindow& window, const QString& path) {
    window.canvases().setDot({}, false);
    window.resize(1300, 850);
    window.show();
    window.activateWindow();
    if (!QTest::qWaitForWindowActive(&window))
        return false;
    window.openFiles({path});
    return drawn(window);
}

/// Layers of a network with an open batch, each of three nodes in a scope of its own.
QString writeLayers(const QTemporaryDir& folder, int layers = 20) {
    Graph graph("layers");
    ValueId last = graph.addInput(
        "x", tensorType(DType::Float32, {Dim::symbol("N"), Dim(3), Dim(64), Dim(64)}));
    for (int i = 0; i < 3 * layers; ++i) {
        const std::string name = "/layer" + std::to_string(i / 3) + "/node" + std::to_string(i % 3);
        const Op op = i % 3 == 0 ? Op::Neg : i % 3 == 1 ? Op::Relu : Op::Abs;
        last = graph.node(graph.addNode({op, name, {last}, {name + "_output"}})).outputs[0];
    }
    graph.addOutput(last);
    const QString path = folder.filePath(QStringLiteral("layers%1.onnx").arg(layers));
    if (!model_io::save(graph, path.toStdString()))
        qFatal("cannot write the model");
    return path;
}

const scene::Container* find(const Canvas& canvas, const QString& id) {
    for (const scene::Container& each : canvas.drawing()->scene().containers)
        if (each.id == id.toStdString())
            return &each;
    return nullptr;
}

/// The first container of the drawing that a person may open or shut.
QString firstScope(const Canvas& canvas) {
    for (const scene::Container& each : canvas.drawing()->scene().containers)
        if (each.kind == scene::Container::Kind::Scope)
            return QString::fromStdString(each.id);
    return {};
}

} // namespace

class CanvasTest : public QObject {
    Q_OBJECT

private Q_SLOTS:

    void initTestCase() { m_model = writeZooModel(m_folder, "resnet18"); }

    void aModelLoadedAgainStaysInViewWithItsOpenBlocks() {
        QSettings settings(m_folder.filePath("a.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        QVERIFY(opened(window, m_model));
        Canvas& before = window.canvases().canvas(scene::Before);
        const QString block = firstScope(before);
        const bool shut = find(before, block)->collapsed;
        Q_EMIT before.toggled(block);
        QVERIFY(drawn(window));
        QCOMPARE(find(before, block)->collapsed, !shut);
        before.setViewport({QPointF(300, 900), 1.3});
        const Viewport view = before.viewport();
        const DrawingPtr earlier = before.drawing();
        window.commands().find("file.reload")->trigger();
        QVERIFY(drawn(window));
        QVERIFY(before.drawing() != earlier);
        QCOMPARE(find(before, block)->collapsed, !shut);
        QCOMPARE(before.viewport(), view);
        QCOMPARE(window.canvases().canvas(scene::After).viewport(), view);
    }

    void otherDimensionsLeaveThePlaceThatIsLookedAtInTheMiddle() {
        QSettings settings(m_folder.filePath("b.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        QVERIFY(opened(window, writeLayers(m_folder)));
        Canvas& before = window.canvases().canvas(scene::Before);
        const auto placeOf = [&](const QString& node) {
            const uint32_t box = before.drawing()->boxOf(scene::Before, node);
            const scene::Point at = before.drawing()->scene().boxes[box].rect.centre();
            return (QPointF(at.x, at.y) - before.viewport().centre) * before.viewport().zoom;
        };
        const QString node = "/layer9/node1";
        const uint32_t box = before.drawing()->boxOf(scene::Before, node);
        const scene::Point at = before.drawing()->scene().boxes[box].rect.centre();
        before.setViewport({QPointF(at.x + 5, at.y), 0.9});
        const QPointF place = placeOf(node);
        const std::string size = before.drawing()->scene().boxes[box].type;
        SessionOptions options = window.session().options();
        options.fuse.dims["N"] = 1'234;
        window.session().setOptions(options);
        QVERIFY(drawn(window));
        const uint32_t again = before.drawing()->boxOf(scene::Before, node);
        QVERIFY(before.drawing()->scene().boxes[again].type != size);
        QVERIFY2(std::abs(placeOf(node).y() - place.y()) < 1.5 &&
                     std::abs(placeOf(node).x() - place.x()) < 1.5,
                 qPrintable(QString("%1, %2").arg(placeOf(node).x()).arg(placeOf(node).y())));
    }

    void anotherModelBeginsAtItsStart() {
        QSettings settings(m_folder.filePath("c.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        QVERIFY(opened(window, m_model));
        Canvas& before = window.canvases().canvas(scene::Before);
        before.setViewport({QPointF(300, 900), 2.5});
        window.openFiles({writeLayers(m_folder)});
        QVERIFY(drawn(window));
        const uint32_t first = before.drawing()->boxOf(scene::Before, "/layer0/node0");
        const scene::Rect& rect = before.drawing()->scene().boxes[first].rect;
        QVERIFY(before.visibleArea().contains(QRectF(rect.x, rect.y, rect.w, rect.h)));
        QVERIFY(before.viewport().zoom < 2);
    }

    void aFusedNodeOpensInPlaceAndShutsAgain() {
        QSettings settings(m_folder.filePath("d.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        QVERIFY(opened(window, m_model));
        const app::MatchReport match = window.session().report()->matches.front();
        const QString fused = QString::fromStdString(match.fusedNode);
        QVERIFY(match.nodes.size() > 1);
        Canvas& after = window.canvases().canvas(scene::After);
        window.selection().selectAfter({fused});
        window.canvases().reveal();
        QVERIFY(drawn(window));
        const uint32_t shut = after.drawing()->boxOf(scene::After, fused);
        QCOMPARE(after.drawing()->scene().boxes[shut].kind, scene::Box::Kind::Fused);
        const size_t boxes = after.drawing()->scene().boxes.size();
        after.setFocus();
        after.setCurrent(shut);
        QTest::keyClick(&after, Qt::Key_Return);
        QVERIFY(drawn(window));
        const auto& inner = after.drawing()->inner();
        QCOMPARE(inner.size(), match.nodes.size());
        QSet<QString> names;
        for (uint32_t b : inner) {
            const scene::Box& box = after.drawing()->scene().boxes[b];
            QCOMPARE(box.inside, match.fusedNode);
            QVERIFY2(box.name.starts_with(match.fusedNode + "/body/"), box.name.c_str());
            QCOMPARE(box.sources.size(), size_t(1));
            names.insert(QString::fromStdString(box.sources[0]));
            QVERIFY(after.style().selected[b]); // as the whole was
        }
        for (const std::string& node : match.nodes)
            QVERIFY(names.contains(QString::fromStdString(node)));
        // One of them is its node of the model, and stays its fused node to all
        // panels.
        const QString source =
            QString::fromStdString(after.drawing()->scene().boxes[inner[0]].sources[0]);
        Q_EMIT after.picked({inner[0]});
        QCOMPARE(window.selection().selection().before, QStringList{source});
        QCOMPARE(window.selection().selection().after, QStringList{fused});
        QVERIFY(after.style().selected[inner[0]]);
        QVERIFY(!after.style().selected[inner[1]]);
        // The way out is in the breadcrumbs, which follow the canvas before.
        window.canvases().canvas(scene::Before).fitSelection();
        auto* crumbs = window.findChild<Breadcrumbs*>();
        QTRY_VERIFY2(crumbs->path().join('/').contains(QString::fromStdString(match.rule)),
                     qPrintable(crumbs->path().join('/')));
        after.setFocus();
        after.setCurrent(inner[0]);
        QTest::keyClick(&after, Qt::Key_Backspace);
        QVERIFY(drawn(window));
        QVERIFY(after.drawing()->inner().empty());
        QCOMPARE(after.drawing()->scene().boxes.size(), boxes);
        window.undo().undo();
        QVERIFY(drawn(window));
        QCOMPARE(after.drawing()->inner().size(), match.nodes.size());
    }

    void whatIsInAFusedNodeOfABranchIsFoundByItsPath() {
        auto graph = model_io::loadText(
            "g (bool c, float[4,8] x) => (float[4,8] y) {"
            " y = If (c) <then_branch = t () => (float[4,8] a) {"
            "               p = Relu(x) q = Exp(p) r = Abs(q) a = Sqrt(r) },"
            "             else_branch = e () => (float[4,8] b) { b = Neg(x) }> }");
        QVERIFY(graph);
        const QString path = m_folder.filePath("branch.onnx");
        QVERIFY(model_io::save(*graph, path.toStdString()));
        QSettings settings(m_folder.filePath("e.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        QVERIFY(opened(window, path));
        const app::GraphReport& shown = window.session().report()->after.graph;
        std::string fused;
        for (const app::GraphNodeReport& node : shown.nodes)
            if (node.fused && node.name.find("/then_branch/") != std::string::npos)
                fused = node.name;
        QVERIFY2(!fused.empty(), "the branch fuses");
        const app::GraphReport open =
            app::withBodies(shown, *window.session().snapshot()->analysis.after.graph, {fused});
        size_t inner = 0;
        for (const app::GraphNodeReport& node : open.nodes)
            if (node.inside == fused) {
                ++inner;
                QVERIFY2(node.name.starts_with(fused + "/body/"), node.name.c_str());
                QVERIFY2(node.sources[0].find("/then_branch/") != std::string::npos,
                         node.sources[0].c_str());
            }
        QVERIFY(inner >= 2);
        QCOMPARE(open.nodes.size(), shown.nodes.size() + inner - 1);
        for (const app::GraphNodeReport& node : open.nodes)
            for (uint32_t value : node.outputs)
                QVERIFY(value < open.values.size());
    }

    void aLargeModelIsDrawnBeforeItIsAnalysed() {
        constexpr int layers = 1800;
        QSettings settings(m_folder.filePath("g.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.canvases().setDot({}, false);
        window.show();
        Session& session = window.session();
        const QString node = "/layer1/node1";
        // With the first report a person chooses a node, and does not wait any longer.
        connect(
            &session, &Session::reportChanged, &window,
            [&] {
                QVERIFY(session.previewing() && session.busy() && !session.snapshot());
                QCOMPARE(session.report()->before.graph.nodes.size(), size_t(3 * layers));
                session.cancel();
            },
            Qt::SingleShotConnection);
        window.openFiles({writeLayers(m_folder, layers)});
        const Canvas& before = window.canvases().canvas(scene::Before);
        const Canvas& after = window.canvases().canvas(scene::After);
        QTRY_VERIFY_WITH_TIMEOUT(before.drawing(), 60'000);
        QVERIFY(before.drawing()->boxOf(scene::Before, node) != scene::none);
        for (const scene::Box& box : before.drawing()->scene().boxes)
            for (const std::string& line : box.lines)
                QVERIFY2(line.find("→") == std::string::npos, line.c_str()); // to what?
        QVERIFY(!after.drawing() && after.isVisible());
        QVERIFY(session.previewing() && !session.busy());
        const auto* numbers = window.findChild<QLabel*>("numbers");
        QVERIFY2(numbers->text().contains("5400 nodes; not analysed"), qPrintable(numbers->text()));
        QVERIFY(session.problems().isEmpty());
        // Begun anew, what is chosen meanwhile stays chosen.
        connect(
            &session, &Session::reportChanged, &window,
            [&] {
                QVERIFY(session.previewing());
                window.selection().selectBefore({node});
            },
            Qt::SingleShotConnection);
        session.reload();
        QVERIFY(drawn(window));
        QVERIFY(session.snapshot() && !session.previewing());
        QVERIFY(after.drawing() && after.drawing() == before.drawing());
        QCOMPARE(after.viewport(), before.viewport());
        QCOMPARE(window.selection().selection().before, QStringList{node});
        QCOMPARE(window.selection().selection().after.size(), 1);
        // What is known of a model stays in view while it is loaded again.
        connect(
            &session, &Session::modelOpened, &window, [&] { QVERIFY(session.snapshot()); },
            Qt::SingleShotConnection);
        session.reload();
        QVERIFY(drawn(window));
    }

    void theOverviewIsBesideTheGraphAndCanBeSwitchedOff() {
        QSettings settings(m_folder.filePath("f.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        QVERIFY(opened(window, m_model));
        window.resize(1700, 900); // room for the canvases beside the panels
        const auto maps = window.canvases().findChildren<Minimap*>();
        QCOMPARE(maps.size(), 2);
        QTRY_VERIFY(maps[0]->isVisible() && maps[1]->isVisible());
        QTest::qWait(0); // places of a layout come with the next turn
        const auto globally = [](const QWidget& widget) {
            return QRect(widget.mapToGlobal(QPoint(0, 0)), widget.size());
        };
        for (const Minimap* map : maps)
            for (scene::Side side : {scene::Before, scene::After})
                QVERIFY(!globally(*map).intersects(globally(window.canvases().canvas(side))));
        QVERIFY(maps[0]->height() >= window.canvases().canvas(scene::Before).height() - 2);
        // A click goes there.
        Canvas& before = window.canvases().canvas(scene::Before);
        before.setViewport({before.viewport().centre, 1});
        const double high = before.viewport().centre.y();
        QTest::mouseClick(maps[0], Qt::LeftButton, {},
                          QPoint(maps[0]->width() / 2, maps[0]->height() - 12));
        QVERIFY(before.viewport().centre.y() > high);
        const int narrow = before.width();
        QAction* command = window.commands().find("view.map");
        QVERIFY(command->isChecked());
        command->trigger();
        QVERIFY(!command->isChecked());
        QVERIFY(!maps[0]->isVisible() && !maps[1]->isVisible());
        QTRY_VERIFY(before.width() > narrow);
        command->trigger();
        QVERIFY(maps[0]->isVisible());
    }

private:
    QTemporaryDir m_folder;
    QString m_model;
};

QTEST_MAIN(CanvasTest)
#include "canvas_test.moc"
