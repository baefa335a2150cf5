// SPDX-License-Identifier: Apache-2.0
// Pictures of the canvas and of charts, at most twenty: levels of detail, themes, signs. Compared
// tile by tile with a tolerance; FUSELAGE_BLESS=1 rewrites them. What stands where is the business
// of the scene's own goldens.
#include "app/report/scene/text_size.h"
#include "app/studio/graph_view/canvas.h"
#include "app/studio/graph_view/overlay.h"
#include "app/studio/graph_view/pair_style.h"
#include "app/studio/panels/chart_view.h"
#include "tests/unit/scene_builder.h"

#include <QApplication>
#include <QDir>
#include <QFontDatabase>
#include <QHash>
#include <QStyleFactory>
#include <QTest>

using namespace fuselage;
using namespace fuselage::studio;
using namespace fuselage::scene_test;

namespace {

constexpr int tile = 16;           ///< pixels
constexpr double tolerance = 10.0; ///< mean difference of a channel in a tile, of 255

QPalette paletteOf(bool dark) {
    const app::Theme& theme = dark ? app::darkTheme() : app::lightTheme();
    QPalette out;
    for (auto role : {QPalette::Base, QPalette::Window})
        out.setColor(role, QColor(QString::fromStdString(theme.color("background"))));
    for (auto role : {QPalette::Text, QPalette::WindowText})
        out.setColor(role, QColor(QString::fromStdString(theme.color("text"))));
    return out;
}

QImage pictureOf(QWidget& widget, const QSize& size, double ratio, bool dark) {
    widget.setPalette(paletteOf(dark));
    widget.resize(size);
    QImage image(size * ratio, QImage::Format_RGB32);
    image.setDevicePixelRatio(ratio);
    image.fill(paletteOf(dark).color(QPalette::Base));
    widget.render(&image);
    image.setDevicePixelRatio(1);
    return image;
}

/// The worst tile; also for pictures of different sizes, which differ wholly.
double difference(const QImage& a, const QImage& b) {
    if (a.size() != b.size())
        return 255;
    double worst = 0;
    for (int top = 0; top < a.height(); top += tile)
        for (int left = 0; left < a.width(); left += tile) {
            int sum = 0, count = 0;
            for (int y = top; y < std::min(top + tile, a.height()); ++y)
                for (int x = left; x < std::min(left + tile, a.width()); ++x, count += 3) {
                    QRgb p = a.pixel(x, y), q = b.pixel(x, y);
                    sum += std::abs(qRed(p) - qRed(q)) + std::abs(qGreen(p) - qGreen(q)) +
                           std::abs(qBlue(p) - qBlue(q));
                }
            worst = std::max(worst, double(sum) / count);
        }
    return worst;
}

void expectPicture(const QString& name, const QImage& actual) {
    QString path = QStringLiteral(PICTURE_GOLDENS "/%1.png").arg(name);
    if (qEnvironmentVariableIntValue("FUSELAGE_BLESS") != 0) {
        QVERIFY(actual.save(path));
        return;
    }
    QImage golden(path);
    double worst = golden.isNull() ? 255 : difference(actual, golden);
    if (worst <= tolerance)
        return;
    QDir().mkpath("pictures");
    QString shown = QDir("pictures").absoluteFilePath(name + ".actual.png");
    actual.save(shown);
    QFAIL(qPrintable(QStringLiteral("%1 differs from %2 by %3 of 255 in a tile; "
                                    "FUSELAGE_BLESS=1 rewrites it")
                         .arg(shown, path)
                         .arg(worst)));
}

/// A place of the scene in a picture of the canvas at ratio 1.
QPointF placeOn(const Canvas& canvas, double x, double y) {
    const Viewport& view = canvas.viewport();
    return (QPointF(x, y) - view.centre) * view.zoom +
           QPointF(canvas.width() / 2.0, canvas.height() / 2.0);
}

/// Of the pixel that stands out most from the commonest colour of the area: letters on their
/// ground, as large as they must be for strokes of whole pixels.
double contrastIn(const QImage& image, const QRect& area) {
    QHash<QRgb, int> counts;
    for (int y = area.top(); y <= area.bottom(); ++y)
        for (int x = area.left(); x <= area.right(); ++x)
            ++counts[image.pixel(x, y)];
    QRgb ground = 0;
    for (auto it = counts.cbegin(); it != counts.cend(); ++it)
        if (it.value() > counts.value(ground))
            ground = it.key();
    double best = 1;
    for (auto it = counts.cbegin(); it != counts.cend(); ++it)
        best = std::max(best, contrast(QColor(it.key()), QColor(ground)));
    return best;
}

/// Two blocks before and after, with figures that no cost model moves.
DrawingPtr network() {
    Pair pair = residualNetwork(2);
    scene::SideFigures figures;
    double share = 0;
    for (const auto& node : pair.before.nodes)
        figures.before[node.name] = {1e5, 1e-6, 1e-7, true, 1, "Contraction"};
    for (const auto& node : pair.after.nodes)
        figures.after[node.name] = {2e5, 2e-6 * ++share, 1e-9 * std::pow(30, share), true,
                                    1,   "Contraction"};
    Progress progress;
    auto scene = scene::build({pair.before, pair.after, figures}, {}, progress);
    return std::make_shared<const Drawing>(std::move(*scene));
}

app::Report chartReport() {
    app::Report report;
    report.machine.dramBandwidth = 1e11;
    report.machine.l2Bandwidth = 4e11;
    report.machine.peakFlops = 1e12;
    report.before.traffic = {4'000'000, 2'000'000, 5'000'000, 4'500'000};
    report.after.traffic = {1'000'000, 1'000'000, 1'800'000, 1'500'000};
    report.before.launches = 12;
    report.before.peakBytes = 3'000'000;
    report.after.peakBytes = 2'000'000;
    report.before.predictedSeconds = 20e-6;
    report.after.predictedSeconds = 10e-6;
    report.after.launches = 4;
    for (int i = 0; i < 4; ++i) {
        app::KernelReport kernel;
        kernel.name = kernel.node = "fused_" + std::to_string(i);
        kernel.rule = i % 2 ? "ConvBNReLU" : "MatMulBias";
        kernel.kind = "Contraction";
        kernel.predictedSeconds = 1e-6 * (1 + i);
        kernel.traffic = report.after.traffic;
        report.after.kernels.push_back(kernel);
        report.before.kernels.push_back(kernel);
        report.before.kernels.back().predictedSeconds *= 2;
        app::MatchReport match;
        match.fusedNode = kernel.name;
        match.rule = kernel.rule;
        match.nodes = {"a", "b", "c"};
        match.bytesBefore = 1'000'000 * (i + 2);
        match.bytesAfter = 500'000;
        match.launchesBefore = 3;
        match.launchesAfter = 1;
        match.flops = 400'000 * (i + 1);
        match.secondsBefore = 3e-6 * (i + 2);
        match.secondsAfter = 1e-6 * (i + 1);
        report.matches.push_back(match);
    }
    report.rules = {{"ConvBNReLU", "r.fuse", 1, 2, 0, 4, 2'500'000},
                    {"MatMulBias", "r.fuse", 9, 2, 0, 4, 1'000'000}};
    return report;
}

} // namespace

class PicturesTest : public QObject {
    Q_OBJECT

private Q_SLOTS:

    void initTestCase() {
        if (!QFontDatabase::families().contains("DejaVu Sans"))
            QSKIP("the font DejaVu Sans is not installed (fonts-dejavu-core)");
        QApplication::setStyle(QStyleFactory::create("Fusion"));
        QApplication::setFont(QFont("DejaVu Sans", 9));
        m_network = network();
    }

    void theCanvasAtEveryDetail_data() {
        QTest::addColumn<int>("side");
        QTest::addColumn<double>("zoom");
        QTest::addColumn<bool>("dark");
        QTest::addColumn<double>("ratio");
        QTest::newRow("areas-light") << int(scene::Before) << 0.1 << false << 1.0;
        QTest::newRow("boxes-light") << int(scene::Before) << 0.3 << false << 1.0;
        QTest::newRow("boxes-dark") << int(scene::Before) << 0.3 << true << 1.0;
        QTest::newRow("titles-light") << int(scene::Before) << 0.5 << false << 1.0;
        QTest::newRow("full-light") << int(scene::Before) << 1.0 << false << 1.0;
        QTest::newRow("full-dark") << int(scene::Before) << 1.0 << true << 1.0;
        QTest::newRow("full-light-2x") << int(scene::Before) << 1.0 << false << 2.0;
        QTest::newRow("after-light") << int(scene::After) << 1.0 << false << 1.0;
    }

    void theCanvasAtEveryDetail() {
        QFETCH(int, side);
        QFETCH(double, zoom);
        QFETCH(bool, dark);
        QFETCH(double, ratio);
        Canvas canvas(static_cast<scene::Side>(side), nullptr);
        expectPicture(QStringLiteral("canvas-") + QTest::currentDataTag(),
                      pictureOf(prepared(canvas, zoom, {}), {360, 300}, ratio, dark));
    }

    void aSelectionFadesTheRest() {
        Canvas canvas(scene::Before, nullptr);
        PaintStyle style;
        size_t count = m_network->scene().boxes.size();
        style.selected.assign(count, 0);
        style.faded.assign(count, 1);
        uint32_t box = m_network->boxOf(scene::Before, "/stage0/0/conv1/Conv");
        style.selected[box] = 1;
        style.faded[box] = 0;
        expectPicture("canvas-selection",
                      pictureOf(prepared(canvas, 1, style), {360, 300}, 1, false));
    }

    void fadedLettersCanBeRead_data() {
        QTest::addColumn<QString>("what");
        QTest::addColumn<bool>("dark");
        QTest::addColumn<QString>("overlay");
        for (const char* what : {"before", "after", "unfused"})
            for (bool dark : {false, true})
                for (const char* overlay : {"none", "time", "rule", "family"})
                    QTest::addRow("%s-%s-%s", what, dark ? "dark" : "light", overlay)
                        << QString(what) << dark << QString(overlay);
    }

    void fadedLettersCanBeRead() {
        QFETCH(QString, what);
        QFETCH(bool, dark);
        QFETCH(QString, overlay);
        constexpr double zoom = 4; // strokes of several pixels
        const scene::Side side = what == "after" ? scene::After : scene::Before;
        // Without a side after, boxes have badges for their weights.
        const auto drawing =
            what == "unfused"
                ? std::make_shared<const Drawing>(built(residualNetwork(2).before, {}))
                : m_network;
        const scene::Scene& scene = drawing->scene();
        for (const bool faded : {true, false}) {
            Canvas canvas(side, nullptr);
            PaintStyle style;
            if (faded)
                style.faded.assign(scene.boxes.size(), 1);
            for (const OverlayRow& row : overlays())
                if (overlay == row.id)
                    style.fill = row.paint(*drawing, side, Colours(paletteOf(dark))).fill;
            int texts = 0, badges = 0;
            for (const scene::Box& box : scene.boxes) {
                if (!(box.sides & side))
                    continue;
                Canvas& at = prepared(canvas, zoom, style, drawing);
                const QSize size(int(box.rect.w * zoom) + 40, int(box.rect.h * zoom) + 40);
                at.resize(size);
                at.setViewport({{box.rect.x + box.rect.w / 2, box.rect.y + box.rect.h / 2}, zoom});
                const QImage image = pictureOf(at, size, 1, dark);
                const auto check = [&](const std::string& text, double x, double top, double w,
                                       double h, int& count) {
                    const QRect area =
                        QRectF(placeOn(at, x, top), QSizeF(w, h) * zoom).toAlignedRect();
                    const double found = contrastIn(image, area);
                    QVERIFY2(found >= readableContrast - 0.05, // letters are mixed in whole steps
                             qPrintable(QString("%1 of %2%3: %4 : 1")
                                            .arg(QString::fromStdString(text),
                                                 QString::fromStdString(box.name),
                                                 faded ? ", faded" : "")
                                            .arg(found)));
                    ++count;
                };
                double y = scene::textTop(box) + 18;
                check(box.title, box.rect.x + 10, y - 10, 30, 11, texts);
                for (const std::string& line : box.lines)
                    check(line, box.rect.x + 10, (y += scene::lineHeight) - 8, 20, 9, texts);
                double x = box.rect.x + 10;
                for (const scene::Badge& badge : box.badges) {
                    const double width = scene::badgeWidth(badge.text);
                    const bool beside = scene::badgeBeside(box.badges);
                    check(badge.text, (beside ? box.rect.right() - width - 5 : x) + 4,
                          (beside ? box.rect.y + 5 : y + 5) + 2, width - 8, scene::badgeHeight - 4,
                          badges);
                    x += width + 4;
                }
            }
            QVERIFY(texts >= 8);
            QVERIFY(what == "before" || badges >= 4);
        }
    }

    void linesAreAsWideAtEveryZoom_data() {
        QTest::addColumn<double>("zoom");
        for (double zoom : {0.65, 1.0, 2.0, 4.0})
            QTest::addRow("%.2f", zoom) << zoom;
    }

    void linesAreAsWideAtEveryZoom() {
        QFETCH(double, zoom);
        const uint32_t b = m_network->boxOf(scene::Before, "/stage0/0/conv1/Conv");
        const scene::Rect& rect = m_network->scene().boxes[b].rect;
        const Colours colours(paletteOf(false));
        /// Pixels of ink across the left outline of the box.
        const auto inkAcross = [&](const PaintStyle& style, const QColor& line) {
            Canvas canvas(scene::Before, nullptr);
            prepared(canvas, zoom, style);
            canvas.setViewport({{rect.x, rect.y + rect.h / 2}, zoom});
            const QImage image = pictureOf(canvas, {360, 300}, 1, false);
            const QPointF middle = placeOn(canvas, rect.x, rect.y + rect.h * 0.5);
            double ink = 0;
            for (int x = int(middle.x()) - 3; x <= int(middle.x()) + 3; ++x) {
                // Of green, which all of these inks take away from what is below.
                const double ground = qGreen(image.pixel(int(middle.x()) + 5, int(middle.y())));
                ink += std::max(0.0, ground - qGreen(image.pixel(x, int(middle.y())))) /
                       (ground - line.green());
            }
            return ink;
        };
        const std::string& token = m_network->scene().boxes[b].token;
        const double plain = inkAcross({}, colours[token + ".line"]);
        QVERIFY2(std::abs(plain - 1) < 0.35, qPrintable(QString("%1 pixels").arg(plain)));
        PaintStyle style;
        style.selected.assign(m_network->scene().boxes.size(), 0);
        style.selected[b] = 1;
        const double selected = inkAcross(style, colours["selection"]);
        QVERIFY2(std::abs(selected - 3) < 0.35, qPrintable(QString("%1 pixels").arg(selected)));
    }

    void aNearMissIsDrawn_data() {
        QTest::addColumn<bool>("dark");
        QTest::newRow("light") << false;
        QTest::newRow("dark") << true;
    }

    void aNearMissIsDrawn() {
        QFETCH(bool, dark);
        Canvas canvas(scene::Before, nullptr);
        PaintStyle style;
        style.marks = marksOn(*m_network, scene::Before,
                              {{NodeMark::Kind::Bound, false, "/stage0/0/conv1/Conv"},
                               {NodeMark::Kind::Failed, false, "/stage0/0/relu/Relu",
                                "M0101\nfound: Relu\nthe rule wants: Sigmoid"}});
        QCOMPARE(style.marks.size(), size_t(2));
        expectPicture(QStringLiteral("canvas-near-miss-") + QTest::currentDataTag(),
                      pictureOf(prepared(canvas, 0.8, style), {480, 300}, 1, dark));
    }

    void overlaysColourBoxes_data() {
        QTest::addColumn<QString>("id");
        QTest::newRow("time") << "time";
        QTest::newRow("error") << "error";
    }

    void overlaysColourBoxes() {
        QFETCH(QString, id);
        Canvas canvas(scene::After, nullptr);
        PaintStyle style;
        for (const OverlayRow& row : overlays())
            if (id == row.id)
                style.fill = row.paint(*m_network, scene::After, Colours(paletteOf(false))).fill;
        expectPicture("canvas-overlay-" + id,
                      pictureOf(prepared(canvas, 0.7, style), {360, 300}, 1, false));
    }

    void charts_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<bool>("dark");
        QTest::newRow("traffic") << "traffic" << false;
        QTest::newRow("waterfall") << "waterfall" << false;
        QTest::newRow("timeline") << "timeline" << false;
        QTest::newRow("roofline-light") << "roofline" << false;
        QTest::newRow("roofline-dark") << "roofline" << true;
    }

    void charts() {
        QFETCH(QString, name);
        QFETCH(bool, dark);
        SelectionHub hub;
        ChartView view(hub, nullptr);
        app::Report report = chartReport();
        view.setChart(name == "traffic"     ? chart::beforeAfterBars(report)
                      : name == "waterfall" ? chart::trafficWaterfall(report)
                      : name == "timeline"  ? chart::timelineLanes(report)
                                            : chart::roofline(report));
        expectPicture(QStringLiteral("chart-") + QTest::currentDataTag(),
                      pictureOf(view, {640, view.heightForWidth(640)}, 1, dark));
    }

private:
    Canvas& prepared(Canvas& canvas, double zoom, PaintStyle style) {
        return prepared(canvas, zoom, std::move(style), m_network);
    }

    static Canvas& prepared(Canvas& canvas, double zoom, PaintStyle style,
                            const DrawingPtr& drawing) {
        canvas.setDrawing(drawing);
        canvas.setStyle(std::move(style));
        const scene::Rect& all = drawing->scene().rect;
        canvas.resize(360, 300);
        canvas.setViewport({{all.x + all.w / 2, all.y + 150 / zoom - 10}, zoom});
        return canvas;
    }

    DrawingPtr m_network;
};

QTEST_MAIN(PicturesTest)
#include "pictures_test.moc"
