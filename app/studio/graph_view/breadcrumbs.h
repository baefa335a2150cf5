// SPDX-License-Identifier: Apache-2.0
// Where a person is in a nested graph: the containers around what is selected, or around the middle
// of the view, from the outside in. Each one is a link that shows it whole.
#pragma once

#include "app/studio/graph_view/canvas.h"
#include "app/studio/workbench/said_label.h"

#include <QTimer>

namespace fuselage::studio {

class Breadcrumbs : public SaidLabel {
    Q_OBJECT

public:
    Breadcrumbs(Canvas& canvas, QWidget* parent);

    /// Soon: the selection or the view changed.
    void refresh() { m_pause.start(); }

    /// Labels from the outside in, without the model.
    QStringList path() const { return m_path; }

    /// Shows the container around the innermost one; the whole model at last.
    void goOut();

private:
    void update();
    void go(uint32_t container);

    Canvas& m_canvas;
    QTimer m_pause;
    QStringList m_path;
    std::vector<uint32_t> m_containers; ///< from the outside in
};

} // namespace fuselage::studio
