// SPDX-License-Identifier: Apache-2.0
// The middle of the window: the graph before and the graph after, side by side on the same places,
// with selection, viewport and overlay in step. Builds the drawing in the background.
#pragma once

#include "app/report/scene/build.h"
#include "app/studio/graph_view/breadcrumbs.h"
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
    void setWanted(const Viewport& viewport, const QString& model = {}) {
        m_wanted = viewport;
        m_wantedFor = model;
    }

    /// One canvas alone, or both.
    void setSplit(bool split);

    /// The overviews beside the canvases.
    bool map() const { return m_map; }

    void setMap(bool map);

    bool split() const {
        return !m_splitter->widget(0)->isHidden() && !m_splitter->widget(1)->isHidden();
    }

    const QString& overlay() const { return m_overlay; }

    void setOverlay(const QString& id); ///< undoable

    /// Quantisation pairs as badges on edges, or as boxes.
    bool pairsAsBadges() const { return m_pairsAsBadges; }

    void setPairsAsBadges(bool badges); ///< undoable

    /// Columns beside each other where a graph is much deeper than wide.
    bool inColumns() const { return m_inColumns; }

    void setInColumns(bool columns); ///< undoable

    /// Opens the shut blocks around the selection, and shows it.
    void reveal();

    /// Single keys of all commands work on the canvases; call when all commands exist.
    void adoptCommands();

private:
    QWidget* makePane(Canvas* canvas, Minimap*& map, QLabel* title);
    void addCommands();
    void addStates();
    void redraw();
    void switchBool(bool CanvasPair::*member, bool value, const QString& text);
    bool openAround(const QString& node);
    void refine();
    void showOf(const QString& path, const std::shared_ptr<const void>& id,
                const DrawingPtr& drawing);
    void showFirst();
    scene::Options sceneOptions() const;
    void showTrouble(const QString& trouble);
    void show(const DrawingPtr& drawing);
    void showSelection();
    void showTitles();
    void pick(scene::Side side, const std::vector<uint32_t>& boxes);
    void toggle(const QString& wanted);
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
    QString m_wantedFor;  ///< path of the model; empty: the first one
    Viewport m_untouched; ///< as the program set it: a person has not moved since
    Breadcrumbs* m_crumbs;
    QSplitter* m_splitter;
    Canvas *m_before, *m_after;
    Minimap *m_mapBefore = nullptr, *m_mapAfter = nullptr;
    bool m_map = true;
    QLabel *m_titleBefore, *m_titleAfter;
    SaidLabel* m_key;
    QString m_overlay = QStringLiteral("none");
    /// Containers against the default, and fused nodes that are open: "n:" and the first node that
    /// each took.
    std::set<std::string> m_expanded, m_collapsed;
    QString m_path;                    ///< of the model that is drawn
    std::weak_ptr<const void> m_model; ///< as it was loaded
    bool m_allTunnels = false;
    bool m_pairsAsBadges = true, m_inColumns = true, m_details = false;
    QString m_revealing;                  ///< a node whose blocks are being opened
    bool m_oneSided = false;              ///< a sketch is shown
    std::vector<std::string> m_ruleOrder; ///< letters and colours stay through edits
};

} // namespace fuselage::studio
