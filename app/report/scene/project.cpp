// SPDX-License-Identifier: Apache-2.0
// Third phase of a scene: links become edges between what is drawn, each of them an edge between
// two children of one container. Edges that would cross the picture become tunnels.
#include "app/report/scene/model_internal.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace fuselage::scene {

namespace {

constexpr uint32_t longAcross = 12; ///< rows between containers
constexpr uint32_t longInside = 24; ///< rows between plain boxes of one container
constexpr size_t manyReaders = 8;   ///< containers that read one producer
constexpr uint32_t manyLines = 6;   ///< that pass beside the boxes of one rank
constexpr uint32_t shortSkip = 3;   ///< ranks that a line may always go past

class Projector {
public:
    explicit Projector(const Model& model) : m_model(model), m_childIndex(model.tree.size(), 0) {
        m_out.levels.resize(model.tree.size());
        for (const TreeNode& node : model.tree)
            for (uint32_t i = 0; i < node.children.size(); ++i)
                m_childIndex[node.children[i]] = i;
    }

    Projection run() {
        joinLinks();
        for (DrawnEdge& edge : m_out.edges)
            placeInLevel(edge);
        rankLevels();
        markFanOut();
        markFanIn();
        thinOut();
        markUsed();
        return std::move(m_out);
    }

private:
    void joinLinks();
    void placeInLevel(DrawnEdge& edge);
    void rankLevels();
    void markFanOut();
    void markFanIn();
    void thinOut();
    static void thinOut(const Level& level, std::vector<uint8_t>& drawn);
    void markUsed();
    bool comesIn(uint32_t node) const;

    const Model& m_model;
    std::vector<uint32_t> m_childIndex;                  ///< among the children of its parent
    std::unordered_map<uint64_t, uint32_t> m_levelEdges; ///< of the children's tree nodes
    Projection m_out;
};

void Projector::joinLinks() {
    std::unordered_map<uint64_t, uint32_t> known;
    known.reserve(m_model.links.size());
    for (uint32_t l = 0; l < m_model.links.size(); ++l) {
        uint32_t from = m_model.drawn(m_model.links[l].from);
        uint32_t to = m_model.drawn(m_model.links[l].to);
        if (from == to)
            continue;
        auto [entry, isNew] = known.try_emplace((static_cast<uint64_t>(from) << 32U) | to,
                                                static_cast<uint32_t>(m_out.edges.size()));
        if (isNew)
            m_out.edges.push_back({from, to, 0, 0, {}, false});
        m_out.edges[entry->second].links.push_back(l);
    }
}

void Projector::placeInLevel(DrawnEdge& edge) {
    uint32_t a = edge.from, b = edge.to;
    const auto& tree = m_model.tree;
    while (tree[a].depth > tree[b].depth)
        a = tree[a].parent;
    while (tree[b].depth > tree[a].depth)
        b = tree[b].parent;
    while (tree[a].parent != tree[b].parent) {
        a = tree[a].parent;
        b = tree[b].parent;
    }
    edge.inside = tree[a].parent;
    Level& level = m_out.levels[edge.inside];
    auto [entry, isNew] = m_levelEdges.try_emplace((static_cast<uint64_t>(a) << 32U) | b,
                                                   static_cast<uint32_t>(level.edges.size()));
    if (isNew)
        level.edges.push_back({m_childIndex[a], m_childIndex[b], 1});
    else
        ++level.edges[entry->second].weight;
    edge.level = entry->second;
}

void Projector::rankLevels() {
    std::vector<std::vector<bool>> backward(m_out.levels.size());
    for (uint32_t id = 0; id < m_out.levels.size(); ++id) {
        Level& level = m_out.levels[id];
        level.ranks = longestPathRanks(m_model.tree[id].children.size(), level.edges, backward[id]);
        level.used.assign(level.edges.size(), false);
        level.bends.resize(level.edges.size());
    }
    for (DrawnEdge& edge : m_out.edges) {
        const Level& level = m_out.levels[edge.inside];
        const LayoutEdge& way = level.edges[edge.level];
        if (backward[edge.inside][edge.level]) {
            edge.tunnel = true;
            continue;
        }
        const TreeNode& container = m_model.tree[edge.inside];
        bool across = m_model.tree[container.children[way.from]].isContainer() ||
                      m_model.tree[container.children[way.to]].isContainer();
        edge.tunnel =
            level.ranks[way.to] - level.ranks[way.from] > (across ? longAcross : longInside);
    }
}

/// Where too many lines run side by side (layers that read all layers before them) the longest
/// become tunnels: else the picture is as wide as they are many.
void Projector::thinOut() {
    std::vector<std::vector<uint8_t>> drawn(m_out.levels.size());
    for (const DrawnEdge& edge : m_out.edges)
        if (!edge.tunnel) {
            drawn[edge.inside].resize(m_out.levels[edge.inside].edges.size());
            drawn[edge.inside][edge.level] = 1;
        }
    for (size_t id = 0; id < drawn.size(); ++id)
        thinOut(m_out.levels[id], drawn[id]);
    for (DrawnEdge& edge : m_out.edges)
        edge.tunnel = edge.tunnel || !drawn[edge.inside][edge.level];
}

/// Clears `drawn` of edges that must go.
void Projector::thinOut(const Level& level, std::vector<uint8_t>& drawn) {
    std::unordered_map<uint32_t, uint32_t> passing; ///< lines beside the boxes of a rank
    auto span = [&](uint32_t e) {
        return level.ranks[level.edges[e].to] - level.ranks[level.edges[e].from];
    };
    auto ranksOf = [&](uint32_t e, auto each) {
        const uint32_t last = level.ranks[level.edges[e].to];
        for (uint32_t rank = level.ranks[level.edges[e].from] + 1; rank < last; ++rank)
            each(passing[rank]);
    };
    std::vector<uint32_t> longest;
    for (uint32_t e = 0; e < drawn.size(); ++e)
        if (drawn[e]) {
            ranksOf(e, [](uint32_t& lines) { ++lines; });
            if (span(e) > shortSkip)
                longest.push_back(e);
        }
    std::stable_sort(longest.begin(), longest.end(),
                     [&](uint32_t a, uint32_t b) { return span(a) > span(b); });
    for (uint32_t e : longest) {
        bool crowded = false;
        ranksOf(e, [&](uint32_t lines) { crowded = crowded || lines > manyLines; });
        if (!crowded)
            continue;
        ranksOf(e, [](uint32_t& lines) { --lines; });
        drawn[e] = 0;
    }
}

/// A value read all over the model (a mask, a table of angles) is a tunnel everywhere.
void Projector::markFanOut() {
    std::map<uint32_t, std::set<std::pair<uint32_t, uint32_t>>> readers;
    auto target = [&](const DrawnEdge& edge) {
        uint32_t child =
            m_model.tree[edge.inside].children[m_out.levels[edge.inside].edges[edge.level].to];
        return std::pair(edge.inside, child);
    };
    for (const DrawnEdge& edge : m_out.edges)
        if (auto [inside, child] = target(edge); m_model.tree[child].isContainer())
            readers[edge.from].emplace(inside, child);
    for (DrawnEdge& edge : m_out.edges)
        if (readers[edge.from].size() > manyReaders)
            edge.tunnel = true;
}

/// A value from outside that is read all over one container: lines to its first rows are drawn,
/// the others would push everything aside.
void Projector::markFanIn() {
    std::map<std::pair<uint32_t, uint32_t>, std::set<uint32_t>> readers;
    auto onTheWay = [&](const DrawnEdge& edge, auto each) {
        for (uint32_t at = edge.to; m_model.tree[at].parent != edge.inside;
             at = m_model.tree[at].parent)
            each(std::pair(edge.from, m_model.tree[at].parent), at);
    };
    for (const DrawnEdge& edge : m_out.edges)
        if (!edge.tunnel)
            onTheWay(edge, [&](auto way, uint32_t child) { readers[way].insert(child); });
    for (DrawnEdge& edge : m_out.edges)
        if (!edge.tunnel)
            onTheWay(edge, [&](auto way, uint32_t child) {
                if (readers[way].size() > manyLines &&
                    m_out.levels[way.second].ranks[m_childIndex[child]] > shortSkip)
                    edge.tunnel = true;
            });
}

/// What replaced a group fills its frame: its edges end there and do not come in.
bool Projector::comesIn(uint32_t node) const {
    const TreeNode& leaf = m_model.tree[node];
    return leaf.isContainer() || m_model.items[leaf.item].group == none ||
           (m_model.items[leaf.item].sides & Before) != 0;
}

void Projector::markUsed() {
    for (const DrawnEdge& edge : m_out.edges) {
        if (edge.tunnel)
            continue;
        m_out.levels[edge.inside].used[edge.level] = true;
        for (uint32_t at = edge.from; m_model.tree[at].parent != edge.inside;
             at = m_model.tree[at].parent)
            if (at != edge.from || comesIn(at))
                m_out.levels[m_model.tree[at].parent].exits.push_back(m_childIndex[at]);
        for (uint32_t at = edge.to; m_model.tree[at].parent != edge.inside;
             at = m_model.tree[at].parent)
            if (at != edge.to || comesIn(at))
                m_out.levels[m_model.tree[at].parent].entries.push_back(m_childIndex[at]);
    }
    for (Level& level : m_out.levels)
        for (auto* ports : {&level.entries, &level.exits}) {
            std::sort(ports->begin(), ports->end());
            ports->erase(std::unique(ports->begin(), ports->end()), ports->end());
        }
}

} // namespace

Projection project(const Model& model) {
    return Projector(model).run();
}

} // namespace fuselage::scene
