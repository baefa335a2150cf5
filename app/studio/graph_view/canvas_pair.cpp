// SPDX-License-Identifier: Apache-2.0
#include "app/studio/graph_view/canvas_pair.h"

#include "app/pipeline/opened.h"
#include "app/report/report_scene.h"
#include "app/studio/graph_view/canvas_access.h"
#include "app/studio/graph_view/overlay.h"
#include "app/studio/graph_view/pair_style.h"
#include "app/studio/graph_view/same_place.h"
#include "app/studio/graph_view/theme_watch.h"
#include "app/studio/session/dispose.h"
#include "app/studio/workbench/undo.h"

#include <QVBoxLayout>
#include <algorithm>

namespace fuselage::studio {

namespace {

constexpr scene::Side sides[] = {scene::Before, scene::After};

constexpr std::string_view fusedPrefix = "n:"; ///< of ids of nodes; those of containers: "c:"

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

/// Names of fused nodes are counted anew when rules change; the first node that one took stays.
const std::string& lastingName(const app::GraphNodeReport& node) {
    return node.sources.empty() ? node.name : node.sources.front();
}

/// The side with what is in fused nodes that are open; nothing is copied while none is.
struct OpenSide {
    std::optional<app::GraphReport> own;
    const app::GraphReport& graph;

    OpenSide(const app::GraphReport& shown, const Graph* of, const std::set<std::string>& open)
        : own(of && !open.empty() ? std::optional(app::withBodies(shown, *of, open))
                                  : std::nullopt),
          graph(own ? *own : shown) {}
};

MadeDrawing makeDrawing(const app::Report& report, const SnapshotPtr& snapshot,
                        scene::Options options, const std::optional<DotOptions>& dot,
                        Progress& progress) {
    scene::SideFigures figures = app::figuresOf(report);
    std::set<std::string> open;
    for (const std::string& id : options.expanded)
        if (id.starts_with(fusedPrefix))
            open.insert(id.substr(fusedPrefix.size()));
    if (!open.empty())
        for (const app::SideReport* side : {&report.before, &report.after})
            for (const app::GraphNodeReport& node : side->graph.nodes)
                if (node.fused && open.contains(lastingName(node)))
                    open.insert(node.name);
    const OpenSide before(report.before.graph,
                          snapshot ? snapshot->analysis.before.graph.get() : nullptr, open);
    const OpenSide after(report.after.graph,
                         snapshot ? snapshot->analysis.after.graph.get() : nullptr, open);
    std::optional<DotLayout> engine;
    if (dot)
        options.engine = &engine.emplace(*dot);
    auto scene = scene::build({before.graph, after.graph, figures}, options, progress);
    if (!scene)
        return {};
    return {DrawingPtr(new Drawing(std::move(*scene)), disposeLater<const Drawing>),
            engine && engine->trouble().isEmpty(), engine ? engine->trouble() : QString()};
}

} // namespace

CanvasPair::CanvasPair(Workbench& workbench, QWidget* parent)
    : QWidget(parent), m_workbench(workbench), m_splitter(new QSplitter(Qt::Horizontal, this)),
      m_before(new Canvas(scene::Before, this)), m_after(new Canvas(scene::After, this)),
      m_titleBefore(new QLabel(this)), m_titleAfter(new QLabel(this)),
      m_key(new SaidLabel(tr("key of the overlay's colours"), this)) {
    m_splitter->addWidget(makePane(m_before, m_mapBefore, m_titleBefore));
    m_splitter->addWidget(makePane(m_after, m_mapAfter, m_titleAfter));
    m_splitter->setChildrenCollapsible(false);
    m_key->setObjectName("overlayKey");
    m_key->setWordWrap(true);
    m_key->setTextFormat(Qt::RichText);
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
    whenThemeChanges(*this, [this] { showSelection(); });
    connect(&workbench.session, &Session::staleChanged, this, &CanvasPair::showTitles);
    connect(&workbench.session, &Session::progressed, this, [this](const QString& stage) {
        for (scene::Side side : sides)
            canvas(side).setWaiting(
                (m_workbench.session.previewing() ? tr("analysing: %1 ...") : tr("opening: %1 ..."))
                    .arg(stage));
    });
    connect(&workbench.session, &Session::busyChanged, this, [this](bool busy) {
        const bool preview = m_workbench.session.previewing();
        if (busy || preview)
            for (scene::Side side : sides)
                canvas(side).setWaiting(!busy     ? tr("not analysed: it was cancelled")
                                        : preview ? tr("analysing ...")
                                                  : tr("opening ..."));
    });
    connect(&workbench.selection, &SelectionHub::changed, this, &CanvasPair::showSelection);
    connect(&workbench.marks, &MarkBoard::changed, this, &CanvasPair::showSelection);
    connect(&workbench.marks, &MarkBoard::changed, this, &CanvasPair::showTitles);
    m_dot.cache = layoutCacheFolder();
    addCommands();
    showTitles();
}

QWidget* CanvasPair::makePane(Canvas* canvas, Minimap*& map, QLabel* title) {
    auto* pane = new QWidget(this);
    map = new Minimap(*canvas, pane);
    auto* layout = new QVBoxLayout(pane);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    title->setContentsMargins(6, 3, 6, 3);
    layout->addWidget(title);
    auto* row = new QHBoxLayout;
    row->setSpacing(0);
    row->addWidget(canvas, 1);
    row->addWidget(map);
    layout->addLayout(row, 1);
    return pane;
}

void CanvasPair::redraw() {
    const Session& session = m_workbench.session;
    if (!session.report())
        return;
    // While a model is analysed for the first time, the report is of the one before.
    const std::shared_ptr<const void> id =
        session.sketch() ? session.modelId() : session.snapshot()->model;
    const QString path = id == session.modelId() ? session.modelPath() : m_path;
    if (path != m_path) {
        m_expanded.clear();
        m_collapsed.clear();
        m_ruleOrder.clear();
        m_refined = false;
        if (m_before->drawing() && m_wantedFor != path)
            m_wanted.reset(); // it was of the model before
    }
    m_refining.cancel();
    // What dot has placed stays by dot: finished containers come from its cache.
    auto dot = m_refined ? std::optional(m_dot) : std::nullopt;
    m_lane.start([this, id, path, report = session.sharedReport(), snapshot = session.snapshot(),
                  dot, options = sceneOptions()](Progress& progress) -> JobLane::Delivery {
        auto made = makeDrawing(*report, snapshot, options, dot, progress);
        if (!made.drawing) // cancelled: a newer drawing is on its way
            return {};
        return [this, made, id, path] {
            showOf(path, id, made.drawing);
            if (!m_revealing.isEmpty() && !openAround(m_revealing))
                m_before->fitSelection();
            if (m_refined)
                showTrouble(made.trouble);
            else if (m_dotEnabled && m_before->viewport() == m_untouched &&
                     !m_workbench.session.previewing())
                refine();
        };
    });
}

/// Another file begins at its start. Loaded again, or with other dimensions, what is in the middle
/// stays there.
void CanvasPair::showOf(const QString& path, const std::shared_ptr<const void>& id,
                        const DrawingPtr& drawing) {
    const bool other = path != m_path, again = !other && m_model.lock() != id;
    const bool moved = !(m_before->viewport() == m_untouched);
    const DrawingPtr earlier = m_before->drawing();
    m_path = path;
    m_model = id;
    show(drawing);
    if (other || (again && !moved))
        showFirst();
    else if (again && earlier)
        m_before->setViewport(samePlace(*earlier, *drawing, m_before->viewport()));
}

/// The same drawing by dot, in another process; shown when nobody has moved meanwhile.
void CanvasPair::refine() {
    if (!m_dotEnabled || !m_workbench.session.report())
        return;
    m_refining.start([this, report = m_workbench.session.sharedReport(),
                      snapshot = m_workbench.session.snapshot(), dot = m_dot,
                      options = sceneOptions()](Progress& progress) -> JobLane::Delivery {
        auto made = makeDrawing(*report, snapshot, options, dot, progress);
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
    if ((m_refined || !m_dotEnabled) && !m_workbench.session.previewing())
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

void CanvasPair::setMap(bool map) {
    m_map = map;
    m_mapBefore->setWanted(map);
    m_mapAfter->setWanted(map);
}

void CanvasPair::setSplit(bool split) {
    QWidget* hidden = m_splitter->widget(m_after->hasFocus() ? 0 : 1);
    for (int pane = 0; pane < m_splitter->count(); ++pane)
        m_splitter->widget(pane)->setVisible(split || m_splitter->widget(pane) != hidden);
}

void CanvasPair::show(const DrawingPtr& drawing) {
    m_before->setDrawing(drawing);
    const bool both = !m_workbench.session.previewing();
    m_after->setDrawing(both ? drawing : nullptr);
    m_after->setViewport(m_before->viewport());
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
            continue;
        size_t count = drawing->scene().boxes.size();
        PaintStyle style;
        style.allTunnels = m_allTunnels;
        style.selected.assign(count, 0);
        const QStringList& nodes = side == scene::Before ? selection.before : selection.after;
        for (const QString& node : nodes)
            if (uint32_t box = drawing->boxOf(side, node); box != scene::none)
                style.selected[box] = 1;
        selectOthers(*drawing, side, selection, style.selected);
        const auto chosen = std::find(style.selected.begin(), style.selected.end(), 1);
        const auto first = chosen == style.selected.end()
                               ? scene::none
                               : static_cast<uint32_t>(chosen - style.selected.begin());
        if (first != scene::none) {
            style.faded.assign(count, 0);
            for (size_t b = 0; b < count; ++b)
                style.faded[b] = !style.selected[b];
        }
        for (const OverlayRow& row : overlays())
            if (m_overlay == row.id) {
                OverlayColours overlay =
                    row.paint ? row.paint(*drawing, side, colours)
                              : byTimes(*drawing, side, colours, m_workbench.marks.times());
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
    const bool preview = m_workbench.session.previewing();
    const bool sketch = m_workbench.session.sketch() && !preview;
    auto count = [](size_t number, const QString& one, const QString& many) {
        return QStringLiteral("%1 %2").arg(number).arg(number == 1 ? one : many);
    };
    auto title = [&](const QString& side, const app::SideReport* report) {
        QString text = QStringLiteral("<b>%1</b>").arg(side);
        if (report && sketch && report == &shown->after)
            return text + tr(" &nbsp;<i>not known: see the notice above</i>");
        if (preview && report == &shown->after)
            return text + tr(" &nbsp;<i>not known yet</i>");
        if (report)
            text += QStringLiteral(" &nbsp;") + count(report->nodes, tr("node"), tr("nodes"));
        if (report && report->graph.nodes.size() > report->nodes)
            text += tr(" and %1 in subgraphs").arg(report->graph.nodes.size() - report->nodes);
        if (report && !sketch && !preview)
            text += QStringLiteral(", ") + count(report->launches, tr("launch"), tr("launches"));
        if (report && m_workbench.marks.step() && report == &shown->after)
            text = tr("<b>while rewriting</b>");
        return m_workbench.session.stale() ? text + tr(" &nbsp;<i>stale</i>") : text;
    };
    if (sketch != m_oneSided) { // there is nothing on the other side
        m_oneSided = sketch;
        m_splitter->widget(1)->setVisible(!sketch);
        m_workbench.commands.refresh();
    }
    m_titleBefore->setText(title(tr("before"), shown ? &shown->before : nullptr));
    m_titleAfter->setText(title(tr("after"), shown ? &shown->after : nullptr));
}

void CanvasPair::pick(scene::Side side, const std::vector<uint32_t>& boxes) {
    const Picked picked = pickedOf(*canvas(side).drawing(), side, boxes);
    if (!picked.value.isEmpty())
        m_workbench.selection.selectValue(picked.value);
    else if (picked.nodes.isEmpty())
        m_workbench.selection.clear();
    else if (picked.side == scene::Before)
        m_workbench.selection.selectBefore(picked.nodes);
    else
        m_workbench.selection.selectAfter(picked.nodes);
}

void CanvasPair::toggle(const QString& wanted) {
    std::string id = wanted.toStdString();
    const DrawingPtr& drawing = m_before->drawing();
    std::set<std::string> expanded = m_expanded, collapsed = m_collapsed;
    const bool fused = id.starts_with(fusedPrefix);
    if (!drawing || id.empty() || (fused && !m_workbench.session.snapshot()))
        return;
    if (fused)
        for (const app::GraphNodeReport& node : m_workbench.session.report()->after.graph.nodes)
            if (node.fused && id.compare(fusedPrefix.size(), std::string::npos, node.name) == 0) {
                id = std::string(fusedPrefix) + lastingName(node);
                break;
            }
    if (fused && expanded.erase(id) == 0)
        expanded.insert(id);
    for (const scene::Container& each : drawing->scene().containers)
        if (each.id == id) {
            (each.collapsed ? collapsed : expanded).erase(id);
            (each.collapsed ? expanded : collapsed).insert(id);
        }
    m_workbench.undo.push(new UndoStep(
        tr("open or shut %1").arg(wanted.mid(2)),
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
