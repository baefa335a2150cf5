// SPDX-License-Identifier: Apache-2.0
#include "app/studio/shell/thumbnails.h"

#include "app/studio/graph_view/scene_painter.h"

#include <QCryptographicHash>
#include <QDir>
#include <QFileInfo>
#include <QPainter>
#include <QSaveFile>
#include <QStandardPaths>
#include <algorithm>

namespace fuselage::studio {

namespace {

constexpr int mostKept = 40;
constexpr double dense = 2; ///< pixels of a logical one

QString folder() {
    return QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) +
           QStringLiteral("/pictures");
}

/// A picture is a help: where it cannot be written there is none.
void write(const QImage& image, const QString& path) {
    QDir().mkpath(folder());
    QSaveFile file(path);
    if (!file.open(QFile::WriteOnly) || !image.save(&file, "PNG") || !file.commit())
        return;
    QDir all(folder());
    const QStringList files = all.entryList({QStringLiteral("*.png")}, QDir::Files, QDir::Time);
    for (qsizetype i = mostKept; i < files.size(); ++i)
        all.remove(files[i]);
}

} // namespace

QString Thumbnails::fileOf(const QString& model) {
    const QByteArray name = QFileInfo(model).absoluteFilePath().toUtf8();
    return folder() + '/' +
           QCryptographicHash::hash(name, QCryptographicHash::Sha1).toHex().left(20) +
           QStringLiteral(".png");
}

void Thumbnails::keep(const QString& model, const DrawingPtr& drawing, const QPalette& palette) {
    if (model.isEmpty() || !drawing || drawing->scene().boxes.empty() || m_kept.lock() == drawing)
        return;
    m_kept = drawing;
    m_lane.start([path = fileOf(model), drawing, palette](Progress&) -> JobLane::Delivery {
        write(thumbnailOf(*drawing, palette), path);
        return [] {};
    });
}

QImage thumbnailOf(const Drawing& drawing, const QPalette& palette) {
    // Narrower, a chain would be a line; wider, boxes would be dust.
    constexpr double narrowest = 420, widest = 2600;
    const scene::Rect& all = drawing.scene().rect;
    const double across = std::clamp(all.w + 40, narrowest, widest);
    const double zoom = Thumbnails::width * dense / across;
    QRectF area(all.x + (all.w - across) / 2, all.y - 20, across,
                across * Thumbnails::height / Thumbnails::width);
    if (all.w > across) { // of a wide one, where its first boxes are
        double x = all.x;
        for (const scene::Box& box : drawing.scene().boxes)
            if ((box.sides & scene::Before) && box.kind == scene::Box::Kind::Input)
                x = box.rect.x + box.rect.w / 2 - across / 2;
        area.moveLeft(std::clamp(x, all.x, all.right() - across));
    }
    if (all.h < area.height())
        area.moveTop(all.y + (all.h - area.height()) / 2);
    QImage image(QSize(Thumbnails::width, Thumbnails::height) * dense, QImage::Format_RGB32);
    const Colours colours(palette);
    image.fill(colours["background"]);
    QPainter painter(&image);
    painter.scale(zoom, zoom);
    painter.translate(-area.topLeft());
    paintScene(painter, drawing, scene::Before, area, zoom, colours, {});
    painter.end();
    image.setDevicePixelRatio(dense);
    return image;
}

} // namespace fuselage::studio
