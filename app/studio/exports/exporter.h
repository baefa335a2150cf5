// SPDX-License-Identifier: Apache-2.0
// Ctrl+E: asks what and where, gathers what is on the screen, writes it in the background.
#pragma once

#include "app/studio/exports/export_dialog.h"
#include "app/studio/exports/export_format.h"
#include "app/studio/exports/picture.h"
#include "app/studio/graph_view/canvas_pair.h"

#include <QMainWindow>

namespace fuselage::studio {

class Exporter : public QObject {
    Q_OBJECT

public:
    Exporter(Workbench& workbench, CanvasPair& canvases, QMainWindow& window);

    /// Dialogs for what and where.
    void ask();

    /// A form for a picture of what is on the screen or of the whole graph, then where.
    void askPicture();

    /// Writes what the ending of the name says. False: no such format, or nothing is open.
    bool writeFile(const QString& path);

    /// The same in a format, whatever the name says. False: nothing is open.
    bool writeAs(const ExportFormat& format, const QString& path);

    /// Under this very name. False: nothing is open.
    bool writePicture(const PictureChoice& choice, const QString& path);

    /// To the clipboard. False: nothing is open.
    bool copyPicture(const PictureChoice& choice);

    /// Rows of the panel's table as shown.
    bool writeTable(const QString& panel, const QString& path);

    bool busy() const { return m_lane.busy(); }

Q_SIGNALS:
    void written(const QString& path);
    void copied();

private:
    std::optional<ExportSource> source() const;
    QString nameOf(const ExportChoice& choice) const;
    QString commandOf(const ExportChoice& choice) const;
    void askWhere(const ExportChoice& choice);
    void start(const QString& path, std::function<Result<void>()> work);

    Workbench& m_workbench;
    CanvasPair& m_canvases;
    QMainWindow& m_window;
    JobLane m_lane;
};

} // namespace fuselage::studio
