// SPDX-License-Identifier: Apache-2.0
// Each flow as a person goes through it, in a real window, by the keyboard where there are keys:
// sample, open, find, select, measure, compare, export, restore.
#include "app/studio/exports/picture_dialog.h"
#include "app/studio/panels/editor/editor_panel.h"
#include "app/studio/panels/table_panel.h"
#include "app/studio/session/match_keys.h"
#include "app/studio/shell/chooser.h"
#include "app/studio/shell/finders.h"
#include "app/studio/shell/main_window.h"
#include "tests/studio/sample.h"
#include "tests/studio/stall_watch.h"

#include <QAccessible>
#include <QDialogButtonBox>
#include <QDockWidget>
#include <QTabBar>
#include <QTextBrowser>

using namespace fuselage;
using namespace fuselage::studio;
using namespace fuselage::studio::testing;

class FlowsTest : public QObject {
    Q_OBJECT

private Q_SLOTS:

    void initTestCase() {
        qputenv("XDG_CACHE_HOME", m_folder.filePath("cache").toUtf8());
        m_model = writeZooModel(m_folder, "unet");
    }

    void theStartPageOffersTheSampleAndSaysWhatThereIs() {
        QSettings settings(m_folder.filePath("start.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        show(window);
        QVERIFY(window.startPage().isVisible());
        QTRY_VERIFY_WITH_TIMEOUT(window.startPage().hardware().text().contains("Processor"),
                                 20'000);
        window.startPage().sample().setFocus();
        QTest::keyClick(&window.startPage().sample(), Qt::Key_Space);
        QTRY_VERIFY_WITH_TIMEOUT(window.session().snapshot(), 60'000);
        QVERIFY(!window.startPage().isVisible());
        QVERIFY(window.canvases().isVisible());
    }

    void thePaletteRunsACommandByKeysAlone() {
        QSettings settings(m_folder.filePath("palette.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        open(window);
        press(window, "find.command");
        auto* palette = window.findChild<Chooser*>("palette");
        QVERIFY(palette);
        QTest::keyClicks(&palette->line(), "overlaytime");
        if (palette->list().count() == 0) { // titles are words of the overlay table
            palette->line().clear();
            QTest::keyClicks(&palette->line(), "time");
        }
        QVERIFY(palette->list().count() > 0);
        QTest::keyClick(&palette->line(), Qt::Key_Escape);
        QTRY_VERIFY(!window.findChild<Chooser*>("palette"));
    }

    void findingANodeSelectsItOnBothSides() {
        QSettings settings(m_folder.filePath("find.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        open(window);
        press(window, "find.node");
        auto* finder = window.findChild<Chooser*>("finder");
        QVERIFY(finder);
        int all = finder->list().count();
        // Without a window manager the window behind stays active and its shortcuts take the keys.
        QApplication::setActiveWindow(finder);
        QTRY_COMPARE(QApplication::focusWidget(), &finder->line());
        QTest::keyClicks(&finder->line(), "op:Conv -op:ConvTranspose");
        QVERIFY(finder->list().count() > 0);
        QVERIFY(finder->list().count() < all);
        QTest::keyClick(&finder->line(), Qt::Key_Down);
        QCOMPARE(finder->list().currentRow(), 1);
        QTest::keyClick(&finder->line(), Qt::Key_Return);
        QTRY_VERIFY(!window.selection().selection().before.isEmpty());
        QVERIFY(!window.selection().selection().after.isEmpty());
    }

    void measuringShowsMeasuredTimesRunsAndAVerdict() {
        QSettings settings(m_folder.filePath("measure.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        if (findFuselage().isEmpty())
            QSKIP("the program `fuselage` is not built beside this test");
        open(window);
        MeasureSettings quick;
        quick.backend = "cpu";
        quick.seconds = 5; // room for rounds of the whole and of steps on a busy machine
        quick.threads = 1;
        window.measurements().setSettings(quick);
        auto* numbers = window.findChild<QLabel*>("numbers");
        for (int run = 1; run <= 2; ++run) {
            press(window, "run.measure");
            QVERIFY(window.measurements().running());
            QTRY_VERIFY_WITH_TIMEOUT(!window.measurements().running(), 120'000);
            for (const Problem& problem : window.session().problems()) // on a busy machine
                QVERIFY2(problem.code == "measure.slower", qPrintable(problem.message));
            QCOMPARE(window.measurements().runs().size(), size_t(run));
        }
        QVERIFY2(numbers->text().contains("measured"), qPrintable(numbers->text()));
        QVERIFY2(numbers->text().contains("numerics agree"), qPrintable(numbers->text()));
        size_t timed = 0;
        for (const app::KernelReport& kernel : window.session().report()->after.kernels)
            timed += kernel.measuredSeconds.has_value();
        size_t judged = 0;
        for (const app::MatchReport& match : window.session().report()->matches)
            judged += match.error.has_value();
        QCOMPARE(judged, window.session().report()->matches.size());
        window.canvases().setOverlay("error");
        const auto& fill = window.canvases().canvas(scene::After).style().fill;
        QVERIFY(std::any_of(fill.begin(), fill.end(), [](QColor c) { return c.isValid(); }));
        QCOMPARE(timed, window.session().report()->after.kernels.size());
        QVERIFY(window.measurements().verdict(window.measurements().runs()[1]));
        QTableView& kernels = tableOf(window, "kernels").table();
        int columns = kernels.model()->columnCount();
        QVERIFY(!kernels.isColumnHidden(columns - 1));
        QVERIFY(!kernels.model()->index(0, columns - 2).data().toString().isEmpty());
        window.commands().find("run.baseline")->trigger();
        QVERIFY(kernels.isColumnHidden(columns - 1));
        SessionOptions other = window.session().options();
        other.rules.builtin = false;
        window.session().setOptions(other);
        QVERIFY(settled(window.session()));
        QVERIFY2(numbers->text().contains("stale"), qPrintable(numbers->text()));
    }

    void everyExportWritesItsFile_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QByteArray>("begins");
        QTest::newRow("svg") << "a.after.svg" << QByteArray("<svg");
        QTest::newRow("png") << "a.before.png" << QByteArray("\x89PNG");
        QTest::newRow("pdf") << "a.after.pdf" << QByteArray("%PDF-");
        QTest::newRow("html") << "a.html" << QByteArray("<!");
        QTest::newRow("trace") << "a.trace.json" << QByteArray("{");
        QTest::newRow("onnx") << "a.fused.onnx" << QByteArray("\x08");
    }

    void everyExportWritesItsFile() {
        QFETCH(QString, name);
        QFETCH(QByteArray, begins);
        QSettings settings(m_folder.filePath("export.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        open(window);
        QSignalSpy written(&window.exporter(), &Exporter::written);
        QString path = m_folder.filePath(name);
        QVERIFY(window.exporter().writeFile(path));
        QVERIFY(written.wait(30'000));
        QFile file(path);
        QVERIFY(file.open(QFile::ReadOnly));
        QByteArray bytes = file.readAll();
        QVERIFY2(bytes.startsWith(begins), bytes.left(20).toPercentEncoding().constData());
    }

    void anExportThatCannotBeWrittenIsAProblem() {
        QSettings settings(m_folder.filePath("export2.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        open(window);
        QVERIFY(window.exporter().writeFile(m_folder.filePath("absent/folder/a.html")));
        QTRY_VERIFY(!window.session().problems().isEmpty());
        QVERIFY(!window.exporter().writeFile(m_folder.filePath("a.unknown")));
    }

    void aPictureOfTheViewHasTheChosenScaleAndNoSelection() {
        QSettings settings(m_folder.filePath("picture.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        open(window);
        Canvas& canvas = window.canvases().canvas(fuselage::scene::After);
        QTRY_VERIFY(canvas.drawing());
        QTRY_VERIFY(!window.canvases().drawing() && !window.canvases().refining());
        canvas.fitAll();
        const QSize seen = canvas.size(); // a bar may come while the file is written
        PictureChoice choice{fuselage::scene::After, false, false, 1.5, canvas.viewport(), seen};
        auto picture = [&](const QString& name) {
            QSignalSpy written(&window.exporter(), &Exporter::written);
            if (!window.exporter().writePicture(choice, m_folder.filePath(name)) ||
                !written.wait(30'000))
                return QImage();
            return QImage(m_folder.filePath(name), "PNG");
        };
        const QImage plain = picture("as typed.picture"); // no ending is added
        QCOMPARE(plain.size(), (QSizeF(seen) * 1.5).toSize());
        window.selection().selectAfter(
            {QString::fromStdString(window.session().report()->after.graph.nodes[0].name)});
        QVERIFY(!canvas.style().faded.empty());
        QCOMPARE(picture("selected.png"), plain);
        choice.svg = true;
        QVERIFY(window.exporter().writePicture(choice, m_folder.filePath("view.svg")));
        QTRY_VERIFY(QFile::exists(m_folder.filePath("view.svg")));
        choice.svg = false;
        choice.whole = true;
        choice.scale = 2 * mostScale(choice, *canvas.drawing());
        QVERIFY(window.exporter().writePicture(choice, m_folder.filePath("large.png")));
        QTRY_VERIFY(!window.session().problems().isEmpty());
        QCOMPARE(window.session().problems().first().code, QString("save.picture"));
        QVERIFY(!QFile::exists(m_folder.filePath("large.png")));
        window.commands().find("file.exportPicture")->trigger();
        auto* form = window.findChild<PictureDialog*>();
        QVERIFY(form);
        auto* scale = form->findChild<QDoubleSpinBox*>();
        auto* save = form->findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Save);
        form->findChildren<QComboBox*>()[1]->setCurrentIndex(1); // the whole graph
        scale->setValue(scale->maximum());
        QVERIFY(!save->isEnabled());
        scale->setValue(0.5);
        QVERIFY(save->isEnabled());
        QCOMPARE(form->choice().whole, true);
    }

    void notesOnTheModelStandAfterWhatIsWrong() {
        QSettings settings(m_folder.filePath("notes.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        open(window);
        const QAbstractItemModel& rows = *tableOf(window, "problems").table().model();
        auto text = [&](int row, int column) { return rows.index(row, column).data().toString(); };
        QCOMPARE(rows.rowCount(), 1);
        QCOMPARE(text(0, 0), QString("note"));
        QVERIFY2(text(0, 3).contains("is taken for"), qPrintable(text(0, 3)));
        QVERIFY2(text(0, 4).contains("Dimensions"), qPrintable(text(0, 4)));
        window.openFiles({m_folder.filePath("absent.onnx")});
        QVERIFY(settled(window.session()));
        QCOMPARE(rows.rowCount(), 2);
        QCOMPARE(text(0, 0), QString("error"));
        QCOMPARE(text(1, 0), QString("note"));
    }

    void whatWasOpenComesBackAtTheNextStart() {
        QSettings settings(m_folder.filePath("restore.ini"), QSettings::IniFormat);
        Viewport view;
        {
            MainWindow window(settings);
            open(window);
            window.canvases().setOverlay("time");
            window.canvases().canvas(scene::Before).setViewport({{120, 340}, 0.8});
            view = window.canvases().canvas(scene::Before).viewport();
            window.close();
        }
        MainWindow window(settings);
        show(window);
        window.restoreOpenFiles();
        QTRY_VERIFY_WITH_TIMEOUT(window.canvases().canvas(scene::Before).drawing(), 60'000);
        QCOMPARE(window.session().modelPath(), m_model);
        QCOMPARE(window.canvases().overlay(), QString("time"));
        QTRY_COMPARE(window.canvases().canvas(scene::Before).viewport(), view);
    }

    void switchedOffMatchesTabsAndUnsavedTextComeBackToo() {
        QSettings settings(m_folder.filePath("restore2.ini"), QSettings::IniFormat);
        QFile::remove(recoveryFileOfUser());
        QString rules = writeText(m_folder, "kept.fuse", "fuse 1;\n// on disk\n");
        std::vector<MatchKey> off;
        size_t left = 0;
        {
            MainWindow window(settings);
            open(window);
            window.openFiles({rules});
            auto* editor = window.findChild<EditorPanel*>();
            editor->newRule("fuse 1;\n// never saved\n");
            editor->view(rules)->insertPlainText("// typed, not saved\n");
            off = {keyOf(window.session().report()->matches.front())};
            setDisabled(window.session(), off);
            QVERIFY(settled(window.session()));
            left = window.session().report()->matches.size();
            window.close();
        }
        MainWindow window(settings);
        show(window);
        window.restoreOpenFiles();
        QVERIFY(settled(window.session()));
        QTRY_VERIFY(window.session().report());
        QCOMPARE(window.session().options().fuse.disabled, off);
        QCOMPARE(window.session().report()->matches.size(), left);
        auto* editor = window.findChild<EditorPanel*>();
        QCOMPARE(editor->openFiles().size(), 2);
        QVERIFY(editor->view(rules));
        QVERIFY(editor->view(rules)->toPlainText().contains("// typed, not saved"));
        QVERIFY(editor->current()->toPlainText().contains("// never saved") ||
                editor->openFiles().last() != rules);
        QFile::remove(recoveryFileOfUser());
    }

    void aModelThatChangesOnDiskIsSaidAndLoadedWhenAPersonWants() {
        QSettings settings(m_folder.filePath("changed.ini"), QSettings::IniFormat);
        QString path = m_folder.filePath("changing.onnx");
        QVERIFY(QFile::copy(m_model, path));
        MainWindow window(settings);
        show(window);
        window.openFiles({path});
        QVERIFY(settled(window.session()));
        SnapshotPtr shown = window.session().snapshot();
        QFile file(path);
        QVERIFY(file.open(QFile::WriteOnly | QFile::Truncate));
        file.write("no model any more");
        file.close();
        QTRY_VERIFY(!window.session().problems().isEmpty());
        QCOMPARE(window.session().problems()[0].code, QString("model.changed"));
        QCOMPARE(window.session().snapshot(), shown);
        press(window, "file.reload");
        QVERIFY(settled(window.session()));
        QCOMPARE(window.session().snapshot(), shown); // what is there is no model
        QVERIFY(window.session().problems().size() >= 1);
        QVERIFY(QFile::remove(path));
        QVERIFY(QFile::copy(m_model, path));
        press(window, "file.reload");
        QVERIFY(settled(window.session()));
        QVERIFY(window.session().snapshot() != shown);
        QVERIFY2(window.session().problems().isEmpty(),
                 qPrintable(window.session().problems().value(0).message));
    }

    void aModelThatEndedTheProgramIsNotOpenedAgainByItself() {
        QSettings settings(m_folder.filePath("ended.ini"), QSettings::IniFormat);
        settings.setValue("open/model", m_model);
        settings.setValue("opening", true);
        MainWindow window(settings);
        show(window);
        window.restoreOpenFiles();
        QVERIFY(!window.session().busy());
        QCOMPARE(window.session().problems().size(), 1);
        QCOMPARE(window.session().problems()[0].code, QString("start.ended"));
    }

    void perspectivesShowTheirPanelsAndNoOthers() {
        QSettings settings(m_folder.filePath("perspective.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        show(window);
        window.commands().find("perspective.compare")->trigger();
        QVERIFY(!window.findChild<QDockWidget*>("runs")->isHidden());
        QVERIFY(window.findChild<QDockWidget*>("outline")->isHidden());
        window.commands().find("perspective.explore")->trigger();
        QVERIFY(!window.findChild<QDockWidget*>("outline")->isHidden());
    }

    void theCheatSheetListsEveryKey() {
        QSettings settings(m_folder.filePath("keys.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        show(window);
        window.commands().find("help.keys")->trigger();
        auto* text = window.findChild<QDialog*>("cheatSheet")->findChild<QTextBrowser*>();
        QString sheet = text->toPlainText();
        for (const CommandTable::Entry& entry : window.commands().all())
            if (!entry.row.keys.isEmpty() && !entry.row.keys.first().isEmpty())
                QVERIFY2(sheet.contains(entry.row.title), qPrintable(entry.row.id));
    }

    void everyControlHasAnAccessibleName() {
        QSettings settings(m_folder.filePath("access.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        open(window);
        QStringList nameless;
        for (QWidget* widget : window.findChildren<QWidget*>()) {
            if (!(widget->focusPolicy() & Qt::TabFocus) || widget->objectName().startsWith("qt_"))
                continue;
            // A bar of tabs is called as its present tab; those of docks that are shut have none.
            if (auto* tabs = qobject_cast<QTabBar*>(widget); tabs && tabs->count() == 0)
                continue;
            QAccessibleInterface* access = QAccessible::queryAccessibleInterface(widget);
            if (!access || access->text(QAccessible::Name).isEmpty())
                nameless << QString("%1 in %2")
                                .arg(widget->metaObject()->className(),
                                     widget->parentWidget()->objectName());
        }
        QVERIFY2(nameless.isEmpty(), qPrintable(nameless.join("; ")));
    }

    void openingNeverBlocksTheWindow() {
        QSettings settings(m_folder.filePath("stall.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        show(window);
        QTest::qWait(0);
        StallWatch watch;
        watch.restart();
        window.openFiles({m_model});
        QVERIFY(settled(window.session()));
        QTRY_VERIFY(window.canvases().canvas(scene::Before).drawing());
        double worst = watch.worstMilliseconds();
        QVERIFY2(worst < 100, qPrintable(QString::number(worst))); // 50 with twofold slack
    }

    void theBoxesOfACanvasAreItsChildrenForScreenReaders() {
        QSettings settings(m_folder.filePath("boxes.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        open(window);
        for (scene::Side side : {scene::Before, scene::After}) {
            Canvas& canvas = window.canvases().canvas(side);
            QAccessibleInterface* access = QAccessible::queryAccessibleInterface(&canvas);
            int shown = 0;
            for (const scene::Box& box : canvas.drawing()->scene().boxes)
                shown += (box.sides & side) != 0;
            QVERIFY(shown > 10);
            QCOMPARE(access->childCount(), shown);
            for (int i = 0; i < shown; ++i) {
                QAccessibleInterface* box = access->child(i);
                QVERIFY(box && box->isValid());
                QVERIFY(!box->text(QAccessible::Name).isEmpty());
                QCOMPARE(access->indexOfChild(box), i);
            }
        }
    }

private:
    void show(MainWindow& window) {
        window.resize(1400, 900);
        window.show();
        QVERIFY(QTest::qWaitForWindowExposed(&window));
        window.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&window));
    }

    void open(MainWindow& window) {
        show(window);
        window.openFiles({m_model});
        QVERIFY(settled(window.session()));
        QTRY_VERIFY(window.canvases().canvas(scene::Before).drawing());
        window.canvases().canvas(scene::Before).setFocus();
    }

    /// The first key of the command, where the focus is.
    void press(MainWindow& window, const char* id) {
        QAction* action = window.commands().find(id);
        QVERIFY(action && !action->shortcuts().isEmpty());
        window.activateWindow();
        QTest::keySequence(&window, action->shortcuts().first());
    }

    static TablePanel& tableOf(MainWindow& window, const char* id) {
        return *qobject_cast<TablePanel*>(window.findChild<QDockWidget*>(id)->widget());
    }

    QTemporaryDir m_folder;
    QString m_model;
};

QTEST_MAIN(FlowsTest)
#include "flows_test.moc"
