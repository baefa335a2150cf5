// SPDX-License-Identifier: Apache-2.0
// Paints a chart of app/report/chart and selects what its parts stand for. Scales to the width, and
// to the height that is in view as long as that stays readable.
#pragma once

#include "app/report/chart/chart.h"
#include "app/studio/workbench/workbench.h"

#include <QWidget>

namespace fuselage::studio {

class ChartView : public QWidget {
    Q_OBJECT

public:
    ChartView(SelectionHub& selection, QWidget* parent);

    void setChart(chart::Chart chart);
    /// Height in pixels that the whole chart should fit into.
    void setHeightInView(int height);

    int heightForWidth(int width) const override;
    bool hasHeightForWidth() const override { return true; }
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    bool event(QEvent* event) override;

private:
    void fit();
    double scale() const { return m_zoom * scaleFor(width() / m_zoom); }
    bool isSelected(const chart::Primitive& primitive) const;
    double scaleFor(int width) const;
    const chart::Primitive* at(const QPointF& position) const;

    SelectionHub& m_selection;
    chart::Chart m_chart;
    int m_heightInView = 0; ///< 0: any
    double m_zoom = 1;      ///< Ctrl and the wheel
};

/// A scroll area with charts below each other that follow the session's report.
QWidget* makeChartPanel(Workbench& workbench, QWidget* parent,
                        std::vector<chart::Chart (*)(const app::Report&)> charts);

} // namespace fuselage::studio
