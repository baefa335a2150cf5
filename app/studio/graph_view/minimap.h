// SPDX-License-Identifier: Apache-2.0
// The whole side beside its canvas, with the visible part; a click or drag goes there. Shows the
// overlay's colours, so it is the heat map, too.
#pragma once

#include "app/studio/graph_view/canvas.h"

#include <QPixmap>

namespace fuselage::studio {

class Minimap : public QWidget {
    Q_OBJECT

public:
    Minimap(Canvas& canvas, QWidget* parent);

    /// Whether it is to be there at all.
    void setWanted(bool wanted);

    /// The drawing or its colours changed: the picture is made anew when it is next painted.
    void refresh();

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    bool event(QEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    double scale() const;
    QPointF origin() const; ///< of the scene in the widget
    void place();
    void go(const QPointF& position);

    Canvas& m_canvas;
    QPixmap m_picture;
    bool m_wanted = true;
};

} // namespace fuselage::studio
