// SPDX-License-Identifier: Apache-2.0
// Fourth phase of a scene: containers are laid out from the innermost outwards, then everything
// gets its place. Equal requests (the instances of a block) are laid out once.
#include "app/report/scene/columns_internal.h"
#include "app/report/scene/model_internal.h"
#include "app/report/scene/text_size.h"
#include "core/support/hash.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace fuselage::scene {

namespace {

constexpr uint32_t longestLane = 40; ///< rows that a way in or out crosses in order
constexpr double portWidth = 4;

struct Frame {
    double left, top, right, bottom;
};

Frame frameOf(const TreeNode& node) {
    if (node.parent == none)
        return {24, 24, 24, 24};
    if (node.kind == TreeNode::Kind::Group)
        return {10, 6, 10, 0};
    return {16, 8, 16, 0};
}

bool sameRequest(const LayoutRequest& a, const LayoutRequest& b) {
    auto equalEdges = [](const LayoutEdge& x, const LayoutEdge& y) {
        return x.from == y.from && x.to == y.to && x.weight == y.weight;
    };
    return a.sizes == b.sizes && a.ranks == b.ranks && a.rowGap == b.rowGap &&
           std::equal(a.edges.begin(), a.edges.end(), b.edges.begin(), b.edges.end(), equalEdges);
}

uint64_t hashOf(const LayoutRequest& request) {
    Hasher hash;
    for (const auto& size : request.sizes)
        hash.number(size.w).number(size.h);
    for (uint32_t rank : request.ranks)
        hash.number(rank);
    for (const LayoutEdge& edge : request.edges)
        hash.number(edge.from).number(edge.to);
    return hash.value();
}

class Composer {
public:
    Composer(const Model& model, Projection& projection, const std::vector<Label>& labels,
             LayoutEngine& engine)
        : m_model(model), m_projection(projection), m_labels(labels), m_engine(engine),
          m_sizes(model.tree.size()), m_places(model.tree.size()),
          m_afterPlaces(model.tree.size()) {}

    Result<Placement> run();

private:
    using Size = LayoutRequest::Size;

    /// One layout of some of the children of a container.
    struct Part {
        std::vector<uint32_t> children; ///< positions among all children
        uint8_t side;
    };

    Result<void> layOut(uint32_t node);
    Result<void> layOutGroup(uint32_t node);
    Result<Size> layOutPart(uint32_t node, const Part& part);
    Result<const LayoutResult*> layoutOf(LayoutRequest request);
    bool fillsFrame(const std::vector<uint32_t>& after, uint32_t node) const;
    void shift(uint32_t node, double x, double y, uint8_t side);
    Placement absolute();

    const Model& m_model;
    Projection& m_projection;
    const std::vector<Label>& m_labels;
    LayoutEngine& m_engine;
    std::vector<Size> m_sizes;
    std::vector<Rect> m_places, m_afterPlaces; ///< in the container
    std::unordered_map<uint64_t, std::vector<std::pair<LayoutRequest, LayoutResult>>> m_known;
};

Result<Placement> Composer::run() {
    for (auto id = static_cast<uint32_t>(m_model.tree.size()); id-- > 0;) {
        const TreeNode& node = m_model.tree[id];
        if (!node.shown)
            continue;
        if (m_model.isLeafLike(id)) {
            const Label& label = m_labels[id];
            m_sizes[id] = {label.width + 2 * label.stubRoom, label.height};
            continue;
        }
        auto done = node.kind == TreeNode::Kind::Group ? layOutGroup(id) : layOut(id);
        if (!done)
            return failure(done.error());
    }
    return absolute();
}

Result<const LayoutResult*> Composer::layoutOf(LayoutRequest request) {
    auto& known = m_known[hashOf(request)];
    for (const auto& [other, result] : known)
        if (sameRequest(request, other))
            return &result;
    auto result = m_engine.layout(request, m_model.progress);
    if (!result)
        return failure(result.error());
    known.emplace_back(std::move(request), std::move(*result));
    return &known.back().second;
}

/// Lays out the part; places and ways are in the coordinates of its content.
Result<Composer::Size> Composer::layOutPart(uint32_t node, const Part& part) {
    const TreeNode& tree = m_model.tree[node];
    Level& level = m_projection.levels[node];
    LayoutRequest request;
    if (tree.kind == TreeNode::Kind::Group)
        request.rowGap = 16;
    std::vector<uint32_t> index(tree.children.size(), none);
    uint32_t last = 0;
    for (uint32_t child : part.children) {
        index[child] = static_cast<uint32_t>(request.sizes.size());
        request.sizes.push_back(m_sizes[tree.children[child]]);
        request.ranks.push_back(level.ranks[child] + 1);
        last = std::max(last, level.ranks[child] + 2);
    }
    std::vector<std::pair<std::vector<Point>*, uint32_t>> ways; // and the port at their end
    auto edge = [&](uint32_t from, uint32_t to, uint32_t weight, std::vector<Point>& way,
                    uint32_t port) {
        request.edges.push_back({from, to, weight});
        ways.emplace_back(&way, port);
    };
    for (size_t e = 0; e < level.edges.size(); ++e)
        if (level.used[e] && index[level.edges[e].from] != none && index[level.edges[e].to] != none)
            edge(index[level.edges[e].from], index[level.edges[e].to], level.edges[e].weight,
                 level.bends[e], none);
    auto port = [&](uint32_t rank) {
        request.sizes.push_back({portWidth, 0});
        request.ranks.push_back(rank);
        return static_cast<uint32_t>(request.sizes.size() - 1);
    };
    level.entryWays.resize(level.entries.size());
    level.exitWays.resize(level.exits.size());
    for (size_t i = 0; i < level.entries.size(); ++i)
        if (uint32_t child = index[level.entries[i]];
            child != none && request.ranks[child] <= longestLane) {
            uint32_t at = port(0);
            edge(at, child, 1, level.entryWays[i], at);
        }
    for (size_t i = 0; i < level.exits.size(); ++i)
        if (uint32_t child = index[level.exits[i]];
            child != none && last - request.ranks[child] <= longestLane) {
            uint32_t at = port(last);
            edge(child, at, 1, level.exitWays[i], at);
        }
    auto result = layoutOf(request);
    if (!result)
        return failure(result.error());
    LayoutResult layout = **result;
    if (tree.kind != TreeNode::Kind::Group && m_model.options.flow == Options::Flow::Columns)
        foldIntoColumns(request, layout);
    auto& places = part.side == After ? m_afterPlaces : m_places;
    for (uint32_t child : part.children) {
        uint32_t id = tree.children[child];
        places[id] = {layout.places[index[child]].x, layout.places[index[child]].y, m_sizes[id].w,
                      m_sizes[id].h};
        if (part.side == Both)
            m_afterPlaces[id] = places[id];
    }
    for (size_t e = 0; e < ways.size(); ++e) {
        std::vector<Point>& way = *ways[e].first;
        way = layout.bends[e];
        if (ways[e].second == none)
            continue;
        Point at = layout.places[ways[e].second];
        at.x += portWidth / 2;
        if (at.y <= 0)
            way.insert(way.begin(), at);
        else
            way.push_back(at);
    }
    return Size{layout.width, layout.height};
}

Result<void> Composer::layOut(uint32_t node) {
    const TreeNode& tree = m_model.tree[node];
    Part all{{}, Both};
    for (uint32_t i = 0; i < tree.children.size(); ++i)
        all.children.push_back(i);
    auto size = layOutPart(node, all);
    if (!size)
        return failure(size.error());
    Frame frame = frameOf(tree);
    double label = textWidth(tree.label, lineSize) + 60;
    double width = tree.parent == none ? size->w : std::max(size->w, label);
    const Level& level = m_projection.levels[node];
    double extraTop = tree.parent != none && level.entries.empty() ? 20 : 0;
    double extraBottom = tree.parent != none && level.exits.empty() ? 12 : 0;
    shift(node, frame.left + (width - size->w) / 2, frame.top + extraTop, Both);
    m_sizes[node] = {width + frame.left + frame.right,
                     size->h + frame.top + frame.bottom + extraTop + extraBottom};
    return {};
}

/// One box that replaced the group fills its frame.
bool Composer::fillsFrame(const std::vector<uint32_t>& after, uint32_t node) const {
    return after.size() == 1 && m_model.groups[m_model.tree[node].group].open.empty() &&
           m_model.items[m_model.tree[m_model.tree[node].children[after[0]]].item].sides == After;
}

/// Members on one side, what replaced them on the other: two layouts in one frame.
Result<void> Composer::layOutGroup(uint32_t node) {
    const TreeNode& tree = m_model.tree[node];
    Part before{{}, Before}, after{{}, After};
    for (uint32_t i = 0; i < tree.children.size(); ++i) {
        uint8_t sides = m_model.items[m_model.tree[tree.children[i]].item].sides;
        if (sides & Before)
            before.children.push_back(i);
        if (sides & After)
            after.children.push_back(i);
    }
    auto beforeSize = layOutPart(node, before);
    if (!beforeSize)
        return failure(beforeSize.error());
    Frame frame = frameOf(tree);
    const Level& level = m_projection.levels[node];
    double top = frame.top + (level.entries.empty() ? 14 : 0);
    double bottom = frame.bottom + (level.exits.empty() ? 8 : 0);
    Size inner = *beforeSize;
    if (fillsFrame(after.children, node)) {
        uint32_t child = tree.children[after.children[0]];
        Size whole{std::max(inner.w + frame.left + frame.right, m_sizes[child].w),
                   std::max(inner.h + top + bottom, m_sizes[child].h)};
        m_afterPlaces[child] = m_places[child] = {0, 0, whole.w, whole.h};
        shift(node, (whole.w - inner.w) / 2, top + (whole.h - inner.h - top - bottom) / 2, Before);
        m_sizes[node] = whole;
        return {};
    }
    auto afterSize = layOutPart(node, after);
    if (!afterSize)
        return failure(afterSize.error());
    Size size{std::max(inner.w, afterSize->w), std::max(inner.h, afterSize->h)};
    shift(node, frame.left + (size.w - inner.w) / 2, top + (size.h - inner.h) / 2, Before);
    shift(node, frame.left + (size.w - afterSize->w) / 2, top + (size.h - afterSize->h) / 2, After);
    m_sizes[node] = {size.w + frame.left + frame.right, size.h + top + bottom};
    return {};
}

/// Moves what was laid out to where the content stands in its container.
void Composer::shift(uint32_t node, double x, double y, uint8_t side) {
    Level& level = m_projection.levels[node];
    const TreeNode& tree = m_model.tree[node];
    const auto sidesOf = [&](uint32_t child) {
        return tree.kind == TreeNode::Kind::Group ? m_model.items[m_model.tree[child].item].sides
                                                  : static_cast<uint8_t>(Both);
    };
    for (uint32_t child : tree.children) {
        if ((side & sidesOf(child) & Before) != 0) {
            m_places[child].x += x;
            m_places[child].y += y;
        }
        if (side & sidesOf(child) & After) {
            m_afterPlaces[child].x += x;
            m_afterPlaces[child].y += y;
        }
    }
    const auto move = [&](std::vector<Point>& way, uint8_t sides) {
        if (side & (sides & Before ? Before : After)) // once where it is on both
            for (Point& point : way)
                point = {point.x + x, point.y + y};
    };
    for (size_t e = 0; e < level.bends.size(); ++e)
        move(level.bends[e], sidesOf(tree.children[level.edges[e].from]) &
                                 sidesOf(tree.children[level.edges[e].to]));
    for (size_t i = 0; i < level.entryWays.size(); ++i)
        move(level.entryWays[i], sidesOf(tree.children[level.entries[i]]));
    for (size_t i = 0; i < level.exitWays.size(); ++i)
        move(level.exitWays[i], sidesOf(tree.children[level.exits[i]]));
}

Placement Composer::absolute() {
    Placement out{std::vector<Rect>(m_model.tree.size()), std::vector<Rect>(m_model.tree.size())};
    out.before[0] = out.after[0] = {0, 0, m_sizes[0].w, m_sizes[0].h};
    auto rounded = [](Rect rect, const Rect& around) {
        return Rect{std::round(rect.x + around.x), std::round(rect.y + around.y), rect.w, rect.h};
    };
    for (uint32_t id = 1; id < m_model.tree.size(); ++id) {
        const TreeNode& node = m_model.tree[id];
        if (!node.shown)
            continue;
        out.before[id] = rounded(m_places[id], out.before[node.parent]);
        out.after[id] = rounded(m_afterPlaces[id], out.after[node.parent]);
    }
    return out;
}

} // namespace

Result<Placement> compose(const Model& model, const std::vector<Label>& labels,
                          LayoutEngine& engine, Projection& projection) {
    return Composer(model, projection, labels, engine).run();
}

} // namespace fuselage::scene
