// SPDX-License-Identifier: Apache-2.0
// Icons: every file is a command's, is drawn in the colour of letters, and the program has its own;
// and what else an appearance draws.
#include "app/studio/graph_view/colours.h"
#include "app/studio/shell/appearance.h"
#include "app/studio/shell/main_window.h"
#include "app/studio/workbench/drawn_icon.h"

#include <QCheckBox>
#include <QDir>
#include <QLineEdit>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>
#include <QToolBar>
#include <algorithm>

using namespace fuselage::studio;

namespace {

QImage imageOf(const QIcon& icon, QIcon::Mode mode = QIcon::Normal) {
    return icon.pixmap(QSize(32, 32), 1, mode).toImage().convertToFormat(QImage::Format_ARGB32);
}

/// Pixels that are at least half covered.
int covered(const QImage& image) {
    int out = 0;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            out += qAlpha(image.pixel(x, y)) >= 128;
    return out;
}

QColor inkOf(const QImage& image) {
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            if (qAlpha(image.pixel(x, y)) == 255)
                return QColor(image.pixel(x, y));
    return {};
}

} // namespace

class IconsTest : public QObject {
    Q_OBJECT

private Q_SLOTS:

    void everyFileIsTheIconOfACommandAndCanBeDrawn() {
        QTemporaryDir folder;
        QSettings settings(folder.filePath("a.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        const QDir files(ICONS);
        const QStringList names = files.entryList({"*.svg"});
        QVERIFY(names.size() > 40);
        static const QRegularExpression foreign("[^MLHVCZmlhvcz0-9., -]");
        for (const QString& name : names) {
            QFile file(files.filePath(name));
            QVERIFY(file.open(QFile::ReadOnly));
            const QString text = QString::fromUtf8(file.readAll());
            QVERIFY2(text.startsWith("<!-- SPDX-License-Identifier: Apache-2.0 -->"),
                     qPrintable(name));
            static const QRegularExpression path(" d=\"([^\"]*)\"");
            for (auto match = path.globalMatch(text); match.hasNext();)
                QVERIFY2(!match.next().captured(1).contains(foreign), qPrintable(name));
            const QString id = name.chopped(4);
            const QAction* action = window.commands().find(id);
            QVERIFY2(action, qPrintable(id));
            const int pixels = covered(imageOf(action->icon()));
            QVERIFY2(pixels > 40 && pixels < 32 * 32 * 0.7,
                     qPrintable(QString("%1 covers %2").arg(name).arg(pixels)));
        }
        QVERIFY(iconOf("no.such.command").isNull());
    }

    void linesHaveTheColourOfLettersInEachAppearance() {
        for (const char* look : {"dark", "light"}) {
            applyAppearance(look);
            const QPalette palette = QGuiApplication::palette();
            const QIcon icon = iconOf("work.cancel");
            QCOMPARE(inkOf(imageOf(icon)), palette.color(QPalette::Active, QPalette::ButtonText));
            QCOMPARE(inkOf(imageOf(icon, QIcon::Disabled)),
                     palette.color(QPalette::Disabled, QPalette::ButtonText));
        }
    }

    void anEmptyFieldAndAnEmptyBoxAreSeenOnADarkGround() {
        applyAppearance("dark");
        QCheckBox box(QStringLiteral("words"));
        QLineEdit field;
        QWidget* const both[] = {&box, &field};
        for (QWidget* widget : both) {
            widget->resize(widget->sizeHint());
            const QImage image = widget->grab().toImage();
            const QColor ground = QGuiApplication::palette().color(QPalette::Window);
            double best = 1; // along a line through the middle, left of all words
            for (int x = 0; x < std::min(12, image.width()); ++x)
                best = std::max(best, contrast(image.pixelColor(x, image.height() / 2), ground));
            QVERIFY2(best >= 3, qPrintable(QString::number(best)));
        }
        applyAppearance("light");
    }

    void everyButtonOfTheToolBarHasAPictureAndWordsAtThePointer() {
        QTemporaryDir folder;
        QSettings settings(folder.filePath("b.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        auto* tools = window.findChild<QToolBar*>("tools");
        for (QAction* action : tools->actions()) {
            if (action->isSeparator())
                continue;
            QVERIFY2(!action->icon().isNull(), qPrintable(action->objectName()));
            QVERIFY2(action->toolTip().contains(action->text()), qPrintable(action->objectName()));
        }
        QVERIFY(window.commands().find("run.measure")->toolTip().contains("F5"));
    }

    void theProgramsOwnIconHasItsColours() {
        const QImage image = imageOf(programIcon());
        QVERIFY(covered(image) > 32 * 32 * 0.6);
        QCOMPARE(QColor(image.pixel(4, 16)).name(), QString("#1f2a44")); // its ground
    }
};

QTEST_MAIN(IconsTest)
#include "icons_test.moc"
