// SPDX-License-Identifier: Apache-2.0
// What can be exported: titles, the sizes of pictures, a picture on the clipboard.
#include "app/studio/exports/export_dialog.h"
#include "app/studio/exports/headless.h"
#include "app/studio/exports/picture_dialog.h"
#include "app/studio/shell/main_window.h"
#include "app/studio/shell/options_dialog.h"
#include "tests/studio/sample.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QPushButton>

using namespace fuselage;
using namespace fuselage::studio;
using namespace fuselage::studio::testing;

class ExportTest : public QObject {
    Q_OBJECT

private Q_SLOTS:

    void titlesAreWhatAPersonWouldSay() {
        ExportDialog dialog({{"matches", "Matches"}}, {}, nullptr);
        auto* list = dialog.findChild<QListWidget*>();
        QSet<QString> titles;
        for (int row = 0; row < list->count(); ++row) {
            const QString title = list->item(row)->text();
            list->setCurrentRow(row);
            QVERIFY2(title[0].isUpper(), qPrintable(title));
            QVERIFY2(title.endsWith(" (" + dialog.choice().ending + ")") ||
                         !dialog.choice().panel.isEmpty(),
                     qPrintable(title));
            QVERIFY2(!titles.contains(title), qPrintable(title));
            titles.insert(title);
        }
        for (const char* wanted : {"Report (.html)", "Trace for chrome://tracing (.trace.json)",
                                   "Table Matches as shown (.csv)"})
            QVERIFY2(titles.contains(wanted), wanted);
    }

    void theCommandWritesTheFormatThatIsChosen() {
        QTemporaryDir folder;
        QSettings settings(folder.filePath("b.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.canvases().setDot({}, false);
        window.show();
        window.openFiles({writeZooModel(folder, "resnet18")});
        QVERIFY(settled(window.session()));
        QTRY_VERIFY(!window.canvases().drawing());
        const auto commands = [&] {
            window.commands().find("file.export")->trigger();
            auto* dialog = window.findChild<ExportDialog*>();
            auto* list = dialog->findChild<QListWidget*>();
            auto* copy = dialog->findChild<QPushButton*>("copyCommand");
            QMap<QString, QString> out;
            for (int row = 0; row < list->count(); ++row) {
                list->setCurrentRow(row);
                const QString command = dialog->findChild<QLineEdit*>()->text();
                out[dialog->choice().ending] = command;
                if (copy->isEnabled() == command.isEmpty())
                    out["wrong"] = dialog->choice().ending;
            }
            delete dialog;
            return out;
        };
        const QMap<QString, QString> plain = commands();
        QVERIFY2(!plain.contains("wrong"), qPrintable(plain["wrong"]));
        const QList<QPair<const char*, const char*>> wanted = {
            {".onnx", "fuselage fuse MODEL -o resnet18.fused.onnx"},
            {".fuseplan", "fuselage fuse MODEL --plan-out resnet18.fuseplan"},
            {".html", "fuselage bench MODEL --no-measure --report resnet18.html"},
            {".after.svg", "fuselage-studio --export resnet18.after.svg MODEL"},
            {".kernels.md", ""}}; // as a person sorted it
        for (const auto& [ending, command] : wanted) {
            QVERIFY2(plain.contains(ending), ending);
            QCOMPARE(QString(plain[ending]).replace(window.session().modelPath(), "MODEL"),
                     QString(command));
        }
        SessionOptions options = window.session().options();
        options.fuse.strict = true;
        options.device = "h200";
        window.session().setOptions(options);
        QVERIFY(settled(window.session()));
        const QMap<QString, QString> other = commands();
        QCOMPARE(other[".after.svg"], QString()); // its options cannot say that
        QVERIFY2(other[".onnx"].contains("--strict --device h200"), qPrintable(other[".onnx"]));
    }

    void nothingIsWrittenFromWrongInput() {
        QTemporaryDir folder;
        const QString model = writeZooModel(folder, "resnet18"),
                      file = folder.filePath("x.after.svg");
        const QString other = folder.filePath("other.onnx");
        QVERIFY(QFile::copy(model, other));
        const QString good = writeText(folder, "good.fuse", "fuse 1;\n");
        const QString bad =
            writeText(folder, "bad.fuse", "fuse 1;\nrule A { match { y = Rellu(x); } }\n");
        const QList<QPair<QStringList, int>> rows = {{{model, bad}, 3},
                                                     {{model, folder.filePath("absent.fuse")}, 3},
                                                     {{model, other}, 2},
                                                     {{bad}, 2},
                                                     {{model, good}, 0}};
        for (const auto& [inputs, code] : rows) {
            QFile::remove(file);
            QCOMPARE(exportHeadless(file, inputs, {}), code);
            QCOMPARE(QFile::exists(file), code == 0);
        }
    }

    void sizesMayHaveNamesWithBlanks() {
        using Sizes = std::map<std::string, int64_t>;
        QCOMPARE(dimsFromText("batch size=4"), (Sizes{{"batch size", 4}}));
        QCOMPARE(dimsFromText(" N=4, x.2 = 320  batch size=1 "),
                 (Sizes{{"N", 4}, {"x.2", 320}, {"batch size", 1}}));
        QCOMPARE(dimsFromText(""), Sizes());
        for (const char* wrong :
             {"N", "=4", "N=", "N=x", "N=-1", "N=4 5", "N=99999999999999999999"})
            QVERIFY2(!dimsFromText(wrong), wrong);
    }

    void aPictureOfTheListIsNoLargerThanOneOfTheForm() {
        for (const QSizeF& size :
             {QSizeF(4444, 8000), QSizeF(20'000, 20'000), QSizeF(50, 90'000)}) {
            const double scale = mostPictureScale(size);
            const QSizeF pixels = size * scale;
            QVERIFY(pixels.width() * pixels.height() <= 120e6 * 1.001);
            QVERIFY(std::max(pixels.width(), pixels.height()) <= 16'000 * 1.001);
        }
        scene::Scene scene;
        scene.rect = {0, 0, 40'000, 60};
        scene::Box box;
        box.rect = {10, 10, 100, 40};
        scene.boxes.push_back(box);
        const Drawing drawing(scene);
        const QImage image = pictureOf(drawing, scene::Before, {}, QPalette(), 2);
        QCOMPARE(image.width(), 16'000);
        PictureChoice choice;
        QCOMPARE(mostScale(choice, drawing), 16'000 / 40'040.0);
    }

    void aPictureGoesToTheClipboardAsItWouldToAFile() {
        QTemporaryDir folder;
        QSettings settings(folder.filePath("a.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.canvases().setDot({}, false);
        window.resize(1200, 800);
        window.show();
        window.openFiles({writeZooModel(folder, "resnet18")});
        QVERIFY(settled(window.session()));
        QTRY_VERIFY(!window.canvases().drawing());
        QGuiApplication::clipboard()->clear();
        window.commands().find("file.exportPicture")->trigger();
        auto* form = window.findChild<PictureDialog*>();
        QVERIFY(form);
        auto* copy = form->findChild<QPushButton*>("copyPicture");
        form->findChild<QDoubleSpinBox*>()->setValue(1.5);
        const QSize size =
            sizeOf(form->choice(), *window.canvases().canvas(scene::Before).drawing());
        QSignalSpy copied(&window.exporter(), &Exporter::copied);
        copy->click();
        QVERIFY(copied.wait(30'000));
        QVERIFY(form->isVisible()); // for the next one
        QCOMPARE(QGuiApplication::clipboard()->image().size(), size);
        form->findChildren<QComboBox*>()[1]->setCurrentIndex(1); // the whole graph
        form->findChild<QDoubleSpinBox*>()->setValue(16);
        QVERIFY(!copy->isEnabled()); // too large
    }
};

QTEST_MAIN(ExportTest)
#include "export_test.moc"
