// SPDX-License-Identifier: Apache-2.0
// The commands of the two canvases, with what they show as on and why they are greyed.
#include "app/studio/graph_view/canvas_pair.h"
#include "app/studio/graph_view/overlay.h"

#include <QMenu>

namespace fuselage::studio {

namespace {

constexpr scene::Side bothSides[] = {scene::Before, scene::After};

} // namespace

void CanvasPair::addCommands() {
    CommandTable& table = m_workbench.commands;
    auto add = [&](const char* id, const QString& title, const char* keys, auto run) {
        table.add({id, "View", title, QKeySequence::listFromString(keys), KeyScope::Canvas}, run);
    };
    add("view.fit", tr("Fit all"), "Space", [this] { active().fitAll(); });
    add("view.fitSelection", tr("Fit selection"), "F", [this] { active().fitSelection(); });
    add("view.zoomIn", tr("Zoom in"), "+; =", [this] { active().zoomBy(1.25); });
    add("view.zoomOut", tr("Zoom out"), "-", [this] { active().zoomBy(0.8); });
    add("view.tunnels", tr("Tunnels as curves"), "T", [this] {
        m_allTunnels = !m_allTunnels;
        showSelection();
    });
    add("view.pairs", tr("Quantisation pairs as badges"), "Q",
        [this] { setPairsAsBadges(!m_pairsAsBadges); });
    add("view.columns", tr("Deep graphs in columns"), "C", [this] { setInColumns(!m_inColumns); });
    add("view.details", tr("Attributes and weights in the boxes"), "D",
        [this] { switchBool(&CanvasPair::m_details, !m_details, tr("attributes in the boxes")); });
    add("view.around", tr("Go to the block around"), "U", [this] { m_crumbs->goOut(); });
    add("view.reveal", tr("Open the blocks around the selection"), "O", [this] { reveal(); });
    add("view.dot", tr("Lay out by dot"), "", [this] {
        m_untouched = m_before->viewport();
        refine();
    });
    table.add({"view.split", "View", tr("Both sides"), {QKeySequence("Ctrl+\\")}},
              [this] { setSplit(!split()); });
    table.add({"view.map", "View", tr("Overview beside the graph"), {}},
              [this] { setMap(!m_map); });
    for (const OverlayRow& row : overlays())
        add(("view.overlay." + std::string(row.id)).c_str(), tr(row.title), row.key,
            [this, id = QString(row.id)] { setOverlay(id); });
    add("walk.maker", tr("Go to a producer"), "Up", [this] { walk(Canvas::Way::Maker); });
    add("walk.reader", tr("Go to a consumer"), "Down", [this] { walk(Canvas::Way::Reader); });
    add("walk.left", tr("Go left"), "Left", [this] { walk(Canvas::Way::Left); });
    add("walk.right", tr("Go right"), "Right", [this] { walk(Canvas::Way::Right); });
    add("walk.open", tr("Open or shut the block or fused node"), "Return; Enter; Backspace",
        [this] { toggle(active().toggleAt(active().current())); });
    addStates();
}

/// Check marks, and what must be there first.
void CanvasPair::addStates() {
    CommandTable& table = m_workbench.commands;
    table.showState("view.tunnels", [this] { return m_allTunnels; });
    table.showState("view.pairs", [this] { return m_pairsAsBadges; });
    table.showState("view.columns", [this] { return m_inColumns; });
    table.showState("view.details", [this] { return m_details; });
    table.showState("view.split", [this] { return split(); });
    table.showState("view.map", [this] { return m_map; });
    for (const OverlayRow& row : overlays())
        table.showState(QStringLiteral("view.overlay.") + row.id,
                        [this, id = QString(row.id)] { return m_overlay == id; });
    const auto needsModel = [this] {
        return m_workbench.session.report() ? QString() : tr("open a model first: Ctrl+O");
    };
    for (const char* id :
         {"view.fit", "view.zoomIn", "view.zoomOut", "view.tunnels", "view.split", "view.around",
          "walk.maker", "walk.reader", "walk.left", "walk.right", "walk.open"})
        table.setReason(id, needsModel);
    table.setReason("view.dot", [this, needsModel] {
        return m_dotEnabled ? needsModel() : tr("Graphviz is not part of this program");
    });
    for (const char* id : {"view.fitSelection", "view.reveal"})
        table.setReason(id, [this, needsModel] {
            const Selection& selection = m_workbench.selection.selection();
            return !m_workbench.session.report() ? needsModel()
                   : selection.empty()           ? tr("select a node first")
                                                 : QString();
        });
}

void CanvasPair::adoptCommands() {
    for (const CommandTable::Entry& entry : m_workbench.commands.all())
        if (entry.row.scope == KeyScope::Canvas)
            for (scene::Side side : bothSides) {
                canvas(side).addAction(entry.action);
                if (entry.refusal)
                    canvas(side).addAction(entry.refusal);
            }
}

Canvas& CanvasPair::active() {
    return m_after->hasFocus() ? *m_after : *m_before;
}

/// What can be done with what is selected, and with the view.
void CanvasPair::showMenu(const QPoint& globalPosition) {
    auto* menu = new QMenu(this);
    menu->setObjectName("canvasMenu");
    menu->setAttribute(Qt::WA_DeleteOnClose);
    showReasons(*menu);
    const char* const ids[] = {"view.fitSelection",
                               "walk.open",
                               "view.around",
                               "edit.copyNames",
                               "",
                               "match.disable",
                               "match.trial",
                               "editor.derive",
                               "find.similar",
                               "editor.generalise",
                               "miss.next",
                               "",
                               "run.measure",
                               "run.errors",
                               "",
                               "view.fit",
                               "view.pairs",
                               "find.node"};
    for (const char* id : ids)
        if (*id == 0)
            menu->addSeparator();
        else if (QAction* action = m_workbench.commands.find(id))
            menu->addAction(action);
    menu->popup(globalPosition);
}

void CanvasPair::walk(Canvas::Way way) {
    active().walk(way);
}

} // namespace fuselage::studio
