// SPDX-License-Identifier: Apache-2.0
// What is seen first of models that nobody made for us: enough ink on the graph and a node at a
// size that can be read, or a sentence with a button. Odd ones from odd_models.cpp, others from a
// folder.
#include "app/studio/shell/main_window.h"
#include "tests/studio/odd_models.h"
#include "tests/studio/sample.h"

#include <QAbstractItemView>
#include <QDir>
#include <QDockWidget>
#include <QHash>
#include <QLabel>
#include <QPushButton>
#include <QTextDocument>
#include <QTextEdit>
#include <algorithm>
#include <cstdio>

using namespace fuselage;
using namespace fuselage::studio;
using namespace fuselage::studio::testing;

namespace {

constexpr double leastInk = 0.002; ///< share of pixels that differ from the ground
constexpr double leastLetters = 6; ///< height of a node's title on the screen, pixels
constexpr double titleHeight = 10; ///< at zoom 1
constexpr int usualSize = 2000;    ///< nodes of the largest odd one

double inkOf(const QImage& image) {
    QHash<QRgb, qsizetype> counts;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            ++counts[image.pixel(x, y)];
    const qsizetype pixels = qsizetype(image.width()) * image.height();
    return pixels > 0 ? 1 - double(*std::max_element(counts.begin(), counts.end())) / double(pixels)
                      : 0;
}

/// Nodes of the side whose head is in view; where there are none at all, inputs and outputs.
int boxesInView(const Canvas& canvas) {
    const QRectF view = canvas.visibleArea();
    int all[2] = {0, 0}, seen[2] = {0, 0};
    for (const scene::Box& box : canvas.drawing()->scene().boxes) {
        if (!(box.sides & canvas.side()))
            continue;
        const bool node =
            box.kind != scene::Box::Kind::Input && box.kind != scene::Box::Kind::Output;
        ++all[node];
        seen[node] += view.contains(QPointF(box.rect.x + box.rect.w / 2, box.rect.y + 1));
    }
    return seen[all[true] > 0];
}

QString asSeen(const QString& text, bool rich) {
    QTextDocument document;
    rich ? document.setHtml(text) : document.setPlainText(text);
    return document.toPlainText();
}

/// Texts of the window in which something of a name is there, but the name is not what one sees.
QStringList hiddenNames(const QWidget& window, const QStringList& names) {
    QStringList out;
    const auto look = [&](const QString& where, const QString& text, bool rich) {
        const QString seen = asSeen(text, rich);
        if (text.contains("bold") &&
            std::none_of(names.begin(), names.end(), [&](const QString& name) {
                return seen.contains(name) || seen.contains(name.section('/', -1));
            }))
            out << where + ": " + text;
    };
    for (const QLabel* label : window.findChildren<QLabel*>())
        look(QString("label %1").arg(label->objectName()), label->text(),
             label->textFormat() == Qt::RichText ||
                 (label->textFormat() == Qt::AutoText && Qt::mightBeRichText(label->text())));
    for (const QAbstractItemView* view : window.findChildren<QAbstractItemView*>()) {
        const QAbstractItemModel* model = view->model();
        for (int row = 0; model && row < std::min(model->rowCount(), 40); ++row)
            for (int column = 0; column < model->columnCount(); ++column) {
                const QModelIndex at = model->index(row, column);
                const QString tip = at.data(Qt::ToolTipRole).toString();
                look("cell", at.data().toString(), false);
                look("tip", tip, Qt::mightBeRichText(tip));
            }
    }
    for (const QTextEdit* text : window.findChildren<QTextEdit*>())
        look(QString("text %1").arg(text->objectName()), text->toPlainText(), false);
    for (const QWidget* widget : window.findChildren<QWidget*>())
        look(QString("tip of %1").arg(widget->objectName()), widget->toolTip(),
             Qt::mightBeRichText(widget->toolTip()));
    return out;
}

} // namespace

class FirstViewTest : public QObject {
    Q_OBJECT

private Q_SLOTS:

    void initTestCase() {
        const int asked = qEnvironmentVariableIntValue("ODD_NODES");
        QVERIFY(writeOddModels(m_folder.path(), asked > 0 ? asked : usualSize));
    }

    void isUsefulOrSaysWhatToDo_data() {
        QTest::addColumn<QString>("path");
        for (const QString& folder : {m_folder.path(), qEnvironmentVariable("FIRST_VIEW_MODELS")}) {
            if (folder.isEmpty())
                continue;
            for (const QFileInfo& file : QDir(folder).entryInfoList({"*.onnx"}, QDir::Files))
                QTest::newRow(qPrintable(file.completeBaseName())) << file.filePath();
        }
        QVERIFY(QDir(m_folder.path()).entryList({"*.onnx"}).size() > 20);
    }

    void isUsefulOrSaysWhatToDo() {
        QFETCH(QString, path);
        QSettings settings(m_folder.filePath("a.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.canvases().setDot({}, false); // no worker, no word about it
        window.resize(1280, 720);
        window.show();
        window.openFiles({path});
        QVERIFY(settled(window.session()));
        QTRY_VERIFY_WITH_TIMEOUT(!window.canvases().drawing(), 60'000);
        for (QDialog* dialog : window.findChildren<QDialog*>()) // questions are beside the picture
            dialog->close();
        const Canvas& canvas = window.canvases().canvas(scene::Before);
        const bool told = window.notice().isVisible() && !window.notice().text().isEmpty() &&
                          window.notice().button().isVisible();
        const double ink = canvas.drawing() && canvas.isVisible()
                               ? inkOf(window.canvases().canvas(scene::Before).grab().toImage())
                               : 0;
        const int boxes = canvas.drawing() ? boxesInView(canvas) : 0;
        const double letters = titleHeight * canvas.viewport().zoom;
        const QString found = QStringLiteral("ink %1 %, %2 boxes in view, letters of %3 pixels; %4")
                                  .arg(100 * ink, 0, 'f', 2)
                                  .arg(boxes)
                                  .arg(letters, 0, 'f', 1)
                                  .arg(told ? window.notice().text() : QString("no notice"));
        if (qEnvironmentVariableIsSet("FIRST_VIEW_PICTURES"))
            window.grab().save(qEnvironmentVariable("FIRST_VIEW_PICTURES") + "/" +
                               QFileInfo(path).completeBaseName() + ".png");
        std::printf("%s: %s\n", QTest::currentDataTag(), qPrintable(found));
        // A file that gives a picture gives a good one; one that gives none says why.
        const bool picture = ink >= leastInk && boxes > 0 && letters >= leastLetters;
        QVERIFY2(picture || told, qPrintable(found));
        if (canvas.drawing() && canvas.isVisible() && !canvas.drawing()->scene().boxes.empty()) {
            QVERIFY2(ink >= leastInk, qPrintable(found));
            QVERIFY2(letters >= leastLetters, qPrintable(found));
        }
    }

    /// Names that a text of HTML would hide or change, in every panel and in every tip of a table.
    void namesAreShownAsTheyAre() {
        const QString file = m_folder.filePath("<i>bold & more.onnx");
        QVERIFY(QFile::copy(m_folder.filePath("markup_names.onnx"), file));
        QSettings settings(m_folder.filePath("b.ini"), QSettings::IniFormat);
        MainWindow window(settings);
        window.canvases().setDot({}, false);
        window.resize(1280, 720);
        window.show();
        window.openFiles({file});
        QVERIFY(settled(window.session()));
        QTRY_VERIFY_WITH_TIMEOUT(!window.canvases().drawing(), 60'000);
        int panels = 0;
        for (QDockWidget* dock : window.findChildren<QDockWidget*>()) {
            dock->show();
            dock->raise();
            ++panels;
        }
        QVERIFY(panels > 8);
        QStringList nodes;
        for (const app::GraphNodeReport& node : window.session().report()->before.graph.nodes)
            nodes << QString::fromStdString(node.name);
        QVERIFY2(nodes.contains("<b>bold</b>"), qPrintable(nodes.join(' ')));
        for (const QString& node : nodes) {
            window.selection().selectBefore({node});
            QCoreApplication::processEvents();
            const QStringList wrong = hiddenNames(window, nodes + QStringList{"<i>bold & more"});
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join('\n')));
        }
    }

private:
    QTemporaryDir m_folder;
};

QTEST_MAIN(FirstViewTest)
#include "first_view_test.moc"
