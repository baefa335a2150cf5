// SPDX-License-Identifier: Apache-2.0
// Nothing fails in silence: whatever does not open is said over the graph with a button that helps,
// and what can be shown of it is shown. Sizes of dimensions belong to their model.
#include "app/studio/session/lost_pages.h"
#include "app/studio/shell/appearance.h"
#include "app/studio/shell/dimensions_dialog.h"
#include "app/studio/shell/main_window.h"
#include "core/graph/text.h"
#include "tests/studio/sample.h"

#include <QComboBox>
#include <QDir>
#include <QDockWidget>
#include <QLineEdit>
#include <QPushButton>

using namespace fuselage;
using namespace fuselage::studio;
using namespace fuselage::studio::testing;

class NoticeTest : public QObject {
    Q_OBJECT

private Q_SLOTS:

    void initTestCase() {
        m_model = writeGraph("good.onnx", "g (float[2,64] x) => (float[2,64] y)"
                                          " { a = Relu(x) y = Sigmoid(a) }");
        m_open = writeGraph("open.onnx", "g (float[N,4] x) => (float[N,4] y) { y = Relu(x) }");
    }

    void whateverDoesNotOpenIsSaidWithAButton_data() {
        QTest::addColumn<QString>("path");
        QTest::addColumn<QString>("word");
        QTest::newRow("text") << writeText(m_folder, "text.onnx", "no model") << "not an ONNX file";
        QTest::newRow("absent") << m_folder.filePath("absent.onnx") << "does not exist";
        QTest::newRow("empty") << writeText(m_folder, "empty.onnx", "") << "ONNX";
        QDir(m_folder.path()).mkdir("folder.onnx");
        QTest::newRow("folder") << m_folder.filePath("folder.onnx") << "a folder";
        QTest::newRow("truncated") << truncated() << "truncated";
    }

    void whateverDoesNotOpenIsSaidWithAButton() {
        QFETCH(QString, path);
        QFETCH(QString, word);
        QSettings settings(m_folder.filePath("a.ini"), QSettings::IniFormat);
        for (bool another : {false, true}) { // on the start page, and over a model
            MainWindow window(settings);
            window.canvases().setDot({}, false); // no worker, no word about it
            window.show();
            if (another) {
                window.openFiles({m_model});
                QVERIFY(settled(window.session()));
            }
            window.openFiles({path});
            QVERIFY(settled(window.session()));
            QVERIFY(window.notice().isVisible());
            QVERIFY2(window.notice().text().contains(word), qPrintable(window.notice().text()));
            QVERIFY(window.notice().text().contains(QFileInfo(path).fileName()));
            QVERIFY(window.notice().button().isVisible());
            QCOMPARE(window.findChild<QDockWidget*>("problems")->windowTitle(),
                     QString("Problems (1)"));
            QCOMPARE(window.session().modelPath(), another ? m_model : QString());
            window.openFiles({m_model});
            QVERIFY(settled(window.session()));
            QVERIFY2(window.notice().isHidden() || !window.notice().text().contains(word),
                     qPrintable(window.notice().text()));
        }
    }

    void aModelThatContradictsItselfIsShownWithThePlace() {
        QString path = writeGraph("wrong.onnx", "g (float[2,3] x, float[4,5] w) => (float[2,5] y)"
                                                " { a = Relu(x) y = MatMul(a, w) }");
        QSettings settings(m_folder.filePath("b.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.canvases().setDot({}, false); // no worker, no word about it
        window.resize(1200, 800);
        window.show();
        window.openFiles({m_model});
        QVERIFY(settled(window.session()));
        window.openFiles({path});
        QVERIFY(settled(window.session()));
        QVERIFY(window.session().sketch());
        QVERIFY(!window.session().snapshot());
        QCOMPARE(window.session().modelPath(), path);
        QTRY_VERIFY(!window.canvases().drawing());
        const DrawingPtr& drawing = window.canvases().canvas(scene::Before).drawing();
        QVERIFY(drawing);
        QVERIFY(drawing->boxOf(scene::Before, window.session().sketchPlace()) != scene::none);
        const auto& marks = window.canvases().canvas(scene::Before).style().marks;
        QCOMPARE(marks.size(), size_t(1));
        QVERIFY(window.notice().isVisible());
        // What needs more says so.
        window.commands().find("run.measure")->trigger();
        QVERIFY2(window.notice().text().contains("only looked at"),
                 qPrintable(window.notice().text()));
        // And a good model afterwards is whole again.
        window.openFiles({m_model});
        QVERIFY(settled(window.session()));
        QVERIFY(window.session().snapshot());
        QVERIFY(!window.session().sketch());
        QTRY_VERIFY(window.canvases().canvas(scene::Before).style().marks.empty());
    }

    void absentWeightsLeaveAllButTheirValues() {
        QString path = m_folder.filePath("weights.onnx");
        std::string numbers = "0";
        for (int i = 1; i < 32 * 16; ++i) // small weights stay in the file
            numbers += ", " + std::to_string(i);
        auto graph = model_io::loadText("g (float[1,32] x) => (float[1,16] y)<float[32,16] w = {" +
                                        numbers + "}> { y = MatMul(x, w) }");
        const auto saved = model_io::save(*graph, path.toStdString(), {8});
        QVERIFY(saved && QFile::remove(QString::fromStdString(saved->data)));
        Session session;
        session.open(path);
        QVERIFY(settled(session));
        QVERIFY(!session.sketch());
        QVERIFY2(session.snapshot(), qPrintable(session.problems().value(0).message));
        QVERIFY(session.report()->before.nodes >= 1);
        const auto& notes = session.snapshot()->model->notes;
        QVERIFY(std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
            return note.find("weights.onnx.") != std::string::npos;
        }));
    }

    /// As when the model is exported again while it is open.
    void aDataFileThatBecomesShorterEndsNothing() {
        const QString path = m_folder.filePath("shorter.onnx");
        auto graph = model_io::loadText("g (float[512,64] x) => (float[512,64] y) { y = Abs(x) }");
        QVERIFY(graph);
        Tensor w(DType::Float32, {512, 64});
        for (int64_t i = 0; i < w.elementCount(); ++i)
            w.set(i, 7);
        graph->addOutput(graph->addConstant("w", std::make_shared<const Tensor>(w)));
        const auto saved = model_io::save(*graph, path.toStdString(), {8});
        QVERIFY(saved);
        Session session;
        const LostPages lost(session);
        session.open(path);
        QVERIFY(settled(session));
        QVERIFY(session.snapshot());
        const Graph& shown = session.snapshot()->model->graph;
        const Tensor& open = *shown.value(shown.findValue("w")).constant;
        QVERIFY(QFile::resize(QString::fromStdString(saved->data), 4096));
        QCOMPARE(open.at(0), 7.0);
        QCOMPARE(open.at(open.elementCount() - 1), 0.0);
        const auto isSaid = [&] {
            const auto& problems = session.problems();
            return std::count_if(problems.begin(), problems.end(), [](const Problem& each) {
                return each.code == "load.external_shorter";
            });
        };
        QTRY_COMPARE(isSaid(), 1);
        QVERIFY(model_io::save(*graph, path.toStdString(), {8}));
        session.reload();
        QVERIFY(settled(session));
        QCOMPARE(isSaid(), 0);
    }

    void anUnknownOperatorOpensAsAnyOther() {
        QString path =
            writeGraph("unknown.onnx", "<ir_version: 8, opset_import: [\"\": 17, \"my\": 1]>"
                                       "g (float[2,3] x) => (float[2,3] y)"
                                       " { a = my.Unheard(x) y = Relu(a) }");
        Session session;
        session.open(path);
        QVERIFY(settled(session));
        QVERIFY(session.report());
        QCOMPARE(session.report()->before.graph.nodes.size(), size_t(2));
    }

    void takenSizesAreOfferedAndGivenOnesAreKeptForTheirModel() {
        QSettings settings(m_folder.filePath("c.ini"), QSettings::IniFormat);
        {
            MainWindow window(settings);
            window.canvases().setDot({}, false); // no worker, no word about it
            window.show();
            window.openFiles({m_open});
            QVERIFY(settled(window.session()));
            QVERIFY(window.notice().isVisible());
            QCOMPARE(window.notice().shown()->code, QString("load.sizes"));
            window.notice().button().click();
            auto* dialog = window.findChild<DimensionsDialog*>();
            QVERIFY(dialog);
            auto sizes = dialog->findChildren<QComboBox*>();
            QCOMPARE(sizes.size(), 1);
            QVERIFY(sizes[0]->lineEdit()->placeholderText().contains("1"));
            sizes[0]->setCurrentText("many");
            QVERIFY(
                !dialog->findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Ok)->isEnabled());
            sizes[0]->setCurrentText("6");
            dialog->accept();
            QVERIFY(settled(window.session()));
            QCOMPARE(window.session()
                         .snapshot()
                         ->before()
                         .value(window.session().snapshot()->before().inputs()[0])
                         .type.text(),
                     std::string("float[6,4]"));
            // Another model knows nothing of it, and opens.
            window.openFiles({m_model});
            QVERIFY(settled(window.session()));
            QCOMPARE(window.session().modelPath(), m_model);
            QVERIFY(window.session().options().fuse.dims.empty());
            window.openFiles({m_open});
            QVERIFY(settled(window.session()));
            QCOMPARE(window.session().options().fuse.dims, (DimensionValues{{"N", 6}}));
            window.close();
        }
        MainWindow window(settings);
        window.canvases().setDot({}, false); // no worker, no word about it
        window.openFiles({m_open});
        QVERIFY(settled(window.session()));
        QCOMPARE(window.session().options().fuse.dims, (DimensionValues{{"N", 6}}));
    }

    void dimensionsAreNamedWithTheirAxesAndUsualSizes() {
        Session session;
        session.open(writeGraph("axes.onnx",
                                "g (float[N,3,H,W] x, float[N] m) => (float[N,3,H,W] y)"
                                " { y = Relu(x) }"));
        QVERIFY(settled(session));
        const QList<OpenDimension> open = session.openDimensions();
        QCOMPARE(open.size(), 3);
        QCOMPARE(open[1].name, QString("N"));
        QCOMPARE(open[1].axes, (QStringList{"x.0", "m.0"}));
        QCOMPARE(usualSizes(open[1]).first(), 1);
        QCOMPARE(usualSizes(open[0]).first(), 224);
    }

    void theNumberThatIsTypedIsTheSize() {
        OpenDimension height;
        height.name = "H";
        height.axes = QStringList{"x.2"};
        DimensionsDialog dialog({height}, "m.onnx", nullptr);
        dialog.show();
        auto* size = dialog.findChild<QComboBox*>();
        QVERIFY(size);
        QTest::keyClicks(size->lineEdit(), "32"); // 320 is among the usual ones
        QTest::keyClick(size->lineEdit(), Qt::Key_Tab);
        QCOMPARE(dialog.values(), (DimensionValues{{"H", 32}}));
    }

    void aFileThatCannotBeOpenedIsSaidThoughAnotherErrorStands() {
        QSettings settings(m_folder.filePath("g.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.canvases().setDot({}, false); // no worker, no word about it
        window.show();
        window.openFiles({m_model});
        QVERIFY(settled(window.session()));
        Problem problem;
        problem.code = "measure.failed";
        problem.message = "no kernel";
        window.session().addProblem(problem);
        QVERIFY(window.notice().text().contains("no kernel"));
        window.openFiles({writeText(m_folder, "text.onnx", "no model")});
        QVERIFY(settled(window.session()));
        QVERIFY2(window.notice().text().contains("text.onnx"), qPrintable(window.notice().text()));
    }

    void aNoticeFollowsTheTheme() {
        QSettings settings(m_folder.filePath("h.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.canvases().setDot({}, false); // no worker, no word about it
        window.show();
        window.session().addProblem(diskFull());
        const auto ground = [&] {
            return window.notice().palette().color(QPalette::Window).lightness();
        };
        for (const char* theme : {"dark", "light", "dark", "light"}) {
            applyAppearance(theme);
            QCoreApplication::processEvents();
            QCOMPARE(ground() < 128, QString(theme) == "dark");
        }
        applyAppearance("system");
    }

    void aNoticeThatWasPutAwayComesBackOnlyWhenItHappensAgain() {
        QSettings settings(m_folder.filePath("d.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.canvases().setDot({}, false); // no worker, no word about it
        window.show();
        Problem problem = diskFull();
        window.session().addProblem(problem);
        QVERIFY(window.notice().isVisible());
        window.notice().dismiss();
        QVERIFY(!window.notice().isVisible());
        problem.message = "other";
        problem.severity = Severity::Warning;
        window.session().addProblem(problem);
        QVERIFY(window.notice().text().contains("other"));
        window.session().removeProblems("save.");
        QVERIFY(!window.notice().isVisible());
        problem.message = "disk full";
        problem.severity = Severity::Error;
        window.session().addProblem(problem);
        QVERIFY(window.notice().isVisible());
    }

    void aModelThatIsGoneIsNotOfferedAgain() {
        QSettings settings(m_folder.filePath("gone.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.canvases().setDot({}, false); // no worker, no word about it
        window.show();
        const QString path = m_folder.filePath("going.onnx");
        QVERIFY(QFile::copy(m_model, path));
        window.openFiles({path});
        QVERIFY(settled(window.session()));
        QVERIFY(QFile::remove(path));
        QTRY_VERIFY(window.notice().isVisible());
        QVERIFY2(window.notice().text().contains("is gone"), qPrintable(window.notice().text()));
        QCOMPARE(window.notice().button().text(), QString("Open another ..."));
    }

    void mistakesInATextThatIsOpenStandBesideItsLinesOnly() {
        QString rules = writeText(m_folder, "typed.fuse", "fuse 1;\nrule R { match { } }\n");
        QSettings settings(m_folder.filePath("e.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.canvases().setDot({}, false); // no worker, no word about it
        window.show();
        window.openFiles({m_model, rules});
        QVERIFY(settled(window.session()));
        QVERIFY(!window.session().problems().isEmpty());
        QVERIFY2(!window.notice().isVisible(), qPrintable(window.notice().text()));
    }

private:
    static Problem diskFull() {
        Problem out;
        out.code = "save.write";
        out.message = "disk full";
        return out;
    }

    QString writeGraph(const QString& name, const std::string& text) {
        QString path = m_folder.filePath(name);
        auto graph = model_io::loadText(text);
        if (!graph || !model_io::save(*graph, path.toStdString()))
            qFatal("cannot write %s: %s", qPrintable(name),
                   graph ? "" : graph.error().text().c_str());
        return path;
    }

    QString truncated() {
        QFile file(m_model);
        if (!file.open(QFile::ReadOnly))
            qFatal("cannot read the model");
        return writeText(m_folder, "truncated.onnx", file.read(file.size() / 2));
    }

    QTemporaryDir m_folder;
    QString m_model, m_open;
};

QTEST_MAIN(NoticeTest)
#include "notice_test.moc"
