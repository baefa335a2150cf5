// SPDX-License-Identifier: Apache-2.0
// Single matches switched off in the window, and taking changes back.
#include "app/studio/graph_view/canvas_pair.h"
#include "app/studio/panels/matches/disabled_list.h"
#include "app/studio/panels/steps/step_transport.h"
#include "app/studio/shell/main_window.h"
#include "tests/studio/sample.h"

using namespace fuselage;
using namespace fuselage::studio;
using namespace fuselage::studio::testing;

class MatchToggleTest : public QObject {
    Q_OBJECT

private Q_SLOTS:

    void initTestCase() { m_model = writeZooModel(m_folder, "resnet18"); }

    void disablingAMatchMovesTheTotalsAndUndoBringsThemBack() {
        QSettings settings(m_folder.filePath("a.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.openFiles({m_model});
        QVERIFY(settled(window.session()));
        auto launches = [&] { return window.session().snapshot()->report().after.launches; };
        size_t fused = launches();
        QAction* disable = window.commands().find("match.disable");
        QVERIFY(!disable->isEnabled());

        const auto& matches = window.session().snapshot()->report().matches;
        window.selection().selectAfter({QString::fromStdString(matches.front().fusedNode)});
        QVERIFY(disable->isEnabled());
        disable->trigger();
        QVERIFY(window.session().stale());
        QVERIFY(settled(window.session()));
        size_t without = launches();
        QVERIFY2(without > fused, qPrintable(QString::number(without)));

        window.commands().find("edit.undo")->trigger();
        QVERIFY(settled(window.session()));
        QCOMPARE(launches(), fused);
        window.commands().find("edit.redo")->trigger();
        QVERIFY(settled(window.session()));
        QCOMPARE(launches(), without);
        window.commands().find("match.enableAll")->trigger();
        QVERIFY(settled(window.session()));
        QCOMPARE(launches(), fused);
    }

    void whatIsSwitchedOffIsListedAndSwitchedOnFromTheList() {
        QSettings settings(m_folder.filePath("c.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.openFiles({m_model});
        QVERIFY(settled(window.session()));
        auto* list = window.findChild<DisabledList*>();
        QVERIFY(list->isHidden());
        size_t all = window.session().snapshot()->report().matches.size();
        window.selection().selectAfter(
            {QString::fromStdString(window.session().snapshot()->report().matches[1].fusedNode)});
        window.commands().find("match.disable")->trigger();
        QVERIFY(settled(window.session()));
        QCOMPARE(list->list().count(), 1);
        QVERIFY(!list->isHidden());
        Q_EMIT list->list().itemActivated(list->list().item(0));
        QVERIFY(settled(window.session()));
        QVERIFY(list->isHidden());
        QCOMPARE(window.session().snapshot()->report().matches.size(), all);
    }

    void steppingShowsMembersUntilTheyAreFused() {
        QSettings settings(m_folder.filePath("d.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.resize(1400, 900);
        window.openFiles({m_model});
        QVERIFY(settled(window.session()));
        auto* canvases = window.findChild<CanvasPair*>();
        QTRY_VERIFY(!canvases->drawing() && canvases->canvas(scene::After).drawing());
        auto* transport = window.findChild<StepTransport*>();
        QVERIFY(transport->count() > 0);
        auto shown = [&] {
            const auto& flags = canvases->canvas(scene::After).style().shown;
            return std::count(flags.begin(), flags.end(), 1);
        };
        window.commands().find("step.next")->trigger(); // the beginning
        QCOMPARE(transport->done(), 0);
        auto atFirst = shown();
        window.commands().find("step.next")->trigger();
        QCOMPARE(transport->done(), 1);
        QVERIFY2(transport->text().contains("launches"), qPrintable(transport->text()));
        transport->show(transport->count());
        QVERIFY(shown() < atFirst);
        window.commands().find("step.leave")->trigger();
        QVERIFY(canvases->canvas(scene::After).style().shown.empty());
    }

    void anOverlayCanBeTakenBack() {
        QSettings settings(m_folder.filePath("b.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        auto* canvases = window.findChild<CanvasPair*>();
        window.commands().find("view.overlay.bytes")->trigger();
        QCOMPARE(canvases->overlay(), "bytes");
        window.commands().find("edit.undo")->trigger();
        QCOMPARE(canvases->overlay(), "none");
    }

private:
    QTemporaryDir m_folder;
    QString m_model;
};

QTEST_MAIN(MatchToggleTest)
#include "match_toggle_test.moc"
