// SPDX-License-Identifier: Apache-2.0
// Rules that are not saved: they come back at the next start and are matched.
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
