// SPDX-License-Identifier: Apache-2.0
#include "app/studio/exports/export_format.h"

#include "app/pipeline/fuse_plan.h"
#include "app/report/render.h"
#include "app/report/svg.h"
#include "app/studio/session/lost_pages.h"
#include "core/onnx/model_file.h"
#include "core/support/file.h"

#include <QBuffer>
#include <QFile>
#include <QFileInfo>
#include <QImage>
#include <QPageSize>
#include <QPdfWriter>
#include <algorithm>
#include <cmath>

namespace fuselage::studio {

namespace {

constexpr double pictureScale = 2;
/// A page of PDF is 200 inches at most; a logical pixel is a point.
constexpr double mostPoints = 14'400;
constexpr int dotsPerPoint = 10;

Result<void> writeSvg(const ExportSource& source, const QString& path, scene::Side side) {
    return writeFile(app::svgDocument(source.drawing->scene(), side), path.toStdString());
}

Result<void> writePng(const ExportSource& source, const QString& path, scene::Side side) {
    QImage image =
        pictureOf(*source.drawing, side, side == scene::Before ? source.before : source.after,
                  source.palette, pictureScale);
    QByteArray bytes;
    QBuffer buffer(&bytes);
    if (!image.save(&buffer, "PNG"))
        return failure("save.picture", "the picture cannot be made", path.toStdString(),
                       "export SVG instead");
    return writeFile(std::string_view(bytes.constData(), static_cast<size_t>(bytes.size())),
                     path.toStdString());
}

QRectF areaOf(const Drawing& drawing) {
    const scene::Rect& all = drawing.scene().rect;
    return QRectF(all.x, all.y, all.w, all.h).adjusted(-20, -20, 20, 20);
}

/// One page of lines and text, as large as the drawing.
Result<void> writePdf(const ExportSource& source, const QString& path, scene::Side side) {
    QRectF area = areaOf(*source.drawing);
    double scale = std::min(1.0, mostPoints / std::max(area.width(), area.height()));
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    QPdfWriter writer(&buffer);
    writer.setTitle(QFileInfo(path).completeBaseName());
    writer.setResolution(72 * dotsPerPoint);
    writer.setPageSize(QPageSize(area.size() * scale, QPageSize::Point, {}, QPageSize::ExactMatch));
    writer.setPageMargins({});
    QPainter painter;
    if (!painter.begin(&writer))
        return failure("save.picture", "the page cannot be made", path.toStdString(),
                       "export SVG instead");
    Colours colours(source.palette);
    painter.scale(scale * dotsPerPoint, scale * dotsPerPoint);
    painter.translate(-area.topLeft());
    painter.fillRect(area, colours["background"]);
    paintScene(painter, *source.drawing, side, area, 1, colours,
               side == scene::Before ? source.before : source.after);
    painter.end();
    return writeFile(std::string_view(bytes.constData(), static_cast<size_t>(bytes.size())),
                     path.toStdString());
}

std::vector<ExportFormat> makeFormats() {
    using Source = const ExportSource&;
    using Path = const QString&;
    std::vector<ExportFormat> out = {
        {".before.svg", QObject::tr("Graph before fusion, drawing"),
         [](Source s, Path path) { return writeSvg(s, path, scene::Before); }},
        {".after.svg", QObject::tr("Graph after fusion, drawing"),
         [](Source s, Path path) { return writeSvg(s, path, scene::After); }},
        {".before.png", QObject::tr("Graph before fusion, picture"),
         [](Source s, Path path) { return writePng(s, path, scene::Before); }},
        {".after.png", QObject::tr("Graph after fusion, picture"),
         [](Source s, Path path) { return writePng(s, path, scene::After); }},
        {".before.pdf", QObject::tr("Graph before fusion, page"),
         [](Source s, Path path) { return writePdf(s, path, scene::Before); }},
        {".after.pdf", QObject::tr("Graph after fusion, page"),
         [](Source s, Path path) { return writePdf(s, path, scene::After); }},
        {".fuseplan", QObject::tr("Matches that are applied, for fuselage --plan"),
         [](Source s, Path path) {
             const app::FusePlan plan = app::planOf(
                 s.snapshot->model->graph, s.snapshot->analysis.trace, s.snapshot->precision);
             return writeFile(app::planText(plan), path.toStdString());
         }},
        {".onnx", QObject::tr("Fused model"),
         [](Source s, Path path) -> Result<void> {
             auto saved = model_io::save(*s.snapshot->analysis.fused, path.toStdString());
             if (!saved)
                 return failure(saved.error());
             if (!LostPages::any()) // writing may be what finds out
                 return {};
             QFile::remove(path);
             return failure("load.external_shorter",
                            "a data file of the model became shorter while it was open, so that "
                            "its weights are not whole",
                            path.toStdString(), "load the model again when it is whole");
         }},
    };
    for (const app::ReportFormat& format : app::reportFormats())
        out.push_back({format.ending, QObject::tr(format.title),
                       [render = format.render](Source s, Path path) {
                           return writeFile(render(*s.report), path.toStdString());
                       }});
    for (ExportFormat& format : out)
        format.title = titled(format.title, format.ending);
    return out;
}

} // namespace

double mostPictureScale(const QSizeF& size) {
    constexpr double side = 16'000, pixels = 120e6;
    return std::min(side / std::max(size.width(), size.height()),
                    std::sqrt(pixels / (size.width() * size.height())));
}

QString titled(const QString& title, const QString& ending) {
    return QStringLiteral("%1 (%2)").arg(title, ending);
}

const std::vector<ExportFormat>& exportFormats() {
    static const std::vector<ExportFormat> all = makeFormats();
    return all;
}

const ExportFormat* exportFormatOf(const QString& path) {
    const ExportFormat* best = nullptr;
    for (const ExportFormat& format : exportFormats())
        if (path.endsWith(format.ending, Qt::CaseInsensitive) &&
            (!best || format.ending.size() > best->ending.size()))
            best = &format;
    return best;
}

QImage pictureOf(const Drawing& drawing, scene::Side side, const PaintStyle& style,
                 const QPalette& palette, double scale) {
    QRectF area = areaOf(drawing);
    // A picture of a huge graph is made smaller rather than refused.
    scale = std::min(scale, mostPictureScale(area.size()));
    QImage image((area.size() * scale).toSize().expandedTo({1, 1}), QImage::Format_RGB32);
    Colours colours(palette);
    image.fill(colours["background"]);
    QPainter painter(&image);
    painter.scale(scale, scale);
    painter.translate(-area.topLeft());
    paintScene(painter, drawing, side, area, std::clamp(scale, 0.6, 1.0), colours, style);
    return image;
}

} // namespace fuselage::studio
