// SPDX-License-Identifier: Apache-2.0
// Rules that are not saved: they come back at the next start and are matched, a person is asked
// where they cannot be kept, and what other programs do to their files is said.
#include "app/studio/panels/editor/editor_panel.h"
#include "app/studio/shell/main_window.h"
#include "tests/studio/sample.h"

#include <QDir>
#include <QDockWidget>
#include <QMessageBox>
#include <QPushButton>
#include <QStandardPaths>

using namespace fuselage;
using namespace fuselage::studio;
using namespace fuselage::studio::testing;

namespace {

const char* const poolRule =
    "fuse 1;\nrule JustPool priority 90 { match { y = BatchNormalization; } }\n";

} // namespace

class KeepingTest : public QObject {
    Q_OBJECT

private Q_SLOTS:

    void initTestCase() {
        QStandardPaths::setTestModeEnabled(true);
        m_model = writeZooModel(m_folder, "resnet18");
    }

    void init() {
        unlock();
        QFile::remove(recoveryFileOfUser());
        m_settings = std::make_unique<QSettings>(
            m_folder.filePath(QString("%1.ini").arg(QTest::currentTestFunction())),
            QSettings::IniFormat);
        start();
    }

    void cleanup() {
        m_window.reset();
        unlock();
        QFile::remove(recoveryFileOfUser());
    }

    void aRestoredTextIsMatchedFromTheFirstAnalysis() {
        m_window->openFiles({m_model});
        QVERIFY(settled(session()));
        panel().newRule(poolRule);
        QVERIFY(settled(session()));
        QVERIFY(matchesOf("JustPool") > 0);
        QVERIFY(m_window->close());
        start();
        m_window->restoreOpenFiles();
        QVERIFY(settled(session()));
        QTRY_VERIFY(session().report());
        QVERIFY(panel().current());
        QVERIFY(matchesOf("JustPool") > 0);
        panel().current()->moveCursor(QTextCursor::End); // typing goes on where it was
        panel().current()->insertPlainText("rule Other { match { y = Rellu(x); } }\n");
        QVERIFY(settled(session()));
        QVERIFY(!session().problems().isEmpty());
    }

    void whatIsTypedWhileAModelOpensIsMatchedWithIt() {
        m_window->openFiles({m_model});
        QVERIFY(settled(session()));
        const QString other = writeZooModel(m_folder, "unet");
        m_window->openFiles({other});
        panel().newRule(poolRule); // must not end the opening
        QVERIFY(settled(session()));
        QCOMPARE(session().modelPath(), other);
        QVERIFY(matchesOf("JustPool") > 0);
    }

    void typedRulesOutlastTheOptionsOfAnExample() {
        m_window->openFiles({m_model});
        QVERIFY(settled(session()));
        SessionOptions lent = session().options();
        lent.rules.builtin = false;
        session().openLent(m_model, lent);
        QVERIFY(settled(session()));
        panel().newRule(poolRule);
        QVERIFY(settled(session()));
        session().takeBackOptions();
        QVERIFY(settled(session()));
        QVERIFY(session().options().rules.builtin);
        QVERIFY(matchesOf("JustPool") > 0);
    }

    void whatCannotBeKeptIsSaidAndAskedForWhenTheWindowGoes() {
        m_window.reset();
        lock();
        start();
        QVERIFY(!m_window->notice().isVisible()); // there is nothing to keep yet
        panel().newRule(poolRule);
        QTRY_VERIFY(said("unsaved.kept"));
        QVERIFY(m_window->notice().isVisible());
        QVERIFY2(m_window->notice().text().contains("cannot be kept"),
                 qPrintable(m_window->notice().text()));
        QVERIFY(!m_window->close());
        answer(QMessageBox::Cancel);
        QVERIFY(m_window->isVisible());
        const QString file = m_folder.filePath("saved.fuse");
        QString error;
        QVERIFY(!m_window->close());
        answer(QMessageBox::Discard);
        QTRY_VERIFY(!m_window->isVisible());
    }

    void savingThemLetsTheWindowGo() {
        m_window.reset();
        lock();
        start();
        const QString rules = writeText(m_folder, "leaving.fuse", poolRule);
        panel().showPlace(rules, 0);
        panel().current()->insertPlainText("// typed\n");
        QTRY_VERIFY(said("unsaved.kept"));
        QVERIFY(!m_window->close());
        answer(QMessageBox::Save);
        QTRY_VERIFY(!m_window->isVisible());
        QVERIFY(textOf(rules).contains("// typed"));
    }

    void nothingIsAskedWhereWhatIsTypedIsKept() {
        panel().newRule(poolRule);
        QVERIFY(m_window->close());
        QVERIFY(QFile::exists(recoveryFileOfUser()));
    }

    void whatWasLeftBehindIsOfferedOverTheGraph() {
        panel().newRule(poolRule);
        QVERIFY(m_window->close());
        start();
        for (QDockWidget* dock : m_window->findChildren<QDockWidget*>())
            dock->hide();
        QVERIFY(m_window->notice().isVisible());
        QVERIFY2(m_window->notice().text().contains("1 rule text of"),
                 qPrintable(m_window->notice().text()));
        QCOMPARE(m_window->notice().button().text(), QString("Restore"));
        QCOMPARE(m_window->notice().otherButton().text(), QString("Throw away"));
        m_window->notice().button().click();
        QVERIFY(panel().current());
        QVERIFY(panel().current()->toPlainText().contains("JustPool"));
        QVERIFY(m_window->findChild<QDockWidget*>("editor")->isVisible());
        QVERIFY(!m_window->notice().isVisible());
        QVERIFY(m_window->close());
        start();
        m_window->notice().otherButton().click();
        QVERIFY(!m_window->notice().isVisible());
        QCOMPARE(panel().texts().recoverable(), 0);
        QVERIFY(!QFile::exists(recoveryFileOfUser()));
    }

    void twoTextsOfOneNameAreBothKept() {
        const QString file = m_folder.filePath("names/unsaved.rules");
        Session session;
        { RuleTexts(session, file).create("fuse 1;\n// of yesterday\n"); }
        {
            RuleTexts today(session, file); // it is offered, and nobody answers
            QCOMPARE(today.recoverable(), 1);
            today.create("fuse 1;\n// of today\n");
        }
        QCOMPARE(RuleTexts(session, file).recoverable(), 2);
    }

    void aDeletedFileIsSaidAndMatchedAsItIsHere() {
        for (const bool inFolder : {false, true}) {
            const QString given = m_folder.filePath(inFolder ? "pack" : "pack/gone.fuse");
            QDir(m_folder.path()).mkpath("pack");
            const QString rules = writeText(m_folder, "pack/gone.fuse", poolRule);
            SessionOptions options;
            options.rules.paths = {given.toStdString()};
            session().setOptions(options);
            m_window->openFiles({m_model});
            panel().showPlace(rules, 0);
            QVERIFY(settled(session()));
            QVERIFY(matchesOf("JustPool") > 0);
            QVERIFY(QFile::remove(rules));
            QTRY_VERIFY(panel().texts().goneFromDisk(rules));
            QTRY_VERIFY(bar().contains("deleted"));
            QVERIFY(settled(session()));
            QVERIFY2(session().problems().isEmpty(),
                     qPrintable(session().problems().value(0).message));
            QVERIFY(matchesOf("JustPool") > 0);
            QVERIFY(panel().texts().find(rules)->modified()); // nobody else has it

            writeText(m_folder, "pack/gone.fuse", "fuse 1;\n// another\n");
            QTRY_VERIFY(panel().texts().changedOnDisk(rules));
            QTRY_VERIFY(bar().contains("changed on disk"));
            QVERIFY(panel().current()->toPlainText().contains("JustPool"));
            QVERIFY(settled(session()));
            QVERIFY(matchesOf("JustPool") > 0);
            panel().texts().takeTheirs(rules);
            QVERIFY(settled(session()));
            QCOMPARE(matchesOf("JustPool"), 0);
            QVERIFY(bar().isEmpty());
            m_window->commands().find("editor.close")->trigger();
        }
    }

    void aDeletedFileThatIsSavedElsewhereLeavesNoPathBehind() {
        const QString rules = writeText(m_folder, "moved.fuse", poolRule);
        m_window->openFiles({m_model, rules});
        QVERIFY(settled(session()));
        QVERIFY(QFile::remove(rules));
        QTRY_VERIFY(panel().texts().goneFromDisk(rules));
        QString error;
        const QString there = m_folder.filePath("elsewhere.fuse");
        QCOMPARE(panel().texts().save(rules, there, error), there);
        QVERIFY(settled(session()));
        QVERIFY2(session().problems().isEmpty(), qPrintable(session().problems().value(0).message));
        QCOMPARE(session().options().rules.paths, std::vector<std::string>{there.toStdString()});
        QVERIFY(matchesOf("JustPool") > 0);
    }

    void aFileThatIsWrittenByDeletingItFirstIsTakenAsAChange() {
        const QString rules = writeText(m_folder, "again.fuse", poolRule);
        panel().showPlace(rules, 0);
        QVERIFY(QFile::remove(rules));
        writeText(m_folder, "again.fuse", "fuse 1;\n// anew\n");
        QTRY_VERIFY(panel().current()->toPlainText().contains("anew"));
        QVERIFY(bar().isEmpty());
    }

    void savingOverTheirsIsRefusedWithWords() {
        const QString rules = writeText(m_folder, "theirs.fuse", poolRule);
        panel().showPlace(rules, 0);
        panel().current()->insertPlainText("// mine\n");
        writeText(m_folder, "theirs.fuse", "fuse 1;\n// theirs\n");
        // Before the watcher has told, and when the bar is there.
        for (int turn = 0; turn < 2; ++turn) {
            m_window->commands().find("editor.save")->trigger();
            QVERIFY(textOf(rules).contains("// theirs"));
            QVERIFY2(panel().message().contains("changed on disk"), qPrintable(panel().message()));
            QVERIFY(said("unsaved.write"));
            QTRY_VERIFY(bar().contains("changed on disk"));
        }
        for (auto* button : panel().findChildren<QToolButton*>())
            if (button->isVisible() && button->text() == "Keep mine")
                button->click();
        QVERIFY(!said("unsaved.write"));
        m_window->commands().find("editor.save")->trigger();
        QVERIFY(textOf(rules).contains("// mine"));
        QVERIFY(bar().isEmpty());
    }

    void aFailedSaveIsAProblem() {
        QDir(m_folder.path()).mkpath("shut");
        const QString rules = writeText(m_folder, "shut/rules.fuse", poolRule);
        panel().showPlace(rules, 0);
        panel().current()->insertPlainText("// mine\n");
        QVERIFY(QFile::remove(rules));
        QVERIFY(QDir(m_folder.path()).rmdir("shut"));
        m_window->commands().find("editor.save")->trigger();
        QVERIFY(said("unsaved.write"));
        QVERIFY2(m_window->notice().text().contains("cannot write"),
                 qPrintable(m_window->notice().text()));
        QDir(m_folder.path()).mkpath("shut");
        m_window->commands().find("editor.save")->trigger();
        QVERIFY(!said("unsaved.write"));
        QVERIFY(textOf(rules).contains("// mine"));
    }

    void aTextTakenFromDiskIsColouredAndCheckedAtOnce() {
        const QString rules = writeText(m_folder, "fresh.fuse", poolRule);
        panel().showPlace(rules, 0);
        CodeView* view = panel().current();
        QTRY_VERIFY(view->facts() && view->facts()->text == view->toPlainText());
        writeText(m_folder, "fresh.fuse", "fuse 1;\nrule R { match { y = Rellu(x); } }\n");
        QTRY_VERIFY(view->toPlainText().contains("Rellu"));
        QTRY_VERIFY(view->facts()->text == view->toPlainText());
        QCOMPARE(view->facts()->mistakes.size(), size_t(1));
        view->moveCursor(QTextCursor::Start);
        QVERIFY2(panel().message().startsWith("1 mistake;"), qPrintable(panel().message()));
    }

private:
    void start() {
        m_window.reset();
        m_window = std::make_unique<MainWindow>(*m_settings);
        m_window->canvases().setDot({}, false);
        m_window->show();
    }

    Session& session() { return m_window->session(); }

    EditorPanel& panel() { return *m_window->findChild<EditorPanel*>(); }

    int matchesOf(const std::string& rule) {
        int out = 0;
        for (const app::MatchReport& match : session().report()->matches)
            out += match.rule == rule;
        return out;
    }

    bool said(const QString& code) {
        for (const Problem& problem : session().problems())
            if (problem.code == code)
                return true;
        return false;
    }

    /// What the bar above the text says.
    QString bar() {
        QStringList out;
        for (auto* label : panel().findChildren<QLabel*>("ruleNotice"))
            if (label->isVisible())
                out << label->text();
        return out.join('\n');
    }

    void answer(QMessageBox::StandardButton button) {
        auto* box = m_window->findChild<QMessageBox*>("unsavedRules");
        QVERIFY(box && box->isVisible());
        box->button(button)->click();
        QTRY_VERIFY(!m_window->findChild<QMessageBox*>("unsavedRules"));
    }

    static QString textOf(const QString& path) {
        QFile file(path);
        return file.open(QFile::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
    }

    /// A file in the folder's place: nothing can be written there, not even by root.
    static void lock() {
        QDir(folder()).removeRecursively();
        QDir().mkpath(QFileInfo(folder()).path());
        QFile file(folder());
        QVERIFY(file.open(QFile::WriteOnly));
    }

    static void unlock() {
        if (QFileInfo(folder()).isFile())
            QFile::remove(folder());
    }

    static QString folder() { return QFileInfo(recoveryFileOfUser()).path(); }

    QTemporaryDir m_folder;
    QString m_model;
    std::unique_ptr<QSettings> m_settings;
    std::unique_ptr<MainWindow> m_window;
};

QTEST_MAIN(KeepingTest)
#include "keeping_test.moc"
