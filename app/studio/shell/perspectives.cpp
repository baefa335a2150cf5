// SPDX-License-Identifier: Apache-2.0
#include "app/studio/shell/perspectives.h"

#include <QDockWidget>

namespace fuselage::studio {

const std::vector<Perspective>& perspectives() {
    static const std::vector<Perspective> all = {
        {"explore",
         "Explore",
         "Alt+1",
         {"outline", "inspector", "matches", "kernels", "why_not", "traffic", "problems"}},
        {"rules",
         "Rules",
         "Alt+2",
         {"editor", "outline", "inspector", "why_not", "steps", "matches", "problems"}},
        {"measure",
         "Measure",
         "Alt+3",
         {"inspector", "kernels", "timeline", "roofline", "traffic", "runs", "problems"}},
        {"compare", "Compare", "Alt+4", {"runs", "kernels", "timeline", "inspector"}},
    };
    return all;
}

void apply(const Perspective& perspective, QMainWindow& window) {
    for (QDockWidget* dock : window.findChildren<QDockWidget*>())
        dock->setVisible(perspective.panels.contains(dock->objectName()));
    QList<Qt::DockWidgetArea> raised;
    for (const QString& id : perspective.panels)
        if (auto* dock = window.findChild<QDockWidget*>(id)) {
            Qt::DockWidgetArea area = window.dockWidgetArea(dock);
            if (!raised.contains(area))
                dock->raise();
            raised.append(area);
        }
}

} // namespace fuselage::studio
