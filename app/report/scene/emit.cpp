// SPDX-License-Identifier: Apache-2.0
// Last phase of a scene: containers, boxes, edges and stubs with absolute places, and the build
// that runs all phases.
#include "app/report/scene/build.h"
#include "app/report/scene/model_internal.h"
#include "app/report/scene/text_size.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

namespace fuselage::scene {

namespace {

constexpr double portGap = 12;

uint8_t widthOf(double bytes) {
    if (bytes < 16e3)
        return 1;
    if (bytes < 256e3)
        return 2;
    if (bytes < 4e6)
        return 3;
    return bytes < 64e6 ? 4 : 5;
}

class Emitter {
public:
    Emitter(const Model& model, const Projection& projection, const std::vector<Label>& labels,
            const Placement& placement)
        : m_model(model), m_projection(projection), m_labels(labels), m_placement(placement),
          m_containerOf(model.tree.size(), none) {
        for (auto& boxes : m_boxOf)
            boxes.assign(model.tree.size(), none);
    }

    Scene run() {
        m_scene.groups = m_model.groups;
        m_scene.legend = m_model.legend;
        m_scene.rect = m_placement.before[0];
        m_scene.boxes.reserve(drawnNodes());
        m_scene.edges.reserve(m_projection.edges.size());
        for (uint32_t id = 1; id < m_model.tree.size(); ++id) {
            if (!m_model.tree[id].shown)
                continue;
            if (m_model.tree[id].isContainer())
                addContainer(id);
            if (m_model.isLeafLike(id))
                addBoxes(id);
        }
        for (uint32_t e = 0; e < m_projection.edges.size(); ++e)
            addEdges(e);
        spreadPorts();
        placeStored();
        addStubs();
        addHidden();
        addFolded();
        return std::move(m_scene);
    }

private:
    /// Boxes are large, and of a large graph most nodes are inside of shut containers.
    size_t drawnNodes() const {
        size_t out = 0;
        for (uint32_t id = 1; id < m_model.tree.size(); ++id)
            out += m_model.tree[id].shown && m_model.isLeafLike(id) ? 1 : 0;
        return out;
    }

    void addContainer(uint32_t id);
    void addBoxes(uint32_t id);
    Box boxOf(uint32_t id) const;
    void describe(const Item& item, Box& box) const;
    void addEdges(uint32_t e);
    std::vector<Point> route(const DrawnEdge& edge, const Box& from, const Box& to) const;
    void append(std::vector<Point>& points, const std::vector<uint32_t>& ports,
                const std::vector<std::vector<Point>>& ways, uint32_t node) const;
    void spreadPorts();
    void placeStored();
    void addHidden();
    const std::string& shownName(const Item& item, int s) const;
    void addFolded();
    void addStubs();

    const Model& m_model;
    const Projection& m_projection;
    const std::vector<Label>& m_labels;
    const Placement& m_placement;
    std::vector<uint32_t> m_containerOf;
    std::vector<uint32_t> m_boxOf[2];             ///< by side, of each tree node
    std::vector<std::vector<uint32_t>> m_edgesOf; ///< scene edges of each projected edge
    Scene m_scene;
};

void Emitter::addContainer(uint32_t id) {
    const TreeNode& node = m_model.tree[id];
    Container out;
    out.id = containerId(m_model, id);
    out.label = node.label;
    out.kind = node.kind == TreeNode::Kind::Scope   ? Container::Kind::Scope
               : node.kind == TreeNode::Kind::Slice ? Container::Kind::Slice
                                                    : Container::Kind::Group;
    out.parent = m_containerOf[node.parent];
    out.depth = node.depth;
    out.group = node.group;
    if (node.block != none && m_model.blockSize[node.block] > 1) {
        out.block = node.block;
        out.instance = node.instance;
    }
    out.nodes[0] = node.nodes[0];
    out.nodes[1] = node.nodes[1];
    out.sides = static_cast<uint8_t>((node.nodes[0] ? Before : 0) | (node.nodes[1] ? After : 0));
    if (node.kind == TreeNode::Kind::Group && !node.collapsed) {
        const Group& group = m_model.groups[node.group];
        if (group.made.size() == 1 && group.open.empty())
            out.sides = Before; // the box that replaced it stands in its place
    }
    out.collapsed = node.collapsed;
    out.rect = m_placement.before[id];
    out.token = node.group == none ? "container" : m_model.groups[node.group].token;
    m_containerOf[id] = static_cast<uint32_t>(m_scene.containers.size());
    m_scene.containers.push_back(std::move(out));
}

void Emitter::describe(const Item& item, Box& box) const {
    bool isValue = item.kind == Box::Kind::Input || item.kind == Box::Kind::Output;
    bool after = item.before == none;
    const app::GraphReport& graph = after ? m_model.input.after : m_model.input.before;
    const app::GraphValueReport* value = nullptr;
    box.name = item.name;
    if (isValue) {
        value = &graph.values[after ? item.after : item.before];
        box.token = item.kind == Box::Kind::Input ? "input" : "output";
    } else {
        const app::GraphNodeReport& node = graph.nodes[after ? item.after : item.before];
        box.op = node.op;
        box.inside = node.inside;
        if (!node.inside.empty())
            box.sources = node.sources;
        if (!node.outputs.empty() && node.outputs[0] != app::GraphNodeReport::omitted)
            value = &graph.values[node.outputs[0]];
        box.token = item.sides == Before && item.group == none ? "removed" : "node";
        if (item.group != none)
            box.token = m_model.groups[item.group].token;
        const auto& figures = after ? m_model.input.figures.after : m_model.input.figures.before;
        if (auto found = figures.find(item.name); found != figures.end())
            box.figures = found->second;
    }
    if (value != nullptr) {
        box.type = value->type;
        box.dtype = value->dtype;
    }
}

Box Emitter::boxOf(uint32_t id) const {
    const TreeNode& node = m_model.tree[id];
    const Label& label = m_labels[id];
    Box box;
    box.title = label.title;
    box.lines = label.lines;
    box.badges = label.badges;
    if (node.isContainer()) {
        box.kind = Box::Kind::Collapsed;
        box.id = containerId(m_model, id);
        box.container = m_containerOf[id];
        box.group = node.group;
        box.name = node.label;
        box.token = node.group == none ? "block" : m_model.groups[node.group].token;
        box.fill = box.token;
        return box;
    }
    const Item& item = m_model.items[node.item];
    box.kind = item.kind;
    box.id = "n:" + item.name;
    box.sides = item.sides;
    box.container = m_containerOf[node.parent];
    box.group = item.group;
    describe(item, box);
    box.fill = item.group != none && item.sides == Before ? "node" : box.token;
    return box;
}

void Emitter::addBoxes(uint32_t id) {
    Box box = boxOf(id);
    uint8_t sides = box.sides;
    auto inner = [&](Rect rect) {
        double room = m_labels[id].stubRoom;
        return Rect{rect.x + room, rect.y, rect.w - 2 * room, rect.h};
    };
    Rect before = inner(m_placement.before[id]), after = inner(m_placement.after[id]);
    bool apart = sides == Both && (before.x != after.x || before.y != after.y);
    for (uint8_t side : {Before, After}) {
        if (!(sides & side) || (side == After && sides == Both && !apart))
            continue;
        box.sides = apart ? static_cast<uint8_t>(side) : sides;
        box.rect = side == Before ? before : after;
        auto index = static_cast<uint32_t>(m_scene.boxes.size());
        for (uint8_t bit : {Before, After})
            if (box.sides & bit)
                m_boxOf[bit == After][id] = index;
        if (apart && side == Before)
            m_scene.boxes.push_back(box);
        else
            m_scene.boxes.push_back(std::move(box));
    }
}

/// Ways of a container in absolute coordinates: the one of the port for this tree node.
void Emitter::append(std::vector<Point>& points, const std::vector<uint32_t>& ports,
                     const std::vector<std::vector<Point>>& ways, uint32_t node) const {
    const TreeNode& container = m_model.tree[m_model.tree[node].parent];
    auto child = static_cast<uint32_t>(
        std::lower_bound(container.children.begin(), container.children.end(), node) -
        container.children.begin());
    auto port = std::lower_bound(ports.begin(), ports.end(), child);
    if (port == ports.end() || *port != child)
        return;
    const Rect& rect = m_placement.before[m_model.tree[node].parent];
    for (const Point& point : ways[static_cast<size_t>(port - ports.begin())])
        points.push_back({point.x + rect.x, point.y + rect.y});
}

std::vector<Point> Emitter::route(const DrawnEdge& edge, const Box& from, const Box& to) const {
    std::vector<Point> points{{from.rect.centre().x, from.rect.bottom()}};
    if (!edge.tunnel) {
        bool inFrame = from.sides != After || from.group == none;
        for (uint32_t at = edge.from; m_model.tree[at].parent != edge.inside;
             at = m_model.tree[at].parent) {
            const Level& level = m_projection.levels[m_model.tree[at].parent];
            if (at != edge.from || inFrame)
                append(points, level.exits, level.exitWays, at);
        }
        const Level& level = m_projection.levels[edge.inside];
        const Rect& rect = m_placement.before[edge.inside];
        for (const Point& point : level.bends[edge.level])
            points.push_back({point.x + rect.x, point.y + rect.y});
        std::vector<uint32_t> down;
        for (uint32_t at = edge.to; m_model.tree[at].parent != edge.inside;
             at = m_model.tree[at].parent)
            down.push_back(at);
        for (auto at = down.rbegin(); at != down.rend(); ++at) {
            const Level& inner = m_projection.levels[m_model.tree[*at].parent];
            if (*at != edge.to || to.sides != After || to.group == none)
                append(points, inner.entries, inner.entryWays, *at);
        }
    }
    points.push_back({to.rect.centre().x, to.rect.y});
    return points;
}

void Emitter::addEdges(uint32_t e) {
    const DrawnEdge& drawn = m_projection.edges[e];
    m_edgesOf.resize(m_projection.edges.size());
    uint8_t sides[2] = {0, 0};
    double bytes[2] = {-1, -1};
    uint32_t values[2] = {0, 0};
    for (uint32_t l : drawn.links) {
        const Link& link = m_model.links[l];
        for (int s : {0, 1})
            if (link.sides & (s == 0 ? Before : After)) {
                sides[s] = s == 0 ? Before : After;
                values[s] += link.values;
                if (link.bytes >= 0)
                    bytes[s] = std::max(bytes[s], 0.0) + link.bytes;
            }
    }
    auto ends = [&](int s) { return std::pair(m_boxOf[s][drawn.from], m_boxOf[s][drawn.to]); };
    bool one = sides[0] && sides[1] && bytes[0] == bytes[1] && ends(0) == ends(1);
    for (int s : {0, 1}) {
        if (!sides[s] || (one && s == 1))
            continue;
        Edge edge;
        std::tie(edge.from, edge.to) = ends(s);
        if (edge.from == none || edge.to == none)
            continue;
        const Link& first = m_model.links[drawn.links.front()];
        edge.sides = one ? static_cast<uint8_t>(Both) : sides[s];
        edge.bytes = bytes[s];
        edge.values = values[s];
        edge.width = widthOf(bytes[s]);
        edge.label = first.label;
        edge.value = first.value;
        edge.stored = drawn.tunnel ? std::string() : storedOn(m_model, drawn);
        edge.tunnel = drawn.tunnel;
        edge.points = route(drawn, m_scene.boxes[edge.from], m_scene.boxes[edge.to]);
        m_edgesOf[e].push_back(static_cast<uint32_t>(m_scene.edges.size()));
        m_scene.edges.push_back(std::move(edge));
    }
}

/// Edges that meet at a side of a box end beside each other, in the order of where they come from.
void Emitter::spreadPorts() {
    std::vector<std::vector<uint32_t>> in(m_scene.boxes.size()), out(m_scene.boxes.size());
    for (uint32_t e = 0; e < m_scene.edges.size(); ++e) {
        if (m_scene.edges[e].tunnel)
            continue;
        out[m_scene.edges[e].from].push_back(e);
        in[m_scene.edges[e].to].push_back(e);
    }
    auto spread = [&](std::vector<uint32_t>& edges, const Box& box, bool incoming) {
        if (edges.size() < 2)
            return;
        auto next = [&](uint32_t e) {
            const auto& points = m_scene.edges[e].points;
            return incoming ? points[points.size() - 2].x : points[1].x;
        };
        std::stable_sort(edges.begin(), edges.end(),
                         [&](uint32_t a, uint32_t b) { return next(a) < next(b); });
        // Edges that come along one lane, and the two sides of one edge, share a port.
        std::vector<double> places;
        for (uint32_t e : edges)
            if (places.empty() || std::abs(places.back() - next(e)) > 0.5)
                places.push_back(next(e));
        auto count = static_cast<double>(places.size() - 1);
        double gap = count > 0 ? std::min(portGap, box.rect.w * 0.7 / count) : 0;
        size_t at = 0;
        for (uint32_t e : edges) {
            while (std::abs(places[at] - next(e)) > 0.5)
                ++at;
            auto& points = m_scene.edges[e].points;
            (incoming ? points.back() : points.front()).x =
                box.rect.centre().x + (static_cast<double>(at) - count / 2) * gap;
        }
    };
    for (uint32_t b = 0; b < m_scene.boxes.size(); ++b) {
        spread(out[b], m_scene.boxes[b], false);
        spread(in[b], m_scene.boxes[b], true);
    }
}

/// What is in an open fused node is that node to whoever does not see it.
const std::string& Emitter::shownName(const Item& item, int s) const {
    const uint32_t node = s == 0 ? item.before : item.after;
    const app::GraphReport& graph = s == 0 ? m_model.input.before : m_model.input.after;
    const bool isNode = item.kind == Box::Kind::Node || item.kind == Box::Kind::Fused;
    return isNode && !graph.nodes[node].inside.empty() ? graph.nodes[node].inside : item.name;
}

void Emitter::addHidden() {
    for (uint32_t i = 0; i < m_model.items.size(); ++i) {
        uint32_t drawn = m_model.drawn(i);
        if (drawn == m_model.leafOf[i])
            continue;
        const Item& item = m_model.items[i];
        for (int s : {0, 1})
            if (uint8_t side = s == 0 ? Before : After;
                (item.sides & side) && m_boxOf[s][drawn] != none)
                m_scene.hidden.push_back({shownName(item, s), side, m_boxOf[s][drawn]});
    }
}

/// Above the reader, in the order in which the edges come in.
void Emitter::placeStored() {
    std::map<uint32_t, std::vector<uint32_t>> byReader;
    for (uint32_t e = 0; e < m_scene.edges.size(); ++e)
        if (!m_scene.edges[e].stored.empty())
            byReader[m_scene.edges[e].to].push_back(e);
    constexpr double gap = 4, above = 19; // most of an arrow head is seen below
    for (auto& [box, edges] : byReader) {
        auto end = [&](uint32_t e) { return m_scene.edges[e].points.back(); };
        std::stable_sort(edges.begin(), edges.end(),
                         [&](uint32_t a, uint32_t b) { return end(a).x < end(b).x; });
        double width = -gap, middle = 0;
        for (uint32_t e : edges) {
            width += badgeWidth(m_scene.edges[e].stored) + gap;
            middle += end(e).x / static_cast<double>(edges.size());
        }
        double x = middle - width / 2;
        for (uint32_t e : edges) {
            const double own = badgeWidth(m_scene.edges[e].stored);
            m_scene.edges[e].storedAt = {x, end(e).y - above, own, badgeHeight};
            x += own + gap;
        }
    }
}

/// Names of nodes that a badge stands for lead to the box beside it.
void Emitter::addFolded() {
    if (m_model.pairs == nullptr)
        return;
    std::unordered_map<std::string, uint32_t> items[2];
    for (uint32_t i = 0; i < m_model.items.size(); ++i) {
        const Item& item = m_model.items[i];
        const bool isNode = item.kind == Box::Kind::Node || item.kind == Box::Kind::Fused;
        for (int s : {0, 1})
            if (item.sides & (s == 0 ? Before : After)) {
                auto [entry, isNew] = items[s].try_emplace(item.name, i);
                if (!isNew && isNode)
                    entry->second = i;
            }
    }
    for (const FoldedPairs::Folded& folded : m_model.pairs->folded) {
        const int s = folded.side == Before ? 0 : 1;
        auto found = items[s].find(folded.at);
        if (found == items[s].end())
            continue;
        const uint32_t box = m_boxOf[s][m_model.drawn(found->second)];
        if (box != none)
            m_scene.hidden.push_back({folded.node, folded.side, box});
    }
}

void Emitter::addStubs() {
    for (uint32_t id = 1; id < m_model.tree.size(); ++id) {
        double y[2] = {0, 0};
        for (const StubText& text : m_labels[id].stubs) {
            for (int s : {0, 1}) {
                uint32_t box = m_boxOf[s][id];
                if (box == none || (s == 1 && box == m_boxOf[0][id]))
                    continue;
                Stub stub;
                stub.box = box;
                stub.outgoing = text.outgoing;
                stub.label = text.label;
                stub.sides = 0;
                for (uint32_t e : text.edges)
                    for (uint32_t edge : m_edgesOf[e]) {
                        stub.edges.push_back(edge);
                        stub.sides |= m_scene.edges[edge].sides;
                    }
                const Rect& rect = m_scene.boxes[box].rect;
                double x = text.outgoing ? rect.right() + 8 : rect.x - 8 - text.width;
                stub.rect = {x, rect.y + y[text.outgoing], text.width, 15};
                if (stub.sides &= m_scene.boxes[box].sides; stub.sides != 0)
                    m_scene.stubs.push_back(std::move(stub));
            }
            y[text.outgoing] += 17;
        }
    }
}

} // namespace

Scene emit(const Model& model, const Projection& projection, const std::vector<Label>& labels,
           const Placement& placement) {
    return Emitter(model, projection, labels, placement).run();
}

namespace {

Result<Scene> buildFrom(const Input& input, const FoldedPairs* pairs, const Options& options,
                        Progress& progress) {
    LinearLayout linear;
    Model model{input, options, progress, {}, {}, {}, {}, {}, {}, {}, {}, pairs};
    prepare(model);
    if (progress.cancelled())
        return cancelledFailure("layout");
    buildHierarchy(model);
    findBlocks(model);
    decideCollapse(model);
    if (progress.cancelled())
        return cancelledFailure("layout");
    Projection projection = project(model);
    std::vector<Label> labels = makeLabels(model, projection);
    auto placement = compose(model, labels, options.engine ? *options.engine : linear, projection);
    if (!placement)
        return failure(placement.error());
    return emit(model, projection, labels, *placement);
}

} // namespace

Result<Scene> build(const Input& input, const Options& options, Progress& progress) {
    if (options.pairs == Options::Pairs::Boxes || !hasPairs(input))
        return buildFrom(input, nullptr, options, progress);
    const FoldedPairs pairs = foldPairs(input);
    return buildFrom({pairs.before, pairs.after, input.figures}, &pairs, options, progress);
}

} // namespace fuselage::scene
