// SPDX-License-Identifier: Apache-2.0
// Help: pages are whole, what is searched is found, and an example opens as its commands say.
#include "app/studio/panels/help/help_panel.h"
#include "app/studio/shell/main_window.h"
#include "tests/studio/sample.h"

#include <QDockWidget>
#include <QStandardPaths>
#include <QTextBlock>

using namespace fuselage;
using namespace fuselage::studio;
using namespace fuselage::studio::testing;

class HelpTest : public QObject {
    Q_OBJECT

private Q_SLOTS:

    void initTestCase() { QStandardPaths::setTestModeEnabled(true); }

    void everyPageIsThere() {
        QVERIFY(helpPages().size() >= 9);
        QStringList networks;
        for (const zoo::ZooEntry& each : zoo::models())
            networks << QString::fromStdString(each.name);
        for (const HelpPage& page : helpPages()) {
            QVERIFY2(!page.title.isEmpty() && page.markdown.size() > 200, qPrintable(page.path));
            QVERIFY2(!page.isExample() || networks.contains(page.network), qPrintable(page.path));
            QVERIFY2(page.rule.isEmpty() || !helpFile(page.rule).isEmpty(), qPrintable(page.rule));
        }
        QVERIFY(helpFile("examples/no.fuse").isNull());
    }

    void searchFindsSectionsAndSaysWhenItFindsNone() {
        const QList<HelpHit> hits = findHelp("what a match is");
        QVERIFY(!hits.isEmpty());
        QVERIFY(hits.first().section.contains("match"));
        QVERIFY(findHelp("xyzzyplugh").isEmpty());
        QVERIFY(findHelp("").isEmpty());
        QSettings settings(m_folder.filePath("s.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.show();
        HelpPanel& help = show(window);
        QVERIFY(!help.open().isVisible()); // no page yet, so no example
        help.search().setText("xyzzyplugh");
        QCOMPARE(help.list().count(), 1);
        QCOMPARE(help.list().item(0)->flags(), Qt::NoItemFlags);
        help.search().setText("what a match is");
        QTest::keyClick(&help.search(), Qt::Key_Return);
        QCOMPARE(help.page(), hits.first().page);
        QCOMPARE(help.text().textCursor().block().text(), hits.first().section);
    }

    void anExampleOpensAsItsCommandsSay() {
        QSettings settings(m_folder.filePath("e.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.show();
        HelpPanel& help = show(window);
        window.commands().find("help.tour")->trigger();
        window.commands().find("help.tour")->trigger();
        QCOMPARE(helpPages()[help.page()].path, QString("examples/02-first-rule/README.md"));
        help.open().click();
        QTRY_VERIFY_WITH_TIMEOUT(window.session().snapshot(), 60'000);
        QVERIFY(settled(window.session()));
        const app::Report& report = *window.session().report();
        QCOMPARE(report.matches.size(), size_t(8)); // as the README says
        QCOMPARE(report.matches[0].rule, std::string("SqueezeGate"));
        QVERIFY(!window.session().options().rules.builtin);
        auto* back = help.findChildren<QPushButton*>().last();
        QVERIFY(back->isVisible());
        back->click();
        QVERIFY(window.session().options().rules.builtin);
        QVERIFY(window.session().options().rules.paths.empty());
    }

private:
    static HelpPanel& show(MainWindow& window) {
        window.commands().find("panel.help")->trigger();
        return *qobject_cast<HelpPanel*>(window.findChild<QDockWidget*>("help")->widget());
    }

    QTemporaryDir m_folder;
};

QTEST_MAIN(HelpTest)
#include "help_test.moc"
