// SPDX-License-Identifier: Apache-2.0
#include "app/studio/graph_view/canvas_pair.h"

#include "app/report/report_scene.h"
#include "app/studio/graph_view/canvas_access.h"
#include "app/studio/graph_view/overlay.h"
#include "app/studio/graph_view/pair_style.h"
#include "app/studio/session/dispose.h"
#include "app/studio/workbench/undo.h"

#include <QMenu>
#include <QVBoxLayout>
#include <algorithm>

namespace fuselage::studio {

namespace {

constexpr scene::Side sides[] = {scene::Before, scene::After};

/// One line of coloured squares with what they stand for.
QString keyText(const std::vector<OverlayKey>& keys) {
    QString out;
    for (const OverlayKey& key : keys)
        out += !key.colour.isValid()
                   ? key.text.toHtmlEscaped()
                   : QStringLiteral(
                         "<span style=\"background-color:%1\">&nbsp;&nbsp;&nbsp;</span>&nbsp;%2"
                         " &nbsp; ")
                         .arg(key.colour.name(), key.text.toHtmlEscaped());
    return out;
}

struct MadeDrawing {
    DrawingPtr drawing; ///< null: cancelled
    bool byDot = false;
    QString trouble;
};

MadeDrawing makeDrawing(const app::Report& report, scene::Options options,
                        const std::optional<DotOptions>& dot, Progress& progress) {
    scene::SideFigures figures = app::figuresOf(report);
    std::optional<DotLayout> engine;
    if (dot)
        options.engine = &engine.emplace(*dot);
    auto scene =
        scene::build({report.before.graph, report.after.graph, figures}, options, progress);
    if (!scene)
        return {};
    return {DrawingPtr(new Drawing(std::move(*scene)), disposeLater<const Drawing>),
            engine && engine->trouble().isEmpty(), engine ? engine->trouble() : QString()};
}

} // namespace

CanvasPair::CanvasPair(Workbench& workbench, QWidget* parent)
    : QWidget(parent), m_workbench(workbench), m_splitter(new QSplitter(Qt::Horizontal, this)),
      m_before(new Canvas(scene::Before, this)), m_after(new Canvas(scene::After, this)),
      m_mapBefore(new Minimap(*m_before)), m_mapAfter(new Minimap(*m_after)),
      m_titleBefore(new QLabel(this)), m_titleAfter(new QLabel(this)), m_key(new QLabel(this)) {
    m_splitter->addWidget(makePane(m_before, m_titleBefore));
    m_splitter->addWidget(makePane(m_after, m_titleAfter));
    m_splitter->setChildrenCollapsible(false);
    m_key->setAccessibleName(tr("key of the overlay's colours"));
    m_key->setWordWrap(true);
    m_key->setContentsMargins(6, 0, 6, 2);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    m_crumbs = new Breadcrumbs(*m_before, this);
    layout->addWidget(m_crumbs);
    layout->addWidget(m_splitter, 1);
    layout->addWidget(m_key);
    m_key->hide();
    for (scene::Side side : sides) {
        Canvas& here = canvas(side);
        Canvas& other = side == scene::Before ? *m_after : *m_before;
        connect(&here, &Canvas::viewportChanged, &other, &Canvas::setViewport);
        connect(&here, &Canvas::picked, this,
                [this, side](const std::vector<uint32_t>& boxes) { pick(side, boxes); });
        connect(&here, &Canvas::toggled, this, &CanvasPair::toggle);
        connect(&here, &Canvas::menuWanted, this, &CanvasPair::showMenu);
    }
    connect(&workbench.session, &Session::reportChanged, this, &CanvasPair::redraw);
    connect(&workbench.session, &Session::staleChanged, this, &CanvasPair::showTitles);
    connect(&workbench.session, &Session::progressed, this, [this](const QString& stage) {
        for (scene::Side side : sides)
            canvas(side).setWaiting(tr("opening: %1 ...").arg(stage));
    });
    connect(&workbench.selection, &SelectionHub::changed, this, &CanvasPair::showSelection);
    connect(&workbench.marks, &MarkBoard::changed, this, &CanvasPair::showSelection);
    connect(&workbench.marks, &MarkBoard::changed, this, &CanvasPair::showTitles);
    m_dot.cache = layoutCacheFolder();
    addCommands();
    showTitles();
}

QWidget* CanvasPair::makePane(Canvas* canvas, QLabel* title) {
    auto* pane = new QWidget(this);
    auto* layout = new QVBoxLayout(pane);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    title->setContentsMargins(6, 3, 6, 3);
    layout->addWidget(title);
    layout->addWidget(canvas, 1);
    return pane;
}

void CanvasPair::addCommands() {
    CommandTable& table = m_workbench.commands;
    auto add = [&](const char* id, const QString& title, const char* keys, auto run) {
        table.add({id, "View", title, QKeySequence::listFromString(keys), KeyScope::Canvas}, run);
    };
    add("view.fit", tr("Fit all"), "Space", [this] { active().fitAll(); });
    add("view.fitSelection", tr("Fit selection"), "F", [this] { active().fitSelection(); });
    add("view.zoomIn", tr("Zoom in"), "+; =", [this] { active().zoomBy(1.25); });
    add("view.zoomOut", tr("Zoom out"), "-", [this] { active().zoomBy(0.8); });
    add("view.tunnels", tr("Draw tunnels as curves"), "T", [this] {
        m_allTunnels = !m_allTunnels;
        showSelection();
    });
    add("view.pairs", tr("Quantisation pairs as badges or as boxes"), "Q",
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
    table.add({"view.split", "View", tr("One side or both"), {QKeySequence("Ctrl+\\")}}, [this] {
        setSplit(!m_splitter->widget(0)->isVisible() || !m_splitter->widget(1)->isVisible());
    });
    for (const OverlayRow& row : overlays())
        add(("view.overlay." + std::string(row.id)).c_str(), tr(row.title), row.key,
            [this, id = QString(row.id)] { setOverlay(id); });
    add("walk.maker", tr("Go to a producer"), "Up", [this] { walk(Canvas::Way::Maker); });
    add("walk.reader", tr("Go to a consumer"), "Down", [this] { walk(Canvas::Way::Reader); });
    add("walk.left", tr("Go left"), "Left", [this] { walk(Canvas::Way::Left); });
    add("walk.right", tr("Go right"), "Right", [this] { walk(Canvas::Way::Right); });
    add("walk.open", tr("Open or shut the block"), "Return; Enter; Backspace", [this] {
        const DrawingPtr& drawing = active().drawing();
        uint32_t box = active().current();
        if (drawing && box != scene::none && drawing->scene().boxes[box].container != scene::none)
            toggle(QString::fromStdString(
                drawing->scene().containers[drawing->scene().boxes[box].container].id));
    });
}

void CanvasPair::adoptCommands() {
    for (const CommandTable::Entry& entry : m_workbench.commands.all())
        if (entry.row.scope == KeyScope::Canvas)
            for (scene::Side side : sides)
                canvas(side).addAction(entry.action);
}

Canvas& CanvasPair::active() {
    return m_after->hasFocus() ? *m_after : *m_before;
}

/// What can be done with what is selected, and with the view.
void CanvasPair::showMenu(const QPoint& globalPosition) {
    auto* menu = new QMenu(this);
    menu->setObjectName("canvasMenu");
    menu->setAttribute(Qt::WA_DeleteOnClose);
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

void CanvasPair::redraw() {
    const Session& session = m_workbench.session;
    if (!session.report())
        return;
    if (m_model.lock() != session.modelId()) {
        m_expanded.clear();
        m_collapsed.clear();
        m_ruleOrder.clear();
        m_refined = false;
        if (m_before->drawing() && m_wantedFor != session.modelPath())
            m_wanted.reset(); // it was of the model before
    }
    m_refining.cancel();
    // What dot has placed stays by dot: finished containers come from its cache.
    auto dot = m_refined ? std::optional(m_dot) : std::nullopt;
    m_lane.start([this, id = session.modelId(), report = session.sharedReport(), dot,
                  options = sceneOptions()](Progress& progress) -> JobLane::Delivery {
        auto made = makeDrawing(*report, options, dot, progress);
        if (!made.drawing) // cancelled: a newer drawing is on its way
            return {};
        return [this, made, id] {
            bool otherModel = m_model.lock() != id;
            m_model = id;
            show(made.drawing);
            if (otherModel)
                showFirst();
            if (!m_revealing.isEmpty() && !openAround(m_revealing))
                m_before->fitSelection();
            if (m_refined)
                showTrouble(made.trouble);
            else if (m_dotEnabled && m_before->viewport() == m_untouched)
                refine();
        };
    });
}

/// The same drawing by dot, in another process; shown when nobody has moved meanwhile.
void CanvasPair::refine() {
    if (!m_dotEnabled || !m_workbench.session.report())
        return;
    m_refining.start([this, report = m_workbench.session.sharedReport(), dot = m_dot,
                      options = sceneOptions()](Progress& progress) -> JobLane::Delivery {
        auto made = makeDrawing(*report, options, dot, progress);
        if (!made.drawing)
            return {};
        return [this, made] {
            showTrouble(made.trouble);
            if (!made.byDot || !(m_before->viewport() == m_untouched))
                return;
            m_refined = true;
            show(made.drawing);
            showFirst();
        };
    });
}

/// The start of the graph, or what was in view when the window was shut.
void CanvasPair::showFirst() {
    if (m_wanted)
        m_before->setViewport(*m_wanted);
    else
        m_before->showStart();
    m_untouched = m_before->viewport();
    if (m_refined || !m_dotEnabled)
        m_wanted.reset();
}

scene::Options CanvasPair::sceneOptions() const {
    scene::Options options;
    options.expanded = m_expanded;
    options.collapsed = m_collapsed;
    options.ruleOrder = m_ruleOrder;
    if (!m_pairsAsBadges)
        options.pairs = scene::Options::Pairs::Boxes;
    if (!m_inColumns)
        options.flow = scene::Options::Flow::Down;
    options.details = m_details;
    return options;
}

void CanvasPair::showTrouble(const QString& trouble) {
    m_workbench.session.removeProblems(QStringLiteral("layout."));
    if (trouble.isEmpty())
        return;
    Problem problem;
    problem.severity = Severity::Warning;
    problem.code = QStringLiteral("layout.dot");
    problem.message = trouble + tr("; these parts are laid out by the linear pass");
    problem.fix = tr("nothing needs to be done: only the drawing is plainer");
    m_workbench.session.addProblem(problem);
}

void CanvasPair::setDot(const DotOptions& options, bool enabled) {
    m_dot = options;
    m_dotEnabled = enabled;
    m_refined = m_refined && enabled;
}

void CanvasPair::setSplit(bool split) {
    QWidget* hidden = m_splitter->widget(m_after->hasFocus() ? 0 : 1);
    for (int pane = 0; pane < m_splitter->count(); ++pane)
        m_splitter->widget(pane)->setVisible(split || m_splitter->widget(pane) != hidden);
}

void CanvasPair::show(const DrawingPtr& drawing) {
    for (scene::Side side : sides)
        canvas(side).setDrawing(drawing);
    for (const scene::LegendRow& row : drawing->scene().legend)
        if (std::find(m_ruleOrder.begin(), m_ruleOrder.end(), row.rule) == m_ruleOrder.end())
            m_ruleOrder.push_back(row.rule);
    showSelection();
    showTitles();
}

void CanvasPair::setOverlay(const QString& id) {
    if (id == m_overlay)
        return;
    auto show = [this](const QString& overlay) {
        m_overlay = overlay;
        showSelection();
    };
    m_workbench.undo.push(new UndoStep(
        tr("overlay: %1").arg(id), [show, id] { show(id); },
        [show, earlier = m_overlay] { show(earlier); }));
}

void CanvasPair::setPairsAsBadges(bool badges) {
    switchBool(&CanvasPair::m_pairsAsBadges, badges,
               badges ? tr("pairs as badges") : tr("pairs as boxes"));
}

void CanvasPair::setInColumns(bool columns) {
    switchBool(&CanvasPair::m_inColumns, columns, columns ? tr("columns") : tr("one column"));
}

/// One of the options of the drawing, undoable.
void CanvasPair::switchBool(bool CanvasPair::*member, bool value, const QString& text) {
    if (this->*member == value)
        return;
    auto show = [this, member](bool wanted) {
        this->*member = wanted;
        redraw();
    };
    m_workbench.undo.push(new UndoStep(
        text, [show, value] { show(value); }, [show, value] { show(!value); }));
}

void CanvasPair::reveal() {
    const QStringList& nodes = m_workbench.selection.selection().before;
    m_revealing = nodes.isEmpty() ? QString() : nodes.first();
    if (!openAround(m_revealing))
        active().fitSelection();
}

/// Opens the block that hides the node; blocks inside of it follow when that is drawn. False when
/// nothing hides it.
bool CanvasPair::openAround(const QString& node) {
    const DrawingPtr& drawing = m_before->drawing();
    const uint32_t box = drawing ? drawing->boxOf(scene::Before, node) : scene::none;
    if (box == scene::none || drawing->scene().boxes[box].kind != scene::Box::Kind::Collapsed) {
        m_revealing.clear();
        return false;
    }
    toggle(QString::fromStdString(
        drawing->scene().containers[drawing->scene().boxes[box].container].id));
    return true;
}

void CanvasPair::showSelection() {
    const Selection& selection = m_workbench.selection.selection();
    const SnapshotPtr& snapshot = m_workbench.session.snapshot();
    const QStringList hitsAfter =
        snapshot ? snapshot->provenance.after(m_workbench.marks.hits()) : QStringList();
    Colours colours(palette());
    for (scene::Side side : sides) {
        const DrawingPtr& drawing = canvas(side).drawing();
        if (!drawing)
            return;
        size_t count = drawing->scene().boxes.size();
        PaintStyle style;
        style.allTunnels = m_allTunnels;
        style.selected.assign(count, 0);
        const QStringList& nodes = side == scene::Before ? selection.before : selection.after;
        uint32_t first = scene::none;
        for (const QString& node : nodes)
            if (uint32_t box = drawing->boxOf(side, node); box != scene::none) {
                style.selected[box] = 1;
                first = std::min(first, box);
            }
        if (first != scene::none) {
            style.faded.assign(count, 0);
            for (size_t b = 0; b < count; ++b)
                style.faded[b] = !style.selected[b];
        }
        for (const OverlayRow& row : overlays())
            if (m_overlay == row.id) {
                OverlayColours overlay = row.paint(*drawing, side, colours);
                style.fill = std::move(overlay.fill);
                if (side == scene::After) {
                    m_key->setText(keyText(overlay.keys));
                    m_key->setVisible(!overlay.keys.empty());
                }
            }
        const QStringList& hits = side == scene::Before ? m_workbench.marks.hits() : hitsAfter;
        if (!hits.isEmpty()) {
            style.hits.assign(count, 0);
            for (const QString& node : hits)
                if (uint32_t box = drawing->boxOf(side, node); box != scene::none)
                    style.hits[box] = 1;
            if (style.faded.empty())
                style.faded.assign(count, 1);
            for (size_t b = 0; b < count; ++b)
                if (style.hits[b])
                    style.faded[b] = 0;
        }
        style.marks = marksOn(*drawing, side, m_workbench.marks.all());
        for (const BoxMark& mark : style.marks) // what has a sign is to be read
            if (!style.faded.empty())
                style.faded[mark.box] = 0;
        if (side == scene::After && m_workbench.marks.step() && snapshot)
            showStep(*drawing, snapshot->report(), *m_workbench.marks.step(), style);
        uint32_t marked =
            style.shown.empty() || style.marks.empty() ? scene::none : style.marks.back().box;
        canvas(side).setStyle(std::move(style));
        if (marked != scene::none) // the step is where a person looks
            canvas(side).setCurrent(marked);
        if (first != scene::none && !canvas(side).hasFocus())
            canvas(side).setCurrent(first);
    }
    m_mapBefore->refresh();
    m_mapAfter->refresh();
    m_crumbs->refresh();
}

void CanvasPair::showTitles() {
    const app::Report* shown = m_workbench.session.report();
    const bool sketch = m_workbench.session.sketch() != nullptr;
    auto count = [](size_t number, const QString& one, const QString& many) {
        return QStringLiteral("%1 %2").arg(number).arg(number == 1 ? one : many);
    };
    auto title = [&](const QString& side, const app::SideReport* report) {
        QString text = QStringLiteral("<b>%1</b>").arg(side);
        if (report && sketch && report == &shown->after)
            return text + tr(" &nbsp;<i>not known: see the notice above</i>");
        if (report)
            text += QStringLiteral(" &nbsp;") + count(report->nodes, tr("node"), tr("nodes"));
        if (report && report->graph.nodes.size() > report->nodes)
            text += tr(" and %1 in subgraphs").arg(report->graph.nodes.size() - report->nodes);
        if (report && !sketch)
            text += QStringLiteral(", ") + count(report->launches, tr("launch"), tr("launches"));
        if (report && m_workbench.marks.step() && report == &shown->after)
            text = tr("<b>while rewriting</b>");
        return m_workbench.session.stale() ? text + tr(" &nbsp;<i>stale</i>") : text;
    };
    if (sketch != m_oneSided) { // there is nothing on the other side
        m_oneSided = sketch;
        m_splitter->widget(1)->setVisible(!sketch);
    }
    m_titleBefore->setText(title(tr("before"), shown ? &shown->before : nullptr));
    m_titleAfter->setText(title(tr("after"), shown ? &shown->after : nullptr));
}

void CanvasPair::pick(scene::Side side, const std::vector<uint32_t>& boxes) {
    QStringList nodes;
    for (uint32_t box : boxes)
        nodes += canvas(side).drawing()->nodesOf(side, box);
    if (nodes.isEmpty())
        m_workbench.selection.clear();
    else if (side == scene::Before)
        m_workbench.selection.selectBefore(nodes);
    else
        m_workbench.selection.selectAfter(nodes);
}

void CanvasPair::toggle(const QString& container) {
    std::string id = container.toStdString();
    const DrawingPtr& drawing = m_before->drawing();
    std::set<std::string> expanded = m_expanded, collapsed = m_collapsed;
    for (const scene::Container& each : drawing->scene().containers)
        if (each.id == id) {
            (each.collapsed ? collapsed : expanded).erase(id);
            (each.collapsed ? expanded : collapsed).insert(id);
        }
    m_workbench.undo.push(new UndoStep(
        tr("open or shut %1").arg(container.mid(2)),
        [this, expanded, collapsed] { setOpen(expanded, collapsed); },
        [this, expanded = m_expanded, collapsed = m_collapsed] { setOpen(expanded, collapsed); }));
}

void CanvasPair::setOpen(const std::set<std::string>& expanded,
                         const std::set<std::string>& collapsed) {
    m_expanded = expanded;
    m_collapsed = collapsed;
    redraw();
}

} // namespace fuselage::studio
