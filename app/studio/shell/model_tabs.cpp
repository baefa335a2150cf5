// SPDX-License-Identifier: Apache-2.0
#include "app/studio/shell/model_tabs.h"

#include <QFileInfo>
#include <algorithm>

namespace fuselage::studio {

ModelTabs::ModelTabs(Workbench& workbench, CanvasPair& canvases, QWidget* parent)
    : QTabBar(parent), m_workbench(workbench), m_canvases(canvases) {
    setObjectName("models");
    setAccessibleName(tr("open models"));
    setTabsClosable(true);
    setMovable(true);
    setExpanding(false);
    setDocumentMode(true);
    setElideMode(Qt::ElideMiddle);
    hide();
    connect(this, &QTabBar::currentChanged, this, &ModelTabs::wanted);
    connect(this, &QTabBar::tabCloseRequested, this, &ModelTabs::close);
    connect(&workbench.session, &Session::modelOpened, this, &ModelTabs::opened);
    // What was chosen in the model that is shown, for when it is shown again.
    connect(&canvases.canvas(scene::Before), &Canvas::viewportChanged, this, &ModelTabs::keep);
    connect(&workbench.session, &Session::snapshotChanged, this, &ModelTabs::keep);
}

QStringList ModelTabs::models() const {
    QStringList out;
    for (int tab = 0; tab < count(); ++tab)
        out << tabData(tab).toString();
    return out;
}

int ModelTabs::place(const QString& path) const {
    return static_cast<int>(models().indexOf(path));
}

int ModelTabs::add(const QString& path) {
    if (const int there = place(path); there >= 0)
        return there;
    const bool before = std::exchange(m_following, true);
    const int tab = addTab(QFileInfo(path).fileName());
    setTabData(tab, path);
    setTabToolTip(tab, path);
    m_following = before;
    setVisible(count() > 1);
    return tab;
}

void ModelTabs::addModels(const QStringList& paths) {
    for (const QString& path : paths)
        if (QFileInfo::exists(path))
            add(QFileInfo(path).absoluteFilePath());
}

void ModelTabs::keep() {
    const DrawingPtr& drawing = m_canvases.canvas(scene::Before).drawing();
    if (m_shown.isEmpty() || !drawing || m_canvases.drawing() || m_workbench.session.busy())
        return; // what is on the screen may be of the model before
    const SessionOptions& options = m_workbench.session.options();
    m_kept[m_shown] = {m_canvases.canvas(scene::Before).viewport(), options.fuse.disabled,
                       options.precisionOf};
}

void ModelTabs::opened(const QString& path) {
    const QString absolute = QFileInfo(path).absoluteFilePath();
    const bool another = absolute != m_shown;
    const int tab = add(absolute);
    m_following = true;
    setCurrentIndex(tab);
    m_following = false;
    m_shown = absolute;
    const auto kept = m_kept.constFind(absolute);
    if (!another || kept == m_kept.constEnd())
        return;
    m_canvases.setWanted(kept->view, path);
    SessionOptions options = m_workbench.session.options();
    options.fuse.disabled = kept->disabled;
    (void)options.setPrecision(options.precision, kept->precisionOf);
    if (!kept->disabled.empty() || !kept->precisionOf.isEmpty())
        m_workbench.session.setOptions(options);
}

void ModelTabs::wanted(int tab) {
    if (m_following || tab < 0)
        return;
    const QString path = tabData(tab).toString();
    if (path != m_shown)
        m_workbench.session.open(path);
}

void ModelTabs::close(int tab) {
    if (count() < 2)
        return;
    m_kept.remove(tabData(tab).toString());
    removeTab(tab); // the neighbour becomes current, and so is opened
    setVisible(count() > 1);
}

QSize ModelTabs::minimumTabSizeHint(int tab) const {
    constexpr int letters = 16;
    QSize least = QTabBar::minimumTabSizeHint(tab);
    const int wanted = std::max(least.width(), letters * fontMetrics().averageCharWidth());
    least.setWidth(std::min(wanted, tabSizeHint(tab).width()));
    return least;
}

void ModelTabs::tabInserted(int tab) {
    QTabBar::tabInserted(tab);
    Q_EMIT countChanged();
}

void ModelTabs::tabRemoved(int tab) {
    QTabBar::tabRemoved(tab);
    Q_EMIT countChanged();
}

void ModelTabs::closeCurrent() {
    close(currentIndex());
}

void ModelTabs::step(int direction) {
    if (count() > 1)
        setCurrentIndex((currentIndex() + direction + count()) % count());
}

} // namespace fuselage::studio
