// SPDX-License-Identifier: Apache-2.0
// Where the keyboard goes in the window: from widget to widget by Tab, from panel to panel by F6.
#include "app/studio/shell/main_window.h"

#include <QAbstractScrollArea>
#include <QDockWidget>

namespace fuselage::studio {

namespace {

/// Docks behind others are visible to Qt, at places outside of the window. What only has to be
/// scrolled to can be seen.
bool canBeSeen(const QWidget& widget) {
    const QWidget* judged = &widget;
    for (const QWidget* each = &widget; each; each = each->parentWidget())
        if (qobject_cast<const QAbstractScrollArea*>(each))
            judged = each;
    return widget.isVisible() && !judged->visibleRegion().isEmpty();
}

bool takesTab(const QWidget& widget) {
    return (widget.focusPolicy() & Qt::TabFocus) == Qt::TabFocus && widget.isEnabled() &&
           !widget.focusProxy() && canBeSeen(widget);
}

} // namespace

bool MainWindow::focusNextPrevChild(bool next) {
    QWidget* from = focusWidget() ? focusWidget() : this;
    const auto after = [next](const QWidget* widget) {
        return next ? widget->nextInFocusChain() : widget->previousInFocusChain();
    };
    for (QWidget* at = after(from); at != from; at = after(at))
        if (at->window() == this && takesTab(*at)) {
            at->setFocus(next ? Qt::TabFocusReason : Qt::BacktabFocusReason);
            return true;
        }
    return false;
}

/// What the panel says is its heart (a table, a text), else the first widget that takes the focus.
void MainWindow::focusInside(QWidget* panel) {
    if (panel->focusProxy() || (panel->focusPolicy() & Qt::TabFocus))
        return panel->setFocus();
    for (QWidget* each : panel->findChildren<QWidget*>())
        if (takesTab(*each))
            return each->setFocus();
    panel->setFocus();
}

/// From the centre through the panels that are in view, and around.
void MainWindow::cyclePanels(int direction) {
    bool opened = m_centre->currentWidget() == m_canvases;
    QList<QWidget*> stops{opened ? static_cast<QWidget*>(&m_canvases->canvas(scene::Before))
                                 : m_start};
    for (QDockWidget* dock : findChildren<QDockWidget*>())
        if (dock->isVisible() && !dock->visibleRegion().isEmpty())
            stops << dock->widget();
    qsizetype at = direction > 0 ? -1 : 0;
    for (qsizetype i = 0; i < stops.size(); ++i)
        if (focusWidget() && (stops[i] == focusWidget() || stops[i]->isAncestorOf(focusWidget())))
            at = i;
    focusInside(stops[(at + direction + stops.size()) % stops.size()]);
}

} // namespace fuselage::studio
