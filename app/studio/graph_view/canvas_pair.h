// SPDX-License-Identifier: Apache-2.0
// The middle of the window: the graph before and the graph after, side by side on the same places,
// with selection, viewport and overlay in step. Builds the drawing in the background.
#pragma once

#include "app/report/scene/build.h"
#include "app/studio/graph_view/canvas.h"
#include "app/studio/graph_view/minimap.h"
#include "app/studio/layout/dot_layout.h"
#include "app/studio/workbench/workbench.h"

#include <QLabel>
#include <QSplitter>
#include <set>

namespace fuselage::studio {

class CanvasPair : public QWidget {
    Q_OBJECT

public:
    CanvasPair(Workbench& workbench, QWidget* parent);

    Canvas& canvas(scene::Side side) { return side == scene::Before ? *m_before : *m_after; }

    bool drawing() const { return m_lane.busy(); }

    /// The drawing by dot is being made; the linear one is shown meanwhile.
    bool refining() const { return m_refining.busy(); }

    /// dot made the drawing that is shown.
    bool refined() const { return m_refined; }

    /// How dot is asked; an empty program: this one.
    void setDot(const DotOptions& options, bool enabled = true);

    /// Shown when the next model is drawn, in place of its start.
    void setWanted(const Viewport& viewport) { m_wanted = viewport; }

    /// One canvas alone, or both.
    void setSplit(bool split);

    const QString& overlay() const { return m_overlay; }

    void setOverlay(const QString& id); ///< undoable

    /// Quantisation pairs as badges on edges, or as boxes.
    bool pairsAsBadges() const { return m_pairsAsBadges; }

    void setPairsAsBadges(bool badges); ///< undoable

    /// Single keys of all commands work on the canvases; call when all commands exist.
    void adoptCommands();

private:
    QWidget* makePane(Canvas* canvas, QLabel* title);
    void addCommands();
    void redraw();
    void refine();
    void showFirst();
    scene::Options sceneOptions() const;
    void showTrouble(const QString& trouble);
    void show(const DrawingPtr& drawing);
    void showSelection();
    void showTitles();
    void pick(scene::Side side, const std::vector<uint32_t>& boxes);
    void toggle(const QString& container);
    void setOpen(const std::set<std::string>& expanded, const std::set<std::string>& collapsed);
    Canvas& active();
    void walk(Canvas::Way way);
    void showMenu(const QPoint& globalPosition);

    Workbench& m_workbench;
    JobLane m_lane, m_refining;
    DotOptions m_dot;
    bool m_dotEnabled = dotIsBuiltIn();
    bool m_refined = false;
    std::optional<Viewport> m_wanted;
    Viewport m_untouched; ///< as the program set it: a person has not moved since
    QSplitter* m_splitter;
    Canvas *m_before, *m_after;
    Minimap *m_mapBefore, *m_mapAfter;
    QLabel *m_titleBefore, *m_titleAfter, *m_key;
    QString m_overlay = QStringLiteral("none");
    std::set<std::string> m_expanded, m_collapsed; ///< containers against the default
    std::weak_ptr<const void> m_model;             ///< Session::modelId() of the drawing
    bool m_allTunnels = false;
    bool m_pairsAsBadges = true;
    bool m_oneSided = false;              ///< a sketch is shown
    std::vector<std::string> m_ruleOrder; ///< letters and colours stay through edits
};

} // namespace fuselage::studio
