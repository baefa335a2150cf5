// SPDX-License-Identifier: Apache-2.0
// Menus and commands: check marks, why a row is greyed, words for a refused key, the next hot spot,
// and what the status line says of a measurement.
#include "app/studio/shell/hot_spot.h"
#include "app/studio/shell/main_window.h"
#include "app/studio/shell/status_text.h"
#include "tests/studio/sample.h"

#include <QLabel>
#include <QMenuBar>
#include <QStatusBar>
#include <QTextDocument>

using namespace fuselage;
using namespace fuselage::studio;
using namespace fuselage::studio::testing;

namespace {

bool opened(MainWindow& window, const QString& path) {
    window.canvases().setDot({}, false);
    window.resize(1300, 850);
    window.show();
    window.openFiles({path});
    return settled(window.session()) &&
           QTest::qWaitFor([&] { return !window.canvases().drawing(); }, 60'000);
}

/// Rows of a menu and of those in it.
void collect(const QMenu& menu, QList<QAction*>& out) {
    for (QAction* action : menu.actions())
        if (action->menu())
            collect(*action->menu(), out);
        else if (!action->isSeparator())
            out << action;
}

/// A report with one measured run; times in milliseconds.
app::Report measured(double before, double after, double spread) {
    app::Report report;
    for (auto [side, median] : {std::pair(&report.before, before), {&report.after, after}}) {
        TimingSummary time;
        time.median = median * 1e-3;
        time.low = time.median * (1 - spread);
        time.high = time.median * (1 + spread);
        side->measured = time;
    }
    const double ratio = after / before;
    report.ratio = RatioSummary{ratio, ratio * (1 - 2 * spread), ratio * (1 + 2 * spread)};
    return report;
}

} // namespace

class CommandsTest : public QObject {
    Q_OBJECT

private Q_SLOTS:

    void initTestCase() { m_model = writeZooModel(m_folder, "resnet18"); }

    void everyCommandStandsInItsMenuOnce() {
        QSettings settings(m_folder.filePath("a.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        QList<QAction*> shown;
        int separators = 0;
        for (QAction* top : window.menuBar()->actions()) {
            QVERIFY(top->text().contains('&'));
            collect(*top->menu(), shown);
            for (QAction* action : top->menu()->actions())
                separators += action->isSeparator();
            QVERIFY(!top->menu()->actions().last()->isSeparator());
        }
        QVERIFY2(separators > 15, qPrintable(QString::number(separators)));
        for (const CommandTable::Entry& entry : window.commands().all())
            QVERIFY2(shown.count(entry.action) == (entry.row.menu.isEmpty() ? 0 : 1),
                     qPrintable(entry.row.id));
    }

    void theKeyOfAnOverlayWithoutColoursIsReadAsWritten() {
        QSettings settings(m_folder.filePath("key.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        QVERIFY(opened(window, m_model));
        window.commands().find("view.overlay.error")->trigger();
        const auto* key = window.findChild<QLabel*>("overlayKey");
        QVERIFY(key);
        QTRY_VERIFY(!key->text().isEmpty());
        QCOMPARE(key->textFormat(), Qt::RichText);
        QTextDocument shown;
        shown.setHtml(key->text());
        QVERIFY2(shown.toPlainText().contains("Run > Error of every node"),
                 qPrintable(key->text()));
    }

    void whatIsOnHasACheckMark() {
        QSettings settings(m_folder.filePath("b.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        QVERIFY(opened(window, m_model));
        const auto isOn = [&](const char* id) {
            const QAction* action = window.commands().find(id);
            return action && action->isCheckable() && action->isChecked();
        };
        QVERIFY(isOn("view.overlay.none"));
        QVERIFY(!isOn("view.overlay.time"));
        window.commands().find("view.overlay.time")->trigger();
        QVERIFY(isOn("view.overlay.time") && !isOn("view.overlay.none"));
        window.commands().find("view.overlay.time")->trigger(); // it stays on
        QVERIFY(isOn("view.overlay.time"));
        window.undo().undo();
        QVERIFY(isOn("view.overlay.none"));
        for (const char* id :
             {"view.pairs", "view.columns", "view.details", "view.tunnels", "view.split"}) {
            QAction* action = window.commands().find(id);
            QVERIFY2(action->isCheckable(), id);
            const bool before = action->isChecked();
            action->trigger();
            QVERIFY2(action->isChecked() != before, id);
            action->trigger();
            QVERIFY2(action->isChecked() == before, id);
        }
        QVERIFY(isOn("view.appearance.system"));
        window.commands().find("view.appearance.dark")->trigger();
        QVERIFY(isOn("view.appearance.dark") && !isOn("view.appearance.system"));
        window.commands().find("view.appearance.system")->trigger();
    }

    void aGreyedCommandSaysWhyAtThePointerAndWhenItsKeyIsPressed() {
        QSettings settings(m_folder.filePath("c.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.show();
        QVERIFY(QTest::qWaitForWindowExposed(&window));
        window.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&window));
        const auto refusedWith = [&](const char* id, const char* words) {
            const QAction* action = window.commands().find(id);
            if (action->isEnabled() || !action->toolTip().contains(words) ||
                !action->statusTip().contains(words))
                return false;
            window.statusBar()->clearMessage();
            QTest::keySequence(&window, action->shortcuts().first());
            return window.statusBar()->currentMessage().contains(words);
        };
        for (const char* id : {"file.export", "file.exportPicture", "file.reload", "run.measure",
                               "find.node", "match.disable", "match.trial"})
            QVERIFY2(refusedWith(id, "open a model first"), id);
        QVERIFY(refusedWith("work.cancel", "nothing is running"));
        QVERIFY(refusedWith("edit.undo", "nothing to take back"));
        QVERIFY(!window.commands().find("match.enableAll")->isEnabled());
        QVERIFY(opened(window, m_model));
        window.activateWindow();
        for (const char* id : {"file.export", "file.reload", "run.measure", "find.node"}) {
            QVERIFY2(window.commands().find(id)->isEnabled(), id);
            QVERIFY2(window.commands().find(id)->statusTip().isEmpty(), id);
        }
        QVERIFY(refusedWith("match.disable", "select a fused node"));
        window.selection().selectAfter(
            {QString::fromStdString(window.session().report()->matches.front().fusedNode)});
        QVERIFY(window.commands().find("match.disable")->isEnabled());
        window.statusBar()->clearMessage();
        QTest::keySequence(&window, QKeySequence("Ctrl+Shift+D")); // now it does what it says
        QVERIFY(settled(window.session()));
        QCOMPARE(window.session().options().fuse.disabled.size(), size_t(1));
        QVERIFY(window.commands().find("match.enableAll")->isEnabled());
        QVERIFY(window.commands().find("edit.undo")->isEnabled());
    }

    void aKeyOfTheGraphIsRefusedThereWithAWord() {
        QSettings settings(m_folder.filePath("d.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        QVERIFY(opened(window, m_model));
        window.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&window));
        Canvas& before = window.canvases().canvas(scene::Before);
        before.setFocus();
        window.selection().clear();
        QTest::keyClick(&before, Qt::Key_F);
        QVERIFY2(window.statusBar()->currentMessage().contains("select a node first"),
                 qPrintable(window.statusBar()->currentMessage()));
    }

    void hotSpotsAreGoneThroughFromTheHottest() {
        QSettings settings(m_folder.filePath("e.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        QVERIFY(!window.commands().find("select.hotSpot")->isEnabled());
        QVERIFY(opened(window, m_model));
        SessionOptions options = window.session().options();
        options.rules.builtin = false; // no rule takes anything
        window.session().setOptions(options);
        QVERIFY(settled(window.session()));
        const auto spots = hotSpotsOf(*window.session().report());
        QVERIFY(spots.size() > 20);
        double share = 0;
        for (size_t i = 0; i < spots.size(); ++i) {
            QVERIFY(i == 0 || spots[i - 1].seconds >= spots[i].seconds);
            share += spots[i].share;
        }
        QVERIFY(std::abs(share - 1) < 1e-6);
        QAction* next = window.commands().find("select.hotSpot");
        for (size_t i = 0; i < 3; ++i) {
            next->trigger();
            QCOMPARE(window.selection().selection().after, QStringList{spots[i].node});
            QVERIFY(window.statusBar()->currentMessage().contains(
                QString("hot spot %1 of %2").arg(i + 1).arg(spots.size())));
        }
        window.selection().selectAfter({spots.back().node});
        next->trigger(); // around
        QCOMPARE(window.selection().selection().after, QStringList{spots.front().node});
    }

    void whatARuleTookIsNoHotSpot() {
        app::Report report;
        for (const char* name : {"a", "b", "fused"}) {
            app::GraphNodeReport node;
            node.name = name;
            node.fused = node.name == "fused";
            report.after.graph.nodes.push_back(node);
            app::KernelReport kernel;
            kernel.node = kernel.name = name;
            kernel.sources = {name};
            kernel.predictedSeconds = node.name == "b" ? 3e-6 : 9e-6;
            if (node.name == "b")
                kernel.measuredSeconds = 40e-6;
            report.after.kernels.push_back(kernel);
        }
        const auto spots = hotSpotsOf(report);
        QCOMPARE(spots.size(), size_t(2));
        QCOMPARE(spots[0].node, QString("b")); // what was measured counts, not what was predicted
        QVERIFY(spots[0].measured && !spots[1].measured);
    }

    void theStatusLineSaysInColourAndWordsWhoWon() {
        const Colours colours((QPalette(Qt::white)));
        const QString faster = statusText(measured(10, 5, 0.01), false, false, colours);
        QVERIFY2(faster.contains("2.00 x FASTER"), qPrintable(faster));
        QVERIFY2(faster.contains(colours["gain"].name()), qPrintable(faster));
        QVERIFY2(faster.contains(QString::fromUtf8("±1.0 % within this run")), qPrintable(faster));
        const QString slower = statusText(measured(5, 10, 0.01), false, false, colours);
        QVERIFY2(slower.contains("2.00 x SLOWER"), qPrintable(slower));
        QVERIFY2(slower.contains(colours["loss"].name()), qPrintable(slower));
        const QString unclear = statusText(measured(10, 9.9, 0.05), false, false, colours);
        QVERIFY2(unclear.contains("no clear difference"), qPrintable(unclear));
        QVERIFY(!unclear.contains(colours["gain"].name()));
        app::Report wrong = measured(10, 5, 0.01);
        wrong.agreement = {{"y", "differs", 1, 1, 1, false}};
        const QString said = statusText(wrong, false, false, colours);
        QVERIFY2(said.contains("DISAGREE") && !said.contains("FASTER"), qPrintable(said));
    }

private:
    QTemporaryDir m_folder;
    QString m_model;
};

QTEST_MAIN(CommandsTest)
#include "commands_test.moc"
