// SPDX-License-Identifier: Apache-2.0
// What a person who works by keyboard or by ear is owed: labels are read with their text, Tab goes
// only where one can see, commands lead to what they name, all that is current is drawn.
#include "app/studio/graph_view/colours.h"
#include "app/studio/panels/editor/editor_panel.h"
#include "app/studio/panels/table_panel.h"
#include "app/studio/shell/appearance.h"
#include "app/studio/shell/main_window.h"
#include "core/graph/text.h"
#include "tests/studio/sample.h"

#include <QAccessible>
#include <QClipboard>
#include <QDockWidget>
#include <QLabel>
#include <QRegularExpression>
#include <QStandardPaths>
#include <QTextBrowser>
#include <QTextDocumentFragment>

using namespace fuselage;
using namespace fuselage::studio;
using namespace fuselage::studio::testing;

class AccessTest : public QObject {
    Q_OBJECT

private Q_SLOTS:

    void initTestCase() {
        QStandardPaths::setTestModeEnabled(true);
        QFile::remove(recoveryFileOfUser());
        m_model = writeZooModel(m_folder, "resnet18");
        auto graph = model_io::loadText("g (float[2,64] x) => (float[2,64] y)"
                                        " { a = Relu(x)  b = Neg(x)  c = Add(a, b)"
                                        "   y = Sigmoid(c) }");
        m_small = m_folder.filePath("small.onnx");
        QVERIFY(graph && model_io::save(*graph, m_small.toStdString()));
    }

    void init() {
        QFile::remove(recoveryFileOfUser());
        m_settings = std::make_unique<QSettings>(
            m_folder.filePath(QString("%1.ini").arg(QTest::currentTestFunction())),
            QSettings::IniFormat);
        m_window = std::make_unique<MainWindow>(*m_settings);
        m_window->canvases().setDot({}, false);
        m_window->resize(1400, 900);
        m_window->show();
        QVERIFY(QTest::qWaitForWindowExposed(m_window.get()));
        m_window->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(m_window.get()));
    }

    void cleanup() {
        m_window.reset();
        applyAppearance("system");
    }

    void labelsAreReadWithTheirText() {
        open(m_model);
        window().commands().find("panel.editor")->trigger();
        panel().newRule("fuse 1;\nrule R { match { y = Rellu(x); } }\n");
        QVERIFY(settled(window().session()));
        QTRY_VERIFY(!panel().message().isEmpty());
        window().canvases().setOverlay("time");
        Problem problem;
        problem.message = "the <disk> is full";
        problem.code = "save.write";
        window().session().addProblem(problem);
        int seen = 0;
        for (int turn = 0; turn < 2; ++turn) { // it goes with the text
            for (QLabel* label : window().findChildren<QLabel*>()) {
                const QString words = plain(*label);
                if (label->accessibleName().isEmpty() || words.isEmpty())
                    continue;
                auto* access = QAccessible::queryAccessibleInterface(label);
                const QString said =
                    access->text(QAccessible::Name) + access->text(QAccessible::Description);
                QVERIFY2(said.simplified().contains(words), qPrintable(words + "\n" + said));
                ++seen;
            }
            panel().current()->setPlainText("fuse 1;\n");
            problem.message = "another";
            window().session().addProblem(problem);
            QVERIFY(settled(window().session()));
        }
        QVERIFY2(seen >= 10, qPrintable(QString::number(seen)));
    }

    void tabGoesOnlyWhereOneCanSee() {
        for (const bool back : {false, true}) {
            QSet<QWidget*> reached;
            for (int press = 0; press < 60; ++press) {
                QTest::keyClick(m_window->windowHandle(), back ? Qt::Key_Backtab : Qt::Key_Tab);
                QWidget* at = QApplication::focusWidget();
                QVERIFY(at);
                QVERIFY2(at->isVisible() && !at->visibleRegion().isEmpty(),
                         qPrintable(QString("%1 `%2` in %3")
                                        .arg(at->metaObject()->className(), at->accessibleName(),
                                             at->parentWidget()->objectName())));
                reached.insert(at);
            }
            QVERIFY(reached.size() > 4);
        }
    }

    void showingAPanelLeadsToWhatItIsFor() {
        open(m_model);
        for (const char* id : {"why_not", "matches", "kernels", "problems", "outline"}) {
            window().commands().find(QString("panel.") + id)->trigger();
            auto* dock = window().findChild<QDockWidget*>(id);
            QTRY_VERIFY2(
                QApplication::focusWidget() && dock->isAncestorOf(QApplication::focusWidget()), id);
            QVERIFY2(qobject_cast<QTableView*>(QApplication::focusWidget()), id);
        }
        panel().newRule("fuse 1;\n");
        window().commands().find("panel.outline")->trigger();
        window().commands().find("panel.editor")->trigger();
        QTRY_COMPARE(QApplication::focusWidget(), static_cast<QWidget*>(panel().current()));
    }

    void inputsAndOutputsAreSelectedAsNodesAre() {
        open(m_small);
        Canvas& canvas = window().canvases().canvas(scene::Before);
        canvas.setFocus();
        const DrawingPtr& drawing = canvas.drawing();
        for (const char* name : {"x", "y"}) {
            const uint32_t box = boxNamed(*drawing, name);
            QVERIFY(box != scene::none);
            Q_EMIT canvas.picked({box});
            QCOMPARE(window().selection().selection().value, QString(name));
            for (scene::Side side : {scene::Before, scene::After})
                QVERIFY(window().canvases().canvas(side).style().selected[box]);
            const QString said = inspector();
            QVERIFY2(said.contains("float[2,64]"), qPrintable(said));
            QVERIFY2(said.contains(name[0] == 'x' ? "input of the model" : "output of the model"),
                     qPrintable(said));
        }
        window().selection().selectValue("x");
        QVERIFY2(inspector().contains("read by"), qPrintable(inspector()));
        QVERIFY(window().commands().find("select.none")->isEnabled());
        window().commands().find("edit.copyNames")->trigger();
        QCOMPARE(QGuiApplication::clipboard()->text(), QString("x"));
        window().selection().clear();
        QVERIFY(
            !window().canvases().canvas(scene::Before).style().selected[boxNamed(*drawing, "x")]);
    }

    void openingABlockLeavesThePersonWhereTheyWere() {
        open(m_model);
        Canvas& after = window().canvases().canvas(scene::After);
        after.setFocus();
        const std::string fused = window().session().report()->matches.front().fusedNode;
        const QString name = QString::fromStdString(fused);
        window().selection().selectAfter({name});
        after.setCurrent(after.drawing()->boxOf(scene::After, name));
        for (int turn = 0; turn < 2; ++turn) { // open and shut
            const DrawingPtr earlier = after.drawing();
            Q_EMIT after.toggled("n:" + name);
            QTRY_VERIFY(after.drawing() != earlier);
            QVERIFY(after.current() != scene::none);
            const scene::Box& box = after.drawing()->scene().boxes[after.current()];
            QVERIFY2(box.name == fused || box.inside == fused, box.name.c_str());
        }
    }

    void whatIsStaleCanBeRead() {
        for (const char* theme : {"light", "dark"}) {
            applyAppearance(theme);
            open(m_model);
            panel().newRule("fuse 1;\nrule R { match { y = Rellu(x); } }\n");
            QVERIFY(settled(window().session()));
            QVERIFY(panel().strip().text().startsWith("stale"));
            auto* text = panel().strip().findChild<QLabel*>("matchStrip");
            QVERIFY(text->isEnabled());
            const QPalette palette = text->palette();
            const double is = contrast(palette.color(QPalette::WindowText),
                                       QApplication::palette().color(QPalette::Window));
            QVERIFY2(is >= readableContrast, qPrintable(QString("%1: %2").arg(theme).arg(is)));
            panel().texts().close(panel().current()->file());
        }
    }

    void linksAboveTheGraphFollowTheTheme() {
        open(m_model);
        auto* crumbs = window().findChild<Breadcrumbs*>();
        QVERIFY(crumbs);
        for (const char* theme : {"light", "dark", "light"}) {
            applyAppearance(theme);
            QTRY_VERIFY(!crumbs->text().isEmpty());
            QCoreApplication::processEvents();
            static const QRegularExpression colour("color:(#[0-9a-f]{6})");
            const auto found = colour.match(crumbs->text());
            QVERIFY2(found.hasMatch(), qPrintable(crumbs->text()));
            const double is = contrast(QColor(found.captured(1)),
                                       QApplication::palette().color(QPalette::Window));
            QVERIFY2(is >= readableContrast, qPrintable(QString("%1: %2").arg(theme).arg(is)));
        }
    }

private:
    MainWindow& window() { return *m_window; }

    EditorPanel& panel() { return *m_window->findChild<EditorPanel*>(); }

    void open(const QString& model) {
        window().openFiles({model});
        QVERIFY(settled(window().session()));
        QTRY_VERIFY(!window().canvases().drawing());
        QTRY_VERIFY(window().canvases().canvas(scene::After).drawing());
    }

    QString inspector() {
        return window()
            .findChild<QDockWidget*>("inspector")
            ->findChild<QTextBrowser*>()
            ->toPlainText();
    }

    static uint32_t boxNamed(const Drawing& drawing, const std::string& name) {
        const auto& boxes = drawing.scene().boxes;
        for (uint32_t b = 0; b < boxes.size(); ++b)
            if (boxes[b].name == name && (boxes[b].kind == scene::Box::Kind::Input ||
                                          boxes[b].kind == scene::Box::Kind::Output))
                return b;
        return scene::none;
    }

    static QString plain(const QLabel& label) {
        const bool rich = label.textFormat() == Qt::RichText ||
                          (label.textFormat() == Qt::AutoText && Qt::mightBeRichText(label.text()));
        return (rich ? QTextDocumentFragment::fromHtml(label.text()).toPlainText() : label.text())
            .simplified();
    }

    QTemporaryDir m_folder;
    QString m_model, m_small;
    std::unique_ptr<QSettings> m_settings;
    std::unique_ptr<MainWindow> m_window;
};

QTEST_MAIN(AccessTest)
#include "access_test.moc"
