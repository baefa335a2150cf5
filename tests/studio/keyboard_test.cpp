// SPDX-License-Identifier: Apache-2.0
// The whole work of a person who has no mouse: every flow, one after the other in one window, by
// key events alone. And that Tab reaches every control and is never caught.
#include "app/studio/panels/editor/editor_panel.h"
#include "app/studio/panels/table_panel.h"
#include "app/studio/shell/main_window.h"
#include "tests/studio/sample.h"

#include <QAccessible>
#include <QDockWidget>
#include <QFileDialog>
#include <QStandardPaths>
#include <QTextBlock>
#include <QTextBrowser>

using namespace fuselage;
using namespace fuselage::studio;
using namespace fuselage::studio::testing;

class KeyboardTest : public QObject {
    Q_OBJECT

private Q_SLOTS:

    void initTestCase() {
        QCoreApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
        QStandardPaths::setTestModeEnabled(true);
        QFile::remove(recoveryFileOfUser());
        m_model = writeZooModel(m_folder, "unet");
        m_settings =
            std::make_unique<QSettings>(m_folder.filePath("keys.ini"), QSettings::IniFormat);
        m_window = std::make_unique<MainWindow>(*m_settings);
        m_window->resize(1400, 900);
        m_window->show();
        QVERIFY(QTest::qWaitForWindowExposed(m_window.get()));
        QVERIFY(onTop(m_window.get()));
    }

    void cleanupTestCase() { m_window.reset(); }

    void openAModelFromTheStartPage() {
        QVERIFY(m_window->startPage().isVisible());
        QTRY_COMPARE(QApplication::focusWidget(), &m_window->startPage().sample());
        key(Qt::Key_Tab); // "Open a model or rules ..."
        key(Qt::Key_Space);
        QVERIFY(dialog("fileDialog"));
        type(m_model);
        key(Qt::Key_Return);
        QVERIFY(onTop(m_window.get()));
        QVERIFY(settled(session()));
        QTRY_VERIFY(canvas(scene::Before).drawing());
        QTRY_VERIFY(canvas(scene::Before).hasFocus());
    }

    void findANodeAndReadItsRuleInTheInspector() {
        key(Qt::Key_K, Qt::ControlModifier);
        QVERIFY(dialog("finder"));
        type("op:Conv -op:ConvTranspose");
        key(Qt::Key_Down);
        key(Qt::Key_Return);
        QVERIFY(onTop(m_window.get()));
        QTRY_COMPARE(m_window->selection().selection().before.size(), 1);
        QCOMPARE(m_window->selection().selection().after.size(), 1);
        command("show inspector");
        QTRY_VERIFY(qobject_cast<QTextBrowser*>(QApplication::focusWidget()));
        auto* inspector = qobject_cast<QTextBrowser*>(QApplication::focusWidget());
        QString said = inspector->toPlainText();
        QVERIFY2(said.contains("rule") && said.contains("launches"), qPrintable(said));
        // Tab goes from link to link; Enter follows one: to the rule, then to its line.
        QVERIFY(tabToLink("rule:"));
        key(Qt::Key_Return);
        QVERIFY(!m_window->selection().selection().rule.isEmpty());
        QVERIFY(tabToLink("place:"));
        key(Qt::Key_Return);
        QTRY_VERIFY(qobject_cast<CodeView*>(QApplication::focusWidget()));
        QVERIFY(editor().current()->textCursor().blockNumber() > 0);
    }

    void walkTheGraphAndOpenABlock() {
        toTheGraph();
        key(Qt::Key_A, Qt::ControlModifier | Qt::ShiftModifier); // nothing selected
        QTRY_VERIFY(m_window->selection().selection().before.isEmpty());
        key(Qt::Key_Down);
        key(Qt::Key_Down);
        QCOMPARE(canvas(scene::Before).style().selected.size(),
                 canvas(scene::Before).drawing()->scene().boxes.size());
        QVERIFY(!m_window->selection().selection().before.isEmpty());
        QStringList second = m_window->selection().selection().before;
        key(Qt::Key_Up);
        QVERIFY(m_window->selection().selection().before != second);
        key(Qt::Key_Right, Qt::AltModifier); // the history has nothing ahead
        key(Qt::Key_Left, Qt::AltModifier);
        QCOMPARE(m_window->selection().selection().before, second);
        double zoom = canvas(scene::Before).viewport().zoom;
        key(Qt::Key_Plus);
        QVERIFY(canvas(scene::Before).viewport().zoom > zoom);
        key(Qt::Key_1);
        QCOMPARE(m_window->canvases().overlay(), QString("time"));
        key(Qt::Key_0);
        QCOMPARE(m_window->canvases().overlay(), QString("none"));
        key(Qt::Key_Tab);
        QTRY_VERIFY(canvas(scene::After).hasFocus());
    }

    void askWhyARuleDidNotMatch() {
        command("show why not");
        QTableView& table = focusedTable("why_not");
        QVERIFY(table.model()->rowCount() > 0);
        m_window->selection().clear();
        key(Qt::Key_Home, Qt::ControlModifier);
        key(Qt::Key_Down);
        QVERIFY(!table.selectionModel()->selectedRows().isEmpty());
        QVERIFY(!m_window->selection().selection().before.isEmpty());
        QVERIFY(marked(NodeMark::Kind::Failed));
        key(Qt::Key_F, Qt::ControlModifier | Qt::AltModifier); // its filter
        QVERIFY(qobject_cast<QLineEdit*>(QApplication::focusWidget()));
        type("nothing-is-called-so");
        QCOMPARE(table.model()->rowCount(), 0);
        key(Qt::Key_A, Qt::ControlModifier);
        key(Qt::Key_Delete);
        QVERIFY(table.model()->rowCount() > 0);
        toTheGraph();
        key(Qt::Key_A, Qt::ControlModifier | Qt::ShiftModifier);
        key(Qt::Key_M); // the same from the graph
        QVERIFY(marked(NodeMark::Kind::Failed));
        bool bound = false;
        for (int press = 0; press < table.model()->rowCount() && !bound; ++press) {
            key(Qt::Key_M);
            bound = marked(NodeMark::Kind::Bound);
        }
        QVERIFY(bound);
        key(Qt::Key_N);
        QVERIFY(!marked(NodeMark::Kind::Failed));
        QCOMPARE(m_window->selection().selection().after.size(), 1);
    }

    void changeTheRulesAndSeeThemMatchAgain() {
        key(Qt::Key_N, Qt::ControlModifier);
        QTRY_VERIFY(qobject_cast<CodeView*>(QApplication::focusWidget()));
        key(Qt::Key_A, Qt::ControlModifier);
        type("fuse 1;");
        key(Qt::Key_Return);
        QVERIFY(settled(session()));
        size_t before = matches();
        type("rule JustPool priority 90 { match { y = MaxPool; } }");
        key(Qt::Key_Escape); // completions, if they are shown
        QVERIFY(settled(session()));
        QVERIFY2(session().problems().isEmpty(), qPrintable(session().problems().value(0).message +
                                                            editor().current()->toPlainText()));
        QString strip = editor().strip().text();
        QVERIFY2(editor().strip().changes().any(),
                 qPrintable(strip + editor().current()->toPlainText()));
        QVERIFY2(strip.contains("gained") && !strip.contains("gained 0"), qPrintable(strip));
        key(Qt::Key_Down, Qt::ControlModifier | Qt::AltModifier);
        QCOMPARE(m_window->selection().selection().after.size(), 1);
        Q_UNUSED(before);
        key(Qt::Key_S, Qt::ControlModifier);
        QVERIFY(dialog("fileDialog"));
        QString path = m_folder.filePath("mine.fuse");
        type(path);
        key(Qt::Key_Return);
        QVERIFY(onTop(m_window.get()));
        QTRY_VERIFY(QFile::exists(path));
        QVERIFY(settled(session()));
    }

    void switchAMatchOffAndTakeItBack() {
        command("show matches");
        QTableView& table = focusedTable("matches");
        size_t all = matches();
        key(Qt::Key_Home, Qt::ControlModifier);
        key(Qt::Key_Down);
        key(Qt::Key_D, Qt::ControlModifier | Qt::ShiftModifier);
        QVERIFY(settled(session()));
        QCOMPARE(session().options().fuse.disabled.size(), size_t(1));
        QVERIFY(matches() != all || table.model()->rowCount() == int(all));
        key(Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(settled(session()));
        QVERIFY(session().options().fuse.disabled.empty());
        QCOMPARE(matches(), all);
        key(Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
        QVERIFY(settled(session()));
        QCOMPARE(session().options().fuse.disabled.size(), size_t(1));
        key(Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(settled(session()));
    }

    void replayTheSteps() {
        toTheGraph();
        key(Qt::Key_J);
        QCOMPARE(m_window->marks().step().value_or(-1), 0);
        key(Qt::Key_J);
        QVERIFY(m_window->marks().step().value_or(-1) > 0);
        key(Qt::Key_K);
        QCOMPARE(m_window->marks().step().value_or(-1), 0);
        key(Qt::Key_K, Qt::ShiftModifier);
        QVERIFY(!m_window->marks().step());
    }

    void measureTwiceAndCompareTheRuns() {
        if (findFuselage().isEmpty())
            QSKIP("the program `fuselage` is not built beside this test");
        key(Qt::Key_Comma, Qt::ControlModifier);
        QVERIFY(dialog("options"));
        QTRY_VERIFY(
            QApplication::focusWidget() &&
            m_window->findChild<QDialog*>("options")->isAncestorOf(QApplication::focusWidget()));
        QVERIFY(tabTo("Backend"));
        type("cpu");
        QVERIFY(tabTo("Measure for"));
        key(Qt::Key_A, Qt::ControlModifier);
        type("0.1");
        key(Qt::Key_Return);
        QVERIFY(onTop(m_window.get()));
        QVERIFY(settled(session()));
        QCOMPARE(m_window->measurements().settings().backend, QString("cpu"));
        for (size_t run = 1; run <= 2; ++run) {
            key(Qt::Key_F5);
            QVERIFY2(m_window->measurements().running(),
                     qPrintable(session().problems().value(0).message));
            QTRY_VERIFY_WITH_TIMEOUT(!m_window->measurements().running(), 120'000);
            // On a machine with other work a fusion may well be measured as slower: that is a
            // finding, and no failure of the measurement.
            for (const Problem& problem : session().problems())
                QVERIFY2(problem.code == "measure.slower", qPrintable(problem.message));
            QCOMPARE(m_window->measurements().runs().size(), run);
        }
        command("show runs");
        QTableView& table = focusedTable("runs");
        QCOMPARE(table.model()->rowCount(), 2);
        key(Qt::Key_Home, Qt::ControlModifier);
        key(Qt::Key_Down);
        int chosen = table.currentIndex().row();
        key(Qt::Key_Return); // the others are compared with this one
        const Run* baseline = m_window->measurements().baseline();
        QVERIFY(baseline);
        QVERIFY(table.model()->index(chosen, 0).data().toString().contains(
            QString::number(baseline->number)));
    }

    void exportWhatIsOnTheScreen() {
        key(Qt::Key_E, Qt::ControlModifier);
        QVERIFY(dialog("export"));
        key(Qt::Key_Down);
        key(Qt::Key_Up);
        key(Qt::Key_Return);
        QVERIFY(dialog("fileDialog"));
        QString path = m_folder.filePath("graph.before.svg");
        key(Qt::Key_A, Qt::ControlModifier);
        type(path);
        key(Qt::Key_Return);
        QTRY_VERIFY(QFile::exists(path));
        QVERIFY(onTop(m_window.get()));
    }

    void menusOpenByLetters() {
        key(Qt::Key_F, Qt::AltModifier);
        QTRY_VERIFY(QApplication::activePopupWidget());
        key(Qt::Key_Escape);
        QTRY_VERIFY(!QApplication::activePopupWidget());
        key(Qt::Key_Escape);
    }

    void tabReachesEveryControlAndLeavesIt() {
        for (const char* perspective : {"1", "2", "3", "4"}) {
            key(static_cast<Qt::Key>(Qt::Key_0 + (perspective[0] - '0')), Qt::AltModifier);
            toTheGraph();
            QSet<QWidget*> reached;
            for (int press = 0; press < 400; ++press) {
                QWidget* at = QApplication::focusWidget();
                QVERIFY(at);
                if (qobject_cast<CodeView*>(at) && !static_cast<CodeView*>(at)->isReadOnly()) {
                    reached.insert(at); // Tab is text there; F6 leaves
                    key(Qt::Key_F6);
                    QVERIFY(QApplication::focusWidget() != at);
                } else {
                    reached.insert(at);
                    key(Qt::Key_Tab);
                }
            }
            QStringList missed;
            for (QWidget* each : m_window->findChildren<QWidget*>())
                if ((each->focusPolicy() & Qt::TabFocus) && each->isVisible() &&
                    each->isEnabled() && !each->visibleRegion().isEmpty() && !each->focusProxy() &&
                    !reached.contains(each))
                    missed << QString("%1 `%2` in %3")
                                  .arg(each->metaObject()->className(), each->accessibleName(),
                                       each->parentWidget()->objectName());
            QVERIFY2(missed.isEmpty(), qPrintable(perspective + (": " + missed.join("; "))));
        }
    }

private:
    Session& session() { return m_window->session(); }

    Canvas& canvas(scene::Side side) { return m_window->canvases().canvas(side); }

    EditorPanel& editor() { return *m_window->findChild<EditorPanel*>(); }

    bool marked(NodeMark::Kind kind) {
        for (const NodeMark& mark : m_window->marks().all())
            if (mark.kind == kind)
                return true;
        return false;
    }

    size_t matches() { return session().snapshot()->report().matches.size(); }

    /// What a window manager does: the window gets the keys.
    static bool onTop(QWidget* window) {
        window->activateWindow();
        if (!QTest::qWaitForWindowActive(window))
            return false;
        // An X server tells of the focus after it made the window active.
        (void)QTest::qWaitFor(
            [&] {
                QWidget* at = QApplication::focusWidget();
                return at && at->window() == window;
            },
            2000);
        return true;
    }

    bool dialog(const char* name) {
        bool there = QTest::qWaitFor([&] {
            QWidget* modal = QApplication::activeModalWidget();
            return modal && modal->objectName() == name && modal->isVisible();
        });
        if (!there || !onTop(QApplication::activeModalWidget()))
            return false;
        QWidget* modal = QApplication::activeModalWidget();
        return qobject_cast<QFileDialog*>(modal) || allNamed(*modal); // Qt names its own
    }

    static bool allNamed(QWidget& parent) {
        QStringList nameless;
        for (QWidget* each : parent.findChildren<QWidget*>()) {
            QAccessibleInterface* access = QAccessible::queryAccessibleInterface(each);
            if ((each->focusPolicy() & Qt::TabFocus) && !each->objectName().startsWith("qt_") &&
                (!access || access->text(QAccessible::Name).isEmpty()))
                nameless << each->metaObject()->className();
        }
        if (!nameless.isEmpty())
            qWarning() << "without a name:" << nameless << "in" << parent.objectName();
        return nameless.isEmpty();
    }

    /// The window that has the keys; none has them while a menu goes away.
    QWindow* target() {
        QWindow* window = QGuiApplication::focusWindow();
        return window ? window : m_window->windowHandle();
    }

    /// A key for whatever has the focus of the keyboard: the way of a real one.
    void key(Qt::Key key, Qt::KeyboardModifiers modifiers = {}) {
        QTest::keyClick(target(), key, modifiers);
        QCoreApplication::processEvents();
    }

    void type(const QString& text) {
        for (QChar c : text)
            QTest::keyClick(target(), c.toLatin1());
        QCoreApplication::processEvents();
    }

    /// By the palette.
    void command(const QString& words) {
        key(Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
        QVERIFY(dialog("palette"));
        type(words);
        key(Qt::Key_Return);
        QVERIFY(onTop(m_window.get()));
    }

    /// F6 until the graph before has the focus.
    void toTheGraph() {
        for (int press = 0; press < 20 && !canvas(scene::Before).hasFocus(); ++press)
            key(Qt::Key_F6);
        QVERIFY2(canvas(scene::Before).hasFocus(),
                 qPrintable(QApplication::focusWidget()->accessibleName()));
    }

    bool tabTo(const QString& name) {
        for (int press = 0; press < 50; ++press) {
            if (QApplication::focusWidget()->accessibleName() == name)
                return true;
            key(Qt::Key_Tab);
        }
        return false;
    }

    bool tabToLink(const QString& beginning) {
        auto* browser = qobject_cast<QTextBrowser*>(QApplication::focusWidget());
        for (int press = 0; browser && press < 60; ++press) {
            key(Qt::Key_Tab);
            if (QApplication::focusWidget() != browser)
                return false;
            QTextCursor cursor = browser->textCursor();
            if (QUrl::fromPercentEncoding(cursor.charFormat().anchorHref().toUtf8())
                    .startsWith(beginning))
                return true;
        }
        return false;
    }

    QTableView& focusedTable(const char* id) {
        auto* dock = m_window->findChild<QDockWidget*>(id);
        QTableView* table = dock->findChild<QTableView*>();
        (void)QTest::qWaitFor([&] { return dock->isAncestorOf(QApplication::focusWidget()); },
                              5000);
        for (int press = 0; press < 8 && QApplication::focusWidget() != table; ++press)
            key(Qt::Key_Tab);
        if (QApplication::focusWidget() != table)
            qFatal("the table of %s is not reached", id);
        return *table;
    }

    QTemporaryDir m_folder;
    QString m_model;
    std::unique_ptr<QSettings> m_settings;
    std::unique_ptr<MainWindow> m_window;
};

QTEST_MAIN(KeyboardTest)
#include "keyboard_test.moc"
