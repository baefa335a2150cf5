// SPDX-License-Identifier: Apache-2.0
// The models that are open, as tabs above the graph: one is shown, the others keep what a person
// had chosen in them (view, switched-off matches, exceptions of precision) and are loaded again
// when they are wanted. Shown from the second model on.
#pragma once

#include "app/studio/graph_view/canvas_pair.h"

#include <QHash>
#include <QTabBar>

namespace fuselage::studio {

class ModelTabs : public QTabBar {
    Q_OBJECT

public:
    ModelTabs(Workbench& workbench, CanvasPair& canvases, QWidget* parent);

    /// Paths in the order of the tabs.
    QStringList models() const;

    /// Tabs of an earlier start, or of a command line; nothing is opened.
    void addModels(const QStringList& paths);

    /// Shuts the tab of the model that is shown and shows its neighbour.
    void closeCurrent();

    void step(int direction);

Q_SIGNALS:
    void countChanged(); ///< there are more or fewer of them

protected:
    void tabInserted(int tab) override;
    void tabRemoved(int tab) override;
    QSize minimumTabSizeHint(int tab) const override; ///< names stay readable; more tabs scroll

private:
    struct Kept {
        Viewport view;
        std::vector<MatchKey> disabled;
        QStringList precisionOf;
    };

    int place(const QString& path) const;
    int add(const QString& path);
    void keep();
    void wanted(int tab);
    void opened(const QString& path);
    void close(int tab);

    Workbench& m_workbench;
    CanvasPair& m_canvases;
    QHash<QString, Kept> m_kept; ///< by path
    QString m_shown;             ///< path
    bool m_following = false;    ///< the bar follows the session, not the other way round
};

} // namespace fuselage::studio
