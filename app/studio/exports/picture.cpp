// SPDX-License-Identifier: Apache-2.0
#include "app/studio/exports/picture.h"

#include "app/report/svg.h"
#include "core/support/file.h"

#include <QBuffer>
#include <algorithm>
#include <cmath>

namespace fuselage::studio {

namespace {

/// Pixels of a unit of the scene.
double zoomOf(const PictureChoice& choice) {
    return choice.whole ? choice.scale : choice.view.zoom * choice.scale;
}

QImage paint(const PictureChoice& choice, const ExportSource& source) {
    const QRectF area = areaOf(choice, *source.drawing);
    QImage image(sizeOf(choice, *source.drawing), QImage::Format_RGB32);
    if (image.isNull())
        return image;
    const Colours colours(source.palette);
    image.fill(colours["background"]);
    QPainter painter(&image);
    painter.scale(zoomOf(choice), zoomOf(choice));
    painter.translate(-area.topLeft());
    // A view looks as on the screen; of the whole graph everything can be read, and its lines grow
    // with it.
    constexpr double readable = 0.6;
    paintScene(painter, *source.drawing, choice.side, area,
               choice.whole ? std::clamp(choice.scale, readable, 1.0) : choice.view.zoom, colours,
               choice.side == scene::Before ? source.before : source.after);
    return image;
}

} // namespace

QRectF areaOf(const PictureChoice& choice, const Drawing& drawing) {
    constexpr double margin = 20;
    const scene::Rect& all = drawing.scene().rect;
    if (choice.whole)
        return QRectF(all.x, all.y, all.w, all.h).adjusted(-margin, -margin, margin, margin);
    const QSizeF size = QSizeF(choice.canvas) / choice.view.zoom;
    return {choice.view.centre - QPointF(size.width(), size.height()) / 2, size};
}

QSize sizeOf(const PictureChoice& choice, const Drawing& drawing) {
    const QSizeF size = choice.whole ? areaOf(choice, drawing).size() * zoomOf(choice)
                                     : QSizeF(choice.canvas) * choice.scale;
    constexpr double most = 1e9; // a scale that nobody means fits an int
    return {static_cast<int>(std::clamp(std::round(size.width()), 1.0, most)),
            static_cast<int>(std::clamp(std::round(size.height()), 1.0, most))};
}

double mostScale(const PictureChoice& choice, const Drawing& drawing) {
    PictureChoice one = choice;
    one.scale = 1;
    return mostPictureScale(areaOf(one, drawing).size() * zoomOf(one));
}

PaintStyle withoutSelection(PaintStyle style) {
    style.selected.clear();
    style.faded.clear();
    style.hits.clear();
    return style;
}

Result<QImage> makePicture(const PictureChoice& choice, const ExportSource& source) {
    if (choice.scale > mostScale(choice, *source.drawing) * 1.001)
        return failure("save.picture", "the picture would be too large for other programs", {},
                       "choose a smaller scale, or SVG");
    QImage image = paint(choice, source);
    if (image.isNull())
        return failure("save.picture", "there is no memory for the picture", {},
                       "choose a smaller scale, or SVG");
    return image;
}

Result<void> writePicture(const PictureChoice& choice, const ExportSource& source,
                          const QString& path) {
    const std::string where = path.toStdString();
    if (choice.svg) {
        const QRectF area = areaOf(choice, *source.drawing);
        return writeFile(app::svgDocument(source.drawing->scene(), choice.side,
                                          {area.x(), area.y(), area.width(), area.height()},
                                          zoomOf(choice)),
                         where);
    }
    const Result<QImage> image = makePicture(choice, source);
    if (!image)
        return failure(image.error());
    QByteArray bytes;
    QBuffer buffer(&bytes);
    if (!image->save(&buffer, "PNG"))
        return failure("save.picture", "there is no memory for the picture", where,
                       "choose a smaller scale, or SVG");
    return writeFile(std::string_view(bytes.constData(), static_cast<size_t>(bytes.size())), where);
}

} // namespace fuselage::studio
